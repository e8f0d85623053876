"""UNASSIGNED_QUEUE: messages may arrive in a queue that nobody consumes."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.causes import UnassignedCause
from spark_jobs.domain.subscriptions import RETRY
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import DISPUTED, UNASSIGNED, nothing, queue, touches
from spark_jobs.replay.views import ALL_HOSTS, GROUP_TOPIC

NAME = "UNASSIGNED_QUEUE"
#: Not a cause of an allocation: each view's own allocation has an owner.
VIEWS_DISAGREE = "VIEWS_DISAGREE"


def unassigned_queues(audited: Audited) -> DataFrame:
    """One touch per (interval, queue without owner), and per (split of the views, queue that may have none); one
    condition per group, topic and cause.

    Queues beyond the read queues have a rule of their own, STRANDED_WRITE_QUEUES.
    """
    return _certainly(audited.owned).union(_perhaps(audited.owned))


def _certainly(owned: DataFrame) -> DataFrame:
    return touches(
        owned.where(F.col("unassigned_cause") != UnassignedCause.BEYOND_READ_QUEUES.value),
        NAME,
        cause=F.col("unassigned_cause"),
        client_id=nothing(),
        blamed=F.col("unassigned_client_id"),
        queue=queue(UNASSIGNED),
    )


def _perhaps(owned: DataFrame) -> DataFrame:
    """The views of a split begin with it: its first moment tells which owners each of them gives a queue."""
    split = owned.where((F.col("membership_view") != ALL_HOSTS) & ~F.col("topic").startswith(RETRY))
    together = split.groupBy(*GROUP_TOPIC, "broker_name", "queue_id", "start").agg(
        F.max("end").alias("end"),
        F.min("membership_view").alias("membership_view"),
        F.collect_list("owners.client_id").alias("owners"),
    )
    return touches(
        together.where(may_be_unassigned(F.col("owners"))),
        NAME,
        cause=F.lit(VIEWS_DISAGREE),
        client_id=nothing(),
        severity=F.lit("WARN"),
        queue=queue(DISPUTED),
    )


def may_be_unassigned(owners: Column) -> Column:
    """Whether some choice of views leaves a queue to nobody; `owners` are its client ids, an array per view
    (`domain.views.may_be_unassigned`).
    """
    in_all = F.reduce(owners, F.get(owners, 0), F.array_intersect)
    return F.exists(owners, lambda ids: F.size(ids) > 0) & (F.size(in_all) == 0)


RULE = Rule(
    name=NAME,
    meaning="Nobody consumes the queue, and messages may arrive there. One finding per group, topic and cause; "
    "`subject` names the queues.",
    decided_by="the replayed allocation: no connection takes the queue. WARN for `ROOM_FILTER`, which is so by "
    "design; INFO if nothing was produced to the queues and no backlog is known.",
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
    touches=unassigned_queues,
)
