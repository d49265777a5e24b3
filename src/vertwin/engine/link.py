"""The link as engines and learners see it: public bytes between the parties of a session, in order and whole."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence


class Link(ABC):
    """What goes through a link is seen by the peer it goes to: shares, digests, noisy tables, never a cell."""

    me: str
    everyone: tuple[str, ...]

    @abstractmethod
    def send(self, to: str, payload: bytes) -> None: ...

    @abstractmethod
    def receive(self, from_: str) -> bytes:
        """The next message of that peer; a coded error if the peer is gone."""

    @abstractmethod
    def check(self) -> None:
        """Raise a coded error if any peer is known to be gone; called while waiting for something else."""

    def broadcast(self, topic: str, payload: bytes, to: Sequence[str] | None = None) -> None:
        """To everyone (or those named) but oneself. COST: one message each."""
        for peer in self.everyone if to is None else to:
            if peer != self.me:
                self.send(peer, topic.encode() + b"\0" + payload)

    def receive_on(self, topic: str, from_: str) -> bytes:
        """The peer's message on this topic; another topic means that two parties run different texts: our bug."""
        heading, _, payload = self.receive(from_).partition(b"\0")
        assert heading == topic.encode(), f"expected {topic!r} from {from_}, got {heading!r}"
        return payload

    def exchange(self, topic: str, payload: bytes, among: Sequence[str] | None = None) -> dict[str, bytes]:
        """Everyone's payload on one topic, by name, one's own included. COST: one message to each peer, one round."""
        group = self.everyone if among is None else tuple(among)
        self.broadcast(topic, payload, to=group)
        return {name: payload if name == self.me else self.receive_on(topic, name) for name in group}
