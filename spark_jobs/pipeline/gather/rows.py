"""Judged steps as rows of the output tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.statuses import Status
from spark_jobs.domain.model.window import to_micros
from spark_jobs.pipeline.gather.arrow_values import columns_of, from_values, offsets_of
from spark_jobs.pipeline.gather.packed import FACTS, PACKED_ARROW, REJECTED, SEEN, STEP_KEY, TABLES_ARROW, own_columns
from spark_jobs.pipeline.gather.queue_rows import IntervalSpan, allocation_rows, interval_rows, progress_rows, step_key

#: Rows of one table that one packed row holds at most: Spark keeps a row in one piece of memory.
PART = 50_000


def tables(judged: Sequence[JudgedStep], topic: str | None = None) -> dict[str, pa.Table]:
    """Each output table by its name, step after step, with all its columns; the rows of one topic, and findings about
    whole groups, where it is named.
    """
    steps = [judged_step.step for judged_step in judged]
    spans = [IntervalSpan(step, *span) for step in steps for span in step.inside()]
    rows = {
        REBALANCE_INTERVALS: interval_rows(spans),
        ALLOCATIONS: allocation_rows(spans),
        QUEUE_PROGRESS: progress_rows(steps),
        GROUP_STATUS: _few(
            GROUP_STATUS,
            ((judged_step.step, judged_step.status) for judged_step in judged if judged_step.status is not None),
        ),
        STRATEGY_COMPARISON: _few(
            STRATEGY_COMPARISON, ((judged_step.step, row) for judged_step in judged for row in judged_step.strategies)
        ),
        FINDINGS: _few(
            FINDINGS, ((judged_step.step, finding) for judged_step in judged for finding in judged_step.findings)
        ),
    }
    return {
        table.name: of_table if topic is None else _of_topic(table, of_table, topic) for table, of_table in rows.items()
    }


def tables_of(rows: pa.Table) -> dict[str, pa.Table]:
    """Each output table by its name, of rows that have `STEP_KEY` and the rest in a struct named like their table."""
    tables = {}
    for table in OUTPUTS:
        own = rows.filter(rows[table.name].is_valid())
        structs = own[table.name].combine_chunks()
        columns = {name: own[name] for name in STEP_KEY}
        columns |= zip((field.name for field in structs.type), structs.flatten(), strict=True)
        tables[table.name] = pa.table({name: columns[name] for name in table.columns})
    return tables


def packed(judged: Sequence[JudgedStep], written: Mapping[str, pa.Table], part: int = PART) -> pa.Table:
    """The shape of `packed.PACKED`: per step as many rows as it takes for none to hold more than `part` of a table."""
    keys = [step_key(judged_step.step) for judged_step in judged]
    counts = {name: _counts(rows, keys) for name, rows in written.items()}
    most = np.max([*counts.values()], axis=0, initial=0)
    parts = np.maximum(1, -(-most // part))
    steps = np.repeat(np.arange(len(judged)), parts)
    number = np.arange(len(steps)) - np.repeat(np.cumsum(parts) - parts, parts)
    columns = columns_of([keys[step] for step in steps], [PACKED_ARROW.field(name) for name in STEP_KEY])
    for name, rows in written.items():
        columns[name] = _lists(name, rows, np.clip(counts[name][steps] - number * part, 0, part))
    return _packed(columns, len(steps))


def _counts(rows: pa.Table, keys: Sequence[Mapping[str, Any]]) -> NDArray[np.int64]:
    """How many of the rows are of each step."""
    counted = rows.group_by(STEP_KEY, use_threads=False).aggregate([([], "count_all")]).to_pylist()
    count = {(to_micros(row["step_start"]), row["cluster"], row["consumer_group"]): row["count_all"] for row in counted}
    return np.array([count.get(tuple(key.values()), 0) for key in keys], dtype=np.int64)


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


def _of_topic(table: Table, rows: pa.Table, topic: str) -> pa.Table:
    """Return whether `RunRequest.replaces` holds for the rows."""
    if "topic" not in rows.column_names:
        return rows
    return rows.filter(pc.fill_null(pc.equal(rows["topic"], topic), table is FINDINGS))


def _few(table: Table, values: Iterable[tuple[AuditedStep, object]]) -> pa.Table:
    """Rows from values with a field per column."""
    names = own_columns(table)
    rows = [step_key(step) | {name: getattr(value, name) for name in names} for step, value in values]
    schema = TABLES_ARROW[table.name]
    return pa.Table.from_pydict(columns_of(rows, schema), schema)


def _lists(name: str, rows: pa.Table, sizes: NDArray[np.int64]) -> pa.Array:
    """The rows as lists of these sizes, one after the other."""
    data_type = PACKED_ARROW.field(name).type
    item = data_type.value_type
    structs = pa.StructArray.from_arrays([rows[field.name].combine_chunks() for field in item], fields=list(item))
    return pa.ListArray.from_arrays(pa.array(offsets_of(sizes), type=pa.int32()), structs, type=data_type)
