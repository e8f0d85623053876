"""The explanation of one interval in one membership view, from published rows, as `--json` has it. Null is unknown."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import itemgetter

from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.message_queue import MessageQueue, queue_ranges
from spark_jobs.domain.model.statuses import Reason, Status
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.rocketmq.strategies import AVG, Parameters, Strategy, StrategySettings, variant_of
from spark_jobs.show.measured import SampledBacklog
from spark_jobs.show.rows import Row
from spark_jobs.show.text.arithmetic import allocation_arithmetic
from spark_jobs.show.text.backlog import ViewBacklog, backlog_of
from spark_jobs.show.text.phrases import DOUBLE_OWNED, TRIGGERS, UNASSIGNED


@dataclass(frozen=True)
class GroupStep:
    """One group, one moment and the published rows of the step that contains it.

    `intervals`, `findings`: of the step; `allocations`, `progress`: of the intervals at the moment and, before an
    unobserved one, of the last observed one. `settings`, `allowed_lag`: of the run that published the step. `topic`:
    only this one. `proxies`: client ids that each listed last. `sampled`: by topic its last sample before the moment.
    """

    cluster: str
    consumer_group: str
    at: datetime
    step: Interval
    intervals: Sequence[Row]
    allocations: Sequence[Row] = ()
    progress: Sequence[Row] = ()
    findings: Sequence[Row] = ()
    status: Row | None = None
    settings: StrategySettings = field(default_factory=StrategySettings)
    allowed_lag: int = Thresholds().allowed_lag
    topic: str | None = None
    proxies: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sampled: Mapping[str, SampledBacklog] = field(default_factory=dict)


def intervals_at(rows: Sequence[Row], at: datetime) -> list[Row]:
    """The rows whose interval contains the moment, sorted by membership view."""
    current = [row for row in rows if row["interval_start"] <= at < row["interval_end"]]
    return sorted(current, key=lambda row: str(row["membership_view"]))


def last_before(rows: Sequence[Row], at: datetime) -> Row | None:
    """The last observed interval that ended before the moment; of several views the first by name."""
    ended = [row for row in rows if row["interval_end"] <= at and row["status"] != Status.UNOBSERVED]
    return min(ended, key=lambda row: (-row["interval_end"].timestamp(), row["membership_view"]), default=None)


def first_after(rows: Sequence[Row], at: datetime) -> Row | None:
    """The first observed interval that begins after the moment; of several views the first by name."""
    later = [row for row in rows if row["interval_start"] > at and row["status"] != Status.UNOBSERVED]
    return min(later, key=lambda row: (row["interval_start"], row["membership_view"]), default=None)


@dataclass(frozen=True)
class MemberShare:
    """One connection at its position; `backlog`: of its queues."""

    position: int
    client_id: str
    client_addr: str | None
    language: str | None
    version: int | None
    strategy: str | None
    subscribes: bool | None
    #: Whether another connection has its client id.
    duplicate: bool
    queues: str
    queue_count: int
    backlog: ViewBacklog | None


@dataclass(frozen=True)
class UnhealthyQueues:
    """Queues with no or several `owners` (positions), for one cause; `client_id`: that of the cause, if any."""

    queues: str
    queue_count: int
    cause: str
    why: str
    client_id: str | None
    owners: list[int]
    backlog: ViewBacklog | None


@dataclass(frozen=True)
class IntervalStart:
    """The beginning of an interval: `triggers` as clauses, empty without a difference; `known`: in the window."""

    known: bool
    trigger_type: str | None
    triggers: list[str]
    queues_moved: int | None
    queues_preserved: int | None
    minimum_moves: int | None


@dataclass(frozen=True)
class ObservedNeighbor:
    """An observed interval next to an unobserved moment: `at` is its nearer end; and its totals."""

    at: datetime
    status: str
    reason: str | None
    strategy: str | None
    member_count: int | None
    queue_count: int | None
    unassigned_queues: int | None
    double_owned_queues: int | None
    backlog: ViewBacklog | None


@dataclass(frozen=True)
class IntervalExplanation:
    """The interval at the moment, in one membership view: of all hosts (`*`), or of one broker.

    `or_earlier`, `or_later`: the step cuts it. `arithmetic`: sentences. `settled_at`: until then members may have the
    former route's queues. `strategy_alternatives`: others that explain the reported queues. `missing`: client ids that
    only other views list; `proxies`: client ids behind each proxy.
    """

    membership_view: str
    status: str
    reason: str | None
    start: datetime
    end: datetime
    or_earlier: bool
    or_later: bool
    began: IntervalStart
    strategy: str | None
    strategy_source: str | None
    members: list[MemberShare]
    missing: list[str]
    queues: str
    queue_count: int | None
    arithmetic: list[str]
    unassigned: list[UnhealthyQueues]
    double_owned: list[UnhealthyQueues]
    last_known: ObservedNeighbor | None
    first_known: ObservedNeighbor | None
    proxies: Mapping[str, Sequence[str]] = field(default_factory=dict)
    strategy_alternatives: Sequence[str] | None = None
    settled_at: datetime | None = None


#: A queue by its broker and number.
_Key = tuple[str, int]
_key, _connection = itemgetter("broker_name", "queue_id"), itemgetter("client_id", "client_addr")


def interval_explanation(
    group: GroupStep, topic_intervals: Sequence[Row], topic_progress: Sequence[Row], row: Row
) -> IntervalExplanation:
    """Explain the interval `row`, among the `topic_intervals` of its topic; `topic_progress`: of the moment."""
    owned = _alike(group.allocations, row, "topic", "membership_view", "interval_start")
    progress = {_key(queue): queue for queue in topic_progress}
    start, end, before, after = row["interval_start"], row["interval_end"], None, None
    if _is_unobserved(row):
        start, end = _snapshot_gap(topic_intervals, row)
        before, after = last_before(topic_intervals, group.at), first_after(topic_intervals, group.at)
    return IntervalExplanation(
        **{name: row[name] for name in _AS_PUBLISHED},
        start=start,
        end=end,
        or_earlier=start <= group.step.start,
        or_later=end >= group.step.end,
        began=_began(row),
        members=_members(row, owned, progress),
        missing=sorted(_ids(*intervals_at(topic_intervals, group.at)) - _ids(row)),
        queues=queue_ranges(map(_key, row["queues"] or ())),
        arithmetic=_arithmetic(row, group.settings) if row["status"] == Status.REPLAYED else [],
        unassigned=_unassigned(owned, progress),
        double_owned=_double_owned(row, owned, progress),
        last_known=_neighbor(group, before, "interval_end"),
        first_known=_neighbor(group, after, "interval_start"),
        settled_at=max((settled for allocation in owned if (settled := allocation.get("settled_at"))), default=None),
        proxies=group.proxies if row["reason"] == Reason.CONSUMED_THROUGH_PROXY else {},
    )


_AS_PUBLISHED = (
    *("membership_view", "status", "reason", "strategy", "strategy_source", "strategy_alternatives", "queue_count"),
)


def _is_unobserved(row: Row) -> bool:
    return bool(row["status"] == Status.UNOBSERVED)


def _ids(*rows: Row) -> set[str]:
    return {member["client_id"] for row in rows for member in row["members"] or ()}


def _alike(rows: Sequence[Row], row: Row, *names: str) -> list[Row]:
    """The rows that have the values of this one in these columns."""
    return [each for each in rows if all(each[name] == row[name] for name in names)]


def _snapshot_gap(topic_intervals: Sequence[Row], row: Row) -> tuple[datetime, datetime]:
    """The whole unobserved time around the interval: adjacent unobserved ones differ only in what was missing."""
    start, end = row["interval_start"], row["interval_end"]
    unobserved = filter(_is_unobserved, topic_intervals)
    in_order = sorted(map(itemgetter("interval_start", "interval_end"), unobserved), key=itemgetter(0))
    for other_start, other_end in reversed(in_order):
        start = other_start if other_end == start else start
    for other_start, other_end in in_order:
        end = other_end if other_start == end else end
    return start, end


def _began(row: Row) -> IntervalStart:
    triggers = [
        TRIGGERS[trigger["trigger_type"]].format(trigger["subject"])
        for trigger in row["triggers"] or ()
        if trigger["trigger_type"] in TRIGGERS
    ]
    counts = {name: row[name] for name in ("queues_moved", "queues_preserved", "minimum_moves")}
    return IntervalStart(
        known=row["triggers"] is not None, trigger_type=row["trigger_type"], triggers=triggers, **counts
    )


def _members(row: Row, owned: Sequence[Row], progress: Mapping[_Key, Row]) -> list[MemberShare]:
    members = row["members"] or ()
    connections = Counter(member["client_id"] for member in members)
    queues_per_owner: dict[tuple[str, str | None], list[_Key]] = defaultdict(list)
    for allocation in owned:
        for owner in allocation["owners"]:
            queues_per_owner[_connection(owner)].append(_key(allocation))
    names = ("client_id", "client_addr", "language", "version", "strategy", "subscribes")
    return [
        MemberShare(
            **{name: member[name] for name in names},
            position=position,
            duplicate=connections[member["client_id"]] > 1,
            queues=queue_ranges(queues),
            queue_count=len(queues),
            backlog=_backlog(queues, progress),
        )
        for position, member in enumerate(members)
        for queues in [queues_per_owner[_connection(member)]]
    ]


def _backlog(queues: Sequence[_Key], progress: Mapping[_Key, Row]) -> ViewBacklog | None:
    return backlog_of([progress[queue] for queue in queues if queue in progress])


def _arithmetic(row: Row, settings: StrategySettings) -> list[str]:
    if row["strategy"] is None and row["members"]:
        return []
    rooms = row["observed_rooms"]
    observed = Parameters(row["observed_virtual_nodes"], None if rooms is None else frozenset(rooms))
    members = [{**member, "strategy": _run_by(member, observed, settings)} for member in row["members"]]
    queues = [MessageQueue(row["topic"], *_key(queue)) for queue in row["queues"]]
    return allocation_arithmetic(members, row["topic"], queues)


def _run_by(member: Row, observed: Parameters, settings: StrategySettings) -> Strategy:
    name = member["strategy"] or AVG
    return settings.named(name, variant_of(name, member["language"], member["version"], observed), observed)


def _unassigned(owned: Sequence[Row], progress: Mapping[_Key, Row]) -> list[UnhealthyQueues]:
    """One per (cause, client id in whose share they lie)."""
    rows = (row for row in owned if row["unassigned_cause"])
    return [
        _unhealthy(queues, progress, cause, UNASSIGNED[cause].format(client_id), client_id)
        for (cause, client_id), queues in by_key(rows, itemgetter("unassigned_cause", "unassigned_client_id")).items()
    ]


def _double_owned(row: Row, owned: Sequence[Row], progress: Mapping[_Key, Row]) -> list[UnhealthyQueues]:
    """One per (cause, owners)."""
    members = [_connection(member) for member in row["members"] or ()]

    def cause_and_owners(allocation: Row) -> tuple[str, tuple[int, ...]]:
        owners = {*map(_connection, allocation["owners"])}
        positions = (position for position, member in enumerate(members) if member in owners)
        return allocation["double_owned_cause"], tuple(positions)

    rows = (allocation for allocation in owned if allocation["double_owned_cause"])
    return [
        _unhealthy(queues, progress, cause, DOUBLE_OWNED[cause], owners=owners)
        for (cause, owners), queues in by_key(rows, cause_and_owners).items()
    ]


def _unhealthy(
    rows: Sequence[Row],
    progress: Mapping[_Key, Row],
    cause: str,
    why: str,
    client_id: str | None = None,
    owners: Sequence[int] = (),
) -> UnhealthyQueues:
    queues = [*map(_key, rows)]
    return UnhealthyQueues(
        queue_ranges(queues), len(queues), cause, why, client_id, [*owners], _backlog(queues, progress)
    )


def _neighbor(group: GroupStep, row: Row | None, nearest: str) -> ObservedNeighbor | None:
    if row is None:
        return None
    progress = _alike(group.progress, row, "topic", "interval_start")
    names = ("status", "reason", "strategy", "member_count", "queue_count", "unassigned_queues", "double_owned_queues")
    return ObservedNeighbor(at=row[nearest], **{name: row[name] for name in names}, backlog=backlog_of(progress))
