"""Real: a number between two bounds, such as a blood pressure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from vertwin.domains import arrow
from vertwin.domains.arrow import Column, Flags, Floats, Storage
from vertwin.domains.numeric import NATURAL_MARGIN, Numeric


@final
@dataclass(frozen=True)
class Real(Numeric):
    """A number from bounds[0] to bounds[1], both inside. A boolean is not taken for a number."""

    kind: ClassVar[str] = "real"
    whole: ClassVar[bool] = False
    storages: ClassVar[frozenset[Storage]] = frozenset({Storage.WHOLE, Storage.NUMBER, Storage.TEXT, Storage.NOTHING})

    def _column(self, values: Floats, missing: Flags) -> Column:
        return arrow.column_of_numbers(values, missing)

    def _scale(self, values: Floats) -> Floats:
        low, high = self.bounds
        return np.clip((values - low) / (high - low), NATURAL_MARGIN, 1 - NATURAL_MARGIN)

    def _unscale(self, natural: Floats) -> Floats:
        low, high = self.bounds
        return low + natural * (high - low)
