"""The counts in the results of the Arrow function (`exchange.RESULTS`), added up."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import reduce
from itertools import groupby
from operator import attrgetter, itemgetter, or_
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from expectations import BY_TABLE, SUITES
from expectations.rows import CheckSettings, Rows
from schemas import CLIENT_SNAPSHOTS, COVERAGE, FINDINGS, OUTPUTS, SOURCES, Table
from spark_jobs.domain.kernel.coverage import CoverageRow, cluster_coverage
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.pipeline.exchange import STEP_KEY
from spark_jobs.pipeline.publish.rows import coverage_rows
from spark_jobs.pipeline.quality.facts import CLUSTERS, LEFT_OUT, ROWS, Fact, Facts, counts_of, step_facts
from spark_jobs.store.read.published_rows import coverage_rows_in
from spark_jobs.store.read.stored import values
from spark_jobs.store.spark_types import in_utc

#: Groups that are named of those that could not be replayed.
_MOST_NAMED = 20


@dataclass(frozen=True)
class Counted:
    """The facts of every table, source or output, step by step; whether anything was observed, for how many groups a
    strategy was assumed, and the first of what was not replayed: cluster, consumer group, reason, topics; the findings,
    by their start; how much was observed of every group, and of the clusters of these.
    """

    facts: Facts
    observed: bool
    assumed: int
    skipped: Sequence[tuple[str, str, str, list[str]]]
    findings: Sequence[dict[str, Any]]
    groups: Sequence[CoverageRow]
    clusters: Sequence[CoverageRow]

    @property
    def unused_sources(self) -> frozenset[str]:
        """Names of the source tables that have no row that can be used."""
        return frozenset(
            table.name for table in SOURCES if all(step[ROWS] == step[LEFT_OUT] for step in self.facts[table])
        )

    @property
    def not_evaluated(self) -> list[str]:
        """Names of the rules that need a source without usable rows."""
        return sorted(rule.name for rule in RULES if not self.unused_sources.isdisjoint(rule.needs))

    def not_audited(self, interval: Interval) -> list[str]:
        """Sentences for the reader of the findings on what was not audited in the interval."""
        if not self.observed:
            return [f"nothing was observed in {interval}: there are no snapshots, so nothing is known about that time"]
        warnings = [
            f"{cluster}/{group} could not be replayed for {', '.join(topics)}: {reason}"
            for cluster, group, reason, topics in self.skipped
        ]
        if self.assumed:
            warnings.append(
                f"AVG was assumed for {self.assumed} groups, as neither clients nor configuration name their strategy, "
                "and no client reports its queues (see strategy_source)"
            )
        if self.not_evaluated:
            warnings.append(f"not evaluated, as {CLIENT_SNAPSHOTS.name} has no rows: {', '.join(self.not_evaluated)}")
        return warnings

    def of_cluster(self, cluster: str) -> Counted:
        """The same without what is of other clusters only."""
        facts = {table: [step for step in steps if cluster in step[CLUSTERS]] for table, steps in self.facts.items()}
        skipped = [group for group in self.skipped if group[0] == cluster]
        findings = [finding for finding in self.findings if finding["cluster"] == cluster]
        groups, clusters = ([row for row in rows if row.cluster == cluster] for rows in (self.groups, self.clusters))
        return replace(self, facts=facts, skipped=skipped, findings=findings, groups=groups, clusters=clusters)

    def without_outputs(self) -> Counted:
        """Of a run that observed nothing."""
        nothing: Facts = {table: [] for table in OUTPUTS}
        return Counted(
            {**self.facts, **nothing}, observed=False, assumed=0, skipped=[], findings=[], groups=[], clusters=[]
        )


def counted_in(packed: DataFrame, settings: CheckSettings) -> Counted:
    """Adds up what is in the frame (`exchange.RESULTS`), and checks the rows of clusters; one Spark action, without a
    shuffle.
    """
    collected = {"fact": F.col("fact"), "seen": F.col("seen")} | {
        table.name: F.when(F.col(table.name).isNotNull(), _whole_row(table)) for table in (FINDINGS, COVERAGE)
    }
    every = packed.select(*(column.alias(name) for name, column in collected.items()))
    rows = every.where(reduce(or_, (F.col(name).isNotNull() for name in collected))).toArrow()
    *columns, covered = (column.combine_chunks().drop_null() for column in rows.columns)
    facts, seen, findings = map(values, columns)
    skipped = sorted((*group.values(),) for part in seen for group in part["skipped"])
    groups = sorted(coverage_rows_in(_unpacked(covered)), key=itemgetter(0, 1, 2))
    clusters = cluster_coverage(groups, settings.step // timedelta(microseconds=1))
    of_clusters = counts_of(Rows.of(coverage_rows(clusters), settings), BY_TABLE[COVERAGE]).facts() if clusters else ()
    return Counted(
        _added([*map(_fact, facts), *of_clusters]),
        any(part["observed"] for part in seen),
        sum(part["assumed"] for part in seen),
        skipped[:_MOST_NAMED],
        sorted(in_utc(findings), key=lambda finding: (finding["started_at"], finding["finding_id"])),
        groups,
        clusters,
    )


def _whole_row(table: Table) -> Column:
    return F.struct(*(name if name in STEP_KEY else f"{table.name}.{name}" for name in table.columns))


def _unpacked(structs: pa.StructArray) -> pa.Table:
    return pa.table(structs.flatten(), names=[field.name for field in structs.type])


def _fact(fact: Mapping[str, Any]) -> Fact:
    examples = [(example["name"], example["key"]) for example in fact["examples"]]
    return Fact(fact["table_name"], fact["step_start"], fact["cluster"], fact["counts"], examples)


def _added(facts: Iterable[Fact]) -> Facts:
    """The counts of the parts of the groups added up, by table and step."""
    counts = defaultdict[tuple[str, int, str], Counter[str]](Counter)
    examples = defaultdict[tuple[str, int, str], list[tuple[str, str]]](list)
    for fact in facts:
        key = fact.table_name, fact.step_start, fact.cluster
        counts[key].update(fact.counts)
        examples[key] += fact.examples
    added = [Fact(*key, counts[key], examples[key]) for key in sorted(counts)]
    steps = [[*of_step] for _, of_step in groupby(added, key=attrgetter("table_name", "step_start"))]
    return {
        suite.table: [step_facts(suite, of_step) for of_step in steps if of_step[0].table_name == suite.table.name]
        for suite in SUITES
    }
