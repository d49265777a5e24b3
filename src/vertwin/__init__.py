"""vertwin: one differentially private synthetic table from organisations that hold different columns.

Importing this loads neither JAX nor SPU nor Arrow: what needs them comes with the call that needs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vertwin.version import VERSION as __version__

if TYPE_CHECKING:
    from vertwin.rehearsal import rehearse
    from vertwin.release import open_release

__all__ = ["__version__", "open_release", "rehearse"]


def __getattr__(name: str) -> Any:
    if name == "open_release":
        from vertwin.release import open_release

        return open_release
    if name == "rehearse":
        from vertwin.rehearsal import rehearse

        return rehearse
    raise AttributeError(f"module 'vertwin' has no attribute {name!r}")
