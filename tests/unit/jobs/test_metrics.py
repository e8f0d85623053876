"""Metrics of a warehouse made by hand, read back by Prometheus' own parser. No Spark."""

from datetime import timedelta
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from schemas import COVERAGE, FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.show.incidents import publish_incidents
from spark_jobs.show.metrics import registry
from spark_jobs.store.read.delta import delta_tables
from tests.support import published
from tests.support.commands import Typed
from tests.support.published import STATUS, publish_hours
from tests.support.recordings import write_warehouse
from tests.support.rows import finding
from tests.support.times import at
from tests.unit.test_incidents import incident
from tests.unit.test_status import NEW, group

HOUR, DAY = 3600, 24
HOSTILE = 'a"b\\c\nd{e="f"} 1\u202e\x1b[2J,#'
KNOWN = {"member_count": 3, "queue_count": 8, "queues_with_one_owner": 4, "double_owned_queues": 1}
KNOWN |= {"unassigned_queues": 3, "backlog_end": 0}
BUSY = (
    {"utilization": 0.25, "busiest_utilization": 0.5, "busiest_member": "c1", "busiest_bottleneck": "PULLS"}
    | {"headroom_messages_per_second": 0.0, "catches_up": True, "catch_up_seconds": 90.5}
    | {"retention_left_seconds": 3600.0}
)
OFFLINE_STATUS: dict[str, Any] = {
    "member_count": 0,
    "unassigned_queues": 8,
    "queues_with_one_owner": 0,
    "double_owned_queues": 0,
}
OFFLINE_STATUS |= {"catches_up": False, "backlog_max": 70, "oldest_message_ms": 1500, "unassigned_queue_seconds": 90.5}
key = partial(published.key, cluster="eu")


def observed(group: str | None, hour: int, seconds: float) -> dict[str, Any]:
    """So much of the hour is observed; of the cluster without a group."""
    parts = ("observed_seconds", "members_seconds", "routes_seconds", "offsets_seconds")
    times = {"first_snapshot_at": at(hour * HOUR), "last_snapshot_at": at(hour * HOUR + seconds - 60)}
    row = {"step_start": at(hour * HOUR), "cluster": "eu", "consumer_group": group, "clients_seconds": 0.0}
    known = times if seconds else {}
    return row | dict.fromkeys(parts, float(seconds)) | {"expected_seconds": float(HOUR), "missing": []} | known


def offline(group: str, hour: int, start: float, end: float, **values: Any) -> dict[str, Any]:
    time = {"started_at": at(hour * HOUR + start), "ended_at": at(hour * HOUR + end)}
    return finding(**key(group, hour) | time | values, subject=group, finding_id=f"{group}{hour}")


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """Ten days, of which the last hour begins at 10:00 of the eleventh. In it g is offline, since the hour before; a
    group with a hostile name, of which nothing else is known, was so for five minutes. `old` was last audited in the
    first of the seven days that are looked at, `gone` before them; `deleted` was deleted in the last hour.
    """
    last = 10 * DAY
    statuses = [
        key("g", last - 1) | STATUS | KNOWN,
        key("g", last) | STATUS | KNOWN | OFFLINE_STATUS,
        key(HOSTILE, last) | STATUS | {"unknown_queues": 5},
        key("deleted", last) | STATUS | KNOWN | {"deleted_at": at(last * HOUR + 60)},
        key("old", last - 7 * DAY) | STATUS | KNOWN,
        key("old", last - 7 * DAY + 1) | STATUS | KNOWN | BUSY,
        key("gone", last - 8 * DAY) | STATUS | KNOWN,
    ]
    findings = [
        offline("g", last - 1, 1800, 3600),
        offline("g", last, 0, 3600),
        offline(HOSTILE, last, 600, 900),
        offline("old", last - 7 * DAY, 0, 3600),
        offline("old", last - 7 * DAY + 1, 0, 3600, severity="WARN"),
        offline("gone", last - 8 * DAY, 0, 3600),
    ]
    of_groups = [("g", last - 1, 1800), ("g", last, 2700), (HOSTILE, last, 0)]
    of_groups += [("old", last - 7 * DAY + 1, 3600), ("g", last - 7 * DAY + 1, 600)]
    covered = [observed(*row) for row in (*of_groups, (None, last - 7 * DAY + 1, 3600), (None, last, 2700))]
    tables = {FINDINGS: findings, GROUP_STATUS: statuses, REBALANCE_INTERVALS: [], COVERAGE: covered}
    write_warehouse(tmp_path, tables, HOUR)
    return tmp_path


