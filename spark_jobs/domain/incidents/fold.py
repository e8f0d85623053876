"""Findings → incidents: consequences go to their roots, roots of one event together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from spark_jobs.domain.incidents.facts import incident
from spark_jobs.domain.incidents.threads import QUIET, RootRules, Thread, threads
from spark_jobs.domain.incidents.values import AuditedTime, Incident, PublishedFinding, UnknownTime
from spark_jobs.domain.model.mutes import untold
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.domain.rules.roots import LEAD
from spark_jobs.domain.rules.rule import Rule


def incidents(findings: Iterable[PublishedFinding], audited: AuditedTime, rules: Iterable[Rule]) -> list[Incident]:
    """Every incident of these findings, the newest first; the order in which findings are given does not matter.

    What is muted, and what follows from it, opens none; nor does INFO, but where it says that nothing is known.
    """
    every = {finding.finding.finding_id: finding for finding in findings}
    by_name = {rule.name: rule for rule in rules}
    blind = frozenset(rule.name for rule in by_name.values() if rule.is_blind)
    unknown = UnknownTime(audited, every.values(), blind)
    left_out = untold(
        (finding.finding.finding_id, finding.finding.root_finding_id, finding.finding.muted)
        for finding in every.values()
    )
    reported = {finding_id: finding for finding_id, finding in every.items() if finding_id not in left_out}
    root_rules = {
        one: every[root].finding.rule for one in reported if (root := reported[one].finding.root_finding_id) in every
    }
    conditions = threads(reported.values(), RootRules(root_rules, by_name), unknown)
    found = [incident(roots, rest, by_name) for roots, rest in _events(conditions, by_name)]
    opened = (one for one in found if one.severity != SEVERITIES[0] or one.rule in blind)
    return sorted(opened, key=lambda one: (-one.opened_at, one.cluster, one.rule, one.incident_id))


def _events(found: Sequence[Thread], rules: Mapping[str, Rule]) -> Iterator[tuple[list[Thread], list[Thread]]]:
    """The roots and the consequences of each incident, in the order of time."""
    root_of = _roots(found)
    together = _together([thread for thread in found if root_of[thread] is thread], rules)
    roots: dict[Thread, list[Thread]] = defaultdict(list)
    rest: dict[Thread, list[Thread]] = defaultdict(list)
    for thread in sorted(found, key=lambda one: one.order):
        first = together[root_of[thread]]
        (roots if root_of[thread] is thread else rest)[first].append(thread)
    return ((of_event, rest[first]) for first, of_event in roots.items())


def _roots(found: Sequence[Thread]) -> dict[Thread, Thread]:
    """The root of each thread: that of the first of its findings that has one, unless it stood long before."""
    of_finding = {finding.finding.finding_id: thread for thread in found for finding in thread.findings}
    causes: dict[Thread, Thread] = {}
    for thread in found:
        named = (of_finding.get(finding.finding.root_finding_id or "") for finding in thread.findings)
        causes[thread] = next((one for one in named if one and one.start <= thread.start + LEAD), thread)
    for thread in found:
        while causes[causes[thread]] is not causes[thread]:
            causes[thread] = causes[causes[thread]]
    return causes


def _together(roots: Sequence[Thread], rules: Mapping[str, Rule]) -> dict[Thread, Thread]:
    """By root the first of all those of its event: roots that share something at the same time, or nearly."""
    leaders = {thread: thread for thread in roots}

    def leader(thread: Thread) -> Thread:
        while leaders[thread] is not thread:
            leaders[thread] = leaders[leaders[thread]]
            thread = leaders[thread]
        return thread

    sharing: dict[Hashable, list[Thread]] = defaultdict(list)
    for thread in sorted(roots, key=lambda one: one.order):
        for share in _shares(thread, rules[thread.identity[2]]):
            sharing[share].append(thread)
    for same in sharing.values():
        first, until = same[0], same[0].until
        for thread in same[1:]:
            if thread.start > until + QUIET:
                first, until = thread, thread.until
            one, other = sorted((leader(first), leader(thread)), key=lambda each: each.order)
            leaders[other] = one
            until = max(until, thread.until)
    return {thread: leader(thread) for thread in roots}


def _shares(thread: Thread, rule: Rule) -> set[Hashable]:
    """What roots of one event share: rule, group and cause; and over groups what the rule says."""
    cluster, consumer_group = thread.identity[:2]
    inside: set[Hashable] = {(cluster, rule.name, consumer_group, cause) for cause in thread.causes}
    if rule.spreads_by is None:
        return inside
    return inside | {
        (cluster, rule.name, share) for finding in thread.findings for share in rule.spreads_by(finding.finding)
    }
