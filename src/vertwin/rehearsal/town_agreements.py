"""What the clinic and the insurer of the embedded example sign: one agreement for each learner, as text.

Kept here, beside the people they are about, so that `vertwin demo` needs no folder of examples; the files in
`examples/town/` are these texts, and a test says so.
"""

from __future__ import annotations

from typing import Final, Literal

from vertwin.rehearsal import town

_HEAD: Final = """\
# {title}
# Two organisations of a made-up town know different things about the same people. This file is all that they agree
# on: public facts only. Every column's domain is declared with its source, and none is learned from a table.
format = 1
name = "{name}"
purpose = "How health, care and its cost go together in the town, for planning of services"
controller = "The town's joint office for statistics"
legal_basis = "An example: these people do not exist"
recipients = ["anyone"]
retention = "The twin is kept, everything else is erased when the release is signed"
data_set = "town-2026"           # the name that every party's ledger counts under

[[parties]]
name = "clinic"
rows_at_most = 30000

[[parties]]
name = "insurer"
rows_at_most = 30000
"""

_HELPER: Final = """
[[parties]]                      # brings no data: the third computing party that the protocol needs
name = "helper"
role = "helper"
"""

_COLUMNS: Final = """
[linkage]
{linkage}
rows_per_person = 1              # the unit of privacy is a person

# --- the clinic's columns

[[columns]]
name = "age"
party = "clinic"
type = "count"
bounds = [18, 95]
bins = {{ kind = "edges", edges = [18, 26, 34, 42, 50, 58, 66, 76, 96] }}
missing = "refuse"
source = "clinic's code book 2026, p. 3: full years at the end of 2025, adults"
{age_family}
[[columns]]
name = "sex"
party = "clinic"
type = "binary"
values = ["female", "male"]
missing = "refuse"
source = "clinic's code book 2026, p. 3: as registered"

[[columns]]
name = "bmi"
party = "clinic"
type = "real"
bounds = [14, 60]
bins = {{ kind = "edges", edges = [14, 20, 22.5, 25, 27.5, 30, 35, 60] }}
missing = "category"             # not measured: mostly people who seldom come, so the gap itself says something
source = "WHO classes of the body-mass index, three of them halved"

[[columns]]
name = "smoker"
party = "clinic"
type = "binary"
values = ["no", "yes"]
missing = "refuse"
source = "clinic's code book 2026, p. 5"

[[columns]]
name = "diagnosis"
party = "clinic"
type = "category"
categories = [{diagnoses}]
missing = "refuse"
source = "clinic's code book 2026, p. 8: groups of main diagnoses"

[[columns]]
name = "severity"
party = "clinic"
type = "ordinal"
levels = [{severities}]
missing = "refuse"
source = "clinic's code book 2026, p. 9"

[[columns]]
name = "visits"
party = "clinic"
type = "count"
bounds = [0, 30]
bins = {{ kind = "edges", edges = [0, 1, 2, 3, 5, 8, 13, 31] }}
missing = "refuse"
source = "clinic's code book 2026, p. 11: visits in 2025, counted to 30"

# --- the insurer's columns

[[columns]]
name = "plan"
party = "insurer"
type = "category"
categories = [{plans}]
missing = "refuse"
source = "the insurer's published price list 2025"

[[columns]]
name = "claims"
party = "insurer"
type = "count"
bounds = [0, 30]
bins = {{ kind = "edges", edges = [0, 1, 2, 3, 5, 8, 13, 31] }}
missing = "refuse"
source = "insurer's data dictionary, table CLAIM: claims of 2025, counted to 30"

[[columns]]
name = "yearly_cost"
party = "insurer"
type = "real"
bounds = [0, 30000]
bins = {{ kind = "edges", edges = [0, 75, 150, 300, 600, 1200, 2400, 4800, 10000, 30000] }}
missing = "refuse"
source = "insurer's data dictionary, table COST: euros in 2025; a reinsurer pays what lies above 30,000"

[[columns]]
name = "employment"
party = "insurer"
type = "category"
categories = [{employments}]
missing = "category"             # not stated: more often by those without work, so the gap itself says something
source = "national classification of economic activity, level 1"

[[columns]]
name = "income_band"
party = "insurer"
type = "ordinal"
levels = [{income_bands}]
missing = "marginal"             # lost by chance alone: a gap says nothing
source = "national tax tables 2025"

[[columns]]
name = "disability_pension"
party = "insurer"
type = "binary"
values = ["no", "yes"]
missing = "refuse"
source = "insurer's data dictionary, table PENSION"
"""

_ALIGNED: Final = 'kind = "aligned"                 # row by row the same person in both tables'
_LINKED: Final = 'keys = ["person_id"]             # found in both tables without showing who is in one alone'

_MEASURE_ONCE: Final = """
[learner]
kind = "measure_once"            # every table of two columns is measured once, under secure computation, with noise

[privacy]
delta = 1e-6
adjacency = "replace_one"        # what is hidden: whether one person's values were these or any others

[privacy.epsilon]
analyst = 1.0                    # whoever gets the release

[engine]
protocol = "auto"                # two organisations and nobody else: Cheetah
"""

_DPVI: Final = """
[learner]
kind = "dpvi"                    # variational inference, one noisy gradient a step: the paper's Algorithm 1
components = 10
steps = 40
posterior = "mean_field"
sampling = "epochs"              # fixed, disjoint minibatches of so many people, one after the other
batch = 6000
aggregator = "helper"
bound = { kind = "hard", clipping_threshold = 1.0 }
step_size = 0.3
noise = "holders"                # each of the two adds its share

[privacy]
delta = 1e-6
adjacency = "replace_one"        # what is hidden: whether one person's values were these or any others
sigma = 32.0                     # noise of one step, in units of the clipping threshold

[engine]
protocol = "aby3"                # with the helper as third computing party
"""

Learner = Literal["measure_once", "dpvi"]


def agreement_text(learner: Learner = "measure_once", *, linked: bool = False) -> str:
    """The agreement about the aligned pair of tables, or about the pair that is linked by person number, as TOML."""
    dpvi = learner == "dpvi"
    title = "The town's twin, learned step by step" if dpvi else "The town's twin, from tables measured once"
    name = "care-and-claims" + ("-dpvi" if dpvi else "") + ("-linked" if linked else "")
    head = _HEAD.format(title=title + (", linked by person number" if linked else ""), name=name)
    columns = _COLUMNS.format(
        linkage=_LINKED if linked else _ALIGNED,
        age_family='family = "beta"                  # a density on the bounds, instead of bins\n' if dpvi else "",
        diagnoses=_quoted(town.DIAGNOSES),
        severities=_quoted(town.SEVERITIES),
        plans=_quoted(town.PLANS),
        employments=_quoted(town.EMPLOYMENTS),
        income_bands=_quoted(town.INCOME_BANDS),
    )
    return head + (_HELPER if dpvi else "") + columns + (_DPVI if dpvi else _MEASURE_ONCE)


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f'"{name}"' for name in names)
