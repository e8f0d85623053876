"""The part of earlier steps that later ones can still change: the fold continues from it.

Invariant: the fold of the steps since `before`, and of what is carried of those before it, gives every incident of the
whole fold that a thread of theirs can change. It holds because a thread grows at its end only: where it began, the root
that its findings name, and what ended when another began are decided once, and the findings that decided it are kept.
So are the first and the last one, the last of each cause and severity, and those of the last hours, which a step
that follows may revise. Of the others only sums and sets matter: these are in one merged finding per cause, severity
and topic. A step before `before` that is audited again makes what is carried invalid: then the fold begins earlier.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from spark_jobs.domain.incidents.facts import highest_of, waits_without_owner, without_offset
from spark_jobs.domain.incidents.thread import Thread, bounded
from spark_jobs.domain.incidents.values import CLEARED, AuditedTime, Incident, UnknownTime
from spark_jobs.domain.model.finding import QUIET, Evidence, Finding, QueueEvidence
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.window import HOUR, Time, common, joined
from spark_jobs.domain.rules import unobserved
from spark_jobs.domain.rules.broker_not_readable import LAST_KNOWN
from spark_jobs.domain.rules.findings import LEAD, highest
from spark_jobs.domain.rules.rule import Rule

#: A step can change what began, ended or was audited so long before it, and nothing older that is over: longer than the
#: look-back of any audit.
CHANGEABLE = 6 * HOUR
#: Of what `Carried` means. Raise it if other threads would be made of the same findings, or they are kept otherwise.
FOLD_VERSION = 1


class Carried(NamedTuple):
    """The state after the steps that begin before `before` (microseconds; None: of no step). Of groups with a
    thread: their `last_steps` (cluster, consumer group, start), the `unknown` times that reach the end of these, and
    their `deletions` as in `AuditedTime`. `silent`: times in which nothing of a cluster was recorded, one per thread.
    `incident_ids`: those of the threads.
    """

    before: int | None = None
    threads: tuple[Thread, ...] = ()
    last_steps: tuple[tuple[str, str, int], ...] = ()
    unknown: tuple[tuple[str, str, int, int], ...] = ()
    deletions: tuple[tuple[str, str, str | None, int], ...] = ()
    silent: tuple[tuple[str, int, int], ...] = ()
    incident_ids: tuple[str, ...] = ()

    def with_later(self, audited: AuditedTime) -> AuditedTime:
        """The audited time of later steps, and of these."""
        silent = by_key(self.silent, lambda each: each[0])
        return audited._replace(
            steps=[*audited.steps, *self.last_steps],
            deletions=[*audited.deletions, *self.deletions],
            silent={
                cluster: [*audited.silent.get(cluster, ()), *(each[1:] for each in silent.get(cluster, ()))]
                for cluster in audited.silent.keys() | silent
            },
            unknown={(cluster, group): (start, end) for cluster, group, start, end in self.unknown},
        )


NOTHING_CARRIED = Carried()


class Event(NamedTuple):
    """An incident with its threads, and the only broker that its roots point to; None: there is no such one."""

    incident: Incident
    roots: Sequence[Thread]
    symptoms: Sequence[Thread]
    broker: str | None

    @property
    def threads(self) -> Iterable[Thread]:
        """All of its threads."""
        return (*self.roots, *self.symptoms)


def carried(
    events: Sequence[Event], audited: AuditedTime, unknown: UnknownTime, rules: Mapping[str, Rule], before: int
) -> Carried:
    """The state after all steps that begin before then, which is the start of a step; `events`: of these steps."""
    kept = [*_kept(events, rules, before)]
    threads = [*chain.from_iterable(event.threads for event in kept)]
    decisive = {*_decisive(threads, rules)}
    groups = by_key(threads, lambda thread: thread.identity[:2])
    ends = {group: min(thread.end for thread in of_group) for group, of_group in groups.items()}
    open_times = {group: time for group in groups if (time := unknown.open_time(group))}
    return Carried(
        before,
        tuple(_carried_thread(thread, decisive, before) for thread in threads),
        tuple((*group, max(unknown.steps[group])) for group in groups if unknown.steps.get(group)),
        tuple((*group, *time) for group, time in open_times.items() if time[0] < time[1]),
        tuple({each for each in audited.deletions if each[3] >= ends.get(each[:2], each[3] + 1)}),
        tuple((thread.identity.cluster, *time) for thread in threads for time in _silence(thread, audited)),
        tuple({event.incident.incident_id for event in kept}),
    )


def _kept(events: Sequence[Event], rules: Mapping[str, Rule], before: int) -> Iterator[Event]:
    """The events with a thread that may continue, and those that such an event may come to share something with."""
    lasting = [event for event in events if any(_lasts(thread, before) for thread in event.threads)]
    opened = by_key(lasting, lambda event: event.incident.cluster)
    alive = by_key(
        (thread for event in lasting for thread in event.threads if _lasts(thread, before)),
        lambda thread: (thread.identity.cluster, thread.identity.rule),
    )
    for event in events:
        near = (
            abs(event.incident.opened_at - other.incident.opened_at) for other in opened.get(event.incident.cluster, ())
        )
        if (
            event in lasting
            or (event.broker is not None and min(near, default=QUIET + 1) <= QUIET)
            or any(
                _may_share(thread, root, rules)
                for root in event.roots
                for thread in alive.get((event.incident.cluster, root.identity.rule), ())
            )
        ):
            yield event


def _lasts(thread: Thread, before: int) -> bool:
    return thread.undeleted_until + CHANGEABLE >= before


def _may_share(thread: Thread, root: Thread, rules: Mapping[str, Rule]) -> bool:
    """Return whether a later cause of the thread, which is of the root's rule, can make them one event."""
    is_of_both = thread.identity.consumer_group == root.identity.consumer_group or rules[root.identity.rule].spreads_by
    return bool(is_of_both) and max(thread.start, root.start) <= min(thread.until, root.until) + QUIET


