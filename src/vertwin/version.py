"""The product's version, where every layer can read it: pyproject.toml says the same, and a test says so."""

from typing import Final

VERSION: Final = "0.1.0"
