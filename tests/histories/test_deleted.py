"""A group that was deleted: no broker lists it any more, so nothing is wrong with it, and nothing is missing."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from schemas import FINDINGS, GROUP_STATUS, MEMBERSHIP_SNAPSHOTS, REBALANCE_INTERVALS
from spark_jobs.domain.model.intervals import Interval
from tests.histories.test_long_gone import HOURS, Rows, between, found, hour, snapshots, steps, together
from tests.snapshots import at, membership

Step = dict[str, list[dict[str, Any]]]


def offline(start: int, end: int) -> Rows:
    """No member of `g`, and 7 messages for it."""
    rows = snapshots(between(start, end), lag=7)
    return rows | {MEMBERSHIP_SNAPSHOTS: [membership(second, broker="a") for second in between(start, end)]}


def deleted(at_second: int) -> Rows:
    """Broker `a` says three times, a minute apart, that no broker lists `g`."""
    said = [membership(second, broker="a", listed=False) for second in range(at_second, at_second + 121, 60)]
    return snapshots(()) | {MEMBERSHIP_SNAPSHOTS: said}


def intervals(step: Step) -> list[tuple[datetime, datetime, str, str | None]]:
    return [
        (row["interval_start"], row["interval_end"], row["status"], row["reason"])
        for row in step[REBALANCE_INTERVALS.name]
    ]


def findings(step: Step) -> list[tuple[str, datetime, datetime]]:
    return [(row["rule"], row["start"], row["end"]) for row in step.get(FINDINGS.name, ())]


def deleted_at(step: Step) -> datetime | None:
    (row,) = step[GROUP_STATUS.name]
    moment: datetime | None = row["deleted_at"]
    return moment


@pytest.fixture(scope="module")
def offline_and_deleted() -> Rows:
    """Offline from 10:20 on, deleted at 10:30:20."""
    return together(snapshots(between(0, 1200)), offline(1200, 1820), deleted(1820))


def test_what_was_wrong_with_a_group_ends_with_it(offline_and_deleted: Rows) -> None:
    step = steps(offline_and_deleted, hour(0))[at(0)]
    assert intervals(step) == [
        (at(0), at(1200), "REPLAYED", None),
        (at(1200), at(1820), "REPLAYED", None),
        (at(1820), at(HOURS), "NOT_APPLICABLE", "DELETED"),
    ]
    assert {(start, end) for rule, start, end in findings(step) if rule == "GROUP_OFFLINE"} == {(at(1200), at(1820))}
    assert max(end for _, _, end in findings(step)) == at(1820)
    assert deleted_at(step) == at(1820)


def test_nobody_misses_a_deleted_group(offline_and_deleted: Rows) -> None:
    """As they do one of which nothing is known any more."""
    vanished = together(snapshots(between(0, 1200)), offline(1200, 1820))
    assert found(vanished, hour(0), "UNOBSERVED") == [(at(1860), at(HOURS), "INFO", "g")]
    assert found(vanished, hour(1), "UNOBSERVED") == [(at(HOURS), at(2 * HOURS), "INFO", "g")]
    assert found(offline_and_deleted, hour(0), "UNOBSERVED") == []
    assert [steps(offline_and_deleted, hour(number)) for number in (1, 2, 100)] == [{}, {}, {}]


def test_a_step_whose_window_shows_the_deletion_says_so() -> None:
    step = steps(together(snapshots(between(0, 3500)), deleted(3500)), hour(1))[at(HOURS)]
    assert intervals(step) == [(at(HOURS), at(2 * HOURS), "NOT_APPLICABLE", "DELETED")]
    assert (findings(step), deleted_at(step)) == ([], at(3500))


def test_a_group_that_is_back_is_as_any_other() -> None:
    """Deleted at 10:30:20, there again from 10:40 to 11:30."""
    rows = together(snapshots(between(0, 1820)), deleted(1820), snapshots(between(2400, 5400)))
    step = steps(rows, hour(0))[at(0)]
    assert intervals(step) == [
        (at(0), at(1820), "REPLAYED", None),
        (at(1820), at(2400), "NOT_APPLICABLE", "DELETED"),
        (at(2400), at(HOURS), "REPLAYED", None),
    ]
    assert (findings(step), deleted_at(step)) == ([], None)
    assert found(rows, hour(1), "UNOBSERVED") == [(at(5440), at(2 * HOURS), "INFO", "g")]
    assert found(rows, hour(2), "UNOBSERVED") == [(at(2 * HOURS), at(3 * HOURS), "INFO", "g")]


def test_hours_by_themselves_and_in_one_run_publish_the_same(offline_and_deleted: Rows) -> None:
    edge = together(snapshots(between(0, 3500)), deleted(3500), snapshots(between(9000, 9600)))
    for rows in (offline_and_deleted, edge):
        alone = {start: step for number in range(4) for start, step in steps(rows, hour(number)).items()}
        assert steps(rows, Interval(at(0), at(4 * HOURS))) == alone
