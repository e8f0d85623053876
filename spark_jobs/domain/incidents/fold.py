"""Findings → incidents: consequences go to their roots, roots of one event together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from spark_jobs.domain.incidents.facts import incident
from spark_jobs.domain.incidents.silence import silent_findings, with_silence
from spark_jobs.domain.incidents.threads import QUIET, RootRules, Thread, threads
from spark_jobs.domain.incidents.values import AuditedTime, Incident, PublishedFinding, UnknownTime
from spark_jobs.domain.model.mutes import unreported_ids
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.domain.rules.roots import LEAD
from spark_jobs.domain.rules.rule import Rule


def incidents(findings: Iterable[PublishedFinding], audited: AuditedTime, rules: Iterable[Rule]) -> list[Incident]:
    """Every incident of these findings, the newest first; the order in which findings are given does not matter.

    What is muted, and what follows from it, opens none; nor does INFO, except if it means that nothing is known. That
    is an ERROR if nothing was recorded of a cluster for a whole step.
    """
    findings_by_id = {finding.finding.finding_id: finding for finding in findings}
    by_name = {rule.name: rule for rule in rules}
    blind = frozenset(rule.name for rule in by_name.values() if rule.is_blind)
    left_out = unreported_ids(
        (finding.finding.finding_id, finding.finding.root_finding_id, finding.finding.muted)
        for finding in findings_by_id.values()
    )
    unknown = UnknownTime(audited, findings_by_id.values(), blind, left_out)
    reported = {finding_id: finding for finding_id, finding in findings_by_id.items() if finding_id not in left_out}
    root_rules = {
        finding_id: findings_by_id[root_id].finding.rule
        for finding_id, finding in reported.items()
        if (root_id := finding.finding.root_finding_id) in findings_by_id
    }
    conditions = threads(reported.values(), RootRules(root_rules, by_name), unknown)
    silent = silent_findings(findings_by_id.values(), unknown.steps, audited.step)
    events = [
        with_silence(incident(roots, consequences, by_name), silent)
        for roots, consequences in _events(conditions, by_name)
    ]
    opened = (event for event in events if event.severity != SEVERITIES[0] or event.rule in blind)
    return sorted(opened, key=lambda event: (-event.opened_at, event.cluster, event.rule, event.incident_id))


def _events(conditions: Sequence[Thread], rules: Mapping[str, Rule]) -> Iterator[tuple[list[Thread], list[Thread]]]:
    """The roots and the consequences of each incident, in the order of time."""
    root_of = _roots(conditions)
    leader_of = _leaders([thread for thread in conditions if root_of[thread] is thread], rules)
    roots: dict[Thread, list[Thread]] = defaultdict(list)
    consequences: dict[Thread, list[Thread]] = defaultdict(list)
    for thread in sorted(conditions, key=lambda thread: thread.order):
        leader = leader_of[root_of[thread]]
        (roots if root_of[thread] is thread else consequences)[leader].append(thread)
    return ((roots_of_event, consequences[leader]) for leader, roots_of_event in roots.items())


def _roots(conditions: Sequence[Thread]) -> dict[Thread, Thread]:
    """The root of each thread: that of the first of its findings that has one, unless that root began more than `LEAD`
    after it; a thread without one is its own root.
    """
    thread_by_finding_id = {finding.finding_id: thread for thread in conditions for finding in thread.findings}
    root_of: dict[Thread, Thread] = {}
    for thread in conditions:
        named_roots = (thread_by_finding_id.get(finding.root_finding_id or "") for finding in thread.findings)
        root_of[thread] = next((root for root in named_roots if root and root.start <= thread.start + LEAD), thread)
    for thread in conditions:
        while root_of[root_of[thread]] is not root_of[thread]:
            root_of[thread] = root_of[root_of[thread]]
    return root_of


def _leaders(roots: Sequence[Thread], rules: Mapping[str, Rule]) -> dict[Thread, Thread]:
    """By root the first root of its event: roots that share something at the same time, or nearly, are one event."""
    leaders = {thread: thread for thread in roots}

    def leader(thread: Thread) -> Thread:
        while leaders[thread] is not thread:
            leaders[thread] = leaders[leaders[thread]]
            thread = leaders[thread]
        return thread

    sharing: dict[Hashable, list[Thread]] = defaultdict(list)
    for thread in sorted(roots, key=lambda thread: thread.order):
        for share in _shares(thread, rules[thread.identity.rule]):
            sharing[share].append(thread)
    for sharers in sharing.values():
        first, until = sharers[0], sharers[0].until
        for thread in sharers[1:]:
            if thread.start > until + QUIET:
                first, until = thread, thread.until
            earlier, later = sorted((leader(first), leader(thread)), key=lambda thread: thread.order)
            leaders[later] = earlier
            until = max(until, thread.until)
    return {thread: leader(thread) for thread in roots}


def _shares(thread: Thread, rule: Rule) -> set[Hashable]:
    """What roots of one event share: rule, group and cause; and over groups what the rule says."""
    cluster, consumer_group = thread.identity.cluster, thread.identity.consumer_group
    shares: set[Hashable] = {(cluster, rule.name, consumer_group, cause) for cause in thread.causes}
    if rule.spreads_by:
        for finding in thread.findings:
            shares.update((cluster, rule.name, share) for share in rule.spreads_by(finding))
    return shares