def metrics_in(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    """By metric its values by those of its labels but the cluster, which is eu; of incidents only what is not 0."""
    metrics: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(text):
        assert family.type == "gauge"
        of_family = metrics.setdefault(family.name.removeprefix("rebalance_audit_"), {})
        for sample in family.samples:
            assert (sample.name, sample.timestamp, sample.exemplar) == (family.name, None, None)
            assert sample.labels.pop("cluster") == "eu"
            if "rule" not in sample.labels or sample.value:
                of_family[tuple(sample.labels[name] for name in sorted(sample.labels))] = sample.value
    return metrics


#: 2026-03-11T11:00Z and 2026-03-04T12:00Z. The data are too old: the clock is that of the machine.
END, OLD_END = 1773226800, 1772625600
ERROR, WARN = ("GROUP_OFFLINE", "ERROR"), ("GROUP_OFFLINE", "WARN")
BY_HAND: dict[str, dict[tuple[str, ...], float]] = {
    "step_end_timestamp_seconds": {("g",): END, (HOSTILE,): END, ("old",): OLD_END},
    "observed_ratio": {("g",): 0.75, (HOSTILE,): 0.0, ("old",): 1.0},
    "members": {("g",): 0, ("old",): 3},
    "queues": {("g",): 8, ("old",): 8},
    "unassigned_queues": {("g",): 8, ("old",): 3},
    "unassigned_queue_seconds": {("g",): 90.5},
    "double_owned_queues": {("g",): 0, ("old",): 1},
    "backlog_known": {("g",): 1, (HOSTILE,): 0, ("old",): 1},
    "backlog_messages": {("g",): 0, ("old",): 0},
    "backlog_peak_messages": {("g",): 70},
    "oldest_message_seconds": {("g",): 1.5},
    "backlog_unknown_queues": {("g",): 0, (HOSTILE,): 5, ("old",): 0},
    "utilization_ratio": {("old",): 0.25},
    "headroom_messages_per_second": {("old",): 0.0},
    "catch_up_seconds": {("g",): inf, ("old",): 90.5},
    "retention_left_seconds": {("old",): 3600.0},
    "open_incidents": {ERROR: 1, WARN: 1},
    "open_incident_groups": {ERROR: 1, WARN: 1},
    "step_incidents": {ERROR: 2},
    "group_open_incidents": {("g", *ERROR, "core"): 1, ("old", *WARN, ""): 1},
    "cluster_observed_ratio": {(): 0.0},
    "cluster_newest_snapshot_timestamp_seconds": {(): END - 960},
    "cluster_audited_until_timestamp_seconds": {(): END},
}


def test_the_newest_step_of_every_group(warehouse: Path, tmp_path: Path, typed: Typed) -> None:
    """Unknown has no value; a removed group is told no more; 0 incidents are told of every rule and severity."""
    file = tmp_path / "audit.prom"
    routes = tmp_path / "made" / "routes.yaml"
    routes.parent.mkdir()
    routes.write_text("routes: [{team: core, to: f, group: g|gone}]")
    assert typed(f"metrics --textfile {file} --config {routes}", warehouse=warehouse).out == ""
    text = file.read_text(encoding="utf-8")
    assert metrics_in(text) == BY_HAND
    assert text.count("\nrebalance_audit_open_incidents{") == 3 * len(RULES)
    assert "EOF" not in text
    assert text.endswith("\n")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["audit.prom"]


def test_open_incidents_go_on_from_a_checkpoint(tmp_path: Path, typed: Typed) -> None:
    """Open for ten days, and an ERROR at the beginning: as `incidents` says. Another one began in the last step."""
    publish_hours(tmp_path, range(24), range(24), "g", "eu")
    publish_hours(tmp_path, range(24, 241), range(24, 241), "g", "eu", severity="WARN")
    publish_hours(tmp_path, range(241), [3, 150, 240], "h", "eu", severity="WARN")
    stored = delta_tables(str(tmp_path))
    publish_incidents(stored, (), Interval(at(0), at(HOUR)))
    found = metrics_in(typed("metrics", warehouse=tmp_path).out)
    assert (found["open_incidents"], found["step_incidents"]) == ({ERROR: 1, WARN: 1}, {ERROR: 1, WARN: 1})


def test_without_a_file_they_are_printed(warehouse: Path, typed: Typed) -> None:
    of_group = {name: {key: value for key, value in of.items() if HOSTILE in key} for name, of in BY_HAND.items()}
    of_group["step_incidents"] = {ERROR: 1}
    assert metrics_in(typed("metrics --cluster eu --group", HOSTILE, warehouse=warehouse).out) == of_group


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ("--group G", 3, "there is no consumer group G"),
        ("--textfile {folder}/no/audit.prom", 4, "the metrics cannot be written to"),
        ("--textfile {folder}/audit.txt", 0, "node_exporter reads only files that end in .prom"),
    ],
)
def test_what_metrics_cannot_say(options: str, code: int, message: str, warehouse: Path, typed: Typed) -> None:
    assert message in typed(f"metrics {options.format(folder=warehouse)}", warehouse=warehouse, code=code).err


def test_a_warehouse_without_groups_has_no_values(tmp_path: Path, typed: Typed) -> None:
    write_warehouse(tmp_path, {FINDINGS: [], GROUP_STATUS: [], REBALANCE_INTERVALS: []}, HOUR)
    assert metrics_in(typed("metrics", warehouse=tmp_path).out) == {name: {} for name in BY_HAND}


def test_an_incident_of_several_groups_is_one_and_is_counted_for_those_asked_for() -> None:
    shared = incident(consumer_groups=("g", "h"), resolved_at=None)
    groups = [group("g", step_end=NEW + timedelta(hours=1), observed=None)]
    found = {
        family.name.removeprefix("rebalance_audit_"): {
            tuple(sample.labels.values()): sample.value for sample in family.samples if sample.value
        }
        for family in registry(groups, [shared, incident(resolved_at=None)]).collect()
    }
    assert found["open_incidents"] == {("eu", "GROUP_OFFLINE", "ERROR"): 2}
    assert found["open_incident_groups"] == {("eu", "GROUP_OFFLINE", "ERROR"): 2}
    assert found["group_open_incidents"] == {("eu", "g", "GROUP_OFFLINE", "ERROR", ""): 2}
    assert found["observed_ratio"] == {}
