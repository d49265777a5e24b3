"""Noise: the operating system's entropy turned into exact integers of the discrete Gaussian.

Everything random that privacy rests on comes through this folder; `entropy.py` is its only door.
"""

from __future__ import annotations

from vertwin.noise.discrete_gaussian import LARGEST_VARIANCE, DiscreteGaussian
from vertwin.noise.entropy import Entropy, SystemEntropy

__all__ = ["LARGEST_VARIANCE", "DiscreteGaussian", "Entropy", "SystemEntropy"]
