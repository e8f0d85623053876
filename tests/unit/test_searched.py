"""Runs, clients, incidents by what they are about; the last hour, other zones, CSV and Parquet. No Spark."""

import csv
import io
import json
import re
from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from schemas import ALLOCATIONS, AUDIT_RUNS, FINDINGS, GROUP_STATUS, QUEUE_PROGRESS, REBALANCE_INTERVALS
from spark_jobs.cli.commands.clients import CLIENT_SCHEMA, ClientSeen
from spark_jobs.cli.documents import answered
from spark_jobs.cli.main import main
from spark_jobs.domain.model.intervals import Interval
from tests.support.commands import Typed
from tests.support.published import STATUS, key
from tests.support.recordings import write_warehouse
from tests.support.rows import finding, interval, member
from tests.support.stored import audit_run, write
from tests.support.times import at

HOUR = 3600


def row(group: str, topic: str, start: float, end: float, *members: dict[str, Any]) -> dict[str, Any]:
    return interval(start, end, *members, topic=topic) | key(group, start // HOUR)


def hung(group: str, hour: int, minutes: tuple[int, int], **values: Any) -> dict[str, Any]:
    start, end = (at(hour * HOUR + 60 * minute) for minute in minutes)
    named = {"rule": "CLIENT_HUNG", "cause": "NO_ANSWER", "subject": "h1@7"}
    subject = values.get("subject", "h1@7")
    client_id = None if subject == group else subject
    client_ids = [] if client_id is None else [client_id]
    evidence = {"client_ids": client_ids, "connections": [], "backlog_max": values.pop("most", None)}
    times = {"started_at": start, "ended_at": end}
    of_finding = {"finding_id": f"{group}{hour}{minutes}", "evidence": evidence, "client_id": client_id}
    return finding(**key(group, hour) | named | times | of_finding | values)


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """Two groups and two hours: h1 is in both groups, in G for the first hour, and hung there twice."""
    first, second = member("h1@7", "10.0.0.1:5"), member("h2@7", None)
    intervals = [
        row("G", "T", 0, HOUR, first, second),
        row("G", "%RETRY%G", 0, HOUR, first, second),
        row("G", "U", 600, HOUR, first),
        row("G", "T", HOUR, 2 * HOUR, second),
        row("H", "T", HOUR, 2 * HOUR, member("H1@8", "10.0.0.1:6")),
    ]
    findings = [
        hung("G", 0, (10, 20), most=7),
        hung("G", 0, (40, 45), severity="WARN", subject="h2@7", most=90),
        hung("H", 1, (0, 30), rule="GROUP_OFFLINE", cause="NO_MEMBERS", subject="H", severity="ERROR"),
    ]
    steps = [
        key("G") | STATUS,
        key("G", 1) | STATUS | {"worst_severity": "WARN", "backlog_end": 5},
        key("H", 1) | STATUS | {"backlog_end": 90},
    ]
    filled = {FINDINGS: findings, GROUP_STATUS: steps, REBALANCE_INTERVALS: intervals}
    write_warehouse(tmp_path, filled | {ALLOCATIONS: [], QUEUE_PROGRESS: []}, HOUR)
    return tmp_path


@pytest.fixture
def ask(warehouse: Path, typed: Typed) -> Typed:
    """Types a command about the warehouse."""
    return partial(typed, warehouse=warehouse)


def test_a_client_is_shown_in_all_its_groups(ask: Typed) -> None:
    """By a part of its id, in whatever case, or of its address; retry topics are left out."""
    first = "cluster=c group=G client=h1@7 address=10.0.0.1:5 2026-03-01T10:00Z/2026-03-01T11:00Z topics=T,U"
    second = "cluster=c group=H client=H1@8 address=10.0.0.1:6 2026-03-01T11:00Z/2026-03-01T12:00Z topics=T"
    day = "as audited in 2026-02-28T12:00Z/2026-03-01T12:00Z."
    both = [first, second, f"2 connections in 2 groups, {day}"]
    assert ask("clients h1@").lines == both
    assert ask("clients 10.0.0.1").lines == both
    assert ask("clients 10.0.0.1:6").lines == [second, f"1 connection in 1 group, {day}"]
    assert ask("clients h1 --group G").lines[:-1] == [first]
    assert ask("clients h1 --interval 2026-03-01T11:00/2026-03-01T12:00").lines[:-1] == [second]
    assert ask("clients h1 --last 1h").lines[:-1] == [second]
    # Of these 24 hours the last two were audited; H came in the last one.
    known, *lacks = ask("clients nobody", code=2).lines[1:]
    assert known == "2 groups of c, 2026-02-28T12:00Z/2026-03-01T12:00Z, 6 % observed."
    assert lacks == ["Nothing was recorded of G, H of the cluster c in 2026-02-28T12:00Z/2026-03-01T10:00Z."]
    (client,) = ask("clients h2 --json").document["clients"]
    assert (client["first_seen"], client["last_seen"]) == ("2026-03-01T10:00:00Z", "2026-03-01T12:00:00Z")
    assert client["client_addr"] is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", ["G h1@7", "H", "G h2@7"]),
        ("--interval 2026-03-01T11:00/2026-03-01T12:00", ["H"]),
        ("--interval 2026-03-01T10:00/2026-03-01T12:00", ["G h1@7", "H", "G h2@7"]),
        ("--rule client_hung", ["G h1@7", "G h2@7"]),
        ("--severity warn", ["G h2@7"]),
        ("--client H1", ["G h1@7"]),
        ("--id {beginning}", ["H"]),
        ("--sort newest", ["H", "G h2@7", "G h1@7"]),
        ("--sort oldest", ["G h1@7", "G h2@7", "H"]),
        ("--sort longest", ["H", "G h1@7", "G h2@7"]),
        ("--sort peak-backlog", ["G h2@7", "G h1@7", "H"]),
    ],
)
def test_incidents_by_what_they_are_about(options: str, expected: list[str], ask: Typed) -> None:
    (of_h,) = ask("incidents --group H --json", code=1).document["incidents"]
    line = f"incidents {options.format(beginning=of_h['incident_id'][:8])} --json"
    # A WARN alone is no ERROR.
    incidents = ask(line, code=2 if "warn" in line else 1).document["incidents"]
    assert [" ".join((*incident["consumer_groups"], *incident["client_ids"])) for incident in incidents] == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [("", ["H", "G"]), ("--all", ["H", "G"]), ("--all --sort backlog", ["H", "G"]), ("--group H", ["H"])],
)
def test_groups_that_are_asked_for(options: str, expected: list[str], ask: Typed) -> None:
    """Exit code 2: the data are old, and what was an ERROR is over."""
    shown = ask(f"status {options}", code=2).out
    assert re.findall(r"^\w+ .*?(?:group=)?([GH]) ", shown, re.MULTILINE) == expected
    rows = ask("status --sort backlog --format logfmt", code=2).lines
    assert [line.split()[2] for line in rows] == ["consumer_group=H", "consumer_group=G"]


