"""A warehouse without Spark: what `what-if` reads of it, shows and draws."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from schemas import (
    AUDIT_RUNS,
    CLIENT_SNAPSHOTS,
    GROUP_STATUS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    OUTPUTS,
    ROUTE_SNAPSHOTS,
    Table,
)
from spark_jobs.cli.main import main
from spark_jobs.config import Configuration
from tests.snapshots import HOUR, at, membership, offsets, route
from tests.stored import write

KEY = {"cluster": "c", "consumer_group": "g"}
SECONDS = range(0, 601, 20)


def snapshots() -> dict[Table, list[dict[str, Any]]]:
    """Twins: 8 queues with 2.5 messages a second each, of which they consume the first four. Client `c1` says nothing
    of itself, another group and retry topics are there too.
    """
    return {
        MEMBERSHIP_SNAPSHOTS: [
            *(membership(second, "c1", "c1", topics=("t", "%RETRY%g")) for second in SECONDS),
            *(membership(second, "c9", group="other") for second in SECONDS),
        ],
        ROUTE_SNAPSHOTS: [route(second, 8) for second in SECONDS],
        OFFSET_SNAPSHOTS: [
            offsets(second, *[(1000 + second * 5 // 2, 1000 + second * 5 // 2 * (place < 4), 1) for place in range(8)])
            for second in SECONDS
        ],
        CLIENT_SNAPSHOTS: [KEY | {"client_id": "c1", "captured_at": at(0), "answered": False}],
    }


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    for table, found in snapshots().items():
        write(tmp_path, table, found)
    for table in OUTPUTS:
        write(tmp_path, table, [])
    status = {
        "step_start": HOUR.start,
        "limit": "DUPLICATE_IDS",
        "finding_count": 1,
        "unknown_queues": 0,
        "advice": ".",
    }
    write(tmp_path, GROUP_STATUS, [KEY | status])
    run = {"run_id": "r", "finished_at": HOUR.end, "step_seconds": 3600, "outcome": "published"}
    run |= {"interval_start": HOUR.start, "interval_end": HOUR.end, "configuration": Configuration().model_dump_json()}
    run |= {"published_versions": [(table.name, int(table is GROUP_STATUS)) for table in OUTPUTS]}
    write(tmp_path, AUDIT_RUNS, [run | {"source_versions": [(table.name, 0) for table in snapshots()]}])
    return str(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main(["what-if", *words]) == 0
    return capsys.readouterr().out


def test_cases_are_compared_with_what_really_happened(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--warehouse", warehouse, "--group", "g", "--interval", str(HOUR))
    lines = said(capsys, *given, "--unique-ids", "--speed", "c1=30", "--case", "--members =1").splitlines()
    assert lines == [
        "really happened: unowned=4.0 owned_twice=4.0 idle=0.0 busiest=4 queues moves_per_rebalance=- highest=6,000 "
        "last=6,000 drained_after=not by the end consumed_twice=6,000",
        "--speed c1=30 --unique-ids: unowned=0.0 owned_twice=0.0 idle=0.0 busiest=4 queues moves_per_rebalance=- "
        "highest=0 last=0 drained_after=0 s consumed_twice=0",
        # c1 was seen to take 10 a second, 20 come.
        "--members =1: unowned=0.0 owned_twice=0.0 idle=0.0 busiest=8 queues moves_per_rebalance=- highest=≤ 6,000 "
        "last=≤ 6,000 drained_after=not by the end consumed_twice=0",
        "Without any change, the model differs from the recorded backlog by 0 messages on average. Queues and members "
        "are averages over time. docs/what-if.md describes the model and its limits.",
        "--members =1: ≤ is an upper bound, as members with a backlog were never seen at their limit.",
    ]


def test_as_json(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(said(capsys, "--warehouse", warehouse, "--group", "g", "--members", "+1", "--json"))
    assert (document["cluster"], document["consumer_group"], document["interval"]) == ("c", "g", str(HOUR))
    (case,) = document["cases"]
    assert (case["label"], case["members"], case["highest"], case["at_most"]) == ("--members +1", 3, 4500, False)
    assert len(document["times"]) == len(case["curve"]) == len(document["recorded"]["curve"])
    drawn = dict(zip(document["times"], document["recorded"]["curve"], strict=True))
    # The state of 10:10 holds for 60 seconds without another, but there is no reading then.
    assert [drawn[f"2026-03-01T10:{moment}Z"] for moment in ("00", "01", "10", "11")] == [None, 600, 6000, None]


def test_a_plan_says_who_would_own_what(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "--warehouse", warehouse, "--group", "g", "--plan", "1").splitlines()
    assert lines[:3] == [
        "change=-1 members=1 idle=0 unowned=0 owned_twice=0 c1: 8 queues, 20.0 of ≥ 10.0 ?",
        "change=+0 members=2 idle=0 unowned=4 owned_twice=4 c1: 4 queues, 10.0 of ≥ 10.0; c1: 4 queues, 10.0 of ≥ 10.0",
        "change=+1 members=3 idle=0 unowned=3 owned_twice=3 c1: 3 queues, 7.5 of ≥ 10.0; c1: 3 queues, 7.5 of ≥ 10.0; "
        "~new-0002: 2 queues, 5.0 of ≥ 10.0",
    ]


def test_the_backlogs_are_drawn(warehouse: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "drawn.html"
    said(capsys, "--warehouse", warehouse, "--group", "g", "--members", "+1", "--html", str(file))
    page = file.read_text(encoding="utf-8")
    assert "what really happened" in page
    (packed,) = re.findall(r'data-gzip="(.*)"', page)
    assert "--members +1" in gzip.decompress(base64.b64decode(packed)).decode()
    assert not re.search(r"<(script|link|img)[^>]* (src|href)=", page)


@pytest.mark.parametrize(
    "words",
    [
        *(["--case", "--unique-ids"], ["--case=--unique-ids"]),
        *(["--members=-2"], ["--without", "c1"], ["--members=+1", "--speed", "~new-0002=1"]),
        ["--unique-ids", "--speed", "c1#twin1=3"],
        ["--members", "+1", "--interval", str(HOUR)],
    ],
)
def test_a_case_that_can_be_played(warehouse: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (_, case, *_) = said(capsys, "--warehouse", warehouse, "--group", "g", *words).splitlines()
    assert case.startswith("--")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "say what to change"),
        (["--members", "3"], "--members cannot be '3': write one of +2, -2, =2"),
        (["--queues", "+2"], "--queues cannot be '+2': write one of x2, =2"),
        (["--queues", "x0"], "--queues cannot be 'x0'"),
        (["--strategy", "ODD"], "--strategy cannot be 'ODD': choose one of AVG"),
        (["--strategy", "AVG:3"], "--strategy cannot be 'AVG:3'"),
        (["--strategy", "MACHINE_ROOM"], "MACHINE_ROOM cannot be replayed without its rooms"),
        (["--speed", "c1"], "--speed cannot be 'c1'"),
        (["--strategy", "AVG_BY_CIRCEL"], "--strategy cannot be 'AVG_BY_CIRCEL': did you mean AVG_BY_CIRCLE"),
        (["--without", "nobody"], "--without nobody: there was no member nobody: the members were c1"),
        (["--without", "c2"], "there was no member c2: did you mean c1?"),
        (["--speed", "nobody=25"], "--speed nobody=25: there was no member nobody: the members were c1"),
        (["--case", "--members +1 --speed ~new-0003=1"], "there was no member ~new-0003: did you mean ~new-0002?"),
        (["--members=-9"], "--members -9: there were never more than 2 members"),
        (["--members=-1", "--without", "c1"], "--members -1 --without c1: there were never more than 0 members"),
        (["--members=+1", "--interval", "2026-03-01T10:10/2026-03-01T10:20"], "the whole steps around it are 2026"),
        (["--plan", "2", "--members=+1"], "members less and more: leave out --members +1"),
        (["--plan", "2", "--case", "--unique-ids", "--html", "x"], "leave out --case --unique-ids --html x"),
        (["--case"], "argument --case: expected one argument"),
        (["--case", "--odd 3"], "the case '--odd 3' has no '--odd'"),
        (["--case", "'"], "the case ''' cannot be read"),
    ],
)
def test_a_case_that_cannot_be_read(
    warehouse: str, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["what-if", "--warehouse", warehouse, "--group", "g", *words]) == 3
    assert message in capsys.readouterr().err
