"""Which slice of theta is whose."""

from __future__ import annotations

from model.small_models import mixed

from vertwin.agreement import Column
from vertwin.domains import Binary, Category
from vertwin.model.packing import pack


def test_slices_tile_theta() -> None:
    packing = mixed()
    covered = [0]  # the weight's logit
    for block in packing.blocks:
        assert block.stop - block.start == block.family.parameters
        covered += range(block.start, block.stop)
    assert covered == list(range(packing.width))


def test_a_holders_slices_are_contiguous_and_in_order() -> None:
    packing = mixed()
    spans = [packing.span(holder) for holder in packing.holders]
    assert [(s.start, s.stop) for s in spans] == [(1, 6), (6, 11)]


def test_pack_follows_the_agreements_columns() -> None:
    smoker = Column("smoker", "clinic", Binary(values=("no", "yes")))
    town = Column("town", "insurer", Category(categories=("north", "south", "west")))
    packing = pack(5, [("clinic", [smoker]), ("insurer", [town])])
    assert packing.shape == (5, 1 + 1 + 3)
    assert [(b.column, b.holder, b.start, b.stop) for b in packing.blocks] == [
        ("smoker", "clinic", 1, 2),
        ("town", "insurer", 2, 5),
    ]
