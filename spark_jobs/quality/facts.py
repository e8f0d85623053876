"""All that the expectations of some tables are judged by, from one Spark action for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from expectations.suite import KEYS_ARE_UNIQUE, Expectation, Suite
from schemas import OUTPUTS, Table
from spark_jobs.publish.content import row_hash
from spark_jobs.quality.checks import Check, Facts

#: Written as JSON escapes in examples: markup, and the marks that change the direction of writing.
_ESCAPED = "<>&\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
STEP, ROWS, SERIES, BROKEN, NULLS, REJECTED = "step_start", "rows", "series", "broken", "nulls", "rejected"
#: Of sources: microseconds from the first to the last snapshot of each series, added up.
SPANS = "spans"
#: Of outputs: the sum of what `content.row_hash` gives. Keys of rows that break an expectation, by its name.
CONTENT, EXAMPLES = "content", "examples"

_TABLE, _NAME, _COUNTS = "table", "name", "counts"

#: Characters of an example's key that are shown: a key of the longest names that are allowed is not cut.
_LONGEST_KEY = 1_500


def flagged(
    suite: Suite, frame: DataFrame, others: Mapping[Table, DataFrame], settings: Mapping[str, Any]
) -> DataFrame:
    """The rows of a table with one boolean column per expectation, named as it is: whether the row keeps it."""
    prepared = suite.prepare(frame, others).withColumns({name: F.lit(value) for name, value in settings.items()})
    return prepared.selectExpr("*", *(f"{_keeps(one)} AS `{one.name}`" for one in suite.expectations))


def conditions(suite: Suite) -> list[str]:
    """SQL of what is asked of every snapshot of a source on its way: the expectations, then whether columns are null.

    The columns are those of the table and the settings.
    """
    return [*map(_keeps, suite.expectations), *(f"`{name}` IS NOT NULL" for name in suite.nullable)]


def flagged_on_the_way(suite: Suite, folded: DataFrame) -> DataFrame:
    """Folded snapshots of which `broken` says which of the `conditions` they break, with the columns of `flagged`;
    nullable columns are true where they are not null.
    """
    asked = [*((one.name, "false") for one in suite.expectations), *((name, "NULL") for name in suite.nullable)]
    told = (f"IF(broken & {1 << place}L = 0, true, {if_not}) AS `{name}`" for place, (name, if_not) in enumerate(asked))
    return folded.selectExpr("*", *told)


def _keeps(one: Expectation) -> str:
    if one.each is None:
        return f"coalesce({one.holds}, true)"
    keeps = f"coalesce(forall({one.each}, it -> coalesce({one.holds}, true)), true)"
    return f"(coalesce({one.at_once}, false) OR {keeps})" if one.at_once else keeps


def series_facts(suite: Suite, rows: DataFrame) -> DataFrame:
    """One row per (step, series) of `flagged` rows: `table`, `counts` as `_counted` says, and `content` of outputs.

    A folded row stands for as many snapshots as it has `times`. The keys of one series are few enough to be counted
    exactly.
    """
    every = " AND ".join(("true", *(f"`{one.name}`" for one in suite.rejecting)))
    is_folded = "times" in rows.columns
    keys = f"collect_set(CASE WHEN {every} THEN xxhash64({', '.join(suite.table.key)}) END)"
    times = f"array_distinct(flatten(collect_list(CASE WHEN {every} THEN times END)))"

    def count(condition: str) -> str:
        return f"sum(IF({condition}, size(times), 0))" if is_folded else f"count_if({condition})"

    counts = {
        ROWS: count("true"),
        REJECTED: count(f"NOT ({every})"),
        SPANS: span_sql(rows.columns),
        **{name: count(f"NOT `{name}`") for name in _expected(suite)},
        KEYS_ARE_UNIQUE.name: f"{count(every)} - size({times if is_folded else keys})",
        **{_nulls(name): count(f"`{name}` IS NULL") for name in suite.nullable},
    }
    content = F.sum(row_hash(suite.table.columns)) if suite.table in OUTPUTS else F.lit(None).cast("decimal(38, 0)")
    in_order = ", ".join(counts[name] for name in _counted(suite))
    return (
        rows.groupBy(STEP, *suite.series)
        .agg(F.expr(f"array({in_order})").cast("array<bigint>").alias(_COUNTS), content.alias(CONTENT))
        .select(F.lit(suite.table.name).alias(_TABLE), STEP, _COUNTS, CONTENT)
    )


def span_sql(columns: Sequence[str]) -> str:
    """SQL of the microseconds between the first and the last of a series' snapshots; outputs have none."""
    if "times" in columns:
        return "max(array_max(times)) - min(array_min(times))"
    return "unix_micros(max(captured_at)) - unix_micros(min(captured_at))" if "captured_at" in columns else "0"


