"""What each protocol of secure computation needs and withstands, as data that statements and plans are made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

ProtocolName = Literal["cheetah", "aby3"]


@dataclass(frozen=True)
class Protocol:
    """One protocol of the engine: how many compute nodes it has, and how many of them may join forces.

    All parties are semi-honest: they follow the protocol and try to learn from what they see. `colluding_nodes` nodes
    that pool what they saw learn nothing beyond the result; one more of them sees everything.
    """

    name: ProtocolName
    nodes: int
    colluding_nodes: int
    assumption: str


PROTOCOLS: Final[dict[ProtocolName, Protocol]] = {
    "cheetah": Protocol(
        "cheetah",
        nodes=2,
        colluding_nodes=1,
        assumption="two holders compute with each other and no third party; neither learns the other's rows",
    ),
    "aby3": Protocol(
        "aby3",
        nodes=3,
        colluding_nodes=1,
        assumption="three computing parties of which no two pool what they saw: two together would see everything",
    ),
}
