"""Answers of the kernel and of the oracle about one step of a group, in one form."""

from typing import Any, NamedTuple

from spark_jobs.domain.rocketmq.strategies import Variant
from tests.support.oracle.moves import Place
from tests.support.oracle.ownership import QueueOwnership
from tests.support.oracle.piled_up import PiledUp
from tests.support.oracle.progress import Progress
from tests.support.oracle.status import Backlog, Counts, Growth


class IntervalStart(NamedTuple):
    """Why an interval began and what that moved; `moves` and what follows: None, it is compared with no other one."""

    triggers: tuple[tuple[str, str | None], ...]
    moves: tuple[int | None, ...] | None = None
    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    handed_over: frozenset[Place] = frozenset()


class Line(NamedTuple):
    """One interval, over the step and its warm-up; members, queues and why it began also where it was not replayed, as
    far as they are known, and the rest only where it was.
    """

    topic: str
    view: str
    start: int
    end: int
    status: str
    reason: str | None
    source: str | None = None
    members: tuple[tuple[str, str, bool, Variant, bool], ...] = ()
    queues: tuple[Place, ...] = ()
    owned: tuple[QueueOwnership, ...] = ()
    #: Unassigned and double-owned queues; the same with every id once, and with ids of their own: None, no twins.
    counts: tuple[int, int] | None = None
    if_deduplicated: tuple[int, int] | None = None
    if_unique: tuple[int, int] | None = None
    began: IntervalStart | None = None

    @property
    def order(self) -> Any:
        return self.topic, self.start, self.view


class ProgressLine(NamedTuple):
    """One queue in one interval inside the step."""

    topic: str
    view: str
    start: int
    end: int
    place: Place
    measured: Progress


class Said(NamedTuple):
    """Everything that is compared of one step. `rebalances`: (moment, topic, start); `counts` None: no interval.
    `unknown`: queues without a known backlog that count.
    """

    intervals: list[Line]
    progress: list[ProgressLine]
    rebalances: list[tuple[int, str, int]]
    counts: Counts | None
    backlog: Backlog | None
    growths: dict[str, Growth]
    piled_up: dict[tuple[str, Place], PiledUp]
    unknown: list[tuple[str, Place]]
