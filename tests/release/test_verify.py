"""Verification: the promise against the noise, in closed form, whoever signed it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from release.example import (
    DPVI,
    iterated,
    kept_promise,
    measured,
    signatures_of,
    signed_agreement,
)

from vertwin.cli.verify import verify as command
from vertwin.errors import UserError
from vertwin.privacy.closed_form import gaussian_epsilon
from vertwin.release import GRID, Content, NoiseShare, Promise, Release, Revealed, Statement, verify, write_release
from vertwin.release.verify import mechanism_of

CONTENT = kept_promise()


def signed(content: Content = CONTENT) -> Release:
    """Every party signed it: what is wrong with it, they agreed on."""
    return Release(content, signatures_of(content))


def refused(act: Callable[[], Any]) -> UserError:
    with pytest.raises(UserError) as error:
        act()
    return error.value


def promised(content: Content, number: int, /, **changes: Any) -> Content:
    promises = list(content.statement.promises)
    promises[number] = replace(promises[number], **changes)
    return replace(content, statement=replace(content.statement, promises=tuple(promises)))


def test_a_sound_release_passes(tmp_path: Path) -> None:
    path = write_release(tmp_path / "small.vertwin", signed())
    verified = verify(path, signed_agreement())
    assert [signer.party for signer in verified.signers] == ["clinic", "insurer"]
    assert [signer.fingerprint for signer in verified.signers] == [p.key for p in CONTENT.agreement.parties]
    assert any("closed form" in sentence for sentence in verified.checked)
    assert verified.not_checked


def test_epsilons_follow_from_the_formula_by_hand() -> None:
    """DESIGN 5.2 written out: D sum over tables that a viewer does not own alone of 1 / noise that it did not draw."""
    for viewer, promise in zip(("", "clinic", "insurer"), CONTENT.statement.promises, strict=True):
        mu_squared = 0.0
        for table in CONTENT.tables:
            if set(table.owners) != {viewer}:
                hidden = sum(share.variance for share in table.noise if share.holder != viewer) / GRID**2
                mu_squared += 2 / float(hidden)
        wanted = gaussian_epsilon(mu_squared**0.5, promise.delta)
        assert promise.epsilon == pytest.approx(wanted, rel=1e-4)  # the mechanism takes off what discreteness costs
        assert promise.epsilon is not None and promise.epsilon >= wanted


@given(st.integers(0, 2), st.floats(0.3, 3.0).filter(lambda factor: abs(factor - 1) > 1e-6))
@settings(deadline=None, max_examples=15)
def test_an_epsilon_that_does_not_follow_is_refused_even_if_all_signed_it(viewer: int, factor: float) -> None:
    epsilon = CONTENT.statement.promises[viewer].epsilon
    assert epsilon is not None
    error = refused(lambda: verify(signed(promised(CONTENT, viewer, epsilon=epsilon * factor))))
    assert error.codes == ("E531",)
    assert CONTENT.statement.promises[viewer].viewer in str(error)


def test_less_noise_than_stated_is_refused() -> None:
    first = CONTENT.tables[0]
    less = tuple(NoiseShare(share.holder, share.variance * Fraction(999, 1000)) for share in first.noise)
    content = replace(CONTENT, tables=(replace(first, noise=less), *CONTENT.tables[1:]))
    assert set(refused(lambda: verify(signed(content))).codes) == {"E531"}


@pytest.mark.parametrize(
    ("viewer", "changes"),
    [
        (0, {"epsilon": None}),
        (0, {"delta": 1e-5}),
        (0, {"viewer": "everybody"}),
        (1, {"adjacency": "add_remove"}),
        (1, {"viewer": "somebody"}),
    ],
)
def test_a_promise_that_is_not_the_agreements_is_refused(viewer: int, changes: dict[str, Any]) -> None:
    assert refused(lambda: verify(signed(promised(CONTENT, viewer, **changes)))).codes == ("E531",)


def test_everybody_has_to_be_promised_something() -> None:
    content = replace(CONTENT, statement=Statement("x", CONTENT.statement.promises[:1]))
    assert refused(lambda: verify(signed(content))).codes == ("E532", "E532")
    assert refused(lambda: verify(signed(replace(CONTENT, statement=Statement())))).codes == ("E532",) * 3


def test_a_coalition_is_recomputed_too() -> None:
    agreement = CONTENT.agreement
    assert mechanism_of(CONTENT).epsilon(agreement.privacy.delta, ("clinic", "insurer")) == 0.0
    for name, coalition, epsilon in (
        ("clinic+insurer", ("clinic", "insurer"), 0.0),  # all holders: nothing is left to promise
        ("everyone: analyst, clinic, insurer", ("clinic", "insurer"), 0.0),
        ("clinic+insurer", ("clinic",), CONTENT.statement.promises[1].epsilon),
        ("clinic+clinic", ("clinic", "clinic"), CONTENT.statement.promises[1].epsilon),
    ):
        both = Promise(name, coalition, epsilon, agreement.privacy.delta, "replace_one")
        content = replace(CONTENT, statement=Statement("x", (*CONTENT.statement.promises, both)))
        assert set(refused(lambda content=content: verify(signed(content))).codes) == {"E531"}


def test_noise_said_to_be_drawn_by_somebody_who_draws_none_is_no_content() -> None:
    """Towards the others it would count as hidden, and their epsilon would come out too small."""
    first = CONTENT.tables[0]
    stranger = "insurer" if first.owners == ("clinic",) else "clinic"
    forged = replace(first, noise=tuple(replace(share, holder=stranger) for share in first.noise))
    content = replace(CONTENT, tables=(forged, *CONTENT.tables[1:]))
    assert set(refused(lambda: verify(signed(content))).codes) == {"E504"}


def test_other_arrays_in_a_release_of_noisy_tables_are_no_content() -> None:
    content = replace(CONTENT, revealed=(Revealed("exact_counts", np.arange(3)),))
    assert set(refused(lambda: verify(signed(content))).codes) == {"E504"}


def test_a_table_left_out_is_noticed() -> None:
    content = replace(CONTENT, tables=CONTENT.tables[1:])
    assert "E530" in refused(lambda: verify(signed(content))).codes


def test_the_agreed_target_is_held() -> None:
    """Honest about too little noise is still too little: the statement follows, the target is missed."""
    small = tuple(
        replace(t, noise=tuple(NoiseShare(s.holder, s.variance / 4) for s in t.noise)) for t in CONTENT.tables
    )
    content = replace(CONTENT, tables=small)
    mechanism = mechanism_of(content)
    for number, promise in enumerate(content.statement.promises):
        content = promised(content, number, epsilon=mechanism.epsilon(promise.delta, promise.coalition))
    error = refused(lambda: verify(signed(content)))
    assert error.codes == ("E531",)
    assert "asks for epsilon 1 or less" in str(error)


def test_noise_too_small_for_the_formula_is_refused() -> None:
    tiny = tuple(replace(t, noise=tuple(NoiseShare(s.holder, Fraction(1, 3)) for s in t.noise)) for t in CONTENT.tables)
    assert "E531" in refused(lambda: verify(signed(replace(CONTENT, tables=tiny)))).codes


def test_another_agreement_is_refused() -> None:
    assert refused(lambda: verify(signed(), measured().agreement)).codes == ("E533",)


def test_a_rehearsal_is_not_verified_unless_asked_for() -> None:
    watermarked = Release(replace(CONTENT, watermark="rehearsal: x"))
    assert refused(lambda: verify(watermarked)).codes == ("E535",)
    assert verify(watermarked, rehearsal=True).signers == ()
    assert set(refused(lambda: verify(Release(measured()), rehearsal=True)).codes) == {"E531"}


def test_dpvi_is_verified_as_far_as_the_base_goes() -> None:
    content = replace(iterated(), agreement=signed_agreement(DPVI), watermark=None)
    content = replace(content, twin=measured().twin)
    verified = verify(signed(content))
    assert any("dpvi" in sentence for sentence in verified.not_checked)


def test_the_command_says_what_holds_and_who_signed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_release(tmp_path / "small.vertwin", signed())
    command(path)
    said = capsys.readouterr()
    assert said.out.count("SHA256:") == 2
    assert "checked: signatures of every party" in said.out
    assert "Compare each fingerprint" in said.err
    command(path, as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert [viewer["viewer"] for viewer in document["viewers"]] == ["analyst", "clinic", "insurer"]
    assert document["watermark"] is None
    assert document["signed"] == {party.name: party.key for party in CONTENT.agreement.parties}
    rehearsal = write_release(tmp_path / "rehearsal.vertwin", replace(CONTENT, watermark="rehearsal: x"))
    assert refused(lambda: command(rehearsal)).codes == ("E535",)
    command(rehearsal, rehearsal=True)
    assert "NOT SIGNED" in capsys.readouterr().err
