"""Input and output of the fold: findings with group and step, incidents, and unknown time; in microseconds."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from spark_jobs.domain.model.finding import ConflictingValue, Finding
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.window import Time, joined


class PublishedFinding(NamedTuple):
    """A finding, and whose it is."""

    cluster: str
    consumer_group: str
    step_start: int
    finding: Finding

    @property
    def group(self) -> tuple[str, str]:
        """The cluster and the consumer group."""
        return self.cluster, self.consumer_group


class AuditedTime(NamedTuple):
    """The steps that were audited, all of one length: (cluster, consumer group, step start). `deletions`: (cluster,
    consumer group, topic, when it was first seen that no broker has the topic any more; topic None: the group).
    `silent`: by cluster the times in which nothing of it was recorded (`domain.coverage.silent_times`).
    `unknown`: by group a time before these steps in which its state is unknown.
    """

    steps: Iterable[tuple[str, str, int]]
    step: int
    deletions: Iterable[tuple[str, str, str | None, int]] = ()
    silent: Mapping[str, Sequence[Time]] = MappingProxyType({})
    unknown: Mapping[tuple[str, str], Time] = MappingProxyType({})


class CauseTime(NamedTuple):
    """A cause that a condition had, and when it was seen first and last."""

    cause: str
    started_at: int
    ended_at: int


class IncidentPart(NamedTuple):
    """One condition of an incident in one group, over all its steps. Of its worst finding, the latest of equals:
    `cause`, `detail` (added to the rule's headline), `conflicting_values`, `brokers` of its queues. `started_at` and
    `ended_at`: when it was seen; `finding_ids`: of a long one the first and the last (`more_findings`: the number of
    others); `client_ids`: all that it names; `cause_spans`: every cause that it had, the first first; `resolved_at`: as
    that of `Incident`.
    """

    consumer_group: str
    rule: str
    cause: str | None
    severity: str
    topic: str | None
    subject: str
    started_at: int
    ended_at: int
    finding_ids: tuple[str, ...]
    client_ids: tuple[str, ...] = ()
    detail: str = ""
    conflicting_values: tuple[ConflictingValue, ...] = ()
    client_id: str | None = None
    cause_spans: tuple[CauseTime, ...] = ()
    brokers: tuple[str, ...] = ()
    more_findings: int = 0
    resolved_at: int | None = None

    @property
    def finding_count(self) -> int:
        """The number of its findings."""
        return len(self.finding_ids) + self.more_findings

    @property
    def names_more(self) -> bool:
        """Return whether its subject is a client or queues, and not its topic or group."""
        return self.client_id is not None or self.subject not in (self.topic, self.consumer_group)


class GroupCost(NamedTuple):
    """The cost for one group: highest backlog (None: unknown), time of its queues without owner, and its team."""

    consumer_group: str
    peak_backlog_messages: int | None
    unassigned_queue_minutes: float
    team: str | None = None


@dataclass(frozen=True)
class Incident:
    """One event, from its first root cause to its last, or to the last symptom above INFO about the same queues.
    `resolved_at` None: it lasts as long as its groups are known; `last_seen_at`: the end of its last finding.
    `severity`: the worst of all its findings. `causes`: all of its root causes in order; `cause`, `advice` and
    `commands` (to type) are those of the worst, the latest of equals. `client_ids` are those of root causes; `topics`
    and `queues` also of symptoms. While it is open, `headline`, `cause`, `advice`, `queues`
    and the peak backlog are of what lasts. `peak_backlog_messages`: of all groups, None: unknown; `backlog_is_minimum`:
    queues without an offset may have more. `unassigned_queue_minutes`: time of queues without owner, added up. `costs`:
    both by group. `resolution`: why it is over.
    """

    incident_id: str
    cluster: str
    rule: str
    cause: str | None
    causes: tuple[str, ...]
    severity: str
    headline: str
    opened_at: int
    resolved_at: int | None
    last_seen_at: int
    consumer_groups: tuple[str, ...]
    topics: tuple[str, ...]
    queues: tuple[MessageQueue, ...]
    client_ids: tuple[str, ...]
    peak_backlog_messages: int | None
    unassigned_queue_minutes: float
    advice: str
    root_causes: tuple[IncidentPart, ...]
    symptoms: tuple[IncidentPart, ...]
    costs: tuple[GroupCost, ...]
    resolution: str | None = None
    backlog_is_minimum: bool = False
    commands: tuple[str, ...] = ()

    @property
    def teams(self) -> tuple[str, ...]:
        """The teams of its groups, each once."""
        return tuple(dict.fromkeys(cost.team for cost in self.costs if cost.team))


#: Why an incident is over: its groups were observed without it; that in which it ended last, or its topic, was deleted.
CLEARED, DELETED, TOPIC_DELETED = "CLEARED", "DELETED", "TOPIC_DELETED"
#: After everything.
END_OF_TIME = 1 << 62


class UnknownTime:
    """The times in which a group's state is unknown: steps that were not audited, and blind findings; since when
    conditions are known to have held; and when groups and topics were deleted. `unreported`: the ids of findings that
    open no incident. `steps`: the starts of the audited steps by cluster and consumer group.
    """

    def __init__(
        self,
        audited: AuditedTime,
        findings: Iterable[PublishedFinding],
        blind: frozenset[str],
        unreported: frozenset[str],
    ) -> None:
        steps: dict[tuple[str, str], set[int]] = defaultdict(set)
        times: dict[tuple[str, str], list[Time]] = defaultdict(list)
        self._unreported: set[tuple[str, str, str, int]] = set()
        for cluster, consumer_group, start in audited.steps:
            steps[cluster, consumer_group].add(start)
        self._deletions: dict[tuple[str, str, str | None], list[int]] = defaultdict(list)
        for cluster, consumer_group, topic, at in sorted(set(audited.deletions), key=itemgetter(3)):
            self._deletions[cluster, consumer_group, topic].append(at)
        for finding in findings:
            steps[finding.group].add(finding.step_start)
            if finding.finding.rule in blind:
                times[finding.group].append((_active_since(finding.finding), finding.finding.ended_at))
            if finding.finding.finding_id in unreported:
                self._unreported.add((*finding.group, finding.finding.rule, finding.step_start))
        for group, time in audited.unknown.items():
            times[group].append(time)
        self.steps, self._step = steps, audited.step
        self._unknown: Mapping[tuple[str, str], Sequence[Time]] = {
            group: joined([*_between(sorted(of_group), audited.step), *times[group]])
            for group, of_group in steps.items()
        }

    def until(self, group: tuple[str, str], end: int) -> int:
        """When the group's state is known again: at `end`, or where its unknown time ends; `END_OF_TIME`: it is not."""
        unknown = self._unknown.get(group, ())
        place = bisect_right(unknown, end, key=lambda time: time[0]) - 1
        return unknown[place][1] if place >= 0 and end < unknown[place][1] else end

    def open_time(self, group: tuple[str, str]) -> Time | None:
        """The unknown time that lasts, up to the end of the last audited step, of which it begins before that."""
        last = max(self.steps.get(group, ()), default=None)
        unknown = self._unknown.get(group, ())
        if last is None or not unknown or unknown[-1][1] != END_OF_TIME:
            return None
        return min(unknown[-1][0], last + self._step), last + self._step

    def deletion(self, group: tuple[str, str], topic: str | None, start: int, end: int) -> int | None:
        """The first deletion of the group (topic None) or of its topic in `[start, end]`; None: there is none."""
        return next((at for at in self._deletions.get((*group, topic), ()) if start <= at <= end), None)

    def began(self, published: PublishedFinding) -> int:
        """When the condition began: as far back before the step as the group was audited, and findings reported."""
        since, at = _active_since(published.finding), published.step_start
        while since < at and self._is_reported(published, at - self._step):
            at -= self._step
        return max(since, at)

    def _is_reported(self, published: PublishedFinding, step_start: int) -> bool:
        is_audited = step_start in self.steps[published.group]
        return is_audited and (*published.group, published.finding.rule, step_start) not in self._unreported


def _active_since(finding: Finding) -> int:
    return finding.started_at if finding.active_since is None else finding.active_since


def _between(steps: Sequence[int], step: int) -> list[Time]:
    following = [*steps[1:], END_OF_TIME]
    return [(start + step, after) for start, after in zip(steps, following, strict=True) if start + step < after]
