"""An incident is read from its beginning, however short the interval is that is asked for. No Spark."""

import hashlib
import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pydantic import TypeAdapter

from schemas import ALLOCATIONS, CHECKPOINTS, FINDINGS, GROUP_STATUS, INCIDENTS, QUEUE_PROGRESS, REBALANCE_INTERVALS
from spark_jobs.domain.incidents.carried import FOLD_VERSION, Carried
from spark_jobs.domain.incidents.team_routes import TeamRoute
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import from_micros, to_micros
from spark_jobs.show.checkpoints import checkpoint_at, fold_from
from spark_jobs.show.incidents import (
    IncidentQuery,
    incident_rows,
    incident_spans,
    incidents_and_unknown,
    publish_incidents,
    severities_in,
    was_seen_in,
)
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.published import audited_groups, published_tables
from spark_jobs.store.read.stored import rows as rows_of
from tests.support.commands import ANSWERED, Typed
from tests.support.covered import published, row
from tests.support.published import STATUS, key, publish_hours
from tests.support.recordings import write_warehouse
from tests.support.rows import finding, interval
from tests.support.times import at


def hour(number: int) -> Interval:
    return Interval(at(3600 * number), at(3600 * number) + timedelta(hours=1))


def test_an_incident_is_read_from_its_beginning(tmp_path: Path) -> None:
    publish_hours(tmp_path, range(48), offline=range(10, 40))
    tables = delta_tables(str(tmp_path))

    def asked(number: int) -> list[str]:
        return [one.incident_id for one in incidents_and_unknown(tables, IncidentQuery(hour(number))).incidents]

    (whole,) = incidents_and_unknown(tables, IncidentQuery()).incidents
    assert len(whole.root_causes[0].finding_ids) == 30
    assert asked(10) == asked(25) == asked(39) == [whole.incident_id]
    assert asked(9) == asked(40) == asked(47) == []
    assert incidents_and_unknown(tables, IncidentQuery(is_open=True)).incidents == []


@pytest.mark.parametrize("order", [range(8), [0, 1, 2, 5, 6, 7, 4, 3]], ids=["hour by hour", "with a gap filled later"])
def test_the_table_is_the_whole_history_after_each_audit(tmp_path: Path, order: Sequence[int]) -> None:
    tables = delta_tables(str(tmp_path))
    core = (TeamRoute(team="core", to="f", group="H"),)
    for number in order:
        publish_hours(tmp_path, [number], offline=[number] if number in (1, 2, 3, 4, 6) else [])
        publish_hours(tmp_path, [number], offline=[number] if number == 0 else [], group="H")
        published = publish_incidents(tables, core, hour(number))
        whole = incidents_and_unknown(tables, IncidentQuery(routes=core)).incidents
        rows = tables.read(INCIDENTS, ["incident_id", "opened_at", "last_seen_at", "resolved_at", "teams"]).to_pylist()
        assert published == [one for one in whole if was_seen_in(one, hour(number))]
        assert len(rows) == len(whole)
        assert {row["incident_id"]: (to_micros(row["opened_at"]), to_micros(row["last_seen_at"])) for row in rows} == {
            one.incident_id: (one.opened_at, one.last_seen_at) for one in whole
        }
        assert {row["incident_id"]: row["resolved_at"] is None for row in rows} == {
            one.incident_id: one.resolved_at is None for one in whole
        }
    assert sorted(row["teams"] for row in rows) == [[], [], ["core"]]
    spans = [(from_micros(one.opened_at), from_micros(one.last_seen_at)) for one in whole if "G" in one.consumer_groups]
    assert sorted(spans) == [(at(3600), at(5 * 3600)), (at(6 * 3600), at(7 * 3600))]


