"""Sightings from before a run's read window, brought to the groups; and the readings of what is gone since."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.model.history import GroupHistory
from spark_jobs.domain.model.series import NEVER, Sightings, last_hour_before
from spark_jobs.domain.model.window import HOUR, AuditSettings, to_micros
from spark_jobs.pipeline.gather.fold import GROUP
from spark_jobs.pipeline.gather.kinds import CAPTURED, DELETED, READABLE, ROUTE

_THING = (*GROUP, "topic", "broker_name", "deleted")
#: A group that was there before a step's window, as (cluster, group); or a broker that was readable then, as (cluster,
#: topic, broker, start of the last hour in which it was, microseconds).
Known = tuple[str, str] | tuple[str, str, str, int]


def sighted(sightings: pa.Table, read_from: datetime) -> pa.Table:
    """One row per (group, group that is deleted, or topic and broker) of `sightings`; `times`: the first and the last
    of each hour, in any order, in microseconds.

    Of the hours before the one that holds `read_from` the last time is enough: all steps of the run begin later.
    """
    is_earlier = pc.less(sightings["hour"], read_from.replace(minute=0, second=0, microsecond=0))
    earlier, since = sightings.filter(is_earlier), sightings.filter(pc.invert(is_earlier))
    last_before = earlier.group_by(_THING).aggregate([("last_at", "max")])
    parts = [last_before, since.select([*_THING, "first_at"]), since.select([*_THING, "last_at"])]
    # Made anew: Spark says of required columns that they have no nulls, an aggregation does not.
    named = pa.concat_tables(pa.Table.from_arrays(part.columns, [*_THING, "times"]) for part in parts)
    grouped = named.group_by(_THING).aggregate([("times", "list")]).rename_columns([*_THING, "times"])
    return grouped.set_column(len(_THING), "times", grouped["times"].cast(pa.list_(pa.int64())))


def sighted_states(sighted: DataFrame) -> DataFrame:
    """The same as states: of a group as kind `CAPTURED` or `DELETED`, of a topic as `READABLE` with the broker in that
    column.
    """
    of_group = F.when(F.col("deleted"), F.lit(DELETED)).otherwise(F.lit(CAPTURED))
    kind = F.when(F.col("topic").isNull(), of_group).otherwise(F.lit(READABLE))
    name = F.coalesce("topic", "consumer_group")
    fingerprint = F.lit(0).cast("bigint")  # it has no readings
    return sighted.select(
        kind.alias("kind"),
        *GROUP,
        name.alias("name"),
        fingerprint.alias("fingerprint"),
        "times",
        F.col("broker_name").alias(READABLE),
    )


def known_before(sighted: pa.Table, settings: AuditSettings, steps: Iterable[int]) -> dict[int, set[Known]]:
    """Per start of a step (microseconds) all that its kernel can ask about rows of `sighted`."""
    captured: dict[tuple[str, str], Sightings] = {}
    deleted: dict[tuple[str, str], Sightings] = {}
    readable: dict[tuple[str, str, str], Sightings] = {}
    for row in sighted.to_pylist():
        times = Sightings.of(np.array(row["times"], np.int64))
        if row["topic"] is None:
            (deleted if row["deleted"] else captured)[row["cluster"], row["consumer_group"]] = times
        else:
            readable[row["cluster"], row["topic"], row["broker_name"]] = times
    groups = [GroupHistory(*group, captured=captured[group], deleted=deleted.get(group, NEVER)) for group in captured]
    known: dict[int, set[Known]] = {}
    for start in steps:
        window = settings.window(start)
        hours = {broker: last_hour_before(times, window, settings) for broker, times in readable.items()}
        known[start] = {(*broker, hour) for broker, hour in hours.items() if hour is not None}
        known[start] |= {(of.cluster, of.consumer_group) for of in groups if of.was_there_before(window, settings)}
    return known


class LostBrokers(NamedTuple):
    """A topic of which a route lacks brokers that were readable before; `hours`: the starts of those in which they last
    were, microseconds.
    """

    cluster: str
    topic: str
    brokers: list[str]
    hours: list[int]


def lost_brokers(
    sighted: pa.Table, routes: Iterable[tuple[str, str, list[str]]], read_from: datetime
) -> list[LostBrokers]:
    """Of rows of `sighted`, and of the brokers that each route (cluster, topic) names: those that were last seen before
    `read_from` and are not in every route of their topic. Where none was, no route is looked at.
    """
    last = _last_hours(sighted, to_micros(read_from))
    always: dict[tuple[str, str], set[str]] = {}
    for cluster, topic, named in routes if last else ():
        always.setdefault((cluster, topic), set(named)).intersection_update(named)
    lost: dict[tuple[str, str], LostBrokers] = {}
    for (cluster, topic, broker), hour in last.items():
        if broker not in always.get((cluster, topic), {broker}):
            of_topic = lost.setdefault((cluster, topic), LostBrokers(cluster, topic, [], []))
            of_topic.brokers.append(broker)
            of_topic.hours.append(hour)
    return list(lost.values())


def _last_hours(sighted: pa.Table, until: int) -> dict[tuple[str, str, str], int]:
    """By cluster, topic and broker: start of the last hour in which it was seen before then."""
    of_brokers = sighted.filter(pc.is_valid(sighted["topic"])).to_pylist()
    last = {
        (row["cluster"], row["topic"], row["broker_name"]): max((at for at in row["times"] if at < until), default=None)
        for row in of_brokers
    }
    return {thing: at - at % HOUR for thing, at in last.items() if at is not None}


def route_brokers(folded: DataFrame) -> DataFrame:
    """One row per (cluster, topic, state of its route): the brokers that it names."""
    return folded.where(F.col("kind") == ROUTE).select("cluster", "name", F.col(f"{ROUTE}.queues")["broker_name"])


def offsets_of_lost(offsets: DataFrame, lost: DataFrame, max_gap: int) -> DataFrame:
    """The rows of `offset_snapshots` around the hours of `lost` (`LostBrokers`): queues of these brokers only."""
    is_lost: Column = F.filter("offsets", lambda column: F.array_contains("brokers", column["broker_name"]))
    at = F.unix_micros("captured_at")
    is_near = F.exists("hours", lambda hour: (at >= hour - max_gap) & (at < hour + HOUR + max_gap))
    around = offsets.join(F.broadcast(lost), on=["cluster", "topic"], how="inner").where(is_near)
    return around.withColumn("offsets", is_lost).where(F.size("offsets") > 0).select(*offsets.columns)
