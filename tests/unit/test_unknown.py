"""Commands report the unknown with exit code 2: none takes time without an audit for time without a problem."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemas import FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS
from spark_jobs.domain.model.statuses import Reason
from tests.support import bodies
from tests.support.commands import Typed
from tests.support.published import STATUS, key, publish_hours
from tests.support.recordings import write_warehouse
from tests.support.rows import all_lines, allocation, finding, group_step, interval, member, progress, unobserved
from tests.support.times import at

C1 = member("c1")


@pytest.mark.parametrize(
    ("interval", "text", "missing"),
    [
        # Ten o'clock and twelve o'clock were audited.
        (
            "2026-03-01T10:00Z/2026-03-01T11:00Z",
            "No incidents in 1 group of c, 2026-03-01T10:00Z/2026-03-01T11:00Z, 100 % observed.",
            [],
        ),
        (
            "2025-03-01T00:00Z/2025-03-02T00:00Z",
            "No incidents are known.",
            ["2025-03-01T00:00Z/2025-03-02T00:00Z"],
        ),
        (
            "2026-03-01T11:10Z/2026-03-01T11:20Z",
            "No incidents are known in 1 group of c, 2026-03-01T11:10Z/2026-03-01T11:20Z, 0 % observed.",
            ["2026-03-01T11:10Z/2026-03-01T11:20Z"],
        ),
        (
            "2026-03-01T10:00Z/2026-03-01T15:00Z",
            "No incidents are known in 1 group of c, 2026-03-01T10:00Z/2026-03-01T15:00Z, 40 % observed.",
            ["2026-03-01T11:00Z/2026-03-01T12:00Z", "2026-03-01T13:00Z/2026-03-01T15:00Z"],
        ),
    ],
)
def test_incidents_of_time_that_was_not_audited(
    interval: str, text: str, missing: list[str], tmp_path: Path, typed: Typed
) -> None:
    publish_hours(tmp_path, [0, 2])
    code = 2 if missing else 0
    of = " of G of the cluster c" if "group" in text else ""
    age, answer, *lacks = typed(f"incidents --interval {interval}", warehouse=tmp_path, code=code).lines
    assert age.startswith("The data end at 2026-03-01T13:00Z, ")
    assert (answer, lacks) == (text, [f"Nothing was recorded{of} in {time}." for time in missing])
    document = typed(f"incidents --interval {interval} --json", warehouse=tmp_path, code=code).document
    covered = document.pop("coverage")
    assert (covered["is_whole"], covered["lacks"]) == (not missing, lacks)
    unknown: dict[str, Any] = {"not_audited": [], "not_recorded": [_in_seconds(time) for time in missing]}
    unknown |= {"data_until": {"c": "2026-03-01T13:00:00Z"}}
    assert document == {"interval": _in_seconds(interval), "incidents": [], **unknown}


def _in_seconds(interval: str) -> str:
    return interval.replace("Z", ":00Z")


def test_incidents_of_the_whole_history_stand_on_the_newest_step(tmp_path: Path, typed: Typed) -> None:
    """Which is months old: that is no answer about now."""
    publish_hours(tmp_path, [0, 2])
    age, answer, old = typed("incidents", warehouse=tmp_path, code=2).lines
    assert age.startswith("The data end at 2026-03-01T13:00Z, ")
    hour = "2026-03-01T12:00Z/2026-03-01T13:00Z"
    assert answer == f"No incidents are known in 1 group of c, {hour}, 100 % observed."
    assert re.fullmatch(
        r"The data of c end \d+ d \d\d h ago: older than two steps, check the recorder and the schedule\.", old
    )
    assert typed("incidents --json", warehouse=tmp_path, code=2).document["interval"] is None


def test_the_incidents_of_the_audited_part_are_reported(tmp_path: Path, typed: Typed) -> None:
    """Of G the first hour was audited, of H alone both."""
    publish_hours(tmp_path, [0], offline=[0])
    publish_hours(tmp_path, [0, 1], group="H", alone=True)
    line = "incidents --interval 2026-03-01T10:00/2026-03-01T12:00"
    for names in ("", "--group G"):
        assert typed(f"{line} {names}", warehouse=tmp_path, code=1).lines[-2:] == [
            "1 incident: 1 ERROR; 1 is open",
            "Nothing was recorded of G of the cluster c in 2026-03-01T11:00Z/2026-03-01T12:00Z.",
        ]
    assert typed(f"{line} --group H", warehouse=tmp_path).lines[-1] == (
        "No incidents in 1 group of c, 2026-03-01T10:00Z/2026-03-01T12:00Z, 100 % observed."
    )


@pytest.mark.parametrize(
    ("minutes", "code", "text"),
    [
        ((0, 10), 2, "No incidents are known in 1 group of c, 2026-03-01T10:00Z/2026-03-01T10:10Z, 0 % observed."),
        ((5, 11), 0, "No incidents in 1 group of c, 2026-03-01T10:05Z/2026-03-01T10:11Z, 100 % observed."),
        ((10, 20), 0, "No incidents in 1 group of c, 2026-03-01T10:10Z/2026-03-01T10:20Z, 100 % observed."),
    ],
)
def test_time_before_a_recording_begins(
    minutes: tuple[int, int], code: int, text: str, tmp_path: Path, typed: Typed
) -> None:
    """At ten past ten, in an hour that was audited."""
    rows = [row | key("G") for row in (unobserved(0, 600), interval(600, 3600, C1))]
    write_warehouse(tmp_path, {FINDINGS: [], GROUP_STATUS: [key("G") | STATUS], REBALANCE_INTERVALS: rows}, 3600)
    start, end = (at(60 * minute).isoformat() for minute in minutes)
    assert typed(f"incidents --interval {start}/{end}", warehouse=tmp_path, code=code).lines[1:] == [
        text,
        *(["Nothing was recorded of G of the cluster c in 2026-03-01T10:00Z/2026-03-01T10:10Z."] if code else []),
    ]


@pytest.mark.parametrize("command", ["incidents", "status"])
def test_a_warehouse_without_any_group(command: str, tmp_path: Path, typed: Typed) -> None:
    publish_hours(tmp_path, [])
    assert typed(command, warehouse=tmp_path, code=2).lines[-1] == "Nothing was recorded."


def unread(row: dict[str, Any]) -> dict[str, Any]:
    unknown = dict.fromkeys(("lag_first", "lag_last", "consumed", "verdict", "last_reading_at"))
    return progress(row, "a:1", lag_quality="NEVER_COMMITTED", **unknown)


POPPED = interval(0, 3600, C1, status="NOT_APPLICABLE", reason=Reason.BROKER_REBALANCE)
BROADCAST = interval(0, 3600, C1, status="NOT_APPLICABLE", reason=Reason.BROADCASTING)
STRANGE = interval(0, 3600, C1, status="NOT_REPLAYABLE", reason=Reason.UNKNOWN_STRATEGY)
DELETED = interval(0, 3600, status="NOT_APPLICABLE", reason=Reason.TOPIC_DELETED)
OWNED = interval(0, 3600, C1)


@pytest.mark.parametrize(
    ("row", "queues", "sentence"),
    [
        (OWNED, [progress(OWNED, "a:0")], "No finding."),
        (OWNED, [progress(OWNED, "a:0"), unread(OWNED)], "No finding, but unknown: the backlog of 1 queue of T."),
        (POPPED, [unread(POPPED)], "No finding, but unknown: who owned the queues of T; the backlog of 1 queue of T."),
        (BROADCAST, [], "No finding, but unknown: the backlog of T."),
        (STRANGE, [progress(STRANGE, "a:0")], "No finding, but unknown: who owned the queues of T."),
        (DELETED, [], "No finding."),
        (unobserved(0, 3600), [], "No finding, but unknown: who owned the queues of T; the backlog of T."),
    ],
)
def test_an_explanation_says_what_is_unknown(row: dict[str, Any], queues: list[dict[str, Any]], sentence: str) -> None:
    step = group_step(60, row, allocations=[allocation(row, "a:0", C1)], progress=queues)
    assert all_lines(step)[3] == sentence
    harmless = replace(step, findings=[finding(severity="INFO")])
    assert all_lines(harmless)[3] == sentence.replace("No finding", "No finding above INFO")


@pytest.mark.usefixtures("spark")
def test_a_file_without_snapshots_is_nothing_to_audit(tmp_path: Path, typed: Typed) -> None:
    line = f"ingest {tmp_path / 'file.jsonl'} --warehouse {tmp_path / 'w'}"
    for content in (b"", b"{broken\n"):
        (tmp_path / "file.jsonl").write_bytes(content)
        err = typed(line, code=2).err
        assert "rebalance-audit: warning: the files hold no snapshot: there is nothing to audit\n" in err
        assert "Next:" not in err
    # One that is right beside the broken one, of 02:02:27.799.
    (tmp_path / "file.jsonl").write_bytes(b'{"kind":"meta","cluster":"c"}\n{broken\n' + bodies.line("route"))
    assert " --interval 2026-11-21T02:00Z/2026-11-21T03:00Z\n" in typed(line, code=2).err
