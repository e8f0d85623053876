"""The findings of one condition in step after step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from spark_jobs.domain.incidents.values import IncidentPart, PublishedFinding, Queue, UnknownTime
from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rules.findings import queues_text
from spark_jobs.domain.rules.rule import Rule

#: What is back so soon never went away.
QUIET = 600 * SECOND


class Identity(NamedTuple):
    """What tells a condition from others: neither its cause nor its queues do."""

    cluster: str
    consumer_group: str
    rule: str
    topic: str | None
    client_id: str | None


class RootRules:
    """By finding id the rule of its root, of consequences; and whether two roots may be those of one event."""

    def __init__(self, of_findings: Mapping[str, str], rules: Mapping[str, Rule]) -> None:
        def above(rule: str) -> set[str]:
            return {rule}.union(*(above(link.root) for link in rules[rule].follows))

        self.of_findings = of_findings
        self._above = {rule: above(rule) for rule in set(of_findings.values())}

    def are_kin(self, rule: str | None, other_rule: str | None) -> bool:
        """Whether the rules are the same, one follows from the other, or one is unknown."""
        return rule is None or other_rule is None or other_rule in self._above[rule] or rule in self._above[other_rule]


@dataclass(eq=False)
class Thread:
    """The findings of one condition, in the order of time, until it was gone for longer than `QUIET`.

    `end`: when it was last seen; `until`: when it was known to be gone. `root_rule`: that of the findings whose
    consequence it is, as far as any says so.
    """

    identity: Identity
    findings: list[PublishedFinding] = field(default_factory=list)
    end: int = 0
    until: int = 0
    root_rule: str | None = None

    @property
    def start(self) -> int:
        """When it was first seen."""
        return self.findings[0].finding.start

    @cached_property
    def worst(self) -> Finding:
        """Its worst finding, the latest of equals."""
        findings = (published.finding for published in self.findings)
        return max(findings, key=lambda finding: (SEVERITIES.index(finding.severity), finding.start))

    @cached_property
    def causes(self) -> tuple[str, ...]:
        """The causes it had, the first first."""
        causes = (published.finding.cause for published in self.findings)
        return tuple(dict.fromkeys(cause for cause in causes if cause is not None))

    @cached_property
    def order(self) -> tuple[int, tuple[str, ...]]:
        """By its start, then by its identity."""
        return self.start, tuple(name or "" for name in self.identity)

    @cached_property
    def queues(self) -> frozenset[Queue]:
        """The queues that its findings name: the first three fields of their evidence."""
        return frozenset(queue[:3] for published in self.findings for queue in published.finding.evidence.queues)

    @cached_property
    def topics(self) -> frozenset[str]:
        """Its topic, and those of its queues."""
        topics = {self.identity.topic, *(topic for topic, _, _ in self.queues)}
        return frozenset(topic for topic in topics if topic is not None)

    def part(self) -> IncidentPart:
        """The thread as a part of an incident."""
        worst = self.worst
        return IncidentPart(
            consumer_group=self.identity.consumer_group,
            rule=self.identity.rule,
            cause=worst.cause,
            severity=worst.severity,
            topic=worst.topic,
            subject=worst.subject,
            start=self.start,
            end=self.end,
            finding_ids=tuple(published.finding.finding_id for published in self.findings),
        )


def threads(findings: Iterable[PublishedFinding], root_rules: RootRules, unknown: UnknownTime) -> list[Thread]:
    """One per condition, and per time without a gap of more than `QUIET`."""
    by_identity: dict[Identity, list[PublishedFinding]] = defaultdict(list)
    for finding in findings:
        by_identity[_identity(finding)].append(finding)
    return [
        thread
        for identity, findings_of_identity in by_identity.items()
        for thread in _threads(identity, findings_of_identity, root_rules, unknown)
    ]


def _identity(published: PublishedFinding) -> Identity:
    finding = published.finding
    client_id = finding.subject if _is_client(finding.subject, published) else None
    return Identity(*published.group, finding.rule, finding.topic, client_id)


def _is_client(subject: str, finding: PublishedFinding) -> bool:
    """Whether the subject is a client id: neither the topic nor the group nor the queues. The queues' text is made
    only where it may be the subject: it begins with the first broker's name.
    """
    if subject in (finding.finding.topic, finding.consumer_group):
        return False
    queues = finding.finding.evidence.queues
    first = min((queue.broker_name for queue in queues), default="")
    return not subject.startswith(first) or subject != queues_text(queues)


def _threads(
    identity: Identity, findings: Sequence[PublishedFinding], root_rules: RootRules, unknown: UnknownTime
) -> list[Thread]:
    """The threads of one condition. Of findings that begin together, those with the last cause of a thread are added
    first, then those with another cause.
    """
    every_thread: list[Thread] = []
    alive: list[Thread] = []
    in_order = sorted(
        findings, key=lambda finding: (finding.finding.start, finding.finding.cause or "", finding.finding.finding_id)
    )
    for start, together in groupby(in_order, key=lambda finding: finding.finding.start):
        alive = [thread for thread in alive if thread.until + QUIET >= start]
        waiting = list(together)
        for changed in (False, True):
            for finding in tuple(waiting):
                thread = _thread_of(finding, alive, root_rules, changed=changed)
                if thread is None and changed:
                    thread = Thread(identity)
                    every_thread.append(thread)
                    alive.append(thread)
                if thread is not None:
                    waiting.remove(finding)
                    _take(thread, finding, root_rules, unknown)
    return every_thread


def _thread_of(
    finding: PublishedFinding, alive: Iterable[Thread], root_rules: RootRules, *, changed: bool
) -> Thread | None:
    """The thread that the finding continues: with the same last cause, or, `changed`, one that ended by then."""
    root_rule = root_rules.of_findings.get(finding.finding.finding_id)
    fitting = (
        thread
        for thread in alive
        if (
            thread.end <= finding.finding.start
            if changed
            else thread.findings[-1].finding.cause == finding.finding.cause
        )
        and root_rules.are_kin(thread.root_rule, root_rule)
    )
    return max(fitting, key=lambda thread: thread.end, default=None)


def _take(thread: Thread, finding: PublishedFinding, root_rules: RootRules, unknown: UnknownTime) -> None:
    thread.findings.append(finding)
    thread.end = max(thread.end, finding.finding.end)
    thread.until = max(thread.until, unknown.until(finding.group, finding.finding.end))
    thread.root_rule = thread.root_rule or root_rules.of_findings.get(finding.finding.finding_id)
