"""ALLOCATION_DRIFT: the queues that a client really has are not those of its share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.client_spans import client_spans
from spark_jobs.domain.model.clients import DriftCause
from spark_jobs.domain.model.finding import Finding, FindingQueue, RuleHit
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.message_queue import MessageQueue, queues_by_topic
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.window import SECOND, Time, common, islands, joined, without
from spark_jobs.domain.rules.commands import ROUTE, RUNNING_INFO
from spark_jobs.domain.rules.drift_reasons import explained, follows_name_server
from spark_jobs.domain.rules.drifts import Drift, drifting
from spark_jobs.domain.rules.rule import CLIENT_SNAPSHOTS, Cause, Rule

#: The cause that shows what differs, and not only in which direction.
NAME_SERVERS_DIFFER = "NAME_SERVERS_DIFFER"


class _Harm(NamedTuple):
    """An assigned queue that no client holds, or one that two clients hold; `until`: as far as is known."""

    start: int
    end: int
    client_id: str
    queue: FindingQueue
    until: int


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (event, client, queue, time) that no client or two hold; one condition per group. What drifts at one time
    (± `max_gap`) is one event: its cause is another route, or the worse direction, its explanation that of all.
    """
    # Those with other members in between are none, unless a name server's route gives the lists.
    drifts = [each for each in drifting(step) if each.is_confirmed or follows_name_server(step, [each])]
    until_known = sorted(harm._replace(end=harm.until) for harm in _harmed(step, drifts))
    for event in islands(until_known, step.settings.max_gap):
        time = event[0].start, max(harm.until for harm in event)
        together = [each for each in drifts if common(time, (each.start, each.end))]
        cause, explanation = _cause(step, event, together), explained(step, together)
        for harm in event:
            yield RuleHit(
                harm.start, harm.until, cause, queue=harm.queue, implicated=harm.client_id, explanation=explanation
            )


def _cause(step: AuditedStep, event: Iterable[_Harm], drifts: Sequence[Drift]) -> str:
    if follows_name_server(step, drifts):
        return NAME_SERVERS_DIFFER
    roles = {harm.queue.role for harm in event}
    return DriftCause.HOLDS_LESS if DriftCause.HOLDS_LESS in roles else DriftCause.HOLDS_MORE


def _harmed(step: AuditedStep, drifts: Sequence[Drift]) -> Iterator[_Harm]:
    """The queues that no client or two consume, while a client drifts in one direction for `convergence_seconds`."""
    holders = _holders(step, drifts)
    harms = (
        _Harm(*part, each.client_id, queue, each.until if part[1] == each.end else part[1])
        for each in drifts
        for cause, places in each.queues.items()
        for place in places
        for queue in (FindingQueue(each.topic, *place, cause.value),)
        for part in _harm(cause, each, holders[MessageQueue(each.topic, *place)])
    )
    same_direction = by_key(sorted(harms), lambda harm: (harm.client_id, harm.queue.topic, harm.queue.role))
    for same in same_direction.values():
        for island in islands(same):
            last = max(harm.end for harm in island)
            if last - island[0].start >= step.settings.thresholds.convergence_seconds * SECOND:
                yield from island


def _harm(cause: DriftCause, drifted: Drift, holders: Sequence[Span[str]]) -> Iterator[Time]:
    time = drifted.start, drifted.end
    by_others = joined((span.start, span.end) for span in holders if span.state != drifted.client_id)
    if cause is DriftCause.HOLDS_LESS:
        return without(time, by_others)
    return (part for other in by_others if (part := common(time, other)))


def _holders(step: AuditedStep, drifts: Sequence[Drift]) -> Mapping[MessageQueue, Sequence[Span[str]]]:
    """Of the queues that differ, by which client each was listed, and when."""
    holders: dict[MessageQueue, list[Span[str]]] = {
        MessageQueue(each.topic, *place): [] for each in drifts for place in frozenset().union(*each.queues.values())
    }
    for client_id, spans in client_spans(step).items() if holders else ():
        for span in spans:
            for queue in holders.keys() & set(span.state.owned or ()):
                holders[queue].append(Span(*span[:3], client_id))
    return holders


def _detail(finding: Finding) -> str:
    """The queues that no client holds, and those that two hold."""
    by_role = by_key(finding.evidence.queues, lambda queue: queue.role)
    texts = (
        f"{words} {queues_by_topic({queue[:3] for queue in by_role[role]})}"
        for role, words in ((DriftCause.HOLDS_LESS, "no client holds"), (DriftCause.HOLDS_MORE, "two clients hold"))
        if role in by_role
    )
    return ", ".join(texts)


RULE = Rule(
    name="ALLOCATION_DRIFT",
    ended="members had their shares again",
    headline="{members} in {groups} {members:holds|hold} other queues than {members:its share|their shares}",
    detail=_detail,
    meaning="Clients do not hold their assigned queues, or two clients hold one. The advice names the inputs that "
    "explain their lists.",
    decided_by="Clients' lists differ from the replay in two client snapshots, `convergence_seconds` (20) apart and "
    "after a change; after a route change, `route_poll_seconds` (30) more. Not for popped queues, an assumed strategy, "
    "shared client ids, or empty lists under CONSUME_ACTIVELY or POP.",
    causes={
        NAME_SERVERS_DIFFER: Cause(
            "the clients' lists are those of a name server whose route lacks queues or has others",
            "Clients and producers that ask this name server use other queues. Check that each broker names all name "
            "servers (`namesrvAddr`) and reaches them. A name server that was restarted knows a broker from its next "
            "registration on, within 30 s: restart one at a time.",
            headline="Name servers differ, and {members} in {groups} {members:follows|follow} one that lacks queues",
            commands=(ROUTE,),
        ),
        DriftCause.HOLDS_MORE: Cause(
            "a client holds a queue assigned to another, which holds it, too",
            "Messages are consumed twice: clients use different inputs, or a rebalance is stuck. Compare strategy, "
            "settings and version of these clients, check their rebalance logs, and restart them.",
            commands=(RUNNING_INFO,),
        ),
        DriftCause.HOLDS_LESS: Cause(
            "no client lists an assigned queue",
            "These queues are not consumed: restart these clients. Check their rebalance logs for errors and, if "
            "they consume orderly, for a broker's lock that they cannot get.",
            commands=(RUNNING_INFO,),
        ),
    },
    evaluate=hits,
    lasts=0,
    needs=(CLIENT_SNAPSHOTS,),
)
