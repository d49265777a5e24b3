"""How large an agreement may be: numbers beyond these are slips of the pen, or tables that nobody could work with.

The limits are generous; each says what it guards. They are data, so that a test and docs/agreement.md can name them.
"""

from __future__ import annotations

from typing import Final

PARTIES: Final = 64
COLUMNS: Final = 2_000
NAME_CHARACTERS: Final = 64  # of parties, data sets and agreements: they become file names and viewer names
COLUMN_NAME_CHARACTERS: Final = 200
TEXT_CHARACTERS: Final = 10_000  # purpose, source and the like
ROWS: Final = 100_000_000_000
COMPONENTS: Final = 10_000
STEPS: Final = 100_000_000
RESTARTS: Final = 1_000
NUMBER: Final = 1e15  # bounds and edges: below 2^53, so that whole numbers stay exact in a float
EPSILON: Final = 100_000.0  # the paper's own setting reaches 20,020 towards a party
SIGMA: Final = 1e9
CODES: Final = 100_000  # values of one column's domain

# measure_once counts every pair of columns. For two parties with D_p and D_q one-hot cells that is a table of
# D_p x D_q noisy counts: computed under MPC, stored in the release, visited by every step of the fit. A million cells
# is 8 MB and, at 30,000 people, already 33 cells for each of them: nothing but noise.
CELLS_PER_PAIR: Final = 1_000_000

# dpvi reveals one noisy number per parameter and step: (components) x (one-hot cells of all parties).
PARAMETERS: Final = 2_000_000
