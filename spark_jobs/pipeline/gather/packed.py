"""The frame in which the Arrow function gives back what it judged, all output tables in one; read apart again, and what
its checks have counted added up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, StructField, StructType

from expectations import SUITES
from schemas import FINDINGS, OUTPUTS, Table
from schemas.common import OF_GROUP
from schemas.types import BOOLEAN, LONG, STRING, Array, Field, Struct, Type, array_of
from spark_jobs.pipeline.quality.facts import Fact, Facts, by_name, counted
from spark_jobs.store.spark_types import spark_type, union_of

#: What all rows of a step of a group share.
STEP_KEY = OF_GROUP.names


def own_columns(table: Table) -> tuple[str, ...]:
    """The columns of an output table that are not of `STEP_KEY`."""
    return tuple(name for name in table.columns if name not in STEP_KEY)


def _struct(table: Table, names: tuple[str, ...]) -> StructType:
    """Columns of a table, nullable and without comments: Arrow compares those too."""
    return StructType([StructField(name, spark_type(table.schema[name].type)) for name in names])


#: What the checks of some groups and topics have counted (`quality.facts.Fact`), and what they have left out
#: (`checked.Rejected`); whether any group was observed, for how many a strategy was assumed, and what
#: was not replayed.
FACTS, REJECTED, SEEN = "facts", "rejected", "seen"
_CHECKED: Mapping[str, Type] = {
    FACTS: array_of(
        Field("table_name", STRING),
        Field("step_start", LONG),
        Field("counts", Array(LONG)),
        Field("examples", array_of(Field("name", STRING), Field("key", STRING))),
    ),
    REJECTED: array_of(
        *(Field(name, STRING) for name in ("table_name", "cluster", "consumer_group", "name")),
        Field("captured_at", LONG),
    ),
    SEEN: Struct(
        Field("observed", BOOLEAN),
        Field("assumed", LONG),
        Field(
            "skipped",
            array_of(
                *(Field(name, STRING) for name in ("cluster", "consumer_group", "reason")),
                Field("topics", Array(STRING)),
            ),
        ),
    ),
}
#: One row per (group, step), or several with a part of its rows each: an array of rows per output table; and one per
#: part of the groups and topics with what their checks have to say.
PACKED = StructType(
    [
        *_struct(OUTPUTS[0], STEP_KEY),
        *(StructField(table.name, ArrayType(_struct(table, own_columns(table)))) for table in OUTPUTS),
        *(StructField(name, spark_type(type)) for name, type in _CHECKED.items()),
    ]
)
PACKED_ARROW: pa.Schema = to_arrow_schema(PACKED)
#: Each output table on its own, with all its columns in its order.
TABLES_ARROW: dict[str, pa.Schema] = {table.name: to_arrow_schema(_struct(table, table.columns)) for table in OUTPUTS}


def unpacked(packed: DataFrame, table: Table) -> DataFrame:
    """The rows of one output table."""
    return packed.select(*STEP_KEY, F.inline(table.name)).select(*table.columns)


_FINDING = "finding"
#: Groups that are named of those that could not be replayed.
_MOST_NAMED = 20


@dataclass(frozen=True)
class Counted:
    """The facts of every table, source or output, step by step; whether anything was observed, for how many groups a
    strategy was assumed, and the first of what was not replayed: cluster, consumer group, reason, topics; the findings,
    by their start.
    """

    facts: Facts
    observed: bool
    assumed: int
    skipped: Sequence[tuple[str, str, str, list[str]]]
    findings: Sequence[dict[str, Any]]

    def without_outputs(self) -> Counted:
        """Of a run that observed nothing."""
        nothing: Facts = {table: [] for table in OUTPUTS}
        return Counted({**self.facts, **nothing}, observed=False, assumed=0, skipped=[], findings=[])


def counted_in(packed: DataFrame) -> Counted:
    """Adds up what is in the frame (`packed.PACKED`); one Spark action."""
    findings = unpacked(packed, FINDINGS).select(F.struct("*").alias(_FINDING))
    rows = union_of((_facts(packed), _seen(packed), findings)).collect()
    steps = sorted((row for row in rows if row.table_name is not None), key=lambda row: int(row.step_start))
    facts = {
        suite.table: [
            by_name(suite, Fact(suite.table.name, step.step_start, step.counts, step.examples))
            for step in steps
            if step.table_name == suite.table.name
        ]
        for suite in SUITES
    }
    (groups,) = (row[SEEN] for row in rows if row[SEEN] is not None)
    reported = [row[_FINDING].asDict(recursive=True) for row in rows if row[_FINDING] is not None]
    reported.sort(key=lambda finding: (finding["start"], finding["finding_id"]))
    return Counted(facts, bool(groups.observed), groups.assumed or 0, groups.skipped, reported)


def _facts(packed: DataFrame) -> DataFrame:
    """One row per (table, step): its counts and examples."""
    most = max(len(counted(suite)) for suite in SUITES)
    sums = ", ".join(f"sum(get(counts, {place}))" for place in range(most))
    return (
        packed.select(F.inline(FACTS))
        .groupBy("table_name", "step_start")
        .agg(F.expr(f"array({sums})").alias("counts"), F.flatten(F.collect_list("examples")).alias("examples"))
    )


def _seen(packed: DataFrame) -> DataFrame:
    """One row, of all groups together."""
    skipped = F.sort_array(F.flatten(F.collect_list(f"{SEEN}.skipped")))
    return packed.agg(
        F.struct(
            F.max(f"{SEEN}.observed").alias("observed"),
            F.sum(f"{SEEN}.assumed").alias("assumed"),
            F.slice(skipped, 1, _MOST_NAMED).alias("skipped"),
        ).alias(SEEN)
    )
