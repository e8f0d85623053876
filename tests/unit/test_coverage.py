"""Every answer says how much of the question was recorded, audited and seen. No Spark."""

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from schemas import COVERAGE, GROUP_STATUS, OUTPUTS, REBALANCE_INTERVALS, SIGHTINGS, Table
from spark_jobs.api.warehouse import AuditedWarehouse, open_warehouse
from spark_jobs.domain.coverage import NO_COVERAGE
from spark_jobs.show.coverage import data_until_text
from tests.support.commands import Typed
from tests.support.covered import published, row
from tests.support.published import STATUS, key, publish_hours
from tests.support.recordings import write_warehouse
from tests.support.rows import interval, member, unobserved
from tests.support.snapshots import sighting
from tests.support.stored import write
from tests.support.times import at

OLD = ": older than two steps, check the recorder and the schedule"
TEN, ELEVEN = "2026-03-01T10:00Z/2026-03-01T11:00Z", "2026-03-01T11:00Z/2026-03-01T12:00Z"


@pytest.mark.parametrize(
    ("until", "text"),
    [
        ({"c": at(0)}, "The data end at 2026-03-01T10:00Z, 2 h 00 min ago"),
        ({"c": at(-1)}, "The data end at 2026-03-01T09:59:59Z, 2 h 00 min ago"),
        (
            {"c": at(3600), "d": at(-3600), "e": at(3540)},
            "The data end at 2026-03-01T11:00Z, 1 h 00 min ago; of d at 2026-03-01T09:00Z, 3 h 00 min ago; "
            "of e at 2026-03-01T10:59Z, 1 h 01 min ago",
        ),
    ],
)
def test_where_the_data_end(until: dict[str, datetime], text: str) -> None:
    assert data_until_text(replace(NO_COVERAGE, data_until=until), at(7200)) == text


def silent_since(warehouse: Path, minute: int) -> AuditedWarehouse:
    """Six hours from ten o'clock were audited; since that minute there are no snapshots. It knows no coverage."""
    steps = [key("G", hour) for hour in range(6)]
    times = [(interval(0, 60 * minute, member("c1")), 0), (unobserved(60 * minute, 3600), 0)]
    times += [(unobserved(3600 * hour, 3600 * (hour + 1)), hour) for hour in range(1, 6)]
    rows = [row | steps[hour] for row, hour in times]
    written: dict[Table, Any] = {table: [] for table in OUTPUTS if table != COVERAGE}
    written |= {GROUP_STATUS: [row | STATUS for row in steps], REBALANCE_INTERVALS: rows}
    write_warehouse(warehouse, written, 3600)
    return open_warehouse(warehouse)


def test_steps_without_snapshots_are_no_data(tmp_path: Path) -> None:
    warehouse = replace(silent_since(tmp_path, 20), clock=lambda: at(6 * 3600))
    covered = warehouse.coverage()
    assert covered.data_until == {"c": at(1200)}
    assert covered.too_old == {"c": timedelta(hours=5, minutes=40)}
    assert [(silent.start, silent.end) for silent in covered.silent] == [
        (micros_of(at(5 * 3600)), micros_of(at(21_600)))
    ]


def micros_of(moment: datetime) -> int:
    return int(moment.timestamp()) * 1_000_000


@pytest.mark.parametrize("command", ["status", "incidents"])
def test_the_first_line_says_where_the_data_end_and_the_last_that_they_are_old(
    command: str, tmp_path: Path, typed: Typed
) -> None:
    """The cluster is silent: an ERROR."""
    silent_since(tmp_path, 20)
    lines = typed(command, warehouse=tmp_path, code=1).lines
    assert lines[0].startswith("The data end at 2026-03-01T10:20Z, ")
    assert lines[-1].startswith("The data of c end ")
    assert lines[-1].endswith(f" ago{OLD}.")


def test_the_report_says_where_the_data_end(tmp_path: Path) -> None:
    warehouse = replace(silent_since(tmp_path, 20), clock=lambda: at(6 * 3600))
    html = warehouse.report(since=at(0), until=at(3600)).html
    assert "Written at 2026-03-01T16:00Z. The data end at 2026-03-01T10:20Z, 5 h 40 min ago" in html
    assert "<b>Nothing was recorded of the cluster c from 2026-03-01T10:20Z to 2026-03-01T11:00Z.</b>" in html


def asked(warehouse: Path, typed: Typed, time: str, code: int, names: str = "") -> list[str]:
    """Lines of `incidents`, without where the data of whole clusters end."""
    lines = typed(f"incidents --interval {time} {names}", warehouse=warehouse, code=code).lines
    return [line for line in lines if not line.startswith("The data end at ")]


def test_one_group_of_two_was_audited(tmp_path: Path, typed: Typed) -> None:
    """The other one is known from what was recorded."""
    seen = [sighting(0, 3540, consumer_group=name) for name in ("g", "h")]
    published(tmp_path, [row("g", 0)], seen)
    assert asked(tmp_path, typed, TEN, 2) == [
        f"No incidents are known in 2 groups of c, {TEN}, 50 % observed.",
        f"h of the cluster c was not audited in {TEN}.",
    ]
    assert asked(tmp_path, typed, TEN, 0, "--group g") == [f"No incidents in 1 group of c, {TEN}, 100 % observed."]
    document = typed(f"incidents --interval {TEN} --json", warehouse=tmp_path, code=2).document
    assert document["not_audited"] == ["2026-03-01T10:00:00Z/2026-03-01T11:00:00Z"]
    assert document["coverage"] == {
        "interval": "2026-03-01T10:00:00Z/2026-03-01T11:00:00Z",
        "groups": 2,
        "observed_share": 0.5,
        "is_whole": False,
        "not_whole": [{"cluster": "c", "consumer_group": "h", "seen": "NOT_AUDITED", "observed_share": 0.0}],
        "lacks": [f"h of the cluster c was not audited in {TEN}."],
    }


