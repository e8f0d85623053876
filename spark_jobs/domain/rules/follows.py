"""How a rule says whose consequence its findings are: the root's rule, and what both findings must have in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from spark_jobs.domain.model.finding import Finding

#: What a finding has, of which it shares at least one with its root.
Shares = Callable[["Finding"], Iterable[Hashable]]


class Follows(NamedTuple):
    """Findings of a rule follow from those of the rule `root` that stand at the same time and share one of `shares`.

    `causes`: only findings with one of these causes follow, None: all do.
    """

    root: str
    shares: Shares
    causes: tuple[str, ...] | None = None


def everything(_: Finding) -> Iterable[Hashable]:
    """All findings share it: of the step of a group as consequences, of a cluster as parts of one incident."""
    return ((),)


def topics(found: Finding) -> Iterable[Hashable]:
    """The topic, or those of its queues."""
    return {found.topic, *(queue.topic for queue in found.evidence.queues)} - {None}


def queues(found: Finding) -> Iterable[Hashable]:
    """Its queues."""
    return {(queue.topic, queue.broker_name, queue.queue_id) for queue in found.evidence.queues}


def brokers(found: Finding) -> Iterable[Hashable]:
    """The brokers of its queues."""
    return {queue.broker_name for queue in found.evidence.queues}


def clients(found: Finding) -> Iterable[Hashable]:
    """The client ids that it is about or names."""
    parties = (client_id for party in found.evidence.parties or () for client_id in party.client_ids or ())
    return {found.subject, *found.evidence.client_ids, *parties}


def subjects(found: Finding) -> Iterable[Hashable]:
    """Its subject."""
    return (found.subject,)


def hosts(found: Finding) -> Iterable[Hashable]:
    """The hosts of the client ids that it names: the text before the `@`."""
    return {client_id.partition("@")[0] for client_id in found.evidence.client_ids}