def test_times_are_shown_in_another_zone(ask: Typed) -> None:
    """Winter in Berlin is an hour ahead. For a program it stays UTC, and the next command says it as well."""
    age, line, _, old = ask("incidents --client h1 --tz Europe/Berlin", code=1).lines
    assert old.startswith("The data of c end ")
    assert age.startswith("The data end at 2026-03-01T13:00+01:00, ")
    assert "since=2026-03-01T11:10+01:00 (10 min 00 s, over)" in line
    assert "2026-03-01T10:10:00Z" in ask("incidents --client h1 --tz Europe/Berlin --json", code=1).out
    assert "2026-03-01T10:10Z" in ask("incidents --client h1", code=1).out
    lines = ask("explain --group G --at 2026-03-01T10:15 --tz Asia/Kolkata", code=1).lines
    assert lines[0] == "G (cluster c) at 2026-03-01T15:45+05:30"
    assert "All times are Asia/Kolkata; the audited step is 2026-03-01T15:30+05:30/2026-03-01T16:30+05:30." in lines[1]


def test_programs_get_the_rows_as_csv_and_parquet(
    warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["incidents", "--warehouse", str(warehouse), "--client", "h1", "--format", "csv"]) == 1
    (incident,) = csv.DictReader(io.StringIO(capsysbinary.readouterr().out.decode()))
    assert (incident["severity"], incident["opened_at"]) == ("ERROR", "2026-03-01T10:10:00Z")
    assert json.loads(incident["client_ids"]) == ["h1@7"]
    assert (incident["peak_backlog_messages"], json.loads(incident["costs"])[0]["consumer_group"]) == ("7", "G")
    answers = (("incidents", 3, 1), ("status", 2, 2), ("trends", 10, 0), ("runs", 1, 0), ("clients h1", 2, 0))
    for command, rows, code in answers:
        assert main([*command.split(), "--warehouse", str(warehouse), "--format", "parquet"]) == code
        assert parquet.read_table(io.BytesIO(capsysbinary.readouterr().out)).num_rows == rows
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["runs", "--warehouse", str(warehouse), "--format", "parquet"]) == 3


