"""Judged steps as rows of the output tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
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
from spark_jobs.gather.arrow_values import from_values, offsets_of
from spark_jobs.gather.interval_rows import interval_columns
from spark_jobs.gather.packed import PACKED_ARROW, STEP_KEY, TABLES_ARROW, own_columns
from spark_jobs.gather.queue_rows import allocation_columns, progress_columns

#: Rows of one table that one packed row holds at most: Spark keeps a row in one piece of memory.
PART = 50_000


class Rows(NamedTuple):
    """The rows of one table without `STEP_KEY`, step after step: `counts` says how many belong to each."""

    counts: Sequence[int]
    columns: Mapping[str, pa.Array]


def tables(judged: Sequence[JudgedStep]) -> dict[str, pa.Table]:
    """Each output table by its name, with all its columns."""
    return {table.name: _whole(judged, table, rows) for table, rows in _rows(judged).items()}


def packed(judged: Sequence[JudgedStep], part: int = PART) -> pa.Table:
    """The shape of `packed.PACKED`: per step as many rows as it takes for none to hold more than `part` of a table."""
    found = _rows(judged)
    most = np.max([rows.counts for rows in found.values()], axis=0, initial=0) if judged else np.empty(0, np.int64)
    parts = np.maximum(1, -(-most // part)).astype(np.int64)
    steps = np.repeat(np.arange(len(judged)), parts)
    number = np.arange(len(steps)) - np.repeat(np.cumsum(parts) - parts, parts)
    columns = _keys(judged, steps)
    for table in OUTPUTS:
        counts = np.asarray(found[table].counts, dtype=np.int64)[steps]
        sizes = np.clip(counts - number * part, 0, part)
        columns[table.name] = _lists(table, found[table], sizes)
    return pa.Table.from_arrays([columns[name] for name in PACKED_ARROW.names], schema=PACKED_ARROW)


def _rows(judged: Sequence[JudgedStep]) -> dict[Table, Rows]:
    inside = [list(one.step.inside()) for one in judged]
    placed = [one for of_step in inside for one in of_step]
    progress = [list(one.step.progress) for one in judged]
    status = [[] if one.status is None else [one.status] for one in judged]
    queues = [[0 if one.allocation is None else len(one.allocation.queues) for one, _, _ in step] for step in inside]
    measured = [[len(one.verdicts) for one in of_step] for of_step in progress]
    findings = [one.findings for one in judged]
    return {
        REBALANCE_INTERVALS: Rows([len(of_step) for of_step in inside], interval_columns(placed)),
        ALLOCATIONS: Rows([sum(of_step) for of_step in queues], allocation_columns(placed)),
        QUEUE_PROGRESS: Rows(
            [sum(of_step) for of_step in measured],
            progress_columns([one for of_step in progress for one in of_step]),
        ),
        GROUP_STATUS: _few(GROUP_STATUS, status),
        STRATEGY_COMPARISON: _few(STRATEGY_COMPARISON, [one.strategies for one in judged]),
        FINDINGS: _few(FINDINGS, findings),
    }


def _few(table: Table, values: Sequence[Sequence[object]]) -> Rows:
    """Rows from values with a field per column."""
    flat = [one for of_step in values for one in of_step]
    schema = TABLES_ARROW[table.name]
    columns = {
        name: from_values([getattr(one, name) for one in flat], schema.field(name).type) for name in own_columns(table)
    }
    return Rows([len(of_step) for of_step in values], columns)


def _keys(judged: Sequence[JudgedStep], steps: NDArray[np.int64]) -> dict[str, pa.Array]:
    """The columns of `STEP_KEY` for rows of these steps, by their places."""
    keys = [(one.step.window.start, one.step.history.cluster, one.step.history.consumer_group) for one in judged]
    places = pa.array(steps)
    return {
        name: from_values([key[number] for key in keys], PACKED_ARROW.field(name).type).take(places)
        for number, name in enumerate(STEP_KEY)
    }


def _whole(judged: Sequence[JudgedStep], table: Table, rows: Rows) -> pa.Table:
    steps = np.repeat(np.arange(len(judged)), np.asarray(rows.counts, dtype=np.int64))
    columns = {**_keys(judged, steps), **rows.columns}
    schema = TABLES_ARROW[table.name]
    return pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)


def _lists(table: Table, rows: Rows, sizes: NDArray[np.int64]) -> pa.Array:
    """The rows as lists of these sizes, one after the other."""
    item = PACKED_ARROW.field(table.name).type.value_type
    structs = pa.StructArray.from_arrays([rows.columns[field.name] for field in item], fields=list(item))
    offsets = pa.array(offsets_of(sizes), type=pa.int32())
    return pa.ListArray.from_arrays(offsets, structs, type=PACKED_ARROW.field(table.name).type)
