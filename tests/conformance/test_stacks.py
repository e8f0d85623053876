"""Stacks in a recording reach the incident that shows them, and its case file, under other names too. No Spark."""

import gzip
import json
from pathlib import Path

import pytest

from spark_jobs.cli.main import main
from spark_jobs.domain.model.intervals import Interval, parse_utc
from tests.support.look import audit_into
from tests.unit.project.test_layers import ROOT

#: Listeners of one of two clients hang from 02:22:45 on.
RECORDING = ROOT / "tests" / "data" / "field" / "138_low_traffic_hang.jsonl.gz"
HOUR = Interval.parse("2026-11-21T02:00/2026-11-21T03:00")
FRAMES = ["java.base@17.0.15/java.net.Socket.read(Native Method)", "app//com.acme.Dao.query(Dao.java:12)"]


def line(time: str, client: str, threads: int, frames: list[str]) -> str:
    """A line of kind `stacks`, all of whose threads are the same."""
    body = {"threads": 20, "stacks": [{"state": "RUNNABLE", "threads": threads, "frames": frames}]}
    at = round(parse_utc(f"2026-11-21T{time}Z").timestamp() * 1000)
    return json.dumps({"kind": "stacks", "at": at, "group": "refund-pay", "client": client, "body": json.dumps(body)})


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording with stacks that is audited, and the incident's own recording with its names, and without them."""
    folder = tmp_path_factory.mktemp("stacks")
    recording = folder / "recording.jsonl.gz"
    meta, *others = gzip.decompress(RECORDING.read_bytes()).decode().splitlines()
    stacks = [line(f"02:{minute}:00", "10.35.138.2@1#13802", 18, FRAMES) for minute in (24, 29)]
    with gzip.open(recording, "wt") as file:
        file.write("\n".join((meta, *stacks, *others, "")))
    audit_into(folder / "whole", HOUR, 20, [recording])
    for name, options in (("plain", []), ("anonymous", ["--anonymous"])):
        out = str(folder / f"{name}.jsonl.gz")
        words = ["--warehouse", str(folder / "whole"), "--incident", "", "--out", out]
        assert main(["export", *words, *options]) == 0
        audit_into(folder / name, HOUR, 20, [Path(out)])
    return folder


@pytest.mark.parametrize(
    ("name", "group", "frames"),
    [
        ("whole", "refund-pay", FRAMES),
        ("plain", "refund-pay", FRAMES),
        ("anonymous", "group-1", ["java.net.Socket.read(Native Method)", "method-1(:12)"]),
    ],
)
def test_the_incident_shows_where_its_threads_are(
    name: str, group: str, frames: list[str], case: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    main(["incidents", "--warehouse", str(case / name), "--id", ""])
    method = "method-1" if name == "anonymous" else "com.acme.Dao.query"
    _, shown = capsys.readouterr().out.split("Stacks of consume threads\n")
    assert [text.strip() for text in shown.splitlines()] == [
        f"{group} (1 client): 18 of 20 consume threads run in {method}, seen since 2026-11-21T02:24Z.",
        "18 threads, RUNNABLE:",
        *frames,
    ]


def test_a_case_file_has_the_stacks_and_under_other_names_no_class(case: Path) -> None:
    plain, anonymous = (gzip.decompress((case / f"{name}.jsonl.gz").read_bytes()) for name in ("plain", "anonymous"))
    assert plain.count(b'"kind":"stacks"') == anonymous.count(b'"kind":"stacks"') == 2
    assert b"com.acme.Dao.query(Dao.java:12)" in plain
    assert b"acme" not in anonymous
    assert b"Dao" not in anonymous
