"""Random offset samples: queues that are consumed, stand still, were never committed, go back, are made anew."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.conformance.kernel_vs_oracle.choices import Choices
from tests.conformance.kernel_vs_oracle.courses import course, last, rounds
from tests.support.oracle.snapshots import OffsetEntry, OffsetSnapshot


class _Way(NamedTuple):
    """How a queue goes on, every round: so many messages come in; `how` it is consumed; `stored`: ms before now."""

    come: int
    how: str
    stored: int | None


_HOW = (
    *("caught up", "slow", "slow", "slow", "stuck", "stuck", "stuck", "catching up", "back", "far back", "far back"),
    *("to the beginning", "ahead", "anew", "slave", "never", "missing", "unknown", "end unknown"),
)


class _Queue:
    """A queue as it goes on; 32 messages of lag are allowed."""

    def __init__(self, choices: Choices, steps: int) -> None:
        self.end, self.consumed = choices.of((100, 0)), choices.of((100, 60, 60, 0, None))
        self.ways = course(choices, steps, lambda: self._way(choices), (0, 1, 2, 3, 4))
        self.before: _Way | None = None

    @staticmethod
    def _way(choices: Choices) -> _Way:
        return _Way(choices.of((0, 16, 1, 33)), choices.of(_HOW), choices.of((2500, 2500, 90_000, 1, 0, -400, None)))

    def go_on(self, number: int) -> _Way:
        """Until the next round."""
        way = last(self.ways, number)
        is_new, self.before = way is not self.before, way
        if way.how == "anew" and is_new:
            self.end = 0
        self.end += 0 if way.how == "catching up" else way.come
        consumed = self.consumed or 0
        changed = {
            "caught up": self.end,
            "slow": min(consumed + way.come // 2, self.end),
            "catching up": min(consumed + 20, self.end),
            "back": max(consumed - 1, 0),
            "far back": max(consumed - 40, 0) if is_new else consumed,
            "to the beginning": 0,
            "ahead": self.end + 3,
            "never": None,
        }
        self.consumed = changed.get(way.how, self.consumed)
        return way

    def entry(self, place: tuple[str, int], way: _Way, at: int) -> OffsetEntry:
        if self.consumed is None or way.how == "to the beginning":
            return OffsetEntry(*place, self.end, 0, 0 if way.stored else None)
        end = None if way.how == "end unknown" else self.end
        stored = None if way.stored is None else at // 1000 - way.stored
        if way.how == "slave":
            return OffsetEntry(*place, self.end // 2, min(self.consumed, self.end // 3), stored)
        return OffsetEntry(*place, end, None if way.how == "unknown" else self.consumed, stored)


def offsets_of(choices: Choices, steps: int, brokers: Sequence[str]) -> Iterator[OffsetSnapshot]:
    """Two queues of two brokers."""
    times = list(rounds(choices, steps).times())
    queues = {(broker, number): _Queue(choices, steps) for broker in brokers[:2] for number in range(2)}
    for number, at in times:
        ways = {place: queue.go_on(number) for place, queue in queues.items()}
        entries = (queues[place].entry(place, way, at) for place, way in ways.items() if way.how != "missing")
        yield OffsetSnapshot(at, tuple(entries))
