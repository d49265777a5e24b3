"""No source of randomness but `Entropy` on the private path: seeded noise is noise that can be subtracted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import vertwin

ROOT = Path(vertwin.__file__).parent
FOLDERS = ("noise", "privacy", "ledger", "engine", "parties", "linkage")
FILES = ("secure.py", "mechanism.py")
FORBIDDEN = re.compile(
    r"\b(np|numpy|jnp)\.random\b|\brandom\.seed\b|\bjax\.random\b|\bPRNGKey\b|^\s*(import|from)\s+random\b"
    r"|\bdefault_rng\b|\bRandomState\b|\buuid[14]\b|\bimport secrets\b|\bUnsafe\w*Entropy\b",
    re.MULTILINE,
)
ONLY_HERE = re.compile(r"\bos\.urandom\b|\bgetrandom\b")


def private_path() -> list[Path]:
    inside = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    return inside + [path for path in ROOT.rglob("*.py") if path.name in FILES]


def test_the_private_path_has_no_generator_of_its_own() -> None:
    paths = private_path()
    assert len(paths) >= 8
    for path in paths:
        name, text = str(path.relative_to(ROOT)), path.read_text("utf-8")
        assert FORBIDDEN.findall(text) == [], name


def test_the_operating_system_is_asked_in_one_file() -> None:
    users = {str(path.relative_to(ROOT)) for path in private_path() if ONLY_HERE.search(path.read_text("utf-8"))}
    assert users == {"noise/entropy.py"}


def test_seeded_entropy_is_not_in_the_product() -> None:
    assert not [path for path in ROOT.rglob("*.py") if "UnsafeSeeded" in path.read_text("utf-8")]


@pytest.mark.parametrize(
    "line",
    [
        "x = np.random.normal()",
        "from random import gauss",
        "    import random",
        "key = jax.random.PRNGKey(0)",
        "rng = numpy.random.default_rng(1)",
    ],
)
def test_the_search_finds_what_it_looks_for(line: str) -> None:
    assert FORBIDDEN.search(line)
