"""What a program reads: JSON on stdout."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.domain.phrases import printable
from spark_jobs.errors import OutputError

if TYPE_CHECKING:
    from spark_jobs.pipeline.run import RunResult
    from spark_jobs.show.incidents import Incidents
    from spark_jobs.show.status import Statuses
    from spark_jobs.show.trends import Trends


def as_json(document: Mapping[str, Any]) -> str:
    """The document as ASCII JSON; times as ISO 8601 in UTC with Z."""
    return json.dumps(document, indent=2, default=_json_value)


def answered(arguments: Namespace, document: Mapping[str, Any], rows: Iterable[Mapping[str, Any]] = ()) -> bool:
    """Prints what a program asked for: the document as JSON, or its rows in a format; False: a person asked."""
    wanted = vars(arguments).get("format")
    if arguments.json:
        print(as_json(document))
    elif wanted:
        _FORMATS[wanted]([*map(_flat, rows)])
    return bool(arguments.json or wanted)


def _write_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        text = io.StringIO()
        out = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(map(_with_times, rows))
        # On a terminal no name steers it.
        lines = text.getvalue().split("\n")
        print("\n".join(map(printable, lines) if sys.stdout.isatty() else lines), end="")


def _write_logfmt(rows: Sequence[Mapping[str, Any]]) -> None:
    """A line per row; what is unknown has no value, and text that is not one plain word is quoted, as in JSON."""
    for row in map(_with_times, rows):
        texts = {name: "" if value is None else str(value) for name, value in row.items()}
        print(" ".join(f"{name}={_word(text)}" for name, text in texts.items()))


def _word(text: str) -> str:
    return text if re.fullmatch(r"[!#-<>-\[\]-~]*", text) else json.dumps(text)


def _with_times(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: format_utc(value) if isinstance(value, datetime) else value for name, value in row.items()}


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    nested = list, tuple, dict
    return {
        name: json.dumps(value, default=_json_value) if isinstance(value, nested) else value
        for name, value in row.items()
    }


def _write_parquet(rows: Sequence[Mapping[str, Any]]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    if sys.stdout.isatty():
        raise OutputError("Parquet is not for a terminal: write it to a file, with > FILE")
    written = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist(rows), written)
    sys.stdout.buffer.write(written.getvalue())


_FORMATS = {"csv": _write_csv, "logfmt": _write_logfmt, "parquet": _write_parquet}


def trends_document(trends: Trends) -> dict[str, Any]:
    """Trends for `as_json`."""
    from spark_jobs.show.trends import week_row

    return {"groups": [{**trend._asdict(), "weeks": [*map(week_row, trend.weeks)]} for trend in trends]}


def _json_value(value: object) -> str:
    if isinstance(value, datetime):
        return format_utc(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def run_document(result: RunResult) -> dict[str, Any]:
    """A run for `as_json`."""
    warnings = {"warnings": result.warnings, "quality_warnings": result.quality_warnings}
    return {"run": result.run, "findings": result.findings, "observed": result.observed} | warnings


def statuses_document(statuses: Statuses) -> dict[str, Any]:
    """The newest step of every group for `as_json`, and until when the data of each cluster go."""
    return {"newest_step": statuses.newest_step, "groups": statuses.groups} | _data_until(statuses)


def _data_until(answer: Statuses | Incidents) -> dict[str, Any]:
    return {"data_until": {} if answer.data_age is None else answer.data_age.until}


def incidents_document(incidents: Incidents) -> dict[str, Any]:
    """Incidents for `as_json`, and the time in which nothing was audited, or recorded."""
    unknown = {"not_audited": [*map(str, incidents.not_audited)], "not_recorded": [*map(str, incidents.not_recorded)]}
    return {"incidents": incidents.rows()} | unknown | _data_until(incidents)
