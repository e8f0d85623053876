"""Questions about times and names that do not exist: no answer reads like an all-clear."""

from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from schemas import (
    AUDIT_RUNS,
    MEMBERSHIP_SNAPSHOTS,
    ROUTE_SNAPSHOTS,
    SIGHTINGS,
    SOURCES,
)
from spark_jobs.api.warehouse import open_warehouse
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import IntervalError, NothingPublishedError, RebalanceAuditError, UnknownNameError
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.kept import check_recorded
from tests.support.commands import Typed
from tests.support.published import publish_hours
from tests.support.snapshots import sighting
from tests.support.stored import write
from tests.support.times import at

HOUR = timedelta(hours=1)


@pytest.mark.parametrize("minutes", [125, 190, 13 * 60])
def test_the_last_hour_is_the_newest_audited_one(minutes: int, tmp_path: Path) -> None:
    """The hours of 10:00 and 11:00 were audited, whatever the time is now."""
    publish_hours(tmp_path, [0, 1])
    warehouse = replace(open_warehouse(tmp_path), clock=lambda: at(60 * minutes))
    newest = Interval(at(3600), at(7200))
    assert warehouse.time(since=HOUR) == warehouse.time(since=HOUR, cluster="c") == newest
    assert warehouse.time(since=HOUR, until=at(3600)) == Interval(at(0), at(3600))
    incidents = warehouse.incidents(since=HOUR)
    assert (incidents.interval, incidents.coverage.interval) == (newest, newest)
    # The data end at twelve o'clock; they are too old two hours later.
    assert incidents.coverage.is_whole == (minutes <= 240)
    with pytest.raises(NothingPublishedError, match="there is no cluster d; audited clusters: c"):
        warehouse.incidents(since=HOUR, cluster="d")


def test_the_answer_names_the_last_hour(tmp_path: Path, typed: Typed) -> None:
    publish_hours(tmp_path, [0, 1])
    # Exit code 2: the newest audited time is months ago.
    printed = typed("incidents --last 1h", warehouse=tmp_path, code=2)
    assert "Incidents of 2026-03-01T11:00Z/2026-03-01T12:00Z (UTC), the newest audited time." in printed.lines
    printed = typed("clients 10.0 --last 90m", warehouse=tmp_path, code=2)
    assert "the newest audited 1 h 30 min: 2026-03-01T10:30Z/2026-03-01T12:00Z" in printed.err


def test_what_is_in_the_future_is_an_error(tmp_path: Path, typed: Typed) -> None:
    publish_hours(tmp_path, [0])
    warehouse = replace(open_warehouse(tmp_path), clock=lambda: at(7200))
    with pytest.raises(IntervalError, match="is in the future: it is 2026-03-01T12:00Z"):
        warehouse.incidents(since=at(7200), until=at(10_800))
    with pytest.raises(IntervalError, match="T12:00Z/2026-03-01T13:00Z is in the future"):
        warehouse.run("2026-03-01T10:00/2026-03-01T13:00")
    for command in ("incidents", "run", "backfill"):
        line = f"{command} --interval 3026-03-01/3026-03-02"
        assert "is in the future" in typed(line, warehouse=tmp_path, code=3).err


def test_severities_and_rules_that_do_not_exist_are_errors(tmp_path: Path) -> None:
    publish_hours(tmp_path, [0], offline=[0])
    warehouse = open_warehouse(tmp_path)
    assert len(warehouse.incidents(severity="ERROR", rule="GROUP_OFFLINE")) == 1
    with pytest.raises(NothingPublishedError, match=r"there is no severity error: did you mean ERROR\?"):
        warehouse.incidents(severity="error")
    with pytest.raises(NothingPublishedError, match="there is no rule group_ofline: did you mean GROUP_OFFLINE"):
        warehouse.incidents(rule="group_ofline")


def recorded(warehouse: Path) -> None:
    """The groups payment-service of the cluster eu and billing of us, and what was seen of the topic orders."""
    for table in SOURCES:
        write(warehouse, table, [])
    keys = [("eu", "payment-service"), ("us", "billing")]
    rows = [
        {"cluster": cluster, "consumer_group": group, "broker_name": "b", "captured_at": at(0)}
        for cluster, group in keys
    ]
    write(warehouse, MEMBERSHIP_SNAPSHOTS, rows)
    write(warehouse, ROUTE_SNAPSHOTS, [{"cluster": "eu", "topic": "ticks", "captured_at": at(0)}])
    write(warehouse, SIGHTINGS, [sighting(0, cluster="eu", topic="orders", broker_name="b")])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("eu", "payment-service", "orders"), None),
        ((None, "billing", "ticks"), None),
        (("ue", None, None), r"there is no cluster ue: did you mean us or eu\?"),
        ((None, "payment-servic", None), r"there is no consumer group payment-servic: did you mean payment-service\?"),
        (("us", "payment-service", None), "no consumer group payment-service in the cluster us: snapshots name 1"),
        (("eu", "payment-service", "order"), r"no topic order in the cluster eu: did you mean orders\?"),
    ],
)
def test_names_that_no_snapshot_has(names: tuple[str | None, ...], message: str | None, tmp_path: Path) -> None:
    recorded(tmp_path)
    with pytest.raises(UnknownNameError, match=message) if message else nullcontext():
        check_recorded(delta_tables(str(tmp_path)), *names)


def test_a_run_of_a_name_that_does_not_exist_writes_nothing(tmp_path: Path, typed: Typed) -> None:
    recorded(tmp_path)
    line = "run --interval 2026-03-01T10:00/2026-03-01T11:00 --group payment-servic"
    assert "did you mean payment-service?" in typed(line, warehouse=tmp_path, code=3).err
    assert not (tmp_path / AUDIT_RUNS.name).exists()


NAIVE = datetime(2026, 11, 21, 2, 10)


def test_a_datetime_without_an_offset_is_utc(example_warehouse: str) -> None:
    warehouse = open_warehouse(example_warehouse)
    time = warehouse.time(NAIVE, "2026-11-21T03:00")
    assert time == Interval(NAIVE.replace(tzinfo=UTC), datetime(2026, 11, 21, 3, tzinfo=UTC))
    assert warehouse.explain("payment-service", at=NAIVE).facts.at == NAIVE.replace(tzinfo=UTC)
    assert len(warehouse.incidents(since=NAIVE, until=NAIVE.replace(hour=3)))


def test_an_interval_without_an_offset_is_an_error_of_ours() -> None:
    with pytest.raises(IntervalError, match="2026-11-21T02:10:00 has no time zone: intervals are UTC") as raised:
        Interval(NAIVE, NAIVE.replace(hour=3))
    assert isinstance(raised.value, RebalanceAuditError)
