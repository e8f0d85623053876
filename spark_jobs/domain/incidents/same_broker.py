"""Stalls of all queues of one broker in several groups: the broker is what they share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from spark_jobs.domain.incidents.thread import QUIET
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.phrases import names_text
from spark_jobs.domain.rules import consumer_stalled, consumer_stopped
from spark_jobs.domain.rules.in_common import ALL_OF_BROKER

_STALLS = (consumer_stopped.NAME, consumer_stalled.NAME)
#: Names in a sentence, at most.
_NAMED = 3


def with_same_broker(incidents: Iterable[Incident]) -> Iterator[Incident]:
    """The incidents, in their order. The advice of a stall of all queues of one broker begins with the other groups in
    which the queues of that broker do not move either, from nearly the same time on.
    """
    with_brokers = [(incident, _broker(incident)) for incident in incidents]
    stalls: dict[tuple[str, str], list[Incident]] = defaultdict(list)
    for incident, broker in with_brokers:
        if broker:
            stalls[incident.cluster, broker].append(incident)
    for incident, broker in with_brokers:
        of_broker = stalls[incident.cluster, broker] if broker else []
        together = {group for each in of_broker if _is_same_time(incident, each) for group in each.groups}
        groups = sorted(together.difference(incident.groups))
        sentence = f"The queues of {broker} stand in {names_text(groups, _NAMED)}, too: look at {broker} first."
        yield replace(incident, advice=f"{sentence} {incident.advice}") if groups else incident


def _broker(incident: Incident) -> str | None:
    """The broker whose queues alone stand, as the advice of a stall says; None: it is none."""
    brokers = {broker for _, broker, _ in incident.queues} if incident.rule in _STALLS else ()
    return next((broker for broker in brokers if ALL_OF_BROKER.format(broker=broker) in incident.advice), None)


def _is_same_time(first: Incident, second: Incident) -> bool:
    """Return whether both last at one time, and began at nearly the same."""
    began = first.opened_at, second.opened_at
    is_near = max(began) - min(began) <= QUIET
    return is_near and max(began) < min(first.last_seen_at, second.last_seen_at)
