"""Knowledge of groups and topics alongside the snapshots of a read window, as states: sightings from before it, and
calls that no broker answered.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.domain.kernel.unseen import PROXY
from spark_jobs.domain.model.window import HOUR, to_micros
from spark_jobs.pipeline.exchange import CAPTURED, DELETED, READABLE, STATES_ARROW, UNANSWERED
from spark_jobs.store.arrow import completed

_BROKER = ("broker_name", "read_queue_nums")
_THING = ("cluster", "consumer_group", "topic", "deleted", *_BROKER)


def sighted(sightings: pa.Table, read_from: datetime) -> pa.Table:
    """One row per (group, group that is deleted, topic without a route, or topic and broker with its read queues) of
    `sightings`; `times`: the first and the last of each hour, in any order, in microseconds.

    Of the hours before the one that holds `read_from` the last time is enough: all steps of the run begin later.
    Where the number of read queues was not recorded, it was at least 1.
    """
    number = pc.fill_null(sightings["read_queue_nums"], 1)
    sightings = sightings.set_column(sightings.column_names.index("read_queue_nums"), "read_queue_nums", number)
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
        READABLE: pc.make_struct(sighted["broker_name"], sighted["read_queue_nums"], field_names=_BROKER),
    }
    named = {name: sighted[name] for name in ("cluster", "consumer_group", "times")}
    return completed(named | columns, STATES_ARROW, len(sighted))


def unanswered_states(calls: pa.Table) -> pa.Table:
    """One row per (group, broker, error) of rows of `capture_calls` that are calls for members without an answer, as
    `exchange.STATES`. The outcome stands for an error that is null. Calls to proxies are left out: they are no brokers.
    """
    calls = calls.filter(pc.invert(pc.starts_with(calls["called"], PROXY)))
    columns = {
        "cluster": calls["cluster"],
        "consumer_group": calls["subject"],
        "name": calls["called"],
        UNANSWERED: pc.coalesce(calls["error"], calls["outcome"]),
        "times": calls["captured_at"].cast(pa.timestamp("us", "UTC")).cast(pa.int64()),
    }
    names = [*columns][:-1]
    states = pa.table(columns).group_by(names).aggregate([("times", "list")]).rename_columns([*columns])
    kind = pa.repeat(UNANSWERED, len(states))
    return completed({"kind": kind, **{name: states[name] for name in columns}}, STATES_ARROW, len(states))


class LostQueues(NamedTuple):
    """A topic of which a route lacks queues that were readable before. `hours`: the starts of those in which they last
    were, microseconds.
    """

    cluster: str
    topic: str
    brokers: list[str]
    hours: list[int]


def lost_queues(
    sighted: pa.Table, routes: Iterable[tuple[str, str, Mapping[str, int]]], read_from: datetime
) -> list[LostQueues]:
    """Of rows of `sighted`, and of the read queues by broker of each route (cluster, topic): the queues that were last
    seen before `read_from` and are not in every route of their topic. Where none was, no route is looked at.
    """
    until, last = to_micros(read_from), dict[tuple[str, str, str, int], int]()
    for row in sighted.filter(pc.is_valid(sighted["broker_name"])).to_pylist():
        if before := [at for at in row["times"] if at < until]:
            queues = row["cluster"], row["topic"], row["broker_name"], row["read_queue_nums"]
            last[queues] = max(before) // HOUR * HOUR
    fewest: dict[tuple[str, str], dict[str, int]] = {}
    for cluster, topic, numbers in routes if last else ():
        always = fewest.get((cluster, topic), numbers)
        fewest[cluster, topic] = {name: min(numbers[name], always[name]) for name in always if name in numbers}
    lost: dict[tuple[str, str], LostQueues] = {}
    for (cluster, topic, broker, number), hour in last.items():
        if number > fewest.get((cluster, topic), {broker: number}).get(broker, 0):
            of_topic = lost.setdefault((cluster, topic), LostQueues(cluster, topic, [], []))
            of_topic.brokers.append(broker)
            of_topic.hours.append(hour)
    return list(lost.values())
