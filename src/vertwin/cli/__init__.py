"""The command line: `main` is the whole program, one file per command, `screen.py` owns everything that is printed."""

from vertwin.cli.program import main

__all__ = ["main"]
