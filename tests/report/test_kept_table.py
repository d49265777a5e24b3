"""The table of what was kept, word by word."""

from __future__ import annotations

from dataclasses import replace

from vertwin.report.kept import ColumnKept, Kept, PairKept
from vertwin.report.kept_table import as_text, headline, verdict

AGE = ColumnKept("age", "clinic", "count", 0.021, 0.008, 47.62, 46.9, 18.0, 18.4, "42..49", 0.14, 0.13)
PLAN = ColumnKept("plan", "insurer", "category", 0.004, 0.005, None, None, None, None, "[basic]", 0.5, 0.496)
STRONG = PairKept(("age", "plan"), ("clinic", "insurer"), 0.4, 0.36, 0.05, None, None)
WEAK = PairKept(("age", "claims"), ("clinic", "insurer"), 0.02, 0.01, 0.05, 0.01, 0.0)
SMOKERS = replace(STRONG, among=("smoker", "yes"), truth=0.5, twin=0.25)
KEPT = Kept((AGE, PLAN), (STRONG, WEAK), (SMOKERS,), 20_000, 200_000)

TABLE = """\
The twin kept 90 % of what ties clinic and insurer together; its columns are off by 1.2 % on average

                                                 the truth    the twin
 ────────────────────────────────────────────────────────────────────────────────────────────
  each column by itself                                                               off by
    age (clinic)                                 mean 47.6   mean 46.9           2.1 % (0.8)
    plan (insurer)                          [basic] 50.0 %      49.6 %           0.4 % (0.5)

  pairs across the parties: strength                                                    kept
    age – plan                                        0.40        0.36                  90 %
    1 weaker pair                                                        off by 0.01 at most

  a pair among some people only: strength                                               kept
    age – plan, smoker = yes                          0.50        0.25                  50 %

off by: share of people who would need another value for truth and twin to be equal; in brackets,
"""


def test_the_table_as_a_terminal_shows_it() -> None:
    assert as_text(KEPT)[: len(TABLE)] == TABLE


def test_a_verdict_never_praises_a_twin_for_noise() -> None:
    assert verdict(STRONG) == "90 %"
    assert verdict(replace(STRONG, twin=0.6)) == "150 %, overstated"
    assert verdict(WEAK) == "too weak to tell"
    assert verdict(replace(WEAK, twin=0.3)) == "more than there is"


def test_a_headline_without_anything_to_keep() -> None:
    assert headline(replace(KEPT, pairs=(WEAK,))).startswith("Nothing ties the parties' columns together here")
    three = (STRONG, replace(STRONG, parties=("clinic", "register")))
    assert "what ties clinic, insurer and register together" in headline(replace(KEPT, pairs=three))