@pytest.mark.parametrize("seed", range(2))
def test_a_run_continues_from_the_table_as_if_it_read_the_whole_history(tmp_path: Path, seed: int) -> None:
    """Four days, twelve hours at a time; G is offline throughout, H now and then. Some hours are audited last."""
    chance, tables = random.Random(seed), delta_tables(str(tmp_path))
    blocks = [range(start, start + 12) for start in range(0, 96, 12)]
    late = chance.sample(blocks[:-1], 2)
    for hours in [*(block for block in blocks if block is not late[0]), *late]:
        for group, often in (("G", 1.0), ("H", 0.3)):
            audit_again(tmp_path, group, hours, [hour for hour in hours if chance.random() < often])
        publish_incidents(tables, (), Interval(hour(hours[0]).start, hour(hours[-1]).end))
        whole = whole_history(tmp_path)
        read = tables.read(INCIDENTS, INCIDENTS.columns).cast(whole.schema)
        assert by_id(read) == by_id(whole)
        open_now = incidents_and_unknown(tables, IncidentQuery(is_open=True)).incidents
        assert {one.incident_id for one in open_now} == {row["incident_id"] for row in open_rows(whole)}
        spans = incident_spans(published_tables(tables), None, at(0))
        assert {(span.opened_at, span.resolved_at, *span.consumer_groups) for span in spans} == times_of(whole)
        assert len(spans) == len(whole)
    assert len(tables.read(CHECKPOINTS, ["before"])) == 4
    newest = published_tables(tables)
    assert newest.checkpoint is not None
    assert sorted(newest.groups()) == sorted(audited_groups(newest.group_spans(None)))


