"""The results of the Arrow function (`exchange.RESULTS`) taken apart again: the rows of each table, and what its checks
have counted added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from expectations import SUITES
from schemas import FINDINGS, OUTPUTS, QUARANTINE, Table
from spark_jobs.pipeline.exchange import STEP_KEY
from spark_jobs.pipeline.quality.facts import Fact, Facts, by_name, counted
from spark_jobs.store.spark_types import in_utc, union_of


def unpacked(packed: DataFrame, table: Table) -> DataFrame:
    """The rows of one output table, of `exchange.RESULTS`."""
    return _only(packed, table.name).select(*STEP_KEY, f"{table.name}.*").select(*table.columns)


def rejected(packed: DataFrame) -> DataFrame:
    """The rows of `quarantine`, without their run."""
    return _only(packed, QUARANTINE.name).select(f"{QUARANTINE.name}.*")


def _only(packed: DataFrame, column: str) -> DataFrame:
    return packed.where(F.col(column).isNotNull())


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
    """Adds up what is in the frame (`exchange.RESULTS`); one Spark action."""
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
    (groups,) = (row["seen"] for row in rows if row["seen"] is not None)
    reported = [in_utc(row[_FINDING].asDict(recursive=True)) for row in rows if row[_FINDING] is not None]
    reported.sort(key=lambda finding: (finding["start"], finding["finding_id"]))
    return Counted(facts, bool(groups.observed), groups.assumed or 0, groups.skipped, reported)


def _facts(packed: DataFrame) -> DataFrame:
    """One row per (table, step): its counts and examples."""
    most = max(len(counted(suite)) for suite in SUITES)
    sums = ", ".join(f"sum(get(counts, {place}))" for place in range(most))
    return (
        _only(packed, "fact")
        .select("fact.*")
        .groupBy("table_name", "step_start")
        .agg(F.expr(f"array({sums})").alias("counts"), F.flatten(F.collect_list("examples")).alias("examples"))
    )


def _seen(packed: DataFrame) -> DataFrame:
    """One row, of all groups together."""
    skipped = F.sort_array(F.flatten(F.collect_list("seen.skipped")))
    return packed.agg(
        F.struct(
            F.max("seen.observed").alias("observed"),
            F.sum("seen.assumed").alias("assumed"),
            F.slice(skipped, 1, _MOST_NAMED).alias("skipped"),
        ).alias("seen")
    )
