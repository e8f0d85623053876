"""Evaluated steps as rows of the output tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas import (
    ALLOCATIONS,
    BACKLOG,
    COVERAGE,
    FINDINGS,
    GROUP_STATUS,
    OUTPUTS,
    QUARANTINE,
    QUEUE_PROGRESS,
    REBALANCE_INTERVALS,
    STRATEGY_COMPARISON,
    Table,
)
from spark_jobs.domain.evaluate import EvaluatedStep
from spark_jobs.domain.kernel.coverage import CoverageRow
from spark_jobs.domain.model.statuses import Status
from spark_jobs.pipeline.exchange import RESULTS_ARROW, STEP_KEY, TABLES_ARROW, own_columns
from spark_jobs.pipeline.publish.queue_rows import (
    IntervalSpan,
    allocation_rows,
    backlog_rows,
    interval_rows,
    progress_rows,
    step_key,
)
from spark_jobs.store.arrow import columns_of, completed, from_values, in_batches, one_array

_topic_of = itemgetter("cluster", "consumer_group", "topic")


def tables(evaluated: Sequence[EvaluatedStep], topic: str | None = None) -> dict[str, pa.Table]:
    """Each output table by its name, step after step, with all its columns; the rows of one topic, and findings about
    whole groups, where it is named. Those of clusters in `coverage` are `coverage_rows`.
    """
    steps = [each.step for each in evaluated]
    spans = [IntervalSpan(step, *span) for step in steps for span in step.inside()]
    rows = {
        REBALANCE_INTERVALS: interval_rows(spans),
        ALLOCATIONS: allocation_rows(spans),
        QUEUE_PROGRESS: progress_rows(steps),
        GROUP_STATUS: _few(GROUP_STATUS, evaluated, lambda each: filter(None, [each.status])),
        STRATEGY_COMPARISON: _few(STRATEGY_COMPARISON, evaluated, attrgetter("strategies")),
        FINDINGS: _few(FINDINGS, evaluated, attrgetter("findings")),
        COVERAGE: _few(COVERAGE, evaluated, lambda each: [each.coverage]),
        BACKLOG: backlog_rows([(each.step, backlog) for each in evaluated for backlog in each.backlogs]),
    }
    return {
        table.name: of_table if topic is None else _of_topic(table, of_table, topic) for table, of_table in rows.items()
    }


def tables_of(rows: pa.Table) -> dict[str, pa.Table]:
    """Each output table by its name, of rows that have `STEP_KEY` and the rest in a struct named like their table."""
    tables = {}
    for table in OUTPUTS:
        own = rows.filter(rows[table.name].is_valid())
        structs = one_array(own[table.name])
        columns = {name: own[name] for name in STEP_KEY}
        columns |= zip((field.name for field in structs.type), structs.flatten(), strict=True)
        tables[table.name] = pa.table({name: columns[name] for name in table.columns})
    return tables


def results(
    written: Mapping[str, pa.Table] = MappingProxyType({}),
    facts: Sequence[object] = (),
    rejected: Sequence[object] = (),
    seen: Sequence[object] = (),
) -> pa.Table:
    """`exchange.RESULTS`: the rows of output tables, and what the checks have to say."""
    parts = [completed(_of_table(name, rows), RESULTS_ARROW, len(rows)) for name, rows in written.items()]
    for name, values in (("fact", facts), (QUARANTINE.name, rejected), ("seen", seen)):
        column = from_values(values, RESULTS_ARROW.field(name).type)
        parts.append(completed({name: column}, RESULTS_ARROW, len(values)))
    return in_batches(pa.concat_tables(parts))


def _of_table(name: str, rows: pa.Table) -> dict[str, pa.Array]:
    of_row = RESULTS_ARROW.field(name).type
    columns = [one_array(rows[field.name]) for field in of_row]
    return {**{key: rows[key] for key in STEP_KEY}, name: pa.StructArray.from_arrays(columns, fields=list(of_row))}


def coverage_rows(rows: Iterable[CoverageRow]) -> pa.Table:
    """Rows of the table `coverage`."""
    schema = TABLES_ARROW[COVERAGE.name]
    return pa.Table.from_pydict(columns_of([row._asdict() for row in rows], schema), schema)


def seen(intervals: pa.Table) -> dict[str, Any]:
    """The `seen` of `exchange.RESULTS`, from rows of `rebalance_intervals`.

    `skipped`: the topics of which no observed interval was replayed, or needed no replay.
    """
    names = ("cluster", "consumer_group", "topic", "status", "reason", "strategy_source", "member_count")
    rows = intervals.select(names).to_pylist()
    observed = [row for row in rows if row["status"] != Status.UNOBSERVED]
    assumed = {
        (row["cluster"], row["consumer_group"])
        for row in observed
        if row["strategy_source"] == "DEFAULT" and (row["member_count"] or 0) > 0
    }
    known = {_topic_of(row) for row in observed if row["status"] != Status.NOT_REPLAYABLE}
    skipped: dict[tuple[str, str, str], set[str]] = {}
    for row in observed:
        if _topic_of(row) not in known:
            skipped.setdefault((row["cluster"], row["consumer_group"], row["reason"]), set()).add(row["topic"])
    return {
        "observed": bool(observed),
        "assumed": len(assumed),
        "skipped": [(*key, sorted(topics)) for key, topics in sorted(skipped.items())],
    }


def _of_topic(table: Table, rows: pa.Table, topic: str) -> pa.Table:
    """The rows that `RunSpec.publishes`, and for which its `replaces` holds."""
    if table is COVERAGE:
        return rows.slice(0, 0)
    if "topic" not in rows.column_names:
        return rows
    return rows.filter(pc.fill_null(pc.equal(rows["topic"], topic), table is FINDINGS))


def _few(
    table: Table, evaluated: Iterable[EvaluatedStep], values: Callable[[EvaluatedStep], Iterable[object]]
) -> pa.Table:
    """Rows from values of each step with a field per column."""
    names = own_columns(table)
    rows = [
        step_key(evaluated_step.step) | {name: getattr(value, name) for name in names}
        for evaluated_step in evaluated
        for value in values(evaluated_step)
    ]
    schema = TABLES_ARROW[table.name]
    return pa.Table.from_pydict(columns_of(rows, schema), schema)
