"""An incident is read from its beginning, however short the interval is that is asked for. No Spark."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from schemas import FINDINGS, GROUP_STATUS
from spark_jobs.domain.intervals import Interval
from spark_jobs.jobs.incidents import IncidentQuery, incidents_of
from spark_jobs.location import Location
from spark_jobs.read.delta import DeltaTables
from tests.explain.rows import at, finding
from tests.recording.by_kernel import write_warehouse

STATUS = {"finding_count": 1, "unknown_queues": 0, "limit": "NO_BACKLOG", "advice": "No."}


def step(number: int, *, is_offline: bool) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """One hour of the group G, offline or not."""
    key = {"cluster": "c", "consumer_group": "G", "step_start": at(3600 * number)}
    offline = {"rule": "GROUP_OFFLINE", "cause": "NOBODY_CONNECTED", "severity": "ERROR", "topic": None, "subject": "G"}
    time = {"start": at(3600 * number), "end": at(3600 * (number + 1)), "finding_id": f"f{number}"}
    return [finding(**key, **offline, **time)] if is_offline else [], key | STATUS


def test_an_incident_is_read_from_its_beginning(tmp_path: Path) -> None:
    hours = [step(number, is_offline=10 <= number < 40) for number in range(48)]
    findings = [row for found, _ in hours for row in found]
    write_warehouse(tmp_path, {FINDINGS: findings, GROUP_STATUS: [status for _, status in hours]}, 3600)
    tables = DeltaTables(Location.parse(str(tmp_path)))

    def asked(hour: int) -> list[str]:
        interval = Interval(at(3600 * hour), at(3600 * hour) + timedelta(hours=1))
        return [one.incident_id for one in incidents_of(tables, IncidentQuery(interval))]

    (whole,) = incidents_of(tables, IncidentQuery())
    assert len(whole.roots[0].finding_ids) == 30
    assert asked(10) == asked(25) == asked(39) == [whole.incident_id]
    assert asked(9) == asked(40) == asked(47) == []
    assert incidents_of(tables, IncidentQuery(is_open=True)) == []
