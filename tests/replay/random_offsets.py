"""Random offset readings: queues that are consumed, stand still, were never committed, go back, are made anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from spark_jobs.domain.intervals import EPOCH

_WAYS = (
    *("caught up", "caught up", "slow", "slow", "catching up", "stuck", "stuck", "still"),
    *("back", "ahead", "anew", "never", "missing"),
)


class Entry(NamedTuple):
    """One queue of a snapshot, as its column has it."""

    broker_name: str
    queue_id: int
    broker_offset: int
    consumer_offset: int
    pull_offset: int
    last_timestamp: int | None


class OffsetSnapshot(NamedTuple):
    captured_at: datetime
    offsets: tuple[Entry, ...]


@dataclass
class _Queue:
    broker_name: str
    queue_id: int
    way: str
    end: int
    #: None: never committed.
    consumed: int | None

    def go_on(self, random: Random) -> None:
        """Until the next reading; 32 messages of lag are allowed."""
        if random.random() < 0.2:
            self.way = random.choice(_WAYS)
        come, consumed = random.choice((0, 1, 16, 33)), self.consumed or 0
        if self.way == "anew":
            self.end, self.way = 0, "slow"
        if self.way not in ("still", "catching up"):
            self.end += come
        ways = {
            "caught up": self.end,
            "slow": min(consumed + come // 2, self.end),
            "catching up": min(consumed + 20, self.end),
            "back": max(consumed - random.choice((1, 40)), 0),
            "ahead": self.end + 3,
            "never": None,
        }
        self.consumed = ways.get(self.way, self.consumed)
        if self.way == "back":
            self.way = random.choice(("back", "slow", "catching up", "stuck"))

    def entry(self, random: Random, now: datetime) -> Entry:
        if self.consumed is None:
            return Entry(self.broker_name, self.queue_id, self.end, 0, 0, random.choice((0, 0, None)))
        now_ms = (now - EPOCH) // timedelta(milliseconds=1)
        stored = random.choice((now_ms - 2500, now_ms - 1, now_ms, now_ms + 400, 0, None))
        return Entry(self.broker_name, self.queue_id, self.end, self.consumed, self.consumed, stored)


def random_offsets(random: Random, brokers: Iterable[str], rounds: Iterable[datetime]) -> Iterator[OffsetSnapshot]:
    """One snapshot a round, of four queues a broker."""
    queues = [
        _Queue(broker, number, random.choice(_WAYS), random.choice((0, 100)), random.choice((0, 60, 100, None)))
        for broker in brokers
        for number in range(4)
    ]
    for now in rounds:
        for queue in queues:
            queue.go_on(random)
        listed = () if random.random() < 0.03 else [queue for queue in queues if queue.way != "missing"]
        yield OffsetSnapshot(now, tuple(queue.entry(random, now) for queue in listed))
