"""The structured explanation: what `--json` prints, and what the text is made from. Null is unknown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spark_jobs.show.text.backlog import ViewBacklog


@dataclass(frozen=True)
class MemberStory:
    """One connection at its position; `twin`: another connection has its client id. `backlog` is that of its queues."""

    position: int
    client_id: str
    client_addr: str | None
    language: str | None
    version: int | None
    strategy: str | None
    subscribes: bool | None
    twin: bool
    queues: str
    queue_count: int
    backlog: ViewBacklog | None


@dataclass(frozen=True)
class UnhealthyQueues:
    """Queues that nobody owned, or more than one connection, for one cause; `why` is that cause as a clause.

    `client_id`: in whose share they lie, if that is the cause; `owners`: positions.
    """

    queues: str
    queue_count: int
    cause: str
    why: str
    client_id: str | None
    owners: list[int]
    backlog: ViewBacklog | None


@dataclass(frozen=True)
class IntervalStart:
    """Why an interval began; `triggers` are sentences' parts, empty where nothing differs from what held before.

    `known` is False where the step cannot tell: it stands since before its window.
    """

    known: bool
    trigger: str | None
    triggers: list[str]
    queues_moved: int | None
    queues_preserved: int | None
    least_moves: int | None


@dataclass(frozen=True)
class ObservedNeighbour:
    """An observed interval next to an unobserved moment: its end that is nearer, and its totals."""

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
class ViewStory:
    """The interval that holds the moment, as all hosts of the topic list the members (`*`) or one broker does.

    `or_earlier`, `or_later`: it is cut by the step. `arithmetic`: how the strategy cuts the queues, sentences.
    `missing`: client ids that other views list and this one does not.
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
    members: list[MemberStory]
    missing: list[str]
    queues: str
    queue_count: int | None
    arithmetic: list[str]
    unassigned: list[UnhealthyQueues]
    double_owned: list[UnhealthyQueues]
    last_known: ObservedNeighbour | None
    first_known: ObservedNeighbour | None


@dataclass(frozen=True)
class TopicStory:
    """One topic: a view if its hosts agree, else one each. `backlog` is that of the whole topic in the interval."""

    topic: str
    is_retry: bool
    views: list[ViewStory]
    backlog: ViewBacklog | None


@dataclass(frozen=True)
class GroupStory:
    """One group at one moment. `quiet_topics`: topics of which nothing has to be told; `findings`, the worst first, and
    `status` (None: the group has none in this step) as published.
    """

    cluster: str
    consumer_group: str
    at: datetime
    step: str
    topics: list[TopicStory]
    quiet_topics: list[str]
    findings: list[dict[str, Any]]
    status: dict[str, Any] | None