def test_a_deleted_group_is_not_expected(tmp_path: Path, typed: Typed) -> None:
    seen = [sighting(0, 3540, consumer_group="g"), sighting(0, 3540, consumer_group="h", deleted=True)]
    published(tmp_path, [row("g", 0)], seen)
    assert asked(tmp_path, typed, TEN, 0) == [f"No incidents in 1 group of c, {TEN}, 100 % observed."]


def test_one_cluster_of_two_was_audited(tmp_path: Path, typed: Typed) -> None:
    """The other one was audited the hour before: nothing says that it was recorded since."""
    published(tmp_path, [row("g", 0), row("*", 0), row("d/x", 0), row("d/*", 0), row("g", 1), row("*", 1)])
    assert asked(tmp_path, typed, TEN, 0) == [f"No incidents in 2 groups of c, d, {TEN}, 100 % observed."]
    seen = [sighting(3600, 7100, consumer_group="x", cluster="d")]
    write(tmp_path, SIGHTINGS, seen)
    assert asked(tmp_path, typed, ELEVEN, 2) == [
        f"No incidents are known in 2 groups of c, d, {ELEVEN}, 50 % observed.",
        f"x of the cluster d was not audited in {ELEVEN}.",
    ]
    assert asked(tmp_path, typed, ELEVEN, 0, "--cluster c") == [
        f"No incidents in 1 group of c, {ELEVEN}, 100 % observed."
    ]


def test_a_cluster_is_silent_to_the_end_of_the_step(tmp_path: Path, typed: Typed) -> None:
    """Whatever another cluster does: exit code 1, and owners of the group are unknown."""
    silent = [row("d/x", 0, "340..3600"), row("d/*", 0, "340..3600")]
    published(tmp_path, [row("g", 0), row("*", 0), *silent])
    assert asked(tmp_path, typed, TEN, 1) == [
        f"No incidents are known in 2 groups of c, d, {TEN}, 54 % observed.",
        "Nothing was recorded of the cluster d from 2026-03-01T10:05:40Z to 2026-03-01T11:00Z.",
    ]
    assert asked(tmp_path, typed, TEN, 2, "--fail-on NEVER")[1:]
    shown = {group["consumer_group"]: group for group in open_warehouse(tmp_path).status()}
    assert (shown["g"]["observed_share"], shown["g"]["bottleneck"], shown["g"]["advice"]) == (1.0, "NO_BACKLOG", "No.")
    assert (shown["x"]["bottleneck"], shown["x"]["backlog_end"]) == ("UNKNOWN_MEMBERS", None)
    assert shown["x"]["advice"] == "Unknown: 9 % of the step was observed."


def test_what_lies_in_the_future_is_named(tmp_path: Path) -> None:
    published(tmp_path, [row("g", 0), row("*", 0)])
    warehouse = replace(open_warehouse(tmp_path), clock=lambda: at(5400))
    covered = warehouse.incidents(since=at(0), until=at(7200)).coverage
    assert (covered.is_whole, str(covered.interval), covered.lacks()) == (True, TEN, [f"{ELEVEN} is not over yet."])


@pytest.mark.parametrize(("share", "whole"), [(None, False), (0.5, True), (0.51, False)])
def test_the_configuration_says_how_much_is_complete(share: float | None, whole: bool, tmp_path: Path) -> None:
    published(tmp_path, [row("g", 0, "0..1800"), row("*", 0)])
    config = tmp_path / "audit.yaml"
    config.write_text("step_seconds: 3600" if share is None else f"complete_share: {share}")
    assert open_warehouse(tmp_path, config).coverage(since=at(0), until=at(3600)).is_whole is whole


def test_the_newest_hour_of_an_old_warehouse_is_no_answer_about_now(tmp_path: Path, typed: Typed) -> None:
    """Two steps after its end."""
    published(tmp_path, [row("g", 0), row("*", 0)])
    line = typed("incidents --last 1h", warehouse=tmp_path, code=2).lines[-1]
    assert line.startswith("The data of c end ")
    assert line.endswith(f" ago{OLD}.")
    for since in (timedelta(hours=1), at(0), None):
        for seconds, whole in ((3540 + 7200, True), (3541 + 7200, False)):
            warehouse = replace(open_warehouse(tmp_path), clock=partial(at, seconds))
            assert warehouse.incidents(since=since).coverage.is_whole is whole, (since, seconds)
            assert warehouse.coverage(since=since).is_whole is whole, (since, seconds)


def test_a_later_run_of_one_group_leaves_the_others_audited(tmp_path: Path, typed: Typed) -> None:
    """Runs of before and runs with coverage in one warehouse."""
    publish_hours(tmp_path, [0])
    publish_hours(tmp_path, [0], group="H", alone=True)
    assert asked(tmp_path, typed, TEN, 0) == [f"No incidents in 2 groups of c, {TEN}, 100 % observed."]
