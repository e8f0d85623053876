"""Lines with one thing wrong: each has the outcome that its change asks for; no crash, and bounded memory.

`make reliability` takes LINES of them (100,000) by the command, as users do, `make slow` loads a few hundred, and
`make test` looks at one of each without Spark.
"""

import gzip
import json
import os
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from pyspark.sql import SparkSession

from benchmarks.process import watched
from schemas import QUARANTINE, Table
from spark_jobs.ingest.files import Line
from spark_jobs.ingest.load import IngestReport, ingest
from spark_jobs.ingest.recording import KINDS, Quarantined, outcomes
from spark_jobs.store.warehouse import Warehouse
from tests.end_to_end.reliability.body_mutations import BODY_MUTATIONS
from tests.end_to_end.reliability.killing import users_environment
from tests.end_to_end.reliability.line_mutations import LINE_MUTATIONS, NAMED
from tests.end_to_end.reliability.mutation import BLANK, NO_OBSERVATION, ROW, Fields

META = b'{"kind":"meta","cluster":"demo"}\n'
#: What the whole process tree may hold: the JVM may take 2.5 GiB of heap.
MOST_BYTES = 6 * 1024**3
#: Columns with the names that hostile lines give.
_COLUMN = {"group": "consumer_group", "topic": "topic", "client": "client_id"}


MUTATIONS: Final = (*LINE_MUTATIONS, *BODY_MUTATIONS)
_RECORDING: Final = Path(__file__).parents[3] / "examples" / "recording.jsonl.gz"
_FIRST_AT: Final = 1_795_226_400_000
#: A body has what its kind's mutations change.
_CHANGEABLE: Final = {
    "connection": '"clientId"',
    "route": '"queueDatas":[{',
    "stats": '"queueId"',
    "topicstats": "[[",
    "running": '"mqTable":{{',
}


class Hostile(NamedTuple):
    """A line, its fields as far as it has any, and what must become of it."""

    content: bytes
    fields: Fields
    expected: str


@cache
def honest() -> dict[str, list[Fields]]:
    """Lines of the recording by kind, parsed; the body is text."""
    found: dict[str, list[Fields]] = defaultdict(list)
    with gzip.open(_RECORDING, "rt", encoding="utf-8") as file:
        for fields in map(json.loads, islice(file, 3_000)):
            if _CHANGEABLE.get(fields["kind"], "\0") in fields.get("body", ""):
                found[fields["kind"]].append(fields)
    return found


def hostile_lines(seed: int, count: int, heavy: int = 0) -> Iterator[Hostile]:
    """Every mutation in turn, until there are so many lines; `heavy` of those that are megabytes come first.

    No two lines have the same time, so no two rows have the same key.
    """
    draw = random.Random(seed)
    of_weight = [[one for one in MUTATIONS if one.is_heavy is is_heavy] for is_heavy in (True, False)]
    turns = (islice(cycle(some), number) for some, number in zip(of_weight, (heavy, count - heavy), strict=True))
    for number, mutation in enumerate(one for some in turns for one in some):
        fields = draw.choice(honest()[draw.choice(mutation.kinds)]) | {"at": _FIRST_AT + number}
        changed = mutation.change(fields)
        if isinstance(changed, bytes):
            yield Hostile(changed, fields, mutation.expected)
        else:
            # Not every writer escapes what is not ASCII; UTF-8 has no lone surrogates.
            escapes = mutation.expected == "LONE_SURROGATE" or draw.random() < 0.5
            content = json.dumps(changed, ensure_ascii=escapes).encode() + b"\n"
            yield Hostile(content, changed, mutation.expected)


def test_the_outcome_of_a_line_is_known_by_what_was_done_to_it() -> None:
    for hostile in hostile_lines(1, len(MUTATIONS)):
        (outcome,) = outcomes([Line(1, hostile.content)], "demo")
        found = outcome.reason if isinstance(outcome, Quarantined) else type(outcome).__name__
        assert found == hostile.expected, (hostile.content[:1000], outcome)


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
    quarantined = warehouse.read(spark, QUARANTINE).select("line_number", "reasons").collect()
    not_rejected = (ROW, BLANK, NO_OBSERVATION)
    expected = [(number, [one.expected]) for number, one in enumerate(lines, 2) if one.expected not in not_rejected]
    assert sorted(map(tuple, quarantined)) == expected
    for kind, name in NAMED.items():
        rows = (one.fields for one in lines if one.expected == ROW and one.fields["kind"] == kind)
        of_kind = {(fields["at"], fields[name]) for fields in rows}
        assert stored(spark, warehouse, KINDS[kind].table, _COLUMN[name]) == of_kind


def stored(spark: SparkSession, warehouse: Warehouse, table: Table, column: str) -> set[tuple[int, str]]:
    rows = warehouse.read(spark, table).select("captured_at", column).collect()
    return {(int(row[0].replace(tzinfo=UTC).timestamp() * 1000 + 0.5), row[1]) for row in rows}
