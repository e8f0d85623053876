"""The findings of one condition in step after step, as one value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from spark_jobs.domain.incidents.values import CLEARED, END_OF_TIME, CauseTime, IncidentPart
from spark_jobs.domain.model.finding import Finding, Persistence
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rules.rule import Rule

#: What is back so soon never went away.
QUIET = 600 * SECOND


#: A condition names so many of its first findings, and of its last.
NAMED_FINDINGS = 50


def bounded(finding_ids: list[str]) -> tuple[list[str], int]:
    """The ids of the first and the last findings, and how many are between them."""
    if len(finding_ids) <= 2 * NAMED_FINDINGS:
        return finding_ids, 0
    named = [*finding_ids[:NAMED_FINDINGS], *finding_ids[-NAMED_FINDINGS:]]
    return named, len(finding_ids) - len(named)


class Identity(NamedTuple):
    """Identity of a condition; its cause and its queues may change. `broker`: of a rule that is `per_broker`."""

    cluster: str
    consumer_group: str
    rule: str
    topic: str | None
    client_id: str | None
    broker: str | None = None


def worst_of(findings: Iterable[Finding]) -> Finding:
    """Of the findings with the worst severity, the latest one of the cause that has most messages waiting."""
    by_severity = by_key(findings, lambda finding: SEVERITIES.index(finding.severity))
    worst = by_severity[max(by_severity)]
    messages = {
        cause: max(finding.evidence.backlog_max or 0 for finding in of_cause)
        for cause, of_cause in by_key(worst, lambda finding: finding.cause).items()
    }
    return max(worst, key=lambda finding: (messages[finding.cause], finding.started_at))


@dataclass(eq=False)
class Thread:
    """The findings of one condition, in order, until it was gone for longer than `QUIET`. `step_start`: of its first
    finding; `start`: when it began; `end`: when it was last seen; `until`: when it was known to be gone, and why
    (`resolution`); `undeleted_until`: the same without deletions; `root_rule`: that of the findings whose symptom it
    is, if any says so. Of a thread that is carried from earlier steps, `findings` are those that `carried` keeps,
    `finding_ids` the first and the last of all, `more_findings` the number of others, and `revised` the ids of those
    that a later step revised. `number`: of the incidents that have one id but for it, the place of that which the
    thread began; None: it began none yet.
    """

    identity: Identity
    step_start: int
    start: int
    findings: list[Finding] = field(default_factory=list)
    end: int = 0
    until: int = 0
    resolution: str = CLEARED
    root_rule: str | None = None
    undeleted_until: int = 0
    finding_ids: list[str] = field(default_factory=list)
    more_findings: int = 0
    revised: tuple[str, ...] = ()
    number: int | None = None

    def copy(self) -> Thread:
        """The same thread, to be continued."""
        return replace(self, findings=[*self.findings], finding_ids=[*self.finding_ids])

    @cached_property
    def worst(self) -> Finding:
        """Its worst finding (`worst_of`)."""
        return worst_of(self.findings)

    @cached_property
    def causes(self) -> tuple[str, ...]:
        """The causes it had, the first first."""
        final = (finding for finding in self.findings if not self.is_revised(finding))
        return tuple(dict.fromkeys(finding.cause for finding in final if finding.cause is not None))

    def is_revised(self, finding: Finding) -> bool:
        """Return whether it was transient as far as its step could see, and a later step shows that it stayed."""
        return finding.finding_id in self.revised or (
            finding.evidence.persistence == Persistence.TRANSIENT
            and any(
                later.evidence.persistence == Persistence.PERSISTENT
                and later.active_since is not None
                and later.active_since <= finding.started_at < finding.ended_at <= later.started_at
                for later in self.findings
            )
        )

    @cached_property
    def order(self) -> tuple[int, tuple[str, ...]]:
        """By its start, then by its identity."""
        return self.start, tuple(name or "" for name in self.identity)

    @cached_property
    def queues(self) -> frozenset[MessageQueue]:
        """The queues that its findings name."""
        return frozenset(queue.queue for finding in self.findings for queue in finding.evidence.queues)

    @cached_property
    def topics(self) -> frozenset[str]:
        """Its topic, and those of its queues."""
        topics = {self.identity.topic, *(queue.topic for queue in self.queues)}
        return frozenset(topic for topic in topics if topic is not None)

    @cached_property
    def client_ids(self) -> frozenset[str]:
        """The client ids that its findings name."""
        return frozenset[str]().union(*(finding.evidence.named_clients for finding in self.findings))

    def part(self, rule: Rule) -> IncidentPart:
        """The thread as a part of an incident."""
        worst = self.worst
        finding_ids, more_findings = bounded(self.finding_ids)
        return IncidentPart(
            consumer_group=self.identity.consumer_group,
            rule=self.identity.rule,
            cause=worst.cause,
            severity=worst.severity,
            topic=worst.topic,
            subject=worst.subject,
            started_at=self.start,
            ended_at=self.end,
            finding_ids=tuple(finding_ids),
            client_ids=tuple(sorted(self.client_ids)),
            detail=rule.detail(worst) if rule.detail else "",
            conflicting_values=tuple(worst.evidence.conflicting_values or ()),
            client_id=self.identity.client_id,
            cause_spans=tuple(self._cause_time(cause) for cause in self.causes),
            brokers=tuple(sorted({queue.broker_name for queue in worst.evidence.queues})),
            more_findings=self.more_findings + more_findings,
            resolved_at=None if self.until == END_OF_TIME else self.until,
        )

    def _cause_time(self, cause: str) -> CauseTime:
        times = [(finding.started_at, finding.ended_at) for finding in self.findings if finding.cause == cause]
        return CauseTime(cause, min(start for start, _ in times), max(end for _, end in times))
