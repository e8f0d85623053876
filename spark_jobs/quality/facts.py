"""All that a suite's expectations are judged by, from one pass over its table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from expectations.suite import KEYS_ARE_UNIQUE, Expectation, Suite
from schemas import Table

#: Written as JSON escapes in examples: markup, and the marks that change the direction of writing.
_ESCAPED = "<>&\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
STEP, ROWS, SERIES, BROKEN, NULLS, REJECTED = "step_start", "rows", "series", "broken", "nulls", "rejected"

#: Characters of an example's key that are shown: a key of the longest names that are allowed is not cut.
_LONGEST_KEY = 1_500


def flagged(
    suite: Suite, frame: DataFrame, others: Mapping[Table, DataFrame], settings: Mapping[str, Any]
) -> DataFrame:
    """The rows of a table with one boolean column per expectation, named as it is: whether the row keeps it."""
    prepared = suite.prepare(frame, others).withColumns({name: F.lit(value) for name, value in settings.items()})
    return prepared.withColumns({one.name: _keeps(one) for one in suite.expectations})


def _keeps(one: Expectation) -> Column:
    if one.each is None:
        return F.expr(f"coalesce({one.holds}, true)")
    keeps = f"coalesce(forall({one.each}, it -> coalesce({one.holds}, true)), true)"
    return F.expr(f"coalesce({one.at_once}, false) OR {keeps}" if one.at_once else keeps)


def step_facts(suite: Suite, rows: DataFrame) -> DataFrame:
    """One row per step of `flagged` rows: `rows`; `series`, how many there are; `broken` and `nulls`, numbers of rows
    by expectation and by column; `rejected`, rows that break one that a row must keep to be used.

    Rows are aggregated per series first: the keys of one are few enough to be counted exactly.
    """
    names = [one.name for one in suite.expectations]
    every = F.lit(True)
    for one in suite.rejecting:
        every = every & F.col(one.name)
    counts = {_broken(name): F.count_if(~F.col(name)) for name in names}
    counts |= {_nulls(name): F.count_if(F.col(name).isNull()) for name in suite.nullable}
    counts |= {ROWS: F.count(F.lit(1)), REJECTED: F.count_if(~every)}
    repeated = F.count_if(every) - F.size(F.collect_set(F.when(every, F.xxhash64(*suite.table.key))))
    per_series = rows.groupBy(STEP, *suite.series).agg(
        *(value.alias(name) for name, value in counts.items()),
        repeated.alias(_broken(KEYS_ARE_UNIQUE.name)),
    )
    sums = [F.sum(name).alias(name) for name in (*counts, _broken(KEYS_ARE_UNIQUE.name))]
    summed = per_series.groupBy(STEP).agg(*sums, F.count(F.lit(1)).alias(SERIES))
    return summed.select(
        STEP,
        ROWS,
        SERIES,
        REJECTED,
        _by_name([*names, KEYS_ARE_UNIQUE.name], _broken).alias(BROKEN),
        _by_name(suite.nullable, _nulls).alias(NULLS),
    )


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


def _broken(name: str) -> str:
    return f"broken {name}"


def _nulls(name: str) -> str:
    return f"nulls {name}"


def _by_name(names: Sequence[str], column: Callable[[str], str]) -> Column:
    entries = [part for name in names for part in (F.lit(name), F.col(column(name)))]
    return F.create_map(*entries) if entries else F.create_map().cast("map<string, bigint>")