def _decisive(threads: Sequence[Thread], rules: Mapping[str, Rule]) -> Iterator[str]:
    """The ids of the findings by which a thread has its root, and of those that ended when a thread began."""
    thread_of = {finding.finding_id: thread for thread in threads for finding in thread.findings}
    for thread in threads:
        for finding in thread.findings:
            root = thread_of.get(finding.root_finding_id or "")
            if root is not None and root.start <= thread.start + LEAD:
                yield from (finding.finding_id, finding.root_finding_id or "")
                break
    within = {link.root: link.within for rule in rules.values() for link in rule.follows if link.within}
    starts = sorted({thread.start for thread in threads})
    for thread in threads:
        near = within.get(thread.identity.rule)
        if near is not None:
            ends = ((finding.finding_id, finding.ended_at) for finding in thread.findings)
            yield from (finding_id for finding_id, end in ends if any(abs(end - start) <= near for start in starts))


def _silence(thread: Thread, audited: AuditedTime) -> Iterator[Time]:
    """A time of the thread, if snapshots are missing in it and nothing of the cluster was recorded; one is enough."""
    if thread.identity.rule == unobserved.RULE.name:
        times = audited.silent.get(thread.identity.cluster, ())
        shared = (common(time, (thread.start, thread.end)) for time in times)
        yield from [time for time in shared if time][:1]


def _carried_thread(thread: Thread, decisive: set[str], before: int) -> Thread:
    """The thread with the findings that decide how it continues, without deletions."""
    finding_ids, more = bounded(thread.finding_ids)
    return replace(
        thread,
        findings=[*_findings(thread, decisive, before)],
        until=thread.undeleted_until,
        resolution=CLEARED,
        finding_ids=[*finding_ids],
        more_findings=thread.more_findings + more,
        revised=tuple(sorted(finding.finding_id for finding in thread.findings if thread.is_revised(finding))),
    )


def _findings(thread: Thread, decisive: set[str], before: int) -> Iterator[Finding]:
    """Those that are kept as they are, and a merged one in place of the first of each cause, severity and topic."""
    alike = by_key(thread.findings, lambda finding: (finding.severity, finding.cause)).values()
    last = [max(of_cause, key=lambda finding: finding.started_at) for of_cause in alike]
    kept = decisive.union(finding.finding_id for finding in (*last, thread.findings[0], thread.findings[-1]))

    def key(finding: Finding) -> tuple[object, ...]:
        if finding.finding_id in kept or finding.ended_at + CHANGEABLE >= before:
            return (finding.finding_id,)
        return finding.severity, finding.cause, finding.evidence.topic, thread.is_revised(finding)

    for (first, *_), together in by_key(thread.findings, key).items():
        yield _merged(together) if first != together[0].finding_id else together[0]


def _merged(findings: Sequence[Finding]) -> Finding:
    """One finding over the time of all, in place of the first. It says nothing that is shown: the last of them does."""
    evidence = [finding.evidence for finding in findings]
    most, uncommitted = _highest(evidence)
    merged: dict[str, Any] = dict.fromkeys(Evidence._fields) | {
        "client_ids": sorted(set[str]().union(*(each.named_clients for each in evidence))),
        "queues": [*_merged_queues([queue for each in evidence for queue in each.queues], uncommitted)],
        "backlog_max": highest(each.backlog_max for each in evidence),
        "unknown_queues": highest(each.unknown_queues for each in evidence),
        "measures": None if most is None else [(LAST_KNOWN, float(most))],
    }
    return findings[0]._replace(
        ended_at=max(finding.ended_at for finding in findings),
        evidence=Evidence(**merged),
        advice="",
        root_finding_id=None,
        active_since=None,
    )


def _highest(evidence: Sequence[Evidence]) -> tuple[int | None, int]:
    """The highest backlog of one of them, with what came to queues without an offset in the others (None: unknown), and
    what came to these queues in all.
    """
    uncommitted = [without_offset(each) for each in evidence]
    known = [highest_of(each) for each in evidence]
    highest = sum(uncommitted) + max((most or 0) - own for most, own in zip(known, uncommitted, strict=True))
    return (highest if highest or any(most is not None for most in known) else None), sum(uncommitted)


def _merged_queues(queues: Sequence[QueueEvidence], uncommitted: int) -> Iterator[QueueEvidence]:
    """Per queue and role the times in which messages waited without owner, else none; once what came without offset."""
    times: dict[tuple[str, str, int, str], list[Time]] = defaultdict(list)
    for queue in queues:
        times[queue[:4]] += [queue[4:6]] if waits_without_owner(queue) else []
    at = min((queue.started_at for queue in queues), default=0)
    if uncommitted:
        yield QueueEvidence(*min(times), at, at, None, None, uncommitted, None, None)
    for place, spans in sorted(times.items()):
        yield QueueEvidence(*place, at, at, 0, 0, 0, 0, 0)
        for start, end in joined(spans):
            yield QueueEvidence(*place, start, end, 0, 0, 0, None, None)
