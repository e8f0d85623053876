"""What a program reads: JSON on stdout."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import printable
from spark_jobs.errors import OutputError

if TYPE_CHECKING:
    from spark_jobs.domain.incidents.trends import GroupTrend, GroupWeek
    from spark_jobs.domain.incidents.values import Incident
    from spark_jobs.pipeline.run import RunResult


def as_json(document: Mapping[str, Any]) -> str:
    """The document as ASCII JSON; times as ISO 8601 in UTC with Z."""
    return json.dumps(document, indent=2, default=_json_value)


def answered(arguments: Namespace, document: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> bool:
    """Prints what a program asked for: the document as JSON, or its rows as CSV or Parquet; False: a person asked."""
    if arguments.json:
        print(as_json(document))
    elif arguments.format == "csv":
        _write_csv(list(rows))
    elif arguments.format == "parquet":
        _write_parquet(list(rows))
    return bool(arguments.json or arguments.format)


def _write_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        text = io.StringIO()
        out = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        out.writeheader()
        for row in map(_flat, rows):
            out.writerow({name: format_utc(one) if isinstance(one, datetime) else one for name, one in row.items()})
        # On a terminal no name steers it.
        lines = text.getvalue().split("\n")
        print("\n".join(map(printable, lines) if sys.stdout.isatty() else lines), end="")


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    nested = list, tuple, dict
    return {name: json.dumps(one, default=_json_value) if isinstance(one, nested) else one for name, one in row.items()}


def _write_parquet(rows: Sequence[Mapping[str, Any]]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    if sys.stdout.isatty():
        raise OutputError("Parquet is not for a terminal: write it to a file, with > FILE")
    written = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist([*map(_flat, rows)]), written)
    sys.stdout.buffer.write(written.getvalue())


def _json_value(value: object) -> str:
    if isinstance(value, datetime):
        return format_utc(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def run_document(result: RunResult) -> dict[str, Any]:
    """A run for `as_json`."""
    warnings = {"warnings": result.warnings, "quality_warnings": result.quality_warnings}
    return {"run": result.run, "findings": result.findings} | warnings


def incidents_document(
    incidents: Iterable[Incident], not_audited: Iterable[Interval], not_recorded: Iterable[Interval]
) -> dict[str, Any]:
    """Incidents for `as_json`, and the time in which nothing was audited, or recorded."""
    unknown = {"not_audited": [*map(str, not_audited)], "not_recorded": [*map(str, not_recorded)]}
    return {"incidents": [_incident(one) for one in incidents]} | unknown


def trend_rows(found: Iterable[GroupTrend]) -> list[dict[str, Any]]:
    """A row per group and week."""
    return [
        {"cluster": one.cluster, "consumer_group": one.consumer_group, **_week(week)}
        for one in found
        for week in one.weeks
    ]


def trends_document(found: Iterable[GroupTrend]) -> dict[str, Any]:
    """Trends for `as_json`."""
    return {"groups": [{**one._asdict(), "weeks": [*map(_week, one.weeks)]} for one in found]}


def _week(one: GroupWeek) -> dict[str, Any]:
    return {**one._asdict(), "start": from_micros(one.start), "end": from_micros(one.end)}


def _incident(one: Incident) -> dict[str, Any]:
    times = {"opened_at": one.opened_at, "resolved_at": one.resolved_at, "last_seen_at": one.last_seen_at}
    told = {name: None if at is None else from_micros(at) for name, at in times.items()}
    queues = [{"topic": topic, "broker_name": broker, "queue_id": number} for topic, broker, number in one.queues]
    parts = {
        name: [
            {**part._asdict(), "start": from_micros(part.start), "end": from_micros(part.end)}
            for part in getattr(one, name)
        ]
        for name in ("roots", "consequences")
    }
    costs = [cost._asdict() for cost in one.costs]
    return {**dataclasses.asdict(one), **told, "queues": queues, **parts, "costs": costs, "teams": one.teams}
