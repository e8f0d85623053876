"""Lines with one thing wrong: of each becomes what was done to it asks for, no more memory, and no crash.

`make reliability` takes LINES of them (100,000) by the command, as users do, `make slow` loads a few hundred, and
`make test` looks at one of each without Spark.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from benchmarks.process import watched
from schemas import QUARANTINE, Table
from spark_jobs.ingest.files import Line
from spark_jobs.ingest.load import IngestReport, ingest
from spark_jobs.ingest.recording import KINDS, Blank, NoObservation, Outcome, Quarantined, Row, outcomes
from spark_jobs.store.warehouse import Warehouse
from tests.end_to_end.reliability.killing import users_environment
from tests.end_to_end.reliability.lines import MUTATIONS, Hostile, hostile_lines
from tests.end_to_end.reliability.mutation import BLANK, NAMED, NO_OBSERVATION, ROW

META = b'{"kind":"meta","cluster":"demo"}\n'
#: What the whole process tree may hold: the JVM may take 2.5 GiB of heap.
MOST_BYTES = 6 * 1024**3
#: Columns with the names that hostile lines give.
_COLUMN = {"group": "consumer_group", "topic": "topic", "client": "client_id"}


def test_the_fate_of_a_line_is_known_by_what_was_done_to_it() -> None:
    for hostile in hostile_lines(1, len(MUTATIONS)):
        (outcome,) = outcomes([Line(1, hostile.content)], "demo")
        assert outcome_of(outcome) == hostile.expected, (hostile.mutation.name, outcome)


def outcome_of(outcome: Outcome) -> str:
    match outcome:
        case Row():
            return ROW
        case Blank():
            return BLANK
        case NoObservation():
            return NO_OBSERVATION
        case Quarantined(reason=reason):
            return reason.value
    raise AssertionError(outcome)


@pytest.mark.slow
def test_a_few_hundred_hostile_lines(spark: SparkSession, warehouse: Warehouse, tmp_path: Path) -> None:
    lines = list(hostile_lines(2, len(MUTATIONS)))[::5]
    report = ingest(spark, warehouse, [written(tmp_path / "hostile.jsonl", lines)])
    check_report(report, lines)
    check_tables(spark, warehouse, lines)


@pytest.mark.reliability
def test_very_many_hostile_lines(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    count, heavy = int(os.environ.get("LINES", "100000")), 22
    file = written(tmp_path / "hostile.jsonl", hostile_lines(3, count, heavy))
    command = [sys.executable, "-m", "spark_jobs.cli", "ingest", str(file), "--warehouse", warehouse.location, "--json"]
    ended = watched(command, users_environment())
    with capsys.disabled():
        megabytes = file.stat().st_size / 1e6
        print(f"\n{count:,} lines ({megabytes:,.0f} MB) in {ended.seconds:.0f} s, {ended.peak_bytes / 2**30:.2f} GiB")
        print(json.loads(ended.output)["quarantined"])
    assert ended.code == 2, ended.errors
    assert ended.peak_bytes < MOST_BYTES
    lines = list(hostile_lines(3, count, heavy))
    check_report(IngestReport(**json.loads(ended.output)), lines)
    check_tables(spark, warehouse, lines)


def written(file: Path, lines: Iterable[Hostile]) -> Path:
    with file.open("wb") as opened:
        opened.write(META)
        opened.writelines(one.content for one in lines)
    return file


def check_report(report: IngestReport, lines: Sequence[Hostile]) -> None:
    """Lines in = rows + quarantined + lines without an observation + blank ones + the meta line."""
    counts = Counter(one.expected for one in lines)
    assert (report.lines, report.meta) == (len(lines) + 1, 1)
    assert (sum(report.new.values()), sum(report.already_there.values())) == (counts.pop(ROW), 0)
    assert (report.blank, sum(report.no_observation.values())) == (counts.pop(BLANK), counts.pop(NO_OBSERVATION))
    assert report.quarantined == counts


def check_tables(spark: SparkSession, warehouse: Warehouse, lines: Sequence[Hostile]) -> None:
    """Every row, and every line in quarantine, is there, with its own name or its own reason."""
    told = warehouse.read(spark, QUARANTINE).select("line_number", "reasons").collect()
    found = {row.line_number: row.reasons for row in told}
    not_rejected = (ROW, BLANK, NO_OBSERVATION)
    expected = {number: [one.expected] for number, one in enumerate(lines, start=2) if one.expected not in not_rejected}
    assert len(told) == len(found)
    assert found == expected
    for kind, name in NAMED.items():
        of_kind = {key(one.fields, name) for one in lines if one.expected == ROW and one.fields["kind"] == kind}
        assert stored(spark, warehouse, KINDS[kind].table, _COLUMN[name]) == of_kind


def key(fields: dict[str, Any], name: str) -> tuple[int, str]:
    return fields["at"], fields[name]


def stored(spark: SparkSession, warehouse: Warehouse, table: Table, column: str) -> set[tuple[int, str]]:
    rows = warehouse.read(spark, table).select("captured_at", column).collect()
    return {(int(row[0].replace(tzinfo=UTC).timestamp() * 1000 + 0.5), row[1]) for row in rows}
