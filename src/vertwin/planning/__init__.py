"""Before anyone connects: every noise scale of a run, what it means for each viewer, what it costs."""

from vertwin.planning.outlook import Outlook, look_ahead
from vertwin.planning.plan import compare, mechanism_for, plan

__all__ = ["Outlook", "compare", "look_ahead", "mechanism_for", "plan"]
