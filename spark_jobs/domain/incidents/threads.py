"""The findings of one condition in step after step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, groupby
from typing import NamedTuple

from spark_jobs.domain.incidents.values import (
    CLEARED,
    DELETED,
    TOPIC_DELETED,
    IncidentPart,
    PublishedFinding,
    Queue,
    UnknownTime,
)
from spark_jobs.domain.model.finding import Finding, Persistence
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.domain.model.window import SECOND
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

    `step_start`: of its first finding; `start`: when it began, possibly before that; `end`: when it was last seen;
    `until`: when it was known to be gone; `resolution`: why it was.
    `root_rule`: that of the findings whose consequence it is, as far as any says so.
    """

    identity: Identity
    step_start: int
    start: int
    findings: list[Finding] = field(default_factory=list)
    end: int = 0
    until: int = 0
    resolution: str = CLEARED
    root_rule: str | None = None

    @cached_property
    def worst(self) -> Finding:
        """Its worst finding, the latest of equals."""
        return max(self.findings, key=lambda finding: (SEVERITIES.index(finding.severity), finding.start))

    @cached_property
    def causes(self) -> tuple[str, ...]:
        """The causes it had, the first first."""
        final = (finding for finding in self.findings if not self._is_revised(finding))
        return tuple(dict.fromkeys(finding.cause for finding in final if finding.cause is not None))

    def _is_revised(self, finding: Finding) -> bool:
        """Whether it was transient as far as its step could see, and a later step shows that it stayed."""
        return finding.evidence.persistence == Persistence.TRANSIENT and any(
            later.evidence.persistence == Persistence.PERSISTENT
            and later.held_since is not None
            and later.held_since <= finding.start < finding.end <= later.start
            for later in self.findings
        )

    @cached_property
    def order(self) -> tuple[int, tuple[str, ...]]:
        """By its start, then by its identity."""
        return self.start, tuple(name or "" for name in self.identity)

    @cached_property
    def queues(self) -> frozenset[Queue]:
        """The queues that its findings name: the first three fields of their evidence."""
        return frozenset(queue[:3] for finding in self.findings for queue in finding.evidence.queues)

    @cached_property
    def topics(self) -> frozenset[str]:
        """Its topic, and those of its queues."""
        topics = {self.identity.topic, *(topic for topic, _, _ in self.queues)}
        return frozenset(topic for topic in topics if topic is not None)

    @cached_property
    def members(self) -> frozenset[str]:
        """The client ids that its findings name."""
        every_evidence = [finding.evidence for finding in self.findings]
        parties = (party for evidence in every_evidence for party in evidence.parties or ())
        of_parties = (client_id for party in parties for client_id in party.client_ids or ())
        return frozenset(chain.from_iterable(evidence.client_ids for evidence in every_evidence)).union(of_parties)

    def part(self, rule: Rule) -> IncidentPart:
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
            finding_ids=tuple(finding.finding_id for finding in self.findings),
            members=tuple(sorted(self.members)),
            detail=rule.detail(worst) if rule.detail else "",
            parties=tuple(worst.evidence.parties or ()),
            client_id=self.identity.client_id,
        )


def threads(findings: Iterable[PublishedFinding], root_rules: RootRules, unknown: UnknownTime) -> list[Thread]:
    """One per condition, and per time without a gap of more than `QUIET`."""
    return [
        thread
        for identity, findings_of_identity in by_key(findings, _identity).items()
        for thread in _threads(identity, findings_of_identity, root_rules, unknown)
    ]


def _identity(published: PublishedFinding) -> Identity:
    finding = published.finding
    return Identity(*published.group, finding.rule, finding.topic, finding.client_id)


def _threads(
    identity: Identity, findings: Sequence[PublishedFinding], root_rules: RootRules, unknown: UnknownTime
) -> list[Thread]:
    """The threads of one condition. Of findings that begin together, those with the last cause of a thread are added
    first, then those with another cause.
    """
    every_thread: list[Thread] = []
    alive: list[Thread] = []

    def order(published: PublishedFinding) -> tuple[int, str, str]:
        return published.finding.start, published.finding.cause or "", published.finding.finding_id

    for _, together in groupby(sorted(findings, key=order), key=lambda published: published.finding.start):
        waiting = list(together)
        began = min(map(unknown.began, waiting))
        alive = [thread for thread in alive if thread.until + QUIET >= began]
        for changed in (False, True):
            for published in tuple(waiting):
                thread = _thread_of(published.finding, alive, root_rules, changed=changed)
                if thread is None and changed:
                    thread = Thread(identity, published.step_start, unknown.began(published))
                    every_thread.append(thread)
                    alive.append(thread)
                if thread is not None:
                    waiting.remove(published)
                    _take(thread, published, root_rules, unknown)
    for thread in every_thread:
        _end_with_what_it_is_about(thread, unknown)
    return every_thread


def _end_with_what_it_is_about(thread: Thread, unknown: UnknownTime) -> None:
    """What might have come back when its group, or else its topic, was deleted ended with that."""
    for topic, resolution in ((None, DELETED), (thread.identity.topic, TOPIC_DELETED)):
        at = unknown.deletion(thread.identity[:2], topic, thread.end, thread.until + QUIET)
        if at is not None:
            thread.until, thread.resolution = at, resolution
            return


def _thread_of(finding: Finding, alive: Iterable[Thread], root_rules: RootRules, *, changed: bool) -> Thread | None:
    """The thread that the finding continues: with the same last cause, or, `changed`, one that ended by then."""
    root_rule = root_rules.of_findings.get(finding.finding_id)
    fitting = (
        thread
        for thread in alive
        if (thread.end <= finding.start if changed else thread.findings[-1].cause == finding.cause)
        and root_rules.are_kin(thread.root_rule, root_rule)
    )
    return max(fitting, key=lambda thread: thread.end, default=None)


def _take(thread: Thread, published: PublishedFinding, root_rules: RootRules, unknown: UnknownTime) -> None:
    finding = published.finding
    thread.findings.append(finding)
    thread.end = max(thread.end, finding.end)
    thread.until = max(thread.until, unknown.until(published.group, finding.end))
    thread.root_rule = thread.root_rule or root_rules.of_findings.get(finding.finding_id)
