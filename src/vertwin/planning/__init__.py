"""Before anyone connects: every noise scale of a run, and what it means for each viewer."""

from vertwin.planning.plan import compare, plan

__all__ = ["compare", "plan"]
