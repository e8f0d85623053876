"""Incidents of several groups that point to one broker: it is what they share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from spark_jobs.domain.incidents.thread import QUIET, Thread
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.phrases import names_text
from spark_jobs.domain.rules.rule import Rule

#: Names in a sentence, at most.
_NAMED = 3


def broker_of(roots: Iterable[Thread], rules: Mapping[str, Rule]) -> str | None:
    """The only broker that roots of an incident point to by their worst findings; None: there is no such one."""
    brokers = {rules[thread.identity.rule].broker(thread.worst) for thread in roots} - {None}
    return brokers.pop() if len(brokers) == 1 else None


def with_same_broker(incidents: Sequence[tuple[Incident, str | None]]) -> Iterator[Incident]:
    """The incidents, in their order, given with the broker that each points to. The advice begins with the other groups
    of which incidents point to the same broker, from nearly the same time on.
    """
    by_broker: dict[tuple[str, str], list[Incident]] = defaultdict(list)
    for incident, broker in incidents:
        if broker:
            by_broker[incident.cluster, broker].append(incident)
    for incident, broker in incidents:
        of_broker = by_broker[incident.cluster, broker] if broker else []
        together = {group for each in of_broker if _is_same_time(incident, each) for group in each.consumer_groups}
        groups = sorted(together.difference(incident.consumer_groups))
        sentence = f"Incidents of {names_text(groups, _NAMED)} point to {broker}, too: look at {broker} first."
        yield replace(incident, advice=f"{sentence} {incident.advice}") if groups else incident


def _is_same_time(first: Incident, second: Incident) -> bool:
    """Return whether both last at one time, and began at nearly the same."""
    began = first.opened_at, second.opened_at
    is_near = max(began) - min(began) <= QUIET
    return is_near and max(began) < min(first.last_seen_at, second.last_seen_at)
