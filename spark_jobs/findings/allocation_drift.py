"""ALLOCATION_DRIFT: the queues that a client really has are not those of its share."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas import CLIENT_SNAPSHOTS
from spark_jobs.config.model import Thresholds
from spark_jobs.domain.clients import DriftCause
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import touches
from spark_jobs.replay.clients import CLIENT
from spark_jobs.replay.states import STATE, recorded
from spark_jobs.replay.steps import duration
from spark_jobs.replay.views import ALL_HOSTS, GROUP_TOPIC

NAME = "ALLOCATION_DRIFT"
_KEY = (*CLIENT, "topic", "step_start")


def drifting_clients(audited: Audited) -> DataFrame:
    """One touch per (client, topic, span of drift, queue); one condition per client, topic and direction.

    A sweep over the starts and ends of "its share is" and "it has", per client and topic: linear in both.
    """
    events = _shares(audited).unionByName(_holdings(audited.looks), allowMissingColumns=True)
    in_order = Window.partitionBy(*_KEY).orderBy("at", "kind")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    differing = (
        events.withColumn("end", F.lead("at").over(in_order))
        .withColumn("share", F.last("share", ignorenulls=True).over(so_far))
        .withColumn("owned", F.last("owned", ignorenulls=True).over(so_far))
        .withColumn("start", F.greatest("at", "share.settled_at"))
        .where("start < end AND share.queues <> owned.queues")
    )
    each = differing.select(
        *_KEY, "start", "end", F.inline(drift(F.col("owned.queues"), F.col("share.queues")))
    ).select(*_KEY, "start", "end", "cause", "place.*")
    return touches(
        each,
        NAME,
        membership_view=F.lit(ALL_HOSTS),
        seen_at=F.col("end"),
        queue=F.struct("topic", "broker_name", "queue_id", F.col("cause").alias("role")),
        blamed=F.col("client_id"),
    )


def drift(owned: Column, share: Column) -> Column:
    """array<cause, place> of the queues that differ, both ways; its plain twin is `clients.drift`.

    `owned`, `share`: array<struct<broker_name, queue_id>>.
    """

    def named(queues: Column, cause: DriftCause) -> Column:
        return F.transform(queues, lambda place: F.struct(F.lit(cause.value).alias("cause"), place.alias("place")))

    more = named(F.array_except(owned, share), DriftCause.HOLDS_MORE)
    return F.concat(more, named(F.array_except(share, owned), DriftCause.HOLDS_LESS))


def _shares(audited: Audited) -> DataFrame:
    """One row per (client, topic, start or end of an interval): `share`, struct<queues, settled_at>, null at an end.

    Of intervals in which all hosts list the same members: else a client's share depends on which host it asks.
    """
    agreed = audited.intervals.where((F.col("status") == "REPLAYED") & (F.col("membership_view") == ALL_HOSTS))
    each = (
        with_settled_at(agreed, audited.configuration.thresholds)
        .select(*GROUP_TOPIC, "state_id", "start", "end", "settled_at")
        .join(_queues_by_client(recorded(audited.states)), on=list(STATE), how="inner")
    )
    return _events(each, "share", F.struct("queues", "settled_at"), until=F.col("end"))


def with_settled_at(intervals: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Adds `settled_at`: when the members must have followed the last change of anything, and that of the route."""
    per_topic = Window.partitionBy(*GROUP_TOPIC).orderBy("start")
    so_far = per_topic.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    same_queues = F.lag("queues").over(per_topic).eqNullSafe(F.col("queues"))
    agree = timedelta(seconds=thresholds.convergence_seconds)
    poll = timedelta(seconds=thresholds.route_poll_seconds)
    return intervals.withColumn("route_at", F.when(~same_queues, F.col("start"))).withColumn(
        "settled_at",
        F.greatest(
            F.col("start") + duration(agree), F.last("route_at", ignorenulls=True).over(so_far) + duration(agree + poll)
        ),
    )


