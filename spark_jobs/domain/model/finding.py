"""Values of the rules: rule hits, conditions, findings with their evidence."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from spark_jobs.domain.model.causes import PRODUCED_WAITS
from spark_jobs.domain.model.history import Connection
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.window import SECOND, Time, joined

#: What is back so soon never went away: findings of one condition that are at most so far apart are one incident.
QUIET = 600 * SECOND


class Counts(NamedTuple):
    """Readable queues without owner, and with more than one."""

    unassigned_queues: int
    double_owned_queues: int


class ConflictingValue(NamedTuple):
    """One of the answers that differ, and the clients that gave it; `client_ids` None: they are not known."""

    name: str
    client_ids: tuple[str, ...] | None


class FindingQueue(NamedTuple):
    """A queue in the role it plays in a finding."""

    topic: str
    broker_name: str
    queue_id: int
    role: str


@dataclass(frozen=True, slots=True)
class RuleHit:
    """A condition held from `start` to `end` (microseconds), on this queue, or on none in particular. Hits of one
    identity (`topic`, `client_id`, `cause`) that leave no gap are one finding.

    `client_id` is the subject of the finding, `implicated` a client that it names. `minimum_seconds`: how long the
    condition must stand (None: until a group agrees, which takes longer if all hits are of a single broker's `view`),
    unless `minimum_seen_seconds` says how long snapshots must show it, from its beginning to the last of them.
    `seen_at`: the last snapshot that showed it, where that or its persistence is asked for. `severity`:
    INFO, WARN or ERROR, the worst hit counts (None: by its evidence). `measures` (numbers by name, None is unknown),
    `conflicting_values`, `explanation` and `hint` (sentences before and behind the advice of the cause) are those of
    the hit with the greatest `weight`, the latest of equals. `is_assumed`: it follows from a strategy that is not
    known.
    """

    start: int
    end: int
    cause: str | None = None
    topic: str | None = None
    client_id: str | None = None
    view: str | None = None
    seen_at: int | None = None
    queue: FindingQueue | None = None
    implicated: str | None = None
    connections: tuple[Connection, ...] = ()
    member_count: int | None = None
    queue_count: int | None = None
    if_deduplicated: Counts | None = None
    if_unique: Counts | None = None
    minimum_seconds: float | None = None
    minimum_seen_seconds: float | None = None
    severity: str | None = None
    weight: float | None = None
    measures: Mapping[str, float | None] | None = None
    conflicting_values: tuple[ConflictingValue, ...] | None = None
    hint: str | None = None
    explanation: str | None = None
    is_assumed: bool = False


class Condition(NamedTuple):
    """Facts for a rule that completes a finding: who it is about, and what it cost in messages (None: unknown).
    `is_persistent`: two snapshots far enough apart showed it. `is_assumed`: it all follows from an unknown strategy.
    """

    client_id: str | None
    cause: str | None
    connections: tuple[Connection, ...]
    is_persistent: bool
    produced: int | None
    backlog_max: int | None
    is_assumed: bool = False


class Measured(NamedTuple):
    """Messages; None is unknown: no sample, or no commit. Produced and consumed need two samples, and no offset that
    went back between them (a reset, a shared client id, a topic that was created again).
    """

    backlog_start: int | None = None
    backlog_end: int | None = None
    backlog_max: int | None = None
    produced: int | None = None
    consumed: int | None = None


class Persistence(StrEnum):
    """Persistence of a finding: it stood in two snapshots far enough apart, or may have ended by itself."""

    PERSISTENT = "PERSISTENT"
    TRANSIENT = "TRANSIENT"


class QueueEvidence(NamedTuple):
    """One queue of a finding in one role, in a time without a gap: what its samples of that time say."""

    topic: str
    broker_name: str
    queue_id: int
    role: str
    started_at: int
    ended_at: int
    backlog_start: int | None
    backlog_end: int | None
    backlog_max: int | None
    produced: int | None
    consumed: int | None

    @property
    def queue(self) -> MessageQueue:
        """The queue itself."""
        return MessageQueue(self.topic, self.broker_name, self.queue_id)

    @property
    def time(self) -> Time:
        """From its start to its end."""
        return self.started_at, self.ended_at


class Evidence(NamedTuple):
    """The facts of a finding. Totals are over the queues whose value is known, None where it is of none, and
    `backlog_start` where it is not of all whose last sample shows it; `unknown_queues` counts those whose last sample
    does not (None: the finding has no queues).
    """

    persistence: str | None
    connections: list[Connection] | None
    client_ids: list[str]
    member_count: int | None
    queue_count: int | None
    queues: list[QueueEvidence]
    backlog_start: int | None
    backlog_end: int | None
    backlog_max: int | None
    produced: int | None
    consumed: int | None
    unknown_queues: int | None
    if_deduplicated: Counts | None
    if_unique: Counts | None
    measures: list[tuple[str, float | None]] | None
    conflicting_values: list[ConflictingValue] | None

    @property
    def measured(self) -> dict[str, float | None]:
        """The measures by name."""
        return dict(self.measures or ())

    @property
    def named_clients(self) -> frozenset[str]:
        """The client ids that it names, also those of its conflicting values."""
        return frozenset(self.client_ids).union(*(value.client_ids or () for value in self.conflicting_values or ()))

    @property
    def topic(self) -> str | None:
        """The topic of all its queues; None: it has none, or some of several topics."""
        topics = {queue.topic for queue in self.queues}
        return topics.pop() if len(topics) == 1 else None


class Finding(NamedTuple):
    """One condition of a group, clipped to its step; microseconds. `cause`: one of its rule's causes.

    `silenced_because`: why no notification is sent for it; None: it is not silenced. `root_finding_id`: the finding of
    the step that caused this one; None: it is a root cause. `active_since`: when the condition began, possibly before
    the step, and `client_id`: that of its rule hits; None: an older version published it.
    """

    finding_id: str
    rule: str
    severity: str
    topic: str | None
    subject: str
    started_at: int
    ended_at: int
    cause: str | None
    evidence: Evidence
    advice: str
    silenced_because: str | None = None
    root_finding_id: str | None = None
    active_since: int | None = None
    client_id: str | None = None


def unconsumed_times(findings: Iterable[Finding]) -> Mapping[MessageQueue, Sequence[Time]]:
    """By queue, the times in which findings say that nobody consumes it, though no offset tells what waits there."""
    times: dict[MessageQueue, list[Time]] = {}
    for finding in findings:
        for queue in finding.evidence.queues:
            if queue.backlog_max and (queue.backlog_end is None or finding.cause in PRODUCED_WAITS):
                times.setdefault(queue.queue, []).append(queue.time)
    return {queue: joined(of_queue) for queue, of_queue in times.items()}
