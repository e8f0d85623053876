"""The published rows of a group and step, and their explanation, which `--json` prints. Null is unknown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.statuses import Status
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.show.rows import Row
from spark_jobs.show.text.backlog import ViewBacklog


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
    sampled: Mapping[str, "SampledBacklog"] = field(default_factory=dict)


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


@dataclass(frozen=True)
class SampledBacklog:
    """Messages that waited in a topic at one sample, in queues with a known backlog; `most`: in one queue, and the
    `queues` with so many, none if nothing waited. `at_least`: by the table `backlog` in that minute, with queues of
    which no offset is known; None: there are none, or they add nothing.
    """

    sampled_at: datetime
    messages: int
    most: int
    queues: str
    at_least: int | None = None


@dataclass(frozen=True)
class TopicExplanation:
    """One topic: one view if its hosts agree, else one per broker. `skipped`: messages that offsets jumped over;
    `sampled`: the last sample before the moment, None: the samples are not stored any more, or no backlog is known.
    """

    topic: str
    is_retry: bool
    views: list[IntervalExplanation]
    backlog: ViewBacklog | None
    skipped: int = 0
    sampled: SampledBacklog | None = None


@dataclass(frozen=True)
class GroupExplanation:
    """One group at one moment. `quiet_topics`: retry topics without problems; `findings` (worst first), `roots` (root
    causes at other times) and `status` (None: none in this step) are published rows.
    """

    cluster: str
    consumer_group: str
    at: datetime
    step: Interval
    topics: list[TopicExplanation]
    quiet_topics: list[str]
    findings: list[dict[str, Any]]
    status: dict[str, Any] | None
    roots: list[dict[str, Any]] = field(default_factory=list)
