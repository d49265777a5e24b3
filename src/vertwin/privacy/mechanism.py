"""The mechanisms by name: what is revealed, under how much noise, drawn by whom; all of it data."""

from __future__ import annotations

from vertwin.privacy.gaussian_release import Adjacency, GaussianRelease, NoiseShare
from vertwin.privacy.gradient_releases import GradientReleases, plan_gradient_releases, with_least_sigma
from vertwin.privacy.pair_tables import (
    MeasuredTable,
    PairTables,
    all_tables,
    calibrate,
    limits_of,
    plan_pair_tables,
)

__all__ = [
    "Adjacency",
    "GaussianRelease",
    "GradientReleases",
    "MeasuredTable",
    "NoiseShare",
    "PairTables",
    "all_tables",
    "calibrate",
    "limits_of",
    "plan_gradient_releases",
    "plan_pair_tables",
    "with_least_sigma",
]
