"""An incident is read from its beginning, however short the interval is that is asked for. No Spark."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from spark_jobs.domain.intervals import Interval
from spark_jobs.jobs.incidents import IncidentQuery, incidents_of, severities_in
from spark_jobs.location import Location
from spark_jobs.read.delta import DeltaTables
from tests.explain.rows import at
from tests.published import publish_hours


def hour(number: int) -> Interval:
    return Interval(at(3600 * number), at(3600 * number) + timedelta(hours=1))


def test_an_incident_is_read_from_its_beginning(tmp_path: Path) -> None:
    publish_hours(tmp_path, range(48), offline=range(10, 40))
    tables = DeltaTables(Location.parse(str(tmp_path)))

    def asked(number: int) -> list[str]:
        return [one.incident_id for one in incidents_of(tables, IncidentQuery(hour(number)))]

    (whole,) = incidents_of(tables, IncidentQuery())
    assert len(whole.roots[0].finding_ids) == 30
    assert asked(10) == asked(25) == asked(39) == [whole.incident_id]
    assert asked(9) == asked(40) == asked(47) == []
    assert incidents_of(tables, IncidentQuery(is_open=True)) == []


def test_a_schedule_asks_how_severe_the_incidents_of_an_interval_are(tmp_path: Path) -> None:
    publish_hours(tmp_path, range(4), offline=[1, 2])
    publish_hours(tmp_path, range(4), offline=[2], group="H")
    assert severities_in(str(tmp_path), str(hour(2)), "", "") == ["ERROR", "ERROR"]
    assert severities_in(str(tmp_path), str(hour(2)), "c", "H") == ["ERROR"]
    assert severities_in(str(tmp_path), str(hour(3)), None, None) == []
