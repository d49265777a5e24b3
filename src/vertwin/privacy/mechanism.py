"""The mechanisms by name: what is revealed, under how much noise, drawn by whom; all of it data."""

from __future__ import annotations

from vertwin.privacy.event import Adjacency, Mechanism
from vertwin.privacy.gaussian_release import GaussianRelease, NoiseShare
from vertwin.privacy.gradient_releases import GradientReleases, with_least_sigma
from vertwin.privacy.least_sigma import meet_targets, plan_gradient_releases
from vertwin.privacy.pair_tables import (
    MeasuredTable,
    PairTables,
    all_tables,
    calibrate,
    coalition_of,
    limits_of,
    plan_pair_tables,
)

__all__ = [
    "Adjacency",
    "GaussianRelease",
    "GradientReleases",
    "MeasuredTable",
    "Mechanism",
    "NoiseShare",
    "PairTables",
    "all_tables",
    "calibrate",
    "coalition_of",
    "limits_of",
    "meet_targets",
    "plan_gradient_releases",
    "plan_pair_tables",
    "with_least_sigma",
]
