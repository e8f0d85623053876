"""What the checks of all groups and topics have counted, added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from expectations import SUITES
from schemas import FINDINGS, OUTPUTS
from spark_jobs.pipeline.gather.packed import FACTS, SEEN, unpacked
from spark_jobs.pipeline.quality.facts import Fact, Facts, by_name, counted
from spark_jobs.store.columns import union_of

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
    found: dict[str, list[dict[str, Any]]] = {suite.table.name: [] for suite in SUITES}
    suites = {suite.table.name: suite for suite in SUITES}
    for row in steps:
        fact = Fact(row.table_name, row.step_start, row.counts, [(one.name, one.key) for one in row.examples])
        found[row.table_name].append(by_name(suites[row.table_name], fact))
    (seen,) = (row[SEEN] for row in rows if row[SEEN] is not None)
    facts = {suite.table: found[suite.table.name] for suite in SUITES}
    told = [row[_FINDING].asDict(recursive=True) for row in rows if row[_FINDING] is not None]
    told.sort(key=lambda one: (one["start"], one["finding_id"]))
    return Counted(facts, bool(seen.observed), seen.assumed or 0, seen.skipped, told)


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
