"""Incidents of a cluster of which nothing is recorded: a recorder that stopped looks like a fleet at rest."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.severities import ERROR
from spark_jobs.domain.model.window import Time, common
from spark_jobs.domain.rules import unobserved


def with_silence(incident: Incident, silent: Mapping[str, Sequence[Time]]) -> Incident:
    """The incident; an ERROR of the cluster if its snapshots are missing in a time in which nothing of the cluster was
    recorded. One that is an ERROR already says more.
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
