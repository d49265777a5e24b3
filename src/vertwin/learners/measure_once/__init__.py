"""measure_once: every one-way and two-way table, noised and revealed once; all else is post-processing."""

from vertwin.learners.measure_once.learn import learn

__all__ = ["learn"]
