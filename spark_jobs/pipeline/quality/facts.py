"""Counts of the rows of a table, step by step: all that its expectations are evaluated by."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from expectations import BY_TABLE
from expectations.common import CLUSTER
from expectations.rows import CheckSettings, Flags, Numbers, Rows, codes, distinct
from expectations.suite import KEYS_ARE_UNIQUE, Expectation, Suite
from schemas import OUTPUTS, Table

STEP, ROWS, SERIES, BROKEN, NULLS, REJECTED = "step_start", "rows", "series", "broken", "nulls", "rejected"
#: Snapshots that were not used: those that are rejected, and of those with one key all, or all but one.
LEFT_OUT = "left out"
#: Of sources: microseconds from the first to the last snapshot of each series, added up.
SPANS = "spans"
#: Keys of rows that break an expectation, by its name.
EXAMPLES = "examples"
#: What was counted of each cluster, by its name.
CLUSTERS = "clusters"
#: By a column's name the key of a count: of how many rows it is null.
_nulls = "nulls {}".format
_TOTALS = (ROWS, SERIES, SPANS, REJECTED, LEFT_OUT)
#: Keys that are kept of the rows that break one expectation.
_MOST_EXAMPLES = 5
#: Written as JSON escapes in examples: markup, and the marks that change the direction of writing.
_ESCAPED = {
    ord(character): f"\\u{ord(character):04x}"
    for character in "<>&\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
}
#: Characters of an example's key that are shown: a key of the longest names that are allowed is not cut.
_LONGEST_KEY = 1_500

#: Of each table the facts of its steps, in their order.
Facts = Mapping[Table, Sequence[Mapping[str, Any]]]


class Fact(NamedTuple):
    """Counts of one step of a table in one cluster; those of its groups and topics are added up. `step_start`:
    microseconds; `cluster`: empty for rows without the name of one; `counts`: by what is counted, where there is any;
    `examples`: pairs of an expectation's name and a row's key.
    """

    table_name: str
    step_start: int
    cluster: str
    counts: Mapping[str, int]
    examples: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class CheckCounts:
    """Rows, or snapshots, of a table as expectations see them: entries per row. `cluster`: their names; `broken`: by
    expectation, only those that are broken at all; `unknown`: by nullable column. `series` and `at` (microseconds) of
    sources; `key` of a row, by name.
    """

    suite: Suite
    step: Numbers
    cluster: pa.DictionaryArray
    broken: Mapping[str, Flags]
    unknown: Mapping[str, Flags]
    key: Callable[[int], Mapping[str, Any]]
    rejected: Flags
    left_out: Flags | None = None
    series: Numbers | None = None
    at: Numbers | None = None

    def facts(self) -> Iterator[Fact]:
        """One per step and cluster."""
        parts, of_row = self._parts()

        def count(flags: Flags | None) -> Numbers:
            rows = of_row if flags is None else of_row[flags]
            return np.bincount(rows, minlength=len(parts)).astype(np.int64)

        series, spans = self._series(of_row, len(parts))
        counts = {ROWS: count(None), SERIES: series, SPANS: spans, REJECTED: count(self.rejected)}
        if self.left_out is not None:
            counts[LEFT_OUT] = count(self.left_out)
        counts |= {name: count(flags) for name, flags in self.broken.items()}
        counts |= {_nulls(name): count(flags) for name, flags in self.unknown.items()}
        examples, by_name = self._examples(of_row), {name: of_parts.tolist() for name, of_parts in counts.items()}
        for (step, cluster), place in sorted(zip(parts, range(len(parts)), strict=True)):
            of_part = {name: of_parts[place] for name, of_parts in by_name.items() if of_parts[place]}
            yield Fact(self.suite.table.name, step, cluster, of_part, examples.get(place, []))

    def _parts(self) -> tuple[list[tuple[int, str]], Numbers]:
        """The steps with their clusters, and the place of each row's among them."""
        names = ["", *self.cluster.dictionary.to_pylist()]
        codes = pc.fill_null(self.cluster.indices, -1).to_numpy()
        codes = np.where(self.broken.get(CLUSTER.name, False), -1, codes).astype(np.int64)
        steps, of_step = distinct(self.step)
        pairs, of_row = distinct(of_step * len(names) + codes + 1)
        return [(int(steps[pair // len(names)]), names[pair % len(names)]) for pair in pairs.tolist()], of_row

    def _series(self, of_row: Numbers, parts: int) -> tuple[Numbers, Numbers]:
        """By part, how many series there are, and the sum of their spans."""
        if self.series is None or self.at is None:
            return np.zeros(parts, np.int64), np.zeros(parts, np.int64)
        pairs, of_pair = distinct(self.series * parts + of_row)
        first, last = np.full(len(pairs), np.iinfo(np.int64).max), np.zeros(len(pairs), np.int64)
        np.minimum.at(first, of_pair, self.at)
        np.maximum.at(last, of_pair, self.at)
        spans = np.zeros(parts, np.int64)
        np.add.at(spans, pairs % parts, last - first)
        return np.bincount(pairs % parts, minlength=parts).astype(np.int64), spans

    def _examples(self, of_row: Numbers) -> dict[int, list[tuple[str, str]]]:
        """By the place of the part."""
        examples: dict[int, list[tuple[str, str]]] = {}
        for name, flags in self.broken.items():
            rows = np.flatnonzero(flags)
            for part in np.unique(of_row[rows]).tolist():
                first = rows[of_row[rows] == part][:_MOST_EXAMPLES].tolist()
                keys = dict.fromkeys(shown_key(self.key(row)) for row in first)
                examples.setdefault(part, []).extend((name, key) for key in keys)
        return examples


def counts_of(rows: Rows, suite: Suite) -> CheckCounts:
    """Counts of the rows of an output table, or of whole rows of a source, each with its `step_start`."""
    broken = broken_by(rows, suite.expectations)
    rejected = any_of(broken, suite.rejecting, len(rows))
    (key,) = codes(suite.table.key, rows)
    if (repeated := repeats(key, ~rejected)).any():
        broken[KEYS_ARE_UNIQUE.name] = repeated
    step, unknown = rows[STEP].numbers(), unknown_in(rows, suite.nullable)

    def key_of(place: int) -> Mapping[str, Any]:
        return {name: rows[name].array[place].as_py() for name in suite.table.key}

    return CheckCounts(suite, step, rows["cluster"].array.dictionary_encode(), broken, unknown, key_of, rejected)


def facts_of_outputs(tables: Mapping[str, pa.Table], settings: CheckSettings) -> list[Fact]:
    """Facts about the rows of some groups in all output tables, as they are written; the tables by
    name.
    """
    rows = {table: Rows.of(tables[table.name], settings) for table in OUTPUTS}
    return [
        fact
        for table in OUTPUTS
        if len(rows[table])
        for fact in counts_of(BY_TABLE[table].prepare(rows[table], rows), BY_TABLE[table]).facts()
    ]


def broken_by(rows: Rows, expectations: Iterable[Expectation]) -> dict[str, Flags]:
    """By expectation that is broken at all, which rows break it."""
    keeping = ((expectation.name, expectation.holds(rows).or_else(True)) for expectation in expectations)
    return {name: ~kept.flags() for name, kept in keeping if not pc.all(kept.array).as_py()}


def any_of(broken: Mapping[str, Flags], expectations: Iterable[Expectation], size: int) -> Flags:
    """Which of so many rows break any of these expectations."""
    flags = np.zeros(size, bool)
    for expectation in expectations:
        flags |= broken.get(expectation.name, False)
    return flags


def unknown_in(rows: Rows, columns: Iterable[str]) -> dict[str, Flags]:
    """By column, in which rows it is null."""
    return {name: rows[name].is_unknown().flags() for name in columns}


def repeats(keys: Numbers, among: Flags) -> Flags:
    """Which of these rows have the key of an earlier one of them."""
    rows, is_repeat = np.flatnonzero(among), np.zeros(len(keys), bool)
    in_order = np.sort(keys[rows])
    if (in_order[1:] == in_order[:-1]).any():
        is_repeat[np.delete(rows, np.unique(keys[rows], return_index=True)[1])] = True
    return is_repeat


def shown_key(key: Mapping[str, Any]) -> str:
    """A name that strangers gave, as pages show it: no novels, and what could be markup, or turn the writing
    around, as escapes.
    """
    known = {name: shown_value(value) for name, value in key.items() if value is not None}
    text = json.dumps(known, ensure_ascii=False, separators=(",", ":"))
    return (text if len(text) <= _LONGEST_KEY else f"{text[:_LONGEST_KEY]}…").translate(_ESCAPED)


def shown_value(value: Any) -> Any:
    """The value, a time as ISO 8601 with milliseconds."""
    is_time = isinstance(value, datetime)
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if is_time else value


def step_facts(suite: Suite, of_clusters: Sequence[Fact]) -> dict[str, Any]:
    """`by_name` of a step's clusters together and, as `clusters`, of each. A row without the name of a cluster counts
    in every one: it may be of any.
    """
    nameless = [fact for fact in of_clusters if not fact.cluster]
    named = [fact for fact in of_clusters if fact.cluster]
    parts = {fact.cluster: by_name(suite, _together([fact, *nameless])) for fact in named}
    return by_name(suite, _together(of_clusters)) | {CLUSTERS: parts}


def clusters_in(facts: Facts) -> frozenset[str]:
    """The names of all clusters of which something was counted."""
    return frozenset(cluster for steps in facts.values() for step in steps for cluster in step[CLUSTERS])


def _together(facts: Sequence[Fact]) -> Fact:
    counts = sum((Counter(fact.counts) for fact in facts), Counter[str]())
    return facts[0]._replace(counts=counts, examples=[example for fact in facts for example in fact.examples])


def by_name(suite: Suite, fact: Fact) -> dict[str, Any]:
    """The facts of a step as a dict: `step_start` (ISO 8601); `rows`; `series`; `spans`; `rejected`,
    rows that break an expectation that a row must keep to be used; `left out`; `broken` and `nulls`, numbers of rows by
    expectation and by column; `examples`.
    """
    counts = Counter(fact.counts)
    examples: dict[str, list[str]] = {}
    for name, key in sorted(fact.examples):
        examples.setdefault(name, []).append(key)
    return {
        STEP: datetime.fromtimestamp(fact.step_start / 1_000_000, UTC).isoformat(),
        **{name: counts[name] for name in _TOTALS},
        BROKEN: {rule.name: counts[rule.name] for rule in (*suite.expectations, KEYS_ARE_UNIQUE)},
        NULLS: {name: counts[_nulls(name)] for name in suite.nullable},
        EXAMPLES: {name: keys[:_MOST_EXAMPLES] for name, keys in examples.items()},
    }
