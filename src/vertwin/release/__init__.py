"""The file that may leave the room, and what an analyst does with it: verify, sample, read its tables.

NumPy, Arrow and cryptography only: this folder is all that an analyst's machine needs of vertwin.
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
from vertwin.release.opened import Release, content_digest, open_release, read_release, sign, write_release
from vertwin.release.seal import Learned, seal
from vertwin.release.signatures import Signature, fingerprint_of, signing_input
from vertwin.release.verify import Verified, verify

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
    "Signature",
    "Statement",
    "Twin",
    "TwinColumn",
    "Verified",
    "content_digest",
    "fingerprint_of",
    "open_release",
    "read_release",
    "seal",
    "sign",
    "signing_input",
    "verify",
    "whole_file",
    "write_release",
]
