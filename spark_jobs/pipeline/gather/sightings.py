"""Knowledge of groups and topics beside the snapshots of a read window, as states: sightings from before it, and
calls that no broker answered.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.domain.kernel.unseen import PROXY
from spark_jobs.domain.model.history import GroupHistory
from spark_jobs.domain.model.series import NEVER, Sightings, last_hour_before
from spark_jobs.domain.model.window import HOUR, AuditSettings, to_micros
from spark_jobs.pipeline.exchange import CAPTURED, DELETED, READABLE, STATES_ARROW, UNANSWERED
from spark_jobs.pipeline.gather.arrow_values import completed

_THING = ("cluster", "consumer_group", "topic", "broker_name", "deleted")
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


def sighted_states(sighted: pa.Table) -> pa.Table:
    """The same as `exchange.STATES`: of a group as kind `CAPTURED` or `DELETED`, of a topic as `READABLE`."""
    of_group = pc.if_else(pc.fill_null(sighted["deleted"], False), DELETED, CAPTURED)
    columns = {
        "kind": pc.if_else(pc.is_null(sighted["topic"]), of_group, READABLE),
        "name": pc.coalesce(sighted["topic"], sighted["consumer_group"]),
        "broker": sighted["broker_name"],
    }
    named = {name: sighted[name] for name in ("cluster", "consumer_group", "times")}
    return completed(named | columns, STATES_ARROW, len(sighted))


def unanswered_states(calls: pa.Table) -> pa.Table:
    """One row per (group, broker, error) of rows of `capture_calls` that are calls for members without an answer, as
    `exchange.STATES`. The fate stands for an error that is null. Calls to proxies are left out: they are no brokers.
    """
    calls = calls.filter(pc.invert(pc.starts_with(calls["called"], PROXY)))
    columns = {
        "cluster": calls["cluster"],
        "consumer_group": calls["subject"],
        "name": calls["called"],
        "error": pc.coalesce(calls["error"], calls["fate"]),
        "times": calls["captured_at"].cast(pa.timestamp("us", "UTC")).cast(pa.int64()),
    }
    names = [*columns][:-1]
    states = pa.table(columns).group_by(names).aggregate([("times", "list")]).rename_columns([*columns])
    kind = pa.repeat(UNANSWERED, len(states))
    return completed({"kind": kind, **{name: states[name] for name in columns}}, STATES_ARROW, len(states))


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
