"""Judged steps as rows of the output tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from schemas import (
    ALLOCATIONS,
    FINDINGS,
    GROUP_STATUS,
    OUTPUTS,
    QUEUE_PROGRESS,
    REBALANCE_INTERVALS,
    STRATEGY_COMPARISON,
    Table,
)
from spark_jobs.domain.judge import JudgedStep
from spark_jobs.domain.model.statuses import Status
from spark_jobs.pipeline.gather.arrow_values import from_values, offsets_of
from spark_jobs.pipeline.gather.packed import FACTS, PACKED_ARROW, REJECTED, SEEN, STEP_KEY, TABLES_ARROW, own_columns
from spark_jobs.pipeline.gather.queue_rows import allocation_columns, interval_columns, progress_columns

#: Rows of one table that one packed row holds at most: Spark keeps a row in one piece of memory.
PART = 50_000


class TableRows(NamedTuple):
    """The rows of one table without `STEP_KEY`, step after step: `counts` says how many belong to each."""

    counts: Sequence[int]
    columns: Mapping[str, pa.Array]


def rows_of(judged: Sequence[JudgedStep], topic: str | None = None) -> Mapping[Table, TableRows]:
    """The rows of every output table; those of one topic, and findings about whole groups, where it is named."""
    inside = [list(one.step.inside()) for one in judged]
    placed = [one for of_step in inside for one in of_step]
    progress = [list(one.step.progress) for one in judged]
    status = [[] if one.status is None else [one.status] for one in judged]
    queues = [
        [0 if interval.allocation is None else len(interval.allocation.queues) for interval, _, _ in step]
        for step in inside
    ]
    measured = [[len(one.verdicts) for one in of_step] for of_step in progress]
    found = {
        REBALANCE_INTERVALS: TableRows([len(of_step) for of_step in inside], interval_columns(placed)),
        ALLOCATIONS: TableRows([sum(of_step) for of_step in queues], allocation_columns(placed)),
        QUEUE_PROGRESS: TableRows(
            [sum(of_step) for of_step in measured],
            progress_columns([one for of_step in progress for one in of_step]),
        ),
        GROUP_STATUS: _few(GROUP_STATUS, status),
        STRATEGY_COMPARISON: _few(STRATEGY_COMPARISON, [one.strategies for one in judged]),
        FINDINGS: _few(FINDINGS, [one.findings for one in judged]),
    }
    return found if topic is None else {table: _of_topic(table, rows, topic) for table, rows in found.items()}


def tables(judged: Sequence[JudgedStep], rows: Mapping[Table, TableRows] | None = None) -> dict[str, pa.Table]:
    """Each output table by its name, with all its columns; `rows`: those of the steps, where they are there already."""
    rows = rows_of(judged) if rows is None else rows
    return {table.name: _whole(judged, table, of_table) for table, of_table in rows.items()}


def tables_of(rows: pa.Table) -> dict[str, pa.Table]:
    """Each output table by its name, of rows that have `STEP_KEY` and the rest in a struct named like their table."""
    found = {}
    for table in OUTPUTS:
        own = rows.filter(rows[table.name].is_valid())
        structs = own[table.name].combine_chunks()
        columns = {name: own[name] for name in STEP_KEY}
        columns |= zip((field.name for field in structs.type), structs.flatten(), strict=True)
        found[table.name] = pa.table({name: columns[name] for name in table.columns})
    return found


def packed(judged: Sequence[JudgedStep], rows: Mapping[Table, TableRows], part: int = PART) -> pa.Table:
    """The shape of `packed.PACKED`: per step as many rows as it takes for none to hold more than `part` of a table."""
    most = np.max([of_table.counts for of_table in rows.values()], axis=0, initial=0) if judged else np.empty(0)
    parts = np.maximum(1, -(-most // part)).astype(np.int64)
    steps = np.repeat(np.arange(len(judged)), parts)
    number = np.arange(len(steps)) - np.repeat(np.cumsum(parts) - parts, parts)
    columns = _keys(judged, steps)
    for table in OUTPUTS:
        counts = np.asarray(rows[table].counts, dtype=np.int64)[steps]
        columns[table.name] = _lists(table, rows[table], np.clip(counts - number * part, 0, part))
    return _packed(columns, len(steps))


def packed_facts(facts: Sequence[object], rejected: Sequence[object], intervals: pa.Table | None = None) -> pa.Table:
    """One row of the same shape, with what the checks have to say, and of groups what was seen of their intervals."""
    checked = {FACTS: facts, REJECTED: rejected, SEEN: None if intervals is None else _seen(intervals)}
    return _packed({name: from_values([values], PACKED_ARROW.field(name).type) for name, values in checked.items()}, 1)


def _seen(intervals: pa.Table) -> dict[str, Any]:
    names = ("cluster", "consumer_group", "topic", "status", "reason", "strategy_source", "member_count")
    rows = intervals.select(names).to_pylist()
    observed = [row for row in rows if row["status"] != Status.UNOBSERVED]
    assumed = {
        (row["cluster"], row["consumer_group"])
        for row in observed
        if row["strategy_source"] == "DEFAULT" and (row["member_count"] or 0) > 0
    }
    skipped: dict[tuple[str, str, str], set[str]] = {}
    for row in observed:
        if row["status"] == Status.NOT_REPLAYABLE:
            skipped.setdefault((row["cluster"], row["consumer_group"], row["reason"]), set()).add(row["topic"])
    return {
        "observed": bool(observed),
        "assumed": len(assumed),
        "skipped": [(*key, sorted(topics)) for key, topics in sorted(skipped.items())],
    }


def _packed(columns: Mapping[str, pa.Array], size: int) -> pa.Table:
    every = [columns.get(field.name, pa.nulls(size, field.type)) for field in PACKED_ARROW]
    return pa.Table.from_arrays(every, schema=PACKED_ARROW)


def _of_topic(table: Table, rows: TableRows, topic: str) -> TableRows:
    """As `RunRequest.replaces` says it of published rows."""
    if "topic" not in rows.columns:
        return rows
    keep = pc.fill_null(pc.equal(rows.columns["topic"], topic), table is FINDINGS)
    steps = np.repeat(np.arange(len(rows.counts)), np.asarray(rows.counts, dtype=np.int64))
    counts = np.bincount(steps[keep.to_numpy(zero_copy_only=False)], minlength=len(rows.counts)).tolist()
    return TableRows(counts, {name: column.filter(keep) for name, column in rows.columns.items()})


def _few(table: Table, values: Sequence[Sequence[object]]) -> TableRows:
    """Rows from values with a field per column."""
    flat = [one for of_step in values for one in of_step]
    schema = TABLES_ARROW[table.name]
    columns = {
        name: from_values([getattr(one, name) for one in flat], schema.field(name).type) for name in own_columns(table)
    }
    return TableRows([len(of_step) for of_step in values], columns)


def _keys(judged: Sequence[JudgedStep], steps: NDArray[np.int64]) -> dict[str, pa.Array]:
    """The columns of `STEP_KEY` for rows of these steps, by their places."""
    keys = [(one.step.window.start, one.step.history.cluster, one.step.history.consumer_group) for one in judged]
    places = pa.array(steps)
    return {
        name: from_values([key[number] for key in keys], PACKED_ARROW.field(name).type).take(places)
        for number, name in enumerate(STEP_KEY)
    }


def _whole(judged: Sequence[JudgedStep], table: Table, rows: TableRows) -> pa.Table:
    steps = np.repeat(np.arange(len(judged)), np.asarray(rows.counts, dtype=np.int64))
    columns = {**_keys(judged, steps), **rows.columns}
    schema = TABLES_ARROW[table.name]
    return pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)


def _lists(table: Table, rows: TableRows, sizes: NDArray[np.int64]) -> pa.Array:
    """The rows as lists of these sizes, one after the other."""
    item = PACKED_ARROW.field(table.name).type.value_type
    structs = pa.StructArray.from_arrays([rows.columns[field.name] for field in item], fields=list(item))
    offsets = pa.array(offsets_of(sizes), type=pa.int32())
    return pa.ListArray.from_arrays(offsets, structs, type=PACKED_ARROW.field(table.name).type)