def step_facts(checks: Sequence[Check]) -> DataFrame:
    """One row per (table, step) that has rows: the sums of `series_facts`, and how many `series` there are."""
    most = max(len(_counted(check.suite)) for check in checks)
    sums = ", ".join(f"sum(get({_COUNTS}, {place}))" for place in range(most))
    per_series = (series_facts(check.suite, check.rows) for check in checks if check.rows is not None)
    return (
        reduce(DataFrame.union, per_series)
        .groupBy(_TABLE, STEP)
        .agg(
            F.expr(f"array({sums})").alias(_COUNTS),
            F.count(F.lit(1)).alias(SERIES),
            F.sum(CONTENT).cast("decimal(38, 0)").alias(CONTENT),
        )
    )


def by_name(suite: Suite, row: Row) -> dict[str, Any]:
    """A row of `step_facts` as a dict: `rows`; `series`; `rejected`, rows that break an expectation that a row must
    keep to be used; `spans`; `broken` and `nulls`, numbers of rows by expectation and by column; `content`.
    """
    counts = dict(zip(_counted(suite), row[_COUNTS], strict=False))
    return {
        STEP: row[STEP],
        ROWS: counts[ROWS],
        SERIES: row[SERIES],
        REJECTED: counts[REJECTED],
        SPANS: counts[SPANS],
        BROKEN: {name: counts[name] for name in (*_expected(suite), KEYS_ARE_UNIQUE.name)},
        NULLS: {name: counts[_nulls(name)] for name in suite.nullable},
        CONTENT: row[CONTENT],
    }


def collected(checks: Sequence[Check]) -> Facts:
    """Of each table its facts `by_name`, in the order of the steps, which are ISO 8601; keys of rows that break an
    expectation beside them. One Spark action, and a second where something is broken.
    """
    there = {check.suite.table.name: check for check in checks if check.rows is not None}
    found: dict[str, list[dict[str, Any]]] = {check.suite.table.name: [] for check in checks}
    for row in step_facts(list(there.values())).collect() if there else ():
        found[row[_TABLE]].append(by_name(there[row[_TABLE]].suite, row) | {STEP: _iso(row), EXAMPLES: {}})
    for steps in found.values():
        steps.sort(key=lambda step: str(step[STEP]))
    broken = {(table, name) for table, steps in found.items() for step in steps for name in _broken(step)}
    for row in _examples_of(there, sorted(broken)):
        of_step = next(step for step in found[row[_TABLE]] if step[STEP] == _iso(row))
        of_step[EXAMPLES].setdefault(row[_NAME], []).append(row["key"])
    return {check.suite.table: found[check.suite.table.name] for check in checks}


def _examples_of(checks: Mapping[str, Check], broken: Sequence[tuple[str, str]]) -> Sequence[Row]:
    frames = [
        examples(checks[table].suite, checks[table].each(), name).select(
            "*", F.lit(table).alias(_TABLE), F.lit(name).alias(_NAME)
        )
        for table, name in broken
    ]
    return reduce(DataFrame.union, frames).collect() if frames else ()


def _broken(step: Mapping[str, Any]) -> list[str]:
    return [name for name, count in step[BROKEN].items() if count]


def _expected(suite: Suite) -> list[str]:
    return [one.name for one in suite.expectations]


def _counted(suite: Suite) -> list[str]:
    """What is counted of a suite's rows, in the order of `counts`."""
    return [ROWS, REJECTED, SPANS, *_expected(suite), KEYS_ARE_UNIQUE.name, *map(_nulls, suite.nullable)]


def _iso(row: Row) -> str:
    text: str = row[STEP].replace(tzinfo=UTC).isoformat()
    return text


def examples(suite: Suite, rows: DataFrame, name: str, limit: int = 5) -> DataFrame:
    """Keys, as JSON, of up to `limit` rows that break an expectation; of repeated keys each once."""
    if name == KEYS_ARE_UNIQUE.name:
        repeated = rows.groupBy(STEP, *suite.table.key).count().where("count > 1")
        return repeated.select(STEP, _key(suite)).limit(limit)
    return rows.where(~F.col(name)).select(STEP, _key(suite)).limit(limit)


def _key(suite: Suite) -> Column:
    """What a stranger named a group is shown on pages: no novels, and what could be markup, or turn the writing around,
    as escapes.
    """
    text = F.to_json(F.struct(*suite.table.key))
    is_long = F.length(text) > _LONGEST_KEY
    text = F.when(is_long, F.concat(F.left(text, F.lit(_LONGEST_KEY)), F.lit("…"))).otherwise(text)
    for character in _ESCAPED:
        text = F.replace(text, F.lit(character), F.lit(f"\\u{ord(character):04x}"))
    return text.alias("key")


def _nulls(name: str) -> str:
    return f"nulls {name}"
