"""The snapshots of a few groups brought together without Spark, as `gather` brings together those of all groups."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas import Table
from spark_jobs.domain.model.series import coded
from spark_jobs.pipeline.exchange import KINDS, NO_STATES, SAMPLES_ARROW, STATES_ARROW, Kind
from spark_jobs.store.arrow import completed, list_offsets, offsets_of, sizes_of


def gathered(snapshots: Mapping[Table, pa.Table], beside: pa.Table = NO_STATES) -> tuple[pa.Table, pa.Table]:
    """`STATES` and `SAMPLES` of these rows of sources, in one part. `beside`: states of kinds without a source."""
    folded = [_folded(kind, snapshots[kind.table]) for kind in KINDS if kind.table in snapshots]
    states = pa.concat_tables([*(of_kind for of_kind, _ in folded), beside])
    counted = pa.repeat(True, len(states))
    return (
        states.set_column(states.column_names.index("counted"), "counted", counted),
        pa.concat_tables([SAMPLES_ARROW.empty_table(), *(of_kind for _, of_kind in folded)]),
    )


def _folded(kind: Kind, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The distinct states of one source, without groups where they are of topics, and its samples."""
    rows = rows.combine_chunks()
    named = {"cluster": rows["cluster"], "name": rows[kind.named_by], kind.name: _state(kind, rows)}
    if not kind.of_topics:
        named["consumer_group"] = rows["consumer_group"]
    codes, _ = coded(map(repr, pa.table(named).to_pylist()))
    _, first, counts = np.unique(codes, return_index=True, return_counts=True)
    at = rows["captured_at"].cast(pa.timestamp("us", "UTC")).cast(pa.int64()).combine_chunks()
    begin = KINDS.index(kind) << 32
    columns = {name: pa.chunked_array(column).take(pa.array(first)) for name, column in named.items()}
    columns["kind"] = pa.repeat(kind.name, len(first))
    if not kind.is_measured:
        by_state = at.take(pa.array(np.argsort(codes, kind="stable")))
        columns["times"] = pa.ListArray.from_arrays(pa.array(offsets_of(counts), pa.int32()), by_state)
        return completed(columns, STATES_ARROW, len(first)), SAMPLES_ARROW.empty_table()
    columns["fingerprint"] = pa.array(begin + np.arange(len(first)))
    columns["times"] = pa.array([[]] * len(first), STATES_ARROW.field("times").type)
    samples = {"fingerprint": pa.array(begin + codes), "at": at, kind.name: _sample(kind, rows)}
    return completed(columns, STATES_ARROW, len(first)), completed(samples, SAMPLES_ARROW, len(at))


def _state(kind: Kind, rows: pa.Table) -> pa.StructArray:
    columns = {name: rows[name].combine_chunks() for name in kind.shared}
    if kind.array is not None:
        array = rows[kind.array].combine_chunks()
        lists = {name: _lists(array, name) for name in kind.listed}
        columns[kind.array] = pa.StructArray.from_arrays([*lists.values()], [*lists])
    known = {name: pc.if_else(rows[name].is_valid(), True, None).combine_chunks() for name in kind.measured}
    return _struct(columns | known, STATES_ARROW.field(kind.name).type)


def _sample(kind: Kind, rows: pa.Table) -> pa.StructArray:
    numbers = {name: _lists(rows[str(kind.array)].combine_chunks(), name) for name in kind.numbers}
    measured = {name: rows[name].combine_chunks() for name in kind.measured}
    return _struct(numbers | measured, SAMPLES_ARROW.field(kind.name).type)


def _lists(structs: pa.ListArray, name: str) -> pa.ListArray:
    offsets = list_offsets(sizes_of(structs), pc.is_null(structs))
    return pa.ListArray.from_arrays(offsets, pc.struct_field(structs.flatten(), name))


def _struct(columns: Mapping[str, pa.Array], data_type: pa.StructType) -> pa.StructArray:
    parts = [columns[field.name].cast(field.type) for field in data_type]
    return pa.StructArray.from_arrays(parts, fields=list(data_type))
