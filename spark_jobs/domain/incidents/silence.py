"""Clusters of which nothing was recorded for a whole step: a recorder that stopped looks like a fleet at rest."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

from spark_jobs.domain.incidents.values import Incident, PublishedFinding
from spark_jobs.domain.model.severities import ERROR
from spark_jobs.domain.model.window import HOUR, Time, common, joined, without
from spark_jobs.domain.rules import unobserved
from spark_jobs.domain.rules.snapshot_gaps import MEMBERSHIPS

#: Shorter steps need several that are silent, so that the severity does not depend on their length.
SILENT_FOR = HOUR


def silent_findings(
    findings: Iterable[PublishedFinding], steps: Mapping[tuple[str, str], Set[int]], step: int
) -> frozenset[str]:
    """The ids of findings of times, `SILENT_FOR` or longer with a whole step in it, in which no members of their
    cluster were recorded. `steps`: starts of audited steps by cluster and group; `step`: their length; microseconds.
    """
    blind = [published for published in findings if _is_without_members(published)]
    silent: dict[str, list[Time]] = defaultdict(list)
    for cluster, time in _silent_in_steps(blind, steps, step):
        silent[cluster].append(time)
    long = {cluster: [*_long(times, step)] for cluster, times in silent.items()}
    return frozenset(
        published.finding.finding_id
        for published in blind
        if any(common(time, _time(published)) for time in long.get(published.cluster, ()))
    )


def _long(times: Sequence[Time], step: int) -> Iterator[Time]:
    whole_steps = [(start, end) for start, end in times if end - start == step]
    for start, end in joined(times):
        if end - start >= SILENT_FOR and any(common((start, end), whole) for whole in whole_steps):
            yield start, end


def _time(published: PublishedFinding) -> Time:
    return published.finding.started_at, published.finding.ended_at


def _is_without_members(published: PublishedFinding) -> bool:
    """Return whether no broker listed the group's members."""
    finding = published.finding
    sources = (party.name for party in finding.evidence.conflicting_values or ())
    return finding.rule == unobserved.RULE.name and MEMBERSHIPS in sources


def _silent_in_steps(
    blind: Iterable[PublishedFinding], steps: Mapping[tuple[str, str], Set[int]], step: int
) -> Iterator[tuple[str, Time]]:
    """The times of each step in which every audited group of the cluster is without members."""
    times: dict[tuple[str, int], dict[str, list[Time]]] = defaultdict(lambda: defaultdict(list))
    for published in blind:
        times[published.cluster, published.step_start][published.consumer_group].append(_time(published))
    for (cluster, start), of_groups in times.items():
        audited = (group for (name, group), starts in steps.items() if name == cluster and start in starts)
        whole = start, start + step
        known = joined(part for group in audited for part in without(whole, joined(of_groups.get(group, ()))))
        yield from ((cluster, time) for time in without(whole, known))


def with_silence(incident: Incident, silent: Set[str]) -> Incident:
    """The incident; an ERROR of the cluster if a root finding is `silent`. One that is an ERROR already says more."""
    if incident.severity == ERROR or silent.isdisjoint(
        finding_id for part in incident.root_causes for finding_id in part.finding_ids
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
