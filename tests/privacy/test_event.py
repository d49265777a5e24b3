from __future__ import annotations

import json
import math

import pytest

from vertwin.errors import UserError
from vertwin.privacy.event import GaussianEvent, KnownSamplesEvent, SecretSamplesEvent, read_event

EVENTS = [
    GaussianEvent(0.3),
    KnownSamplesEvent(0.7, 0.01, 1000),
    SecretSamplesEvent(2.0, 0.01, 1000),
    SecretSamplesEvent(2.0, 0.01, 1000, "add_remove"),
    SecretSamplesEvent(2.0, 0.01, 1000, distance=1.5, rows=10_000, batch_at_most=150),
]


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_goes_into_a_ledger_and_comes_back(event: object) -> None:
    written = json.loads(json.dumps(event.parameters))  # type: ignore[attr-defined]
    assert read_event(event.kind, written) == event  # type: ignore[attr-defined]


def test_a_run_twice_is_two_runs() -> None:
    assert GaussianEvent(0.3).repeated(4).mu == pytest.approx(0.6)
    assert GaussianEvent(0.0).repeated(4).mu == 0.0
    assert KnownSamplesEvent(0.7, 0.01, 1000).repeated(2).steps == 2000
    assert SecretSamplesEvent(2.0, 0.01, 1000).repeated(2).steps == 2000


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: GaussianEvent(-1.0), "E702"),
        (lambda: GaussianEvent(math.nan), "E702"),
        (lambda: KnownSamplesEvent(math.inf, 0.5, 1), "E702"),
        (lambda: KnownSamplesEvent(1.0, 1.5, 1), "E705"),
        (lambda: SecretSamplesEvent(0.0, 0.5, 1), "E702"),
        (lambda: SecretSamplesEvent(math.inf, 0.5, 1), "E702"),
        (lambda: SecretSamplesEvent(1.0, 0.0, 1), "E705"),
        (lambda: SecretSamplesEvent(1.0, 0.5, 0), "E705"),
        (lambda: SecretSamplesEvent(1.0, 0.5, 1, distance=2.1), "E705"),
        (lambda: SecretSamplesEvent(1.0, 0.5, 1, distance=0.0), "E705"),
        (lambda: SecretSamplesEvent(1.0, 0.5, 1, rows=10), "E705"),
        (lambda: SecretSamplesEvent(1.0, 0.5, 1, rows=10, batch_at_most=11), "E705"),
        (lambda: SecretSamplesEvent(1.0, 0.5, 1, "add_remove", rows=10, batch_at_most=5), "E705"),
        (lambda: read_event("laplace", {}), "E705"),
        (lambda: read_event("gaussian", {"sigma": 1.0}), "E705"),
    ],
)
def test_what_no_mechanism_can_be_is_refused(make: object, code: str) -> None:
    with pytest.raises(UserError) as caught:
        make()  # type: ignore[operator]
    assert set(caught.value.codes) == {code}
