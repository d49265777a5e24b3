"""The file that may leave the room, and what an analyst does with it: verify, sample, read its tables.

NumPy and Arrow only: this folder is all that an analyst's machine needs of vertwin.
"""

from vertwin.release.content import (
    GRID,
    NO_STATEMENT,
    Content,
    NoiseShare,
    NoisyTable,
    Promise,
    Revealed,
    Statement,
    Twin,
    TwinColumn,
)
from vertwin.release.files import whole_file
from vertwin.release.marginals import Marginal
from vertwin.release.opened import Release, open_release, write_release
from vertwin.release.seal import Learned, seal

__all__ = [
    "GRID",
    "NO_STATEMENT",
    "Content",
    "Learned",
    "Marginal",
    "NoiseShare",
    "NoisyTable",
    "Promise",
    "Release",
    "Revealed",
    "Statement",
    "Twin",
    "TwinColumn",
    "open_release",
    "seal",
    "whole_file",
    "write_release",
]
