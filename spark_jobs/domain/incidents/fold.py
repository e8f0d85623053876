"""Findings → incidents: symptoms go to their roots, roots of one event together."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from spark_jobs.domain.incidents.carried import NOTHING_CARRIED, Carried, Event, carried
from spark_jobs.domain.incidents.facts import incident, kind
from spark_jobs.domain.incidents.thread import RootRules, Thread, threads
from spark_jobs.domain.incidents.values import AuditedTime, Incident, PublishedFinding, UnknownTime
from spark_jobs.domain.model.finding import QUIET
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.severities import ERROR, INFO
from spark_jobs.domain.model.silences import unreported_ids
from spark_jobs.domain.model.window import Time, common
from spark_jobs.domain.phrases import names_text
from spark_jobs.domain.rules import unobserved
from spark_jobs.domain.rules.findings import LEAD
from spark_jobs.domain.rules.in_common import ALL_BROKERS
from spark_jobs.domain.rules.links import Follows
from spark_jobs.domain.rules.rule import Rule


class Fold(NamedTuple):
    """The incidents, the newest first; all events, also those that open none, and the time that they are in."""

    incidents: list[Incident]
    events: list[Event]
    audited: AuditedTime
    unknown: UnknownTime
    rules: Mapping[str, Rule]

    def carried(self, before: int) -> Carried:
        """The state for the step that begins then (microseconds), if all steps of the fold begin earlier."""
        return carried(self.events, self.audited, self.unknown, self.rules, before)


def fold(
    findings: Iterable[PublishedFinding],
    audited: AuditedTime,
    rules: Iterable[Rule],
    earlier: Carried = NOTHING_CARRIED,
) -> Fold:
    """Every incident of these findings, and what it takes to continue. Silenced findings and their symptoms open none,
    nor does INFO, unless its rule is about an event; UNOBSERVED is an ERROR, if nothing of the cluster was recorded.

    With what is carried of `earlier` steps: the incidents that last, or begin later. Findings and audited steps then
    also of `CHANGEABLE` before the steps that follow.
    """
    audited = earlier.with_later(audited)
    findings_by_id = {finding.finding.finding_id: finding for finding in findings}
    by_name = {rule.name: rule for rule in rules}
    blind = frozenset(rule.name for rule in by_name.values() if rule.is_blind)
    left_out = unreported_ids(
        (finding.finding.finding_id, finding.finding.root_finding_id, finding.finding.silenced_because)
        for finding in findings_by_id.values()
    )
    unknown = UnknownTime(audited, findings_by_id.values(), blind, left_out)
    reported = {
        finding_id: finding
        for finding_id, finding in findings_by_id.items()
        if finding_id not in left_out and (earlier.before is None or finding.step_start >= earlier.before)
    }
    root_rules = {
        finding_id: findings_by_id[root_id].finding.rule
        for finding_id, finding in reported.items()
        if (root_id := finding.finding.root_finding_id) in findings_by_id
    }
    old = [thread.copy() for thread in earlier.threads]
    conditions = threads(reported.values(), RootRules(root_rules, by_name), unknown, old)
    of_events = [*_events(conditions, by_name)]
    _number([roots[0] for roots, _ in of_events], by_name)
    events = [
        Event(
            _with_silence(incident(roots, symptoms, by_name), audited.silent),
            roots,
            symptoms,
            _broker_of(roots, by_name),
        )
        for roots, symptoms in of_events
    ]
    opened = [each for each in events if each.incident.severity != INFO or by_name[each.incident.rule].is_event]
    return Fold(in_order(_with_same_broker(opened)), events, audited, unknown, by_name)


def in_order(incidents: Iterable[Incident]) -> list[Incident]:
    """The newest first."""
    return sorted(incidents, key=lambda each: (-each.opened_at, each.cluster, each.rule, each.incident_id))


def _with_silence(incident: Incident, silent: Mapping[str, Sequence[Time]]) -> Incident:
    """The incident; an ERROR of the cluster if its snapshots are missing in a time in which nothing of the cluster was
    recorded: a recorder that stopped looks like a fleet at rest. One that is an ERROR already says more.
    """
    missing = [part for part in incident.root_causes if part.rule == unobserved.RULE.name]
    times = silent.get(incident.cluster, ())
    if incident.severity == ERROR or not any(
        common(time, (part.started_at, part.ended_at)) for part in missing for time in times
    ):
        return incident
    cause = unobserved.NOTHING_RECORDED
    return replace(
        incident,
        severity=ERROR,
        cause=cause,
        causes=(*incident.causes, cause),
        headline=f"Nothing is recorded of the cluster {incident.cluster}",
        advice=unobserved.RULE.causes[cause].advice,
    )


def _events(conditions: Sequence[Thread], rules: Mapping[str, Rule]) -> Iterator[tuple[list[Thread], list[Thread]]]:
    """The roots and the symptoms of each incident, in the order of time."""
    root_of = _roots(conditions, rules)
    leader_of = _leaders([thread for thread in conditions if root_of[thread] is thread], rules)
    roots: dict[Thread, list[Thread]] = defaultdict(list)
    symptoms: dict[Thread, list[Thread]] = defaultdict(list)
    for thread in sorted(conditions, key=lambda thread: thread.order):
        leader = leader_of[root_of[thread]]
        (roots if root_of[thread] is thread else symptoms)[leader].append(thread)
    return ((roots_of_event, symptoms[leader]) for leader, roots_of_event in roots.items())


def _number(firsts: Iterable[Thread], rules: Mapping[str, Rule]) -> None:
    """Number the first roots of events, in the order of time, among those of one kind."""
    numbers: dict[tuple[str, ...], int] = defaultdict(int)
    for first in firsts:
        of_kind = kind(first, rules[first.identity.rule])
        first.number = numbers[of_kind] if first.number is None else first.number
        numbers[of_kind] = max(numbers[of_kind], first.number + 1)


def _roots(conditions: Sequence[Thread], rules: Mapping[str, Rule]) -> dict[Thread, Thread]:
    """The root of each thread: of its first finding with one (within `LEAD`), else in another group, else itself; also
    itself if its worst finding has another cause, which does not follow from that root.
    """
    thread_by_finding_id = {finding.finding_id: thread for thread in conditions for finding in thread.findings}
    root_of: dict[Thread, Thread] = {}
    for thread in conditions:
        named_roots = (thread_by_finding_id.get(finding.root_finding_id or "") for finding in thread.findings)
        root = next((root for root in named_roots if root and root.start <= thread.start + LEAD), thread)
        links = (link for link in rules[thread.identity.rule].follows if link.root == root.identity.rule)
        follows = thread.worst.root_finding_id or any(link.may_follow(thread.worst.cause) for link in links)
        root_of[thread] = root if follows else thread
    root_of |= _roots_elsewhere([thread for thread, root in root_of.items() if root is thread], rules)
    for thread in conditions:
        while root_of[root_of[thread]] is not root_of[thread]:
            root_of[thread] = root_of[root_of[thread]]
    return root_of


def _roots_elsewhere(roots: Sequence[Thread], rules: Mapping[str, Rule]) -> dict[Thread, Thread]:
    """By thread its root in another group: an event about all of it, of which a finding ended when it began."""
    spread: dict[Hashable, list[Thread]] = defaultdict(list)
    for thread in sorted(roots, key=lambda thread: thread.order):
        for share in _spread_shares(thread, rules[thread.identity.rule]):
            spread[share].append(thread)
    root_of: dict[Thread, Thread] = {}
    for thread in roots:
        for link in rules[thread.identity.rule].follows if spread else ():
            shares = _spread_shares(thread, rules[link.root]) if link.within else set()
            events = [[root for root in spread.get(share, ()) if _ended(root, link, thread.start)] for share in shares]
            root = next((root for root in chain(*events) if all(root in of_share for of_share in events)), None)
            if root is not None:
                root_of.setdefault(thread, root)
    return root_of


def _ended(root: Thread, link: Follows, at: int) -> bool:
    """Return whether one of the findings that others follow from ended then, or nearly."""
    return any(link.is_root(finding) and abs(finding.ended_at - at) <= link.within for finding in root.findings)


def _leaders(roots: Sequence[Thread], rules: Mapping[str, Rule]) -> dict[Thread, Thread]:
    """By root the first root of its event: roots that share rule, group and cause, or over groups what their rule says,
    at the same time, or nearly, are one event.
    """
    leaders = {thread: thread for thread in roots}

    def leader(thread: Thread) -> Thread:
        while leaders[thread] is not thread:
            leaders[thread] = leaders[leaders[thread]]
            thread = leaders[thread]
        return thread

    sharing: dict[Hashable, list[Thread]] = defaultdict(list)
    for thread in sorted(roots, key=lambda thread: thread.order):
        cluster, consumer_group, rule, *_ = thread.identity
        own = {(cluster, rule, consumer_group, cause) for cause in thread.causes}
        for share in own | _spread_shares(thread, rules[rule]):
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


def _spread_shares(thread: Thread, rule: Rule) -> set[Hashable]:
    """Values that the thread shares with events of the rule in other groups."""
    spreads_by = rule.spreads_by or (lambda _: ())
    return {(thread.identity.cluster, rule.name, share) for finding in thread.findings for share in spreads_by(finding)}


def _broker_of(roots: Iterable[Thread], rules: Mapping[str, Rule]) -> str | None:
    """The broker, or all, that roots of an incident point to by their worst findings; None: there is no such one."""
    brokers = {rules[thread.identity.rule].broker(thread.worst) for thread in roots} - {None}
    return brokers.pop() if len(brokers) == 1 else None


def _with_same_broker(events: Sequence[Event]) -> Iterator[Incident]:
    """The incidents in order; the advice begins with other groups whose incidents point to the broker at that time."""
    by_broker = by_key(events, lambda event: (event.incident.cluster, event.broker))
    for each, broker in ((event.incident, event.broker) for event in events):
        of_broker = (event.incident for event in by_broker[each.cluster, broker]) if broker else ()
        together = {group for other in of_broker if _is_same_time(each, other) for group in other.consumer_groups}
        groups = sorted(together.difference(each.consumer_groups))
        sentence = f"Incidents of {names_text(groups)} point to {broker}, too: look at {broker} first."
        if broker == ALL_BROKERS:
            sentence = f"Incidents of {names_text(groups)} point to the brokers, too: look at the brokers first."
        yield replace(each, advice=f"{sentence} {each.advice}") if groups else each


def _is_same_time(first: Incident, second: Incident) -> bool:
    """Return whether both last at one time, and began at nearly the same."""
    began = first.opened_at, second.opened_at
    is_near = max(began) - min(began) <= QUIET
    return is_near and max(began) < min(first.last_seen_at, second.last_seen_at)
