"""Histories of one group, recorded every 10 s, and their intervals as text; times are seconds of the step.

The step lasts 300 s, a snapshot holds 30 s: the replayed span begins at -180, what may be read at -210. The oracle of
the random histories must say the same of every history written by hand.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from spark_jobs.domain.evaluate import evaluate
from spark_jobs.domain.kernel.audited_step import RebalanceInterval
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import SECOND, AuditSettings
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from tests.conformance.kernel_vs_oracle import by_kernel, by_oracle
from tests.support.oracle.snapshots import (
    NOT_CONFIGURED,
    ClientSnapshot,
    Group,
    MembershipSnapshot,
    OffsetSnapshot,
    RouteSnapshot,
    Software,
    StepWindow,
)
from tests.support.times import START, micros

CADENCE = 10
#: Seconds at which everybody is asked.
ROUNDS = range(-210, 300, CADENCE)
_THRESHOLDS = Thresholds(persistent_after_seconds=150, verdict_window_seconds=120)
SETTINGS = AuditSettings(300 * SECOND, CADENCE * SECOND, 30 * SECOND, _THRESHOLDS)
_WINDOW = StepWindow(START, START + SETTINGS.step, SETTINGS.cadence, SETTINGS.max_gap, 150 * SECOND, 120 * SECOND, 5)
A = RouteEntry("a", 6, 4, 4)
B = RouteEntry("b", 6, 4, 4)
CLASS = "org.apache.rocketmq.client.consumer.rebalance."


@dataclass(frozen=True)
class History:
    """What was recorded of a group and its topic T."""

    memberships: tuple[MembershipSnapshot, ...] = ()
    routes: tuple[RouteSnapshot, ...] = ()
    clients: tuple[ClientSnapshot, ...] = ()
    offset_times: tuple[int, ...] = ()
    configured: StrategySettings = NOT_CONFIGURED
    software: Mapping[str, Software] = field(default_factory=dict)

    @property
    def group(self) -> Group:
        offsets = tuple(OffsetSnapshot(captured_at, ()) for captured_at in self.offset_times)
        recorded = (self.memberships, {"T": self.routes}, self.clients, {"T": offsets})
        return Group(*recorded, self.configured, software=self.software)


def listed(
    broker: str,
    changes: Mapping[int, str | None],
    *,
    late: int = 0,
    topics: Iterable[str] = ("T",),
    rounds: Iterable[int] = ROUNDS,
) -> tuple[MembershipSnapshot, ...]:
    """A broker's list every 10 s, `late` seconds into each round, from each time on; None: no answer."""
    snapshots = []
    for second in rounds:
        now = second + late
        ids = [ids for since, ids in sorted(changes.items()) if since <= now]
        if ids and ids[-1] is not None:
            members = tuple(ids[-1].split())
            snapshots.append(MembershipSnapshot(broker, micros(now), members, frozenset(topics)))
    return tuple(snapshots)


def routed(
    changes: Mapping[int, tuple[RouteEntry, ...] | None], rounds: Iterable[int] = ROUNDS
) -> tuple[RouteSnapshot, ...]:
    """The route every 10 s, from each time on; None: not recorded."""
    snapshots = []
    for second in rounds:
        routes = [entries for since, entries in sorted(changes.items()) if since <= second]
        if routes and routes[-1] is not None:
            snapshots.append(RouteSnapshot(micros(second), routes[-1]))
    return tuple(snapshots)


def client(
    client_id: str, second: float, strategy_class: str | None = None, *, topics: Iterable[str] | None = None
) -> ClientSnapshot:
    known = None if topics is None else frozenset(topics)
    return ClientSnapshot(client_id, micros(second), strategy_class=strategy_class, topics=known)


#: Two members, one broker, nothing happens.
CALM = History(listed("a", {-210: "c1 c2"}), routed({-210: (A,)}))


def calm(**changes: object) -> History:
    return replace(CALM, **changes)  # type: ignore[arg-type]


def intervals(history: History) -> list[RebalanceInterval]:
    """Those of T, with the warm-up: the kernel and the oracle agree on them."""
    group = history.group
    evaluated = list(evaluate(by_kernel.history_of(group), history.configured, SETTINGS, START, START + SETTINGS.step))
    expected = by_oracle.said(group, _WINDOW, SETTINGS.thresholds)
    assert [by_kernel.said(step).intervals for step in evaluated] == [expected.intervals for _ in evaluated]
    assert evaluated or not expected.intervals
    return [interval for step in evaluated for interval in step.step.intervals if interval.topic == "T"]


def clipped(history: History) -> list[RebalanceInterval]:
    """Those of T inside the step."""
    return [
        replace(interval, start=max(interval.start, START)) for interval in intervals(history) if interval.end > START
    ]


def rows(history: History) -> list[str]:
    """The step's intervals: `0-300 * DEFAULT c1 c2/X d!` (c2 runs X and not AVG, d does not subscribe)."""
    return [as_row(interval) for interval in clipped(history)]


def as_row(interval: RebalanceInterval) -> str:
    start, end = ((moment - START) / SECOND for moment in (interval.start, interval.end))
    words = [f"{start:g}-{end:g}", interval.view, interval.reason or interval.strategy_source or ""]
    for member in interval.members or () if interval.allocation else ():
        other = "" if member.strategy == "AVG" else f"/{member.strategy}"
        words.append(f"{member.client_id}{other}{'' if member.subscribes else '!'}")
    return " ".join(words)
