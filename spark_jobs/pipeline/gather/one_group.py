"""The snapshots of one group brought together without Spark, in the shape in which Spark gathers all groups
(`gather.states_per_group`, `gather.readings_per_group`): for one group and few hours.

A snapshot is a state of its own here, unless it is of offsets: of these, snapshots that list the same queues are one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.domain.kernel.unseen import PROXIES_GROUP
from spark_jobs.domain.model.history import GroupHistory
from spark_jobs.pipeline.gather.arrow_values import lists_of
from spark_jobs.pipeline.gather.histories import histories
from spark_jobs.pipeline.gather.kinds import KIND_OF, MEASURED, NAME_OF, OFFSET_QUEUES, PROXY, VALUES

#: Columns of clients' snapshots that are no part of their state.
_NOT_IN_STATES = ["captured_at", "captured_date", "started_at", "consume_status"]


def one_group(cluster: str, consumer_group: str, snapshots: Mapping[Table, pa.Table]) -> GroupHistory:
    """The history of a group in one cluster, without topics' own offsets. `snapshots`: those of its memberships,
    offsets and clients, of its topics' routes, and the memberships of the cluster's proxies, with all their columns.
    """
    memberships, routes = snapshots[MEMBERSHIP_SNAPSHOTS], snapshots[ROUTE_SNAPSHOTS]
    clients, offsets = snapshots[CLIENT_SNAPSHOTS], snapshots[OFFSET_SNAPSHOTS]
    queues, fingerprints = _queue_lists(offsets)
    of_clients = pa.array(np.arange(len(clients)) + len(queues))
    states = pa.concat_tables(
        [
            _states(MEMBERSHIP_SNAPSHOTS, _of(memberships, consumer_group)),
            _states(MEMBERSHIP_SNAPSHOTS, _of(memberships, PROXIES_GROUP), PROXY),
            _states(ROUTE_SNAPSHOTS, routes),
            _states(CLIENT_SNAPSHOTS, clients).append_column("fingerprint", of_clients),
            queues,
        ],
        promote_options="default",
    )
    readings = [
        _readings(OFFSET_SNAPSHOTS, offsets, fingerprints),
        _readings(CLIENT_SNAPSHOTS, clients, of_clients).append_column("statuses", clients["consume_status"]),
    ]
    key = {"cluster": pa.repeat(cluster, len(states)), "consumer_group": pa.repeat(consumer_group, len(states))}
    states = pa.table(key | dict(zip(states.column_names, states.columns, strict=True)))
    gathered = histories(states, pa.concat_tables(readings, promote_options="default"))
    return gathered[0] if gathered else GroupHistory(cluster, consumer_group)


def _of(memberships: pa.Table, consumer_group: str) -> pa.Table:
    return memberships.filter(pc.equal(memberships["consumer_group"], consumer_group))


def _states(table: Table, rows: pa.Table, kind: str | None = None) -> pa.Table:
    """One row per snapshot: `kind` (by default the table's), `name`, `times`, and the state in the table's column."""
    state = rows.drop_columns([name for name in _NOT_IN_STATES if name in rows.column_names]).to_struct_array()
    times = pa.ListArray.from_arrays(np.arange(len(rows) + 1, dtype=np.int32), _times(rows))
    key = {"kind": pa.repeat(kind or KIND_OF[table], len(rows)), "name": rows[NAME_OF[table]]}
    return pa.table({**key, "times": times, KIND_OF[table]: state})


def _queue_lists(offsets: pa.Table) -> tuple[pa.Table, pa.Array]:
    """One row per (topic, list of queues), as `_states`; and for each snapshot the fingerprint of its row."""
    lists = offsets["offsets"].combine_chunks()
    names = ("broker_name", "queue_id")
    brokers, ids = (lists_of(lists, name) for name in names)
    texts = pc.binary_join_element_wise(ids.values.cast(pa.string()), brokers.values, "\0", null_handling="replace")
    joined = pc.binary_join(pa.ListArray.from_arrays(lists.offsets, texts), "\0")
    keys = pc.binary_join_element_wise(offsets["topic"].combine_chunks(), joined, "\0")
    _, first, fingerprints = np.unique(
        keys.dictionary_encode().indices.to_numpy(), return_index=True, return_inverse=True
    )
    queues = pa.StructArray.from_arrays([brokers, ids], names)
    every = pa.table(
        {
            "kind": pa.repeat(OFFSET_QUEUES, len(offsets)),
            "name": offsets["topic"],
            "times": pa.nulls(len(offsets), pa.list_(pa.int64())),
            OFFSET_QUEUES: queues,
        }
    )
    states = every.take(pa.array(first)).append_column("fingerprint", pa.array(np.arange(len(first))))
    return states, pa.array(fingerprints)


def _readings(table: Table, rows: pa.Table, fingerprints: pa.Array) -> pa.Table:
    """One row per snapshot: `at`, the `fingerprint` of its state, and its numbers in parallel lists."""
    array, fields = MEASURED[table]
    lists = rows[array].combine_chunks()
    numbers = (lists_of(lists, name).cast(pa.list_(pa.int64())) for name in fields)
    values = dict(zip(VALUES, numbers, strict=False))
    return pa.table({"fingerprint": fingerprints, "at": _times(rows), **values})


def _times(rows: pa.Table) -> pa.Array:
    """Microseconds since 1970."""
    return rows["captured_at"].combine_chunks().cast(pa.timestamp("us", "UTC")).cast(pa.int64())
