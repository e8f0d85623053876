"""The findings of one condition in step after step, as one value; and which findings of which steps are one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, groupby
from typing import NamedTuple

from spark_jobs.domain.incidents.values import (
    CLEARED,
    DELETED,
    END_OF_TIME,
    TOPIC_DELETED,
    CauseTime,
    IncidentPart,
    PublishedFinding,
    UnknownTime,
)
from spark_jobs.domain.model.finding import QUIET, Finding, Persistence
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.domain.rules.rule import Rule

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


class RootRules:
    """By finding id the rule of its root, of symptoms; and whether two roots may be those of one event."""

    def __init__(self, of_findings: Mapping[str, str], rules: Mapping[str, Rule]) -> None:
        def above(rule: str) -> set[str]:
            return {rule}.union(*(above(link.root) for link in rules[rule].follows if link.root != rule))

        self.of_findings, self._rules = of_findings, rules
        self._above = {rule: above(rule) for rule in rules}

    def identity(self, published: PublishedFinding) -> Identity:
        """The identity of a finding's condition."""
        finding = published.finding
        brokers = {queue.broker_name for queue in finding.evidence.queues if self._rules[finding.rule].per_broker}
        broker = min(brokers, default=None)
        return Identity(*published.group, finding.rule, finding.topic, finding.client_id, broker)

    def continued(self, identity: Identity) -> Identity:
        """That of the condition which one with this identity may continue: see `Rule.continues`."""
        return identity._replace(rule=self._rules[identity.rule].continues or identity.rule)

    def are_kin(self, rule: str | None, other_rule: str | None) -> bool:
        """Return whether the rules are the same, one follows from the other, or one is unknown."""
        return rule is None or other_rule is None or other_rule in self._above[rule] or rule in self._above[other_rule]


def threads(
    findings: Iterable[PublishedFinding], root_rules: RootRules, unknown: UnknownTime, earlier: Iterable[Thread] = ()
) -> list[Thread]:
    """One per condition, and per time without a gap of more than `QUIET`; `earlier`: of findings before these."""
    old = by_key(earlier, lambda thread: thread.identity)
    new = _by_condition(findings, root_rules, chain.from_iterable(old.values()))
    return [
        thread
        for identity in old | new
        for thread in _threads(identity, new.get(identity, ()), root_rules, unknown, old.get(identity, ()))
    ]


def _by_condition(
    findings: Iterable[PublishedFinding], root_rules: RootRules, earlier: Iterable[Thread]
) -> dict[Identity, list[PublishedFinding]]:
    """The findings of each condition. One that its step shows from its start on is a part of the condition that its
    rule continues, if that had the same cause to the end of the step before, and its own had not.
    """
    ends: dict[tuple[Identity, str | None], int] = defaultdict(int)
    conditions: dict[Identity, list[PublishedFinding]] = defaultdict(list)

    def lasted(identity: Identity, finding: Finding) -> bool:
        return ends[identity, finding.cause] >= finding.started_at

    def see(identity: Identity, finding: Finding) -> None:
        ends[identity, finding.cause] = max(ends[identity, finding.cause], finding.ended_at)

    for thread in earlier:
        for finding in thread.findings:
            see(thread.identity, finding)
    for published in sorted(findings, key=lambda each: (each.step_start, each.finding.started_at)):
        finding, identity = published.finding, root_rules.identity(published)
        continued = root_rules.continued(identity)
        if finding.started_at <= published.step_start and not lasted(identity, finding) and lasted(continued, finding):
            identity = continued
        conditions[identity].append(published)
        see(identity, finding)
    return conditions


def _threads(
    identity: Identity,
    findings: Sequence[PublishedFinding],
    root_rules: RootRules,
    unknown: UnknownTime,
    earlier: Sequence[Thread],
) -> list[Thread]:
    """The threads of one condition. Of findings that begin together, those with a thread's last cause come first."""

    def order(finding: Finding) -> tuple[int, str, str]:
        return finding.started_at, finding.cause or "", finding.finding_id

    every_thread = sorted(earlier, key=lambda thread: order(thread.findings[0]))
    for old in every_thread:
        old.until = max(0 if old.until == END_OF_TIME else old.until, unknown.until(identity[:2], old.end))
    alive = [*every_thread]
    in_order = sorted(findings, key=lambda published: order(published.finding))
    for _, together in groupby(in_order, key=lambda published: published.finding.started_at):
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
    """End what might have come back when its group, or else its topic, was deleted."""
    thread.undeleted_until = thread.until
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
        if (thread.end <= finding.started_at if changed else thread.findings[-1].cause == finding.cause)
        and root_rules.are_kin(thread.root_rule, root_rule)
    )
    return max(fitting, key=lambda thread: thread.end, default=None)


def _take(thread: Thread, published: PublishedFinding, root_rules: RootRules, unknown: UnknownTime) -> None:
    finding = published.finding
    thread.findings.append(finding)
    thread.finding_ids.append(finding.finding_id)
    thread.end = max(thread.end, finding.ended_at)
    thread.until = max(thread.until, unknown.until(published.group, finding.ended_at))
    thread.root_rule = thread.root_rule or root_rules.of_findings.get(finding.finding_id)
