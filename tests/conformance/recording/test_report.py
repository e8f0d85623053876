"""The report of the recording: what was done to the cluster is where and when the script says it is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from schemas import AUDIT_RUNS
from spark_jobs.domain.model.intervals import Interval, parse_utc
from spark_jobs.errors import NothingPublishedError, ReportFileError
from spark_jobs.show.report import report, write_page
from spark_jobs.store.read.delta import DeltaTables, delta_tables
from spark_jobs.store.read.published import Scope
from tests.conformance.recording.test_timeline import T0, TOLERANCE
from tests.support.browser import needs_browser
from tests.support.opened import Opened
from tests.support.stored import write

#: What the recorder saw.
RECORDED = Interval.parse("2026-11-21T02:02:28/2026-11-21T02:26:55")
STEP, LATER = "2026-11-21T02:00/2026-11-21T03:00", "2026-11-21T04:00/2026-11-21T05:00"


@pytest.fixture(scope="session")
def html(tables: DeltaTables) -> str:
    return report(tables, Scope(RECORDED), lambda _: None)


def place_of(seen: Opened, group: str) -> str:
    """Opens the page of a group from the fleet; its id."""
    seen.page.click(f".fleet a:text-is('{group}')")
    id = str(seen.page.evaluate("location.hash")).removeprefix("#")
    seen.charts(id)
    return id


def is_about(milliseconds: float, seconds: float) -> bool:
    """Whether a moment of the page is so many seconds after T0, as exactly as snapshots can tell."""
    return abs(milliseconds / 1000 - T0.timestamp() - seconds) <= TOLERANCE.total_seconds()


@needs_browser
def test_twins_hatch_their_queues_and_leave_four_red_for_ten_minutes(
    html: str, open_page: Callable[..., Opened]
) -> None:
    """309 s after T0 both consumers have the id 172.17.0.1@1; they leave at 930 and 932."""
    seen = open_page(html)
    id = place_of(seen, "payment-service")
    hatched = seen.data("Owners", "several")
    red = [one for one in seen.data("Owners", "spans") if one["color"] == "#D7191C"]
    assert [one["queue"] for one in hatched] == [f"broker-a:{queue}" for queue in range(4)]
    assert [one["queue"] for one in red] == [f"broker-a:{queue}" for queue in range(4, 8)]
    assert all(is_about(one["left"], 309) and is_about(one["right"], 932) for one in hatched + red)
    assert {one["why"] for one in red} == {"DUPLICATE_CLIENT_ID"}
    assert all(one["owner"].count("172.17.0.1@1") == 2 for one in hatched)
    assert "broker-a:5" in seen.hover("Owners", parse_utc("2026-11-21T02:12").timestamp() * 1000, 6)
    # What nobody consumed in ten minutes: half of 19.6 messages a second.
    assert seen.page.locator(f"#{id} .finding.ERROR").count() == 3
    assert max(one["y"] for one in seen.data("Backlog", "total")) == pytest.approx(9.8 * 620, rel=0.02)
    assert seen.complaints == []


@needs_browser
def test_rebalances_stand_where_the_script_put_them(html: str, open_page: Callable[..., Opened]) -> None:
    """order-service: two more at 360, one leaves at 600, broker-b 8 → 10 queues at 840, killed 1200, back 1290."""
    seen = open_page(html)
    place_of(seen, "order-service")
    rebalances = seen.data("Owners", "rebalances")
    script = {"MEMBER_JOINED": 360, "MEMBER_LEFT": 600, "QUEUES_ADDED": 840, "BROKER_GONE": 1200, "BROKER_BACK": 1290}
    for trigger, seconds in script.items():
        assert any(one["trigger"] == trigger and is_about(one["x"], seconds) for one in rebalances), trigger


@needs_browser
def test_a_broadcast_group_says_that_nothing_is_shared(html: str, open_page: Callable[..., Opened]) -> None:
    seen = open_page(html)
    id = place_of(seen, "price-cache")
    assert "Not applicable (BROADCASTING)" in seen.page.inner_text(f"#{id}")
    assert seen.data("Members", "spans") == []


def test_one_group_is_a_page_of_its_own(tables: DeltaTables) -> None:
    page = report(tables, Scope(RECORDED, "demo", "geo-service"), lambda _: None)
    assert "<title>Consumer group geo-service of demo, 2026-11-21 (UTC)</title>" in page
    assert "payment-service" not in page


@pytest.mark.parametrize(
    ("interval", "cluster", "group", "said"),
    [
        (STEP, None, "payment-servce", "did you mean payment-service"),
        (STEP, "prod", "geo-service", "that group is in demo"),
        (LATER, None, "geo-service", "geo-service was not audited in 2026-11-21T04:00Z"),
        (STEP, "prod", None, "there is no cluster prod; audited clusters: demo"),
        (LATER, None, None, "the first audited step began at 2026-11-21T02:00Z"),
    ],
)
def test_what_is_not_there_is_said_in_one_sentence(
    tables: DeltaTables, interval: str, cluster: str | None, group: str | None, said: str
) -> None:
    with pytest.raises(NothingPublishedError, match=said):
        report(tables, Scope(Interval.parse(interval), cluster, group), lambda _: None)


def test_a_warehouse_without_runs_says_what_to_do(tmp_path: Path) -> None:
    write(tmp_path, AUDIT_RUNS, [])
    with pytest.raises(NothingPublishedError, match="rebalance-audit run --warehouse URI"):
        report(delta_tables(str(tmp_path)), Scope(RECORDED), lambda _: None)


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    write_page("old", tmp_path / "report.html")
    write_page("new", tmp_path / "report.html")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("report.html", "new")]
    with pytest.raises(ReportFileError, match=r"no/report\.html"):
        write_page("new", tmp_path / "no" / "report.html")