def test_logfmt_is_a_line_per_row(capsys: pytest.CaptureFixture[str]) -> None:
    """Text that is not one plain word is quoted, and nothing steers a terminal; what is unknown has no value."""
    schema = pa.schema(
        {"g": pa.string(), "n": pa.float64(), "x": pa.list_(pa.string()), "at": pa.timestamp("us", "UTC")}
    )
    rows = [
        {"g": "a=b", "n": 1.5, "x": None, "at": at(0)},
        {"g": 'a\x1b[2J\n"\u202e', "n": 0.5, "x": ["c d"], "at": None},
    ]
    assert answered(Namespace(json=False, format="logfmt"), {}, lambda: pa.Table.from_pylist(rows, schema))
    expected = ['g="a=b" n=1.5 x= at=2026-03-01T10:00:00Z', r'g="a\u001b[2J\n\"\u202e" n=0.5 x="[\"c d\"]" at=']
    assert capsys.readouterr().out.splitlines() == expected


def test_csv_steers_no_terminal(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program gets the name itself, which may break its line."""
    row = ClientSeen("c", "g", "a\x1b[2J\nb", None, None, None, at(0), at(60), [])._asdict()
    table = pa.Table.from_pylist([row], CLIENT_SCHEMA)
    arguments = Namespace(json=False, format="csv")
    assert answered(arguments, {}, lambda: table)
    assert next(csv.DictReader(io.StringIO(capsys.readouterr().out)))["client_id"] == "a\x1b[2J\nb"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert answered(arguments, {}, lambda: table)
    text = capsys.readouterr().out
    assert "a\\x1b[2J" in text
    assert all(character.isprintable() or character == "\n" for character in text)


def run(number: int, **values: Any) -> dict[str, Any]:
    """A run of one hour, of everything."""
    of_run = dict.fromkeys(("run_id", "configuration_hash", "code_version"), f"r{number}")
    hour = Interval(at(number * HOUR), at((number + 1) * HOUR))
    return audit_run(hour, {}, finished_at=at(9 * HOUR + number)) | of_run | values


def test_runs_are_listed_with_what_became_of_them(tmp_path: Path, typed: Typed) -> None:
    write(tmp_path, AUDIT_RUNS, [run(1), run(2, outcome="rejected", cluster="c", consumer_group="G")])
    printed = typed("runs", warehouse=tmp_path)
    assert printed.lines == [
        "rejected run=r2 interval=2026-03-01T12:00Z/2026-03-01T13:00Z of=c G finished=2026-03-01T19:00:02Z code=r2 "
        "configuration=r2",
        "published run=r1 interval=2026-03-01T11:00Z/2026-03-01T12:00Z of=everything finished=2026-03-01T19:00:01Z "
        "code=r1 configuration=r1",
        "2 runs.",
    ]
    # What was rejected has nothing to verify.
    assert printed.err.endswith(f"Next: rebalance-audit verify r1 --warehouse {tmp_path}\n")
    of_interval = typed("runs --interval 2026-03-01T11:30/2026-03-01T11:40", warehouse=tmp_path)
    assert of_interval.out.startswith("published run=r1 ")
    assert typed("runs --interval 2025-03-01/2025-03-02", warehouse=tmp_path, code=2).out == "0 runs.\n"