def test_a_run_that_is_killed_while_it_publishes_incidents_loses_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The incident of the first day is over when the run that ends the second day fails; the next run is well."""
    tables = delta_tables(str(tmp_path))
    publish_hours(tmp_path, range(20), offline=range(3, 6))
    publish_incidents(tables, (), hour(19))
    publish_hours(tmp_path, range(20, 50), offline=range(22, 24))
    with monkeypatch.context() as broken:
        broken.setattr("spark_jobs.show.incidents.incident_rows", full_disk)
        with pytest.raises(OSError, match="disk is full"):
            publish_incidents(tables, (), hour(49))
    publish_incidents(tables, (), hour(49))
    read = tables.read(INCIDENTS, INCIDENTS.columns)
    assert len(read) == 2
    assert by_id(read.cast(whole_history(tmp_path).schema)) == by_id(whole_history(tmp_path))


def full_disk(*_: object) -> None:
    raise OSError("the disk is full")


@pytest.mark.parametrize(
    ("expected_seconds", "opened", "since"),
    [(2400.0, 1259, "before 2026-03-01T10:20:59Z"), (2400.0, 1260, "2026-03-01T10:21Z"), (3600.0, 1200, "2026-")],
    ids=["with the recording", "a minute later", "recorded before"],
)
def test_what_was_there_at_the_first_snapshot_may_have_begun_before(
    tmp_path: Path, typed: Typed, expected_seconds: float, opened: int, since: str
) -> None:
    """The first snapshot of the step is at 10:20."""
    began = {"expected_seconds": expected_seconds, "first_snapshot_at": at(1200)}
    times = {"started_at": at(opened), "active_since": at(opened), "ended_at": at(3600), "step_start": at(0)}
    of_group = {"cluster": "c", "consumer_group": "g"}
    published(tmp_path, [row("*", 0) | began, row("g", 0) | began], more={FINDINGS: [finding(**of_group, **times)]})
    (incident,) = incidents_and_unknown(delta_tables(str(tmp_path)), IncidentQuery()).incidents
    shown = typed("incidents", "--id", incident.incident_id, warehouse=tmp_path, code=ANSWERED).out
    assert f"Open since {since}" in shown


def test_a_fold_of_another_version_does_not_continue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = delta_tables(str(tmp_path))
    publish_hours(tmp_path, range(30))
    publish_incidents(tables, (), hour(29))
    assert checkpoint_at(published_tables(tables)) is not None
    monkeypatch.setattr("spark_jobs.show.checkpoints.FOLD_VERSION", FOLD_VERSION + 1)
    assert checkpoint_at(published_tables(tables)) is None


def test_what_a_checkpoint_carries_has_the_shape_of_its_version() -> None:
    """If it fails: raise FOLD_VERSION, as checkpoints of before cannot be read, and write the new digest here."""
    shape = json.dumps(TypeAdapter(Carried).json_schema(), sort_keys=True)
    assert (FOLD_VERSION, hashlib.sha256(shape.encode()).hexdigest()[:12]) == (1, "2f424f8b72a5")


def audit_again(warehouse: Path, group: str, hours: range, offline: Sequence[int]) -> None:
    """Replace what was published of the group in these hours."""
    steps = ", ".join(f"'{at(3600 * number):%Y-%m-%dT%H:%M:%SZ}'" for number in hours)
    for table in (FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS):
        if (warehouse / table.name).exists():
            DeltaTable(warehouse / table.name).delete(f"consumer_group = '{group}' AND step_start IN ({steps})")
    publish_hours(warehouse, hours, offline, group)


def whole_history(warehouse: Path) -> pa.Table:
    """The incidents of all findings, without any checkpoint."""
    tables = published_tables(delta_tables(str(warehouse)))
    return incident_rows(fold_from(tables, None).incidents)


def by_id(rows: pa.Table) -> list[dict[str, Any]]:
    return sorted(rows_of(rows), key=lambda row: str(row["incident_id"]))


def times_of(rows: pa.Table) -> set[tuple[int, int | None, str]]:
    """When each incident opened and was resolved, and its only group."""
    return {
        (to_micros(row["opened_at"]), row["resolved_at"] and to_micros(row["resolved_at"]), *row["consumer_groups"])
        for row in rows_of(rows)
    }


def open_rows(rows: pa.Table) -> list[dict[str, Any]]:
    return [row for row in rows_of(rows) if row["resolved_at"] is None]


def test_the_next_audit_brings_incidents_of_runs_whose_process_was_killed_before_it_wrote_them(tmp_path: Path) -> None:
    tables = delta_tables(str(tmp_path))
    publish_hours(tmp_path, range(9))
    publish_incidents(tables, (), hour(8))
    for number in (0, 5, 6):
        publish_hours(tmp_path, [number], offline=[number], group=f"H{number}", finished_at=datetime.now(UTC))
    publish_hours(tmp_path, [9], offline=[9], finished_at=datetime.now(UTC))
    (of_hour,) = publish_incidents(tables, (), hour(9))
    assert of_hour.consumer_groups == ("G",)
    groups = tables.read(INCIDENTS, ["consumer_groups"]).to_pylist()
    assert sorted(group for row in groups for group in row["consumer_groups"]) == ["G", "H0", "H5", "H6"]


def test_a_schedule_asks_how_severe_the_incidents_of_an_interval_are(tmp_path: Path) -> None:
    publish_hours(tmp_path, range(4), offline=[1, 2])
    publish_hours(tmp_path, range(4), offline=[2], group="H")
    assert severities_in(str(tmp_path), str(hour(2)), "", "") == ["ERROR", "ERROR"]
    assert severities_in(str(tmp_path), str(hour(2)), "c", "H") == ["ERROR"]
    assert severities_in(str(tmp_path), str(hour(3)), None, None) == []


def test_the_report_and_the_list_name_the_team(tmp_path: Path, typed: Typed) -> None:
    of = key("G", cluster="eu")
    tables = {GROUP_STATUS: [of | STATUS], REBALANCE_INTERVALS: [interval(0, 3600) | of]}
    tables |= {ALLOCATIONS: [], QUEUE_PROGRESS: []}
    write_warehouse(tmp_path, {FINDINGS: [finding(**of, finding_id="f")], **tables}, 3600)
    routes, page = tmp_path / "routes.yaml", tmp_path / "report.html"
    routes.write_text("routes: [{team: core, to: f, cluster: e.}]")
    options = f"--interval 2026-03-01T10:00/2026-03-01T11:00 --config {routes}"
    typed(f"report {options} --out {page}", warehouse=tmp_path)
    assert ", NO_MEMBERS, team core</small></summary>" in page.read_text()
    assert "<small>GROUP_OFFLINE, NO_MEMBERS, team core</small>" in page.read_text()
    assert "<dt>team</dt><dd>core</dd>" in page.read_text()
    assert " group=G team=core " in typed(f"incidents {options}", warehouse=tmp_path, code=1).out
