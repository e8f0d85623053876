"""The source rows of one group as the history that the kernel judges, without Spark: for one group and few hours.

What only rules look at is left out: topics' own offsets, and what clients cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.domain.kernel.unseen import PROXIES_GROUP
from spark_jobs.domain.model.history import UNKNOWN, ClientHistory, ClientReadings, GroupHistory, OffsetReadings
from spark_jobs.domain.model.series import Series
from spark_jobs.domain.model.window import to_micros
from spark_jobs.pipeline.gather.histories import client_state, membership, route
from spark_jobs.pipeline.gather.readings import STATUSES, statuses

Row = Mapping[str, Any]
#: More than RocketMQ's queues of one topic and broker.
_QUEUE_IDS = 1 << 32


def one_group(
    cluster: str, consumer_group: str, rows: Mapping[Table, Iterable[Row]], offsets: pa.Table
) -> GroupHistory:
    """`rows`: the snapshots of the group's memberships and clients, of its topics' routes, and the memberships of the
    cluster's proxies, as dicts; `offsets`: its offset snapshots.
    """
    memberships = list(rows[MEMBERSHIP_SNAPSHOTS])
    return GroupHistory(
        cluster,
        consumer_group,
        memberships=_by(_of(memberships, consumer_group), "broker_name", membership),
        routes=_by(rows[ROUTE_SNAPSHOTS], "topic", route),
        clients={name: _client(seen) for name, seen in _seen(rows[CLIENT_SNAPSHOTS], "client_id").items()},
        offsets={topic: _readings(offsets, topic) for topic in sorted(pc.unique(offsets["topic"]).to_pylist())},
        proxies=_by(_of(memberships, PROXIES_GROUP), "broker_name", membership),
    )


def _of(memberships: Iterable[Row], consumer_group: str) -> Iterator[Row]:
    return (row for row in memberships if row["consumer_group"] == consumer_group)


def _by(rows: Iterable[Row], name: str, state: Callable[[Row], Any]) -> dict[str, Series[Any]]:
    """The states that were seen, by the value of a column."""
    return {key: _series(seen, state) for key, seen in _seen(rows, name).items()}


def _seen(rows: Iterable[Row], name: str) -> dict[str, dict[int, Row]]:
    """The rows by the value of a column and by time, in order; of equal times the first."""
    seen: dict[str, dict[int, Row]] = {}
    for row in rows:
        seen.setdefault(row[name], {}).setdefault(to_micros(row["captured_at"]), row)
    return {key: dict(sorted(of_key.items())) for key, of_key in sorted(seen.items())}


def _series(seen: Mapping[int, Row], state: Callable[[Row], Any]) -> Series[Any]:
    codes = dict[Any, int]()
    places = [codes.setdefault(state(row), len(codes)) for row in seen.values()]
    return Series(np.array([*seen], np.int64), np.array(places, np.int64), list(codes))


def _client(seen: Mapping[int, Row]) -> ClientHistory:
    none, told = np.zeros(0, np.int64), pa.array([row["consume_status"] for row in seen.values()], STATUSES)
    cached = (np.zeros(len(seen) + 1, np.int64), none, none, none, none, none)
    return ClientHistory(_series(seen, client_state), ClientReadings(*cached, statuses(told)))


def _readings(offsets: pa.Table, topic: str) -> OffsetReadings:
    """One topic's matrices, from all its snapshots at once."""
    found = offsets.filter(pc.equal(offsets["topic"], topic))
    times, first = np.unique(found["captured_at"].cast(pa.int64()).to_numpy(), return_index=True)
    lists = found["offsets"].combine_chunks().take(pa.array(first))
    row = np.repeat(np.arange(len(times)), pc.fill_null(pc.list_value_length(lists), 0).to_numpy())
    values = lists.flatten()
    brokers = pc.dictionary_encode(values.field("broker_name"))
    names = brokers.dictionary.to_pylist()
    codes = _numbers(brokers.indices) * _QUEUE_IDS + _numbers(values.field("queue_id"))
    distinct, which = np.unique(codes, return_inverse=True)
    places = [(names[code // _QUEUE_IDS], code % _QUEUE_IDS) for code in distinct.tolist()]
    order = sorted(range(len(places)), key=places.__getitem__)
    column = np.argsort(order)[which] if order else which

    def matrix(name: str) -> Any:
        filled = np.full((len(times), len(places)), UNKNOWN)
        filled[row, column] = _numbers(values.field(name))
        return filled

    present = np.zeros((len(times), len(places)), bool)
    present[row, column] = True
    end, consumer, pull, last = map(matrix, ("broker_offset", "consumer_offset", "pull_offset", "last_timestamp"))
    return OffsetReadings(times, [places[place] for place in order], end, consumer, pull, last, present)


def _numbers(array: pa.Array) -> Any:
    return pc.fill_null(array.cast(pa.int64()), UNKNOWN).to_numpy()
