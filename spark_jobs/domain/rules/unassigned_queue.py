"""UNASSIGNED_QUEUE: messages may arrive in a queue that nobody consumes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from spark_jobs.domain.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.causes import UnassignedCause
from spark_jobs.domain.history import Place
from spark_jobs.domain.rules import (
    broker_not_readable,
    duplicate_client_id,
    group_offline,
    membership_view_split,
    mixed_clients,
    mixed_strategies,
    subscription_mismatch,
)
from spark_jobs.domain.rules.follows import Follows, clients, everything, queues, topics
from spark_jobs.domain.rules.queue_owners import DISPUTED, queue_hit, unassigned_queues
from spark_jobs.domain.rules.rule import Cause, Condition, FindingQueue, Rule, RuleHit, severity_by_harm
from spark_jobs.domain.rules.split_views import split_views

NAME = "UNASSIGNED_QUEUE"
#: Not a cause of an allocation: each view's own allocation has an owner.
VIEWS_DISAGREE = "VIEWS_DISAGREE"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (interval, queue without owner), and per (split of the views, queue that may have none); one condition
    per group, topic and cause.

    Queues beyond the read queues have a rule of their own, STRANDED_WRITE_QUEUES.
    """
    for interval in step.replayed:
        yield from _certainly(interval)
    for together in split_views(step):
        yield from _perhaps(together)


def _certainly(interval: RebalanceInterval) -> Iterator[RuleHit]:
    for queue, cause, client_id in unassigned_queues(interval):
        if cause != UnassignedCause.BEYOND_READ_QUEUES:
            yield queue_hit(interval, queue, cause, client_id)


def _perhaps(together: Sequence[RebalanceInterval]) -> Iterator[RuleHit]:
    """The views of a split begin with it: its first moment tells which owners each of them gives a queue."""
    owners: dict[Place, list[Collection[str]]] = defaultdict(list)
    for interval in together:
        if interval.allocation:
            for queue, ids in zip(interval.allocation.queues, interval.allocation.owner_ids, strict=True):
                owners[queue].append(ids)
    first, end = together[0], max(one.end for one in together)
    for queue, by_view in owners.items():
        if may_be_unassigned(by_view):
            yield RuleHit(
                first.start,
                end,
                cause=VIEWS_DISAGREE,
                topic=first.topic,
                view=first.view,
                queue=FindingQueue(first.topic, *queue, DISPUTED),
                severity="WARN",
            )


def may_be_unassigned(owners: Sequence[Collection[str]]) -> bool:
    """Whether clients that each take the list of some broker may leave a queue to nobody; its owners by each list.

    A client that has the queue by every list has it whatever it asks. A queue that no list gives anybody is
    unassigned for certain, for a cause of its own.
    """
    return any(owners) and not set(owners[0]).intersection(*owners[1:])


def severity(condition: Condition) -> str:
    """ERROR; WARN for what is so by design, INFO where no message was touched."""
    by_harm = severity_by_harm(condition)
    return "WARN" if by_harm == "ERROR" and condition.cause == UnassignedCause.ROOM_FILTER else by_harm


RULE = Rule(
    name=NAME,
    headline="No consumer of {groups} owns {queues}",
    meaning="Nobody consumes the queue, and messages may arrive there. One finding per group, topic and cause; "
    "`subject` names the queues.",
    decided_by="the replayed allocation: no connection takes the queue. WARN for `ROOM_FILTER`, which is so by "
    "design; INFO if nothing was produced to the queues and no backlog is known, and for a repeated id that two "
    "snapshots 150 s apart do not show: after a reconnect the old connection lives for up to 130 s.",
    causes={
        UnassignedCause.DUPLICATE_CLIENT_ID: Cause(
            "it is in the share of a further position of a repeated id, which nobody computes",
            "Give every consumer of the group its own client id: the share of the second position of an id is "
            "computed by nobody. See the DUPLICATE_CLIENT_ID finding.",
        ),
        UnassignedCause.MEMBER_NOT_SUBSCRIBED: Cause(
            "it is in the share of a member that does not subscribe the topic: it holds a position all the same",
            "All members of a group must subscribe the same topics: move the consumers that do not subscribe this "
            "one to a group of their own.",
        ),
        UnassignedCause.GROUP_OFFLINE: Cause(
            "no host lists any member",
            "No consumer of the group was connected: start it, or delete the group if it is no longer needed.",
        ),
        UnassignedCause.MIXED_STRATEGIES: Cause(
            "it is in the share of a member that runs another strategy",
            "Members run different allocation strategies: roll out one to all of them.",
        ),
        UnassignedCause.MIXED_CLIENTS: Cause(
            "it is in the share of a member that computes the same strategy by other rules: those of its language and "
            "version",
            "Clients of this group compute the same strategy differently: use one language, upgrade Java clients "
            "beyond 4.7.1, or change to AVG. See the MIXED_CLIENTS finding.",
        ),
        UnassignedCause.MACHINE_ROOM_BUG: Cause(
            "it is in a configured room, and nobody's: MACHINE_ROOM of Go, and of Java up to 4.7.1, counts the queues "
            "of the rooms, but takes the slices from the beginning of the list of all queues",
            "MACHINE_ROOM of these clients takes queues of other rooms instead of these: upgrade Java clients beyond "
            "4.7.1; with Go, use another strategy.",
        ),
        UnassignedCause.ROOM_FILTER: Cause(
            "MACHINE_ROOM leaves out the brokers of other rooms",
            "MACHINE_ROOM leaves out every broker that is not in the configured rooms, by design: add the room, or "
            "use MACHINE_ROOM_NEARBY.",
        ),
        UnassignedCause.CONFIG_HOLE: Cause(
            "it is in no client's configured list; `%RETRY%` topics too",
            "No client's configured list names these queues: add them to one.",
        ),
        UnassignedCause.NO_VIRTUAL_NODES: Cause(
            "CONSISTENT_HASH with `virtualNodeCnt` 0",
            "virtualNodeCnt is 0, so nobody is on the hash ring: set it to 10, the default.",
        ),
        UnassignedCause.BROKER_NOT_READABLE: Cause(
            "the broker lacks read permission for the topic",
            "The broker has no read permission for the topic: give it back (perm 6) until the messages are drained.",
        ),
        VIEWS_DISAGREE: Cause(
            "the brokers list different members, and no member has the queue by the lists of all of them: each client "
            "asks a random broker, so by turns nobody may take it (role `DISPUTED`)",
            "See the MEMBERSHIP_VIEW_SPLIT finding: every client must heartbeat to every broker that hosts the topic.",
        ),
    },
    example="`payment-service`: queues 4–7 of `payments`, from 02:07:05 to 02:17:26, about 6,100 messages.",
    hits=hits,
    severity=severity,
    follows=(
        Follows(duplicate_client_id.NAME, clients, (UnassignedCause.DUPLICATE_CLIENT_ID,)),
        Follows(group_offline.NAME, everything, (UnassignedCause.GROUP_OFFLINE,)),
        Follows(subscription_mismatch.NAME, everything, (UnassignedCause.MEMBER_NOT_SUBSCRIBED,)),
        Follows(mixed_strategies.NAME, everything, (UnassignedCause.MIXED_STRATEGIES,)),
        Follows(mixed_clients.NAME, everything, (UnassignedCause.MIXED_CLIENTS,)),
        Follows(membership_view_split.NAME, topics, (VIEWS_DISAGREE,)),
        Follows(broker_not_readable.NAME, queues, (UnassignedCause.BROKER_NOT_READABLE,)),
    ),
)
