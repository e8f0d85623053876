"""The conditions of findings: which findings of which steps are one."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby

from spark_jobs.domain.incidents.thread import QUIET, Identity, Thread
from spark_jobs.domain.incidents.values import DELETED, END_OF_TIME, TOPIC_DELETED, PublishedFinding, UnknownTime
from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.rules.rule import Rule


class RootRules:
    """By finding id the rule of its root, of symptoms; and whether two roots may be those of one event."""

    def __init__(self, of_findings: Mapping[str, str], rules: Mapping[str, Rule]) -> None:
        def above(rule: str) -> set[str]:
            return {rule}.union(*(above(link.root) for link in rules[rule].follows))

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
