"""The findings of one condition in step after step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

from spark_jobs.domain.incidents.values import IncidentPart, PublishedFinding, Queue, UnknownTime
from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rules.findings import queues_text
from spark_jobs.domain.rules.rule import Rule

#: What is back so soon never went away.
QUIET = 600 * SECOND
#: Cluster, consumer group, rule, topic and client id of a condition.
Identity = tuple[str, str, str, str | None, str | None]


class RootRules:
    """By finding id the rule of its root, of consequences; and whether two roots may be those of one event."""

    def __init__(self, of_findings: Mapping[str, str], rules: Mapping[str, Rule]) -> None:
        def above(rule: str) -> set[str]:
            return {rule}.union(*(above(link.root) for link in rules[rule].follows))

        self.of_findings = of_findings
        self._above = {rule: above(rule) for rule in set(of_findings.values())}

    def are_kin(self, one: str | None, other: str | None) -> bool:
        """Whether one of the rules follows from the other, or is it, or is not known."""
        return one is None or other is None or other in self._above[one] or one in self._above[other]


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
        return max((one.finding for one in self.findings), key=lambda one: (SEVERITIES.index(one.severity), one.start))

    @cached_property
    def causes(self) -> tuple[str, ...]:
        """The causes it had, the first first."""
        return tuple(dict.fromkeys(one.finding.cause for one in self.findings if one.finding.cause is not None))

    @cached_property
    def order(self) -> tuple[int, tuple[str, ...]]:
        """By its start, then by its identity."""
        return self.start, tuple(name or "" for name in self.identity)

    @cached_property
    def queues(self) -> frozenset[Queue]:
        """The queues that its findings name: the first three fields of their evidence."""
        return frozenset(queue[:3] for one in self.findings for queue in one.finding.evidence.queues)

    @cached_property
    def topics(self) -> frozenset[str]:
        """Its topic, and those of its queues."""
        own = self.identity[3]
        return frozenset(topic for topic, _, _ in self.queues) | (frozenset() if own is None else {own})

    def part(self) -> IncidentPart:
        """It as a part of an incident."""
        worst = self.worst
        return IncidentPart(
            consumer_group=self.identity[1],
            rule=self.identity[2],
            cause=worst.cause,
            severity=worst.severity,
            topic=worst.topic,
            subject=worst.subject,
            start=self.start,
            end=self.end,
            finding_ids=tuple(one.finding.finding_id for one in self.findings),
        )


def threads(findings: Iterable[PublishedFinding], root_rules: RootRules, unknown: UnknownTime) -> list[Thread]:
    """One per condition."""
    by_identity: dict[Identity, list[PublishedFinding]] = defaultdict(list)
    for finding in findings:
        by_identity[_identity(finding)].append(finding)
    return [
        thread for identity, same in by_identity.items() for thread in _threads(identity, same, root_rules, unknown)
    ]


def _identity(finding: PublishedFinding) -> Identity:
    """What a condition is, whatever its cause and its queues are just then."""
    found = finding.finding
    client_id = found.subject if _is_client(found.subject, finding) else None
    return finding.cluster, finding.consumer_group, found.rule, found.topic, client_id


def _is_client(subject: str, finding: PublishedFinding) -> bool:
    """Whether the subject is neither the topic nor the group nor the queues. Their text is made only where it may be
    the subject: it begins with the first broker's name.
    """
    if subject in (finding.finding.topic, finding.consumer_group):
        return False
    queues = finding.finding.evidence.queues
    first = min((queue.broker_name for queue in queues), default="")
    return not subject.startswith(first) or subject != queues_text(queues)


def _threads(
    identity: Identity, same: Sequence[PublishedFinding], root_rules: RootRules, unknown: UnknownTime
) -> list[Thread]:
    """Of findings that begin together those go on first whose cause a thread has, then those with another one."""
    found: list[Thread] = []
    alive: list[Thread] = []
    in_order = sorted(
        same, key=lambda finding: (finding.finding.start, finding.finding.cause or "", finding.finding.finding_id)
    )
    for start, together in groupby(in_order, key=lambda finding: finding.finding.start):
        alive = [thread for thread in alive if thread.until + QUIET >= start]
        waiting = list(together)
        for changed in (False, True):
            for finding in tuple(waiting):
                thread = _thread_of(finding, alive, root_rules, changed=changed)
                if thread is None and changed:
                    thread = Thread(identity)
                    found.append(thread)
                    alive.append(thread)
                if thread is not None:
                    waiting.remove(finding)
                    _take(thread, finding, root_rules, unknown)
    return found


def _thread_of(
    finding: PublishedFinding, alive: Iterable[Thread], root_rules: RootRules, *, changed: bool
) -> Thread | None:
    """The thread that the finding goes on: it had the same cause last, or, `changed`, was over when this one began."""
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
