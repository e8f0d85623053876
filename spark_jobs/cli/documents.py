"""Answers for programs on stdout: JSON, CSV, logfmt and Parquet."""

from __future__ import annotations

import csv
import io
import json
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypedDict

from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.phrases import printable
from spark_jobs.errors import OutputError
from spark_jobs.show.language import translated
from spark_jobs.show.tabular import row_text
from spark_jobs.store.read.stored import rows, tuples

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_jobs.domain.coverage import Coverage

#: Of a row while it is written: a text that has a part of it is quoted.
_END = "\r\n"
#: With these a formula begins.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_json(document: Mapping[str, Any]) -> str:
    """The document as ASCII JSON; times as ISO 8601 in UTC, in whole seconds, with Z."""
    return json.dumps(plain(document), indent=2)


def answered(arguments: Namespace, document: Mapping[str, Any], table: Callable[[], pa.Table] | None = None) -> bool:
    """Prints what a program asked for: the document as JSON, or the table in a format; False: a person asked."""
    wanted = vars(arguments).get("format")
    if arguments.json:
        print(as_json(document))
    elif wanted and table:
        _FORMATS[wanted](_flat(table()))
    return bool(arguments.json or wanted)


def _write_csv(table: pa.Table) -> None:
    text = io.StringIO()
    out = csv.DictWriter(text, table.column_names, lineterminator=_END)
    out.writeheader()
    out.writerows({name: _inert(value) for name, value in _with_times(row).items()} for row in rows(table))
    # On a terminal no name steers it.
    lines = text.getvalue().split(_END)
    print("\n".join(map(printable, lines) if sys.stdout.isatty() else lines), end="")


def _inert(value: Any) -> Any:
    """The value; a text that a spreadsheet takes for a formula has a single quote before it, as OWASP advises."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _write_logfmt(table: pa.Table) -> None:
    for row in map(_with_times, rows(table)):
        print(row_text(row))


def _with_times(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _time(value) if isinstance(value, datetime) else value for name, value in row.items()}


def _flat(table: pa.Table) -> pa.Table:
    """The table with JSON in the place of what is nested."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            nested = (value for (value,) in tuples(table.select([place])))
            texts = [None if value is None else json.dumps(plain(value)) for value in nested]
            table = table.set_column(place, field.name, pa.array(texts, pa.string()))
    return table


def _write_parquet(table: pa.Table) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    if sys.stdout.isatty():
        raise OutputError("Parquet is not for a terminal: write it to a file, with > FILE")
    written = pa.BufferOutputStream()
    parquet.write_table(table, written)
    sys.stdout.buffer.write(written.getvalue())


_FORMATS = {"csv": _write_csv, "logfmt": _write_logfmt, "parquet": _write_parquet}


def plain(value: Any) -> Any:
    """The value as JSON has it; what has fields is an object of them."""
    if isinstance(value, str):
        return translated(value)
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, datetime):
        return _time(value)
    if isinstance(value, Interval):
        return f"{_time(value.start)}/{_time(value.end)}"
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: plain(of_name) for name, of_name in value.items()}
    return [*map(plain, value)] if isinstance(value, (list, tuple)) else value


def _time(moment: datetime) -> str:
    """The whole second, the one form that every parser reads, `jq`'s `fromdate` too."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class ObservedGroup(TypedDict):
    """A group that was not audited, or not observed for the share that counts as complete."""

    cluster: str
    consumer_group: str
    seen: str
    observed_share: float


class CoverageDocument(TypedDict):
    """How much of the time of a question was observed; docs/json-keys.txt says what its keys mean."""

    interval: Interval | None
    groups: int
    observed_share: float
    is_whole: bool
    not_whole: list[ObservedGroup]
    lacks: list[str]


def coverage_document(coverage: Coverage) -> CoverageDocument:
    """How much was observed, for `as_json`: of all groups, and each that is not whole."""
    return {
        "interval": coverage.interval,
        "groups": len(coverage.groups),
        "observed_share": round(coverage.share, 4),
        "is_whole": coverage.is_whole,
        "not_whole": [
            {
                "cluster": group.cluster,
                "consumer_group": group.consumer_group,
                "seen": group.seen,
                "observed_share": round(group.share, 4),
            }
            for group in coverage.not_whole
        ],
        "lacks": coverage.lacks(),
    }