def _queues_by_client(states: DataFrame) -> DataFrame:
    """One row per (replayed state, client id): `queues`, its share in order, empty if it has none; twins own the same.

    As rows, not as arrays of arrays: a group of thousands of members and queues takes no longer than many small ones.
    """

    def owned(queue: Column) -> Column:
        place = F.struct(queue["broker_name"].alias("broker_name"), queue["queue_id"].alias("queue_id"))
        client_ids = F.transform(queue["owners"], lambda p: F.element_at("members", p + 1)["client_id"])
        return F.struct(place.alias("place"), client_ids.alias("client_ids"))

    owners = states.select(*STATE, F.inline(F.transform("ownership", owned))).select(
        *STATE, F.explode("client_ids").alias("client_id"), "place"
    )
    members = states.select(*STATE, F.explode("members.client_id").alias("client_id"))
    return (
        owners.unionByName(members, allowMissingColumns=True)
        .groupBy(*STATE, "client_id")
        .agg(F.sort_array(F.collect_set("place")).alias("queues"))
    )


def _holdings(looks: DataFrame) -> DataFrame:
    """One row per (client, topic that it subscribes or has, start or end of a span): `owned`, null at an end.

    A span ends with the last look that showed it: a client that has left, or has followed since, is not drifting.
    """
    owned, topics = F.col("state.owned"), F.col("state.topics")

    def of_topic(topic: Column) -> Column:
        places = F.filter(owned, lambda q: q["topic"] == topic)
        queues = F.transform(places, lambda q: F.struct(q["broker_name"], q["queue_id"]))
        return F.struct(topic.alias("topic"), queues.alias("queues"))

    each = F.transform(F.array_distinct(F.concat(F.coalesce(topics, F.array()), owned["topic"])), of_topic)
    held = looks.where("start < seen_at").select(*CLIENT, "step_start", "start", "seen_at", F.inline(each))
    return _events(held, "owned", F.struct("queues"), until=F.col("seen_at"))


def _events(spans: DataFrame, fact: str, value: Column, until: Column) -> DataFrame:
    """Two rows per span: its `fact` at its start, and at its end one with null inside.

    `kind` puts the end of one span before the start of the next at the same moment.
    """
    starts = spans.select(*_KEY, F.col("start").alias("at"), F.lit(1).alias("kind"), value.alias(fact))
    nothing_known = F.from_json(F.lit("{}"), starts.schema[fact].dataType.simpleString())
    return starts.union(spans.select(*_KEY, until.alias("at"), F.lit(0), nothing_known))


RULE = Rule(
    name=NAME,
    meaning="A client has queues that are not its share (`HOLDS_MORE`: somebody else consumes them as well), or has "
    "not taken queues of its share (`HOLDS_LESS`: perhaps nobody consumes them). One finding per client, topic and "
    "direction; the evidence names the queues.",
    decided_by="what the client itself lists as its queues, without those it has dropped, against its share by replay, "
    "while all hosts list the same members. Every change gives the clients `convergence_seconds` (20 s) to follow, a "
    "changed route `route_poll_seconds` (30 s) more; what differs from then on, or later, and still does in a look "
    "another `convergence_seconds` later, is drift. So a client that drops its queues after an offset reset, and takes "
    "them again at its next rebalance, is none. Of twins one answers, and their shares are equal. INFO if nothing was "
    "produced to the queues and no backlog is known.",
    causes={
        DriftCause.HOLDS_MORE: Cause(
            "it has queues that are not its share",
            "The client follows other rules than its group, or its rebalance is stuck: compare its strategy, settings "
            "and version with its peers', look for errors in its rebalance log, and restart it.",
        ),
        DriftCause.HOLDS_LESS: Cause(
            "it has not taken queues of its share",
            "The client follows other rules than its group, its rebalance is stuck, or (an orderly one) it cannot get "
            "the broker's lock: look for errors in its rebalance log, and restart it.",
        ),
    },
    example="nothing: all clients have what the replay gives them, but for moments after a change or an offset reset.",
    touches=drifting_clients,
    needs=(CLIENT_SNAPSHOTS,),
)
