"""Secure computation behind one interface; importing this loads neither JAX nor SPU."""

from vertwin.engine.base import Engine, Shares
from vertwin.engine.link import Link
from vertwin.engine.program import Input, Program, Settings
from vertwin.engine.session import Earlier, Session

__all__ = ["Earlier", "Engine", "Input", "Link", "Program", "Session", "Settings", "Shares"]
