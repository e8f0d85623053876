"""The first part of the report of the recording: its incidents are those of `test_incidents`. No Spark."""

from typing import Any

import pytest

from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import from_micros
from spark_jobs.show.page.incident_pages import incident_section
from spark_jobs.show.page.style import clock
from tests.conformance.recording.test_incidents import by_hand, folded, moment, same_time
from tests.support.recordings import audited

#: What was recorded.
RECORDED = Interval.parse("2026-11-21T02:02/2026-11-21T02:27")


@pytest.fixture(scope="module")
def section() -> dict[str, Any]:
    return incident_section(folded(audited(3600), 3600), RECORDED, {("demo", "payment-service"): "group-1"}, [])


def test_every_incident_of_the_table_has_a_page_and_no_other(section: dict[str, Any]) -> None:
    pages = section["pages"]
    assert section["text"] == "19 incidents: 11 ERROR, 7 WARN, 1 INFO; 11 are open"
    assert len(pages) == len(list(by_hand()))
    assert [page["severity"] for page in pages] == ["ERROR"] * 11 + ["WARN"] * 7 + ["INFO"]
    # Open, with most messages piled up; at the end what was not recorded.
    assert [page["groups"][0]["name"] for page in pages[:2]] == ["legacy-import", "notify-service"]
    assert pages[-1]["headline"] == "Snapshots of 17 groups are missing"
    assert sum(page["resolved"] is None for page in pages) == 11


def test_the_page_of_the_twins_names_their_id_queues_and_cost(section: dict[str, Any]) -> None:
    """309 s after T0 both consumers have one id; four of eight queues have no owner for 620 s."""
    (twins,) = [page for page in section["pages"] if page["groups"] == [{"name": "payment-service", "id": "group-1"}]]
    assert twins["headline"] == "Consumers of payment-service share the client id 172.17.0.1@1"
    (opened, resolved) = next((opened, resolved) for (_, _, _, of), opened, resolved in by_hand() if "payment" in of[0])
    start, end = (round(at * 1000) for at in twins["window"])
    assert same_time(start, moment(opened))
    assert same_time(end, moment(resolved))
    assert twins["opened"] == clock(from_micros(start))
    (cost,) = twins["costs"]
    assert (cost["name"], cost["peak_backlog_messages"]) == ("payment-service", "6,123")
    assert cost["unowned"] == pytest.approx(4 * 620 / 60, rel=0.02)
    assert "No consumer of payment-service owns payments broker-a:4-7" in cost["conditions"]
