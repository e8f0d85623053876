"""A group or topic that was deleted: no broker lists it any more: nothing is wrong with it, and nothing is missing."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest

from schemas import FINDINGS, GROUP_STATUS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, REBALANCE_INTERVALS, ROUTE_SNAPSHOTS
from spark_jobs.domain.model.intervals import Interval
from tests.conformance.histories.test_long_gone import HOURS, Rows, between, found, hour, snapshots, steps, together
from tests.support.snapshots import membership
from tests.support.times import at

Step = dict[str, list[dict[str, Any]]]


def offline(start: int, end: int) -> Rows:
    """No member of `g`, and 7 messages for it."""
    rows = snapshots(between(start, end), lag=7)
    return rows | {MEMBERSHIP_SNAPSHOTS: [membership(second, broker="a") for second in between(start, end)]}


def deleted(at_second: int) -> Rows:
    """Broker `a` says three times, a minute apart, that no broker lists `g`."""
    said = [membership(second, broker="a", listed=False) for second in range(at_second, at_second + 121, 60)]
    return snapshots(()) | {MEMBERSHIP_SNAPSHOTS: said}


def intervals(step: Step, topics: str = "t u") -> str:
    """Of these topics, as `0-1820 REPLAYED, 1820-3600 NOT_APPLICABLE DELETED`: seconds after 10:00, status, reason."""
    rows = [row for row in step[REBALANCE_INTERVALS.name] if row["topic"] in topics.split()]
    return ", ".join(f"{_time(row)} {row['status']} {row['reason'] or ''}".strip() for row in rows)


def _time(row: dict[str, Any]) -> str:
    return "-".join(f"{(row[name] - at(0)).total_seconds():g}" for name in ("interval_start", "interval_end"))


def findings(step: Step) -> list[tuple[str, datetime, datetime]]:
    return [(row["rule"], row["started_at"], row["ended_at"]) for row in step.get(FINDINGS.name, ())]


def status(step: Step, column: str) -> Any:
    """What the group's only row of `group_status` says."""
    (row,) = step[GROUP_STATUS.name]
    return row[column]


@pytest.fixture(scope="module")
def offline_and_deleted() -> Rows:
    """Offline from 10:20 on, deleted at 10:30:20."""
    return together(snapshots(between(0, 1200)), offline(1200, 1820), deleted(1820))


def test_what_was_wrong_with_a_group_ends_with_it(offline_and_deleted: Rows) -> None:
    step = steps(offline_and_deleted, hour(0))[at(0)]
    assert intervals(step) == "0-1200 REPLAYED, 1200-1820 REPLAYED, 1820-3600 NOT_APPLICABLE DELETED"
    assert {(start, end) for rule, start, end in findings(step) if rule == "GROUP_OFFLINE"} == {(at(1200), at(1820))}
    assert max(end for _, _, end in findings(step)) == at(1820)
    assert status(step, "deleted_at") == at(1820)


def test_a_deleted_group_is_not_unobserved(offline_and_deleted: Rows) -> None:
    """Unlike one of which nothing is known any more."""
    vanished = together(snapshots(between(0, 1200)), offline(1200, 1820))
    assert found(vanished, hour(0), "UNOBSERVED") == [(at(1860), at(HOURS), "INFO", "g")]
    assert found(vanished, hour(1), "UNOBSERVED") == [(at(HOURS), at(2 * HOURS), "INFO", "g")]
    assert found(offline_and_deleted, hour(0), "UNOBSERVED") == []
    assert [steps(offline_and_deleted, hour(number)) for number in (1, 2, 100)] == [{}, {}, {}]


def test_a_step_whose_window_shows_the_deletion_says_so() -> None:
    step = steps(together(snapshots(between(0, 3500)), deleted(3500)), hour(1))[at(HOURS)]
    assert intervals(step) == "3600-7200 NOT_APPLICABLE DELETED"
    assert (findings(step), status(step, "deleted_at")) == ([], at(3500))


def test_a_group_that_is_back_is_as_any_other() -> None:
    """Deleted at 10:30:20, there again from 10:40 to 11:30."""
    rows = together(snapshots(between(0, 1820)), deleted(1820), snapshots(between(2400, 5400)))
    step = steps(rows, hour(0))[at(0)]
    assert intervals(step) == "0-1820 REPLAYED, 1820-2400 NOT_APPLICABLE DELETED, 2400-3600 REPLAYED"
    assert (findings(step), status(step, "deleted_at")) == ([], None)
    assert found(rows, hour(1), "UNOBSERVED") == [(at(5440), at(2 * HOURS), "INFO", "g")]
    assert found(rows, hour(2), "UNOBSERVED") == [(at(2 * HOURS), at(3 * HOURS), "INFO", "g")]


def test_hours_by_themselves_and_in_one_run_publish_the_same(offline_and_deleted: Rows) -> None:
    edge = together(snapshots(between(0, 3500)), deleted(3500), snapshots(between(9000, 9600)))
    for rows in (offline_and_deleted, edge):
        alone = {start: step for number in range(4) for start, step in steps(rows, hour(number)).items()}
        assert steps(rows, Interval(at(0), at(4 * HOURS))) == alone


def with_topics(times: Sequence[int], topics: str = "t u", deleted: str = "") -> Rows:
    """One member of `g`, which subscribes to the topics; on `b` 7 messages of each wait. `deleted`: topics that are."""
    of_two_brokers = snapshots(times, lag=7)
    rows: Rows = {
        MEMBERSHIP_SNAPSHOTS: [membership(second, "c1", broker="a", topics=topics.split()) for second in times]
    }
    rows[ROUTE_SNAPSHOTS] = [
        row | {"topic": topic} | ({"queues": [], "listed": False} if topic in deleted.split() else {})
        for row in of_two_brokers[ROUTE_SNAPSHOTS]
        for topic in topics.split()
    ]
    rows[OFFSET_SNAPSHOTS] = [
        row | {"topic": topic}
        for row in of_two_brokers[OFFSET_SNAPSHOTS]
        for topic in topics.split()
        if topic not in deleted.split()
    ]
    return rows


T_DELETED = [{"topic": "t", "deleted_at": at(1820)}]


def test_nothing_is_wrong_with_a_topic_that_is_deleted_and_nothing_is_missing() -> None:
    """Its members go on subscribing to it. Messages waited in it, as in the other one, where they still do. A step
    knows the deletion as far back as it looks.
    """
    rows = together(with_topics(between(0, 1820)), with_topics(between(1820, 2 * HOURS), deleted="t"))
    first, second = (steps(rows, hour(number))[at(number * HOURS)] for number in (0, 1))
    assert intervals(first, "t") == "0-1820 REPLAYED, 1820-3600 NOT_APPLICABLE TOPIC_DELETED"
    assert intervals(second, "t") == "3600-7200 NOT_APPLICABLE TOPIC_DELETED"
    assert intervals(first, "u") == "0-3600 REPLAYED"
    assert (findings(first), findings(second)) == ([], [])
    assert (status(first, "deleted_topics"), status(second, "deleted_topics")) == (
        T_DELETED,
        [T_DELETED[0] | {"deleted_at": at(HOURS - 420)}],
    )
    assert status(first, "deleted_at") is None


@pytest.mark.parametrize("is_up", [True, False])
def test_a_topic_without_a_route_is_not_known_to_be_deleted(is_up: bool) -> None:
    """Its offsets are missed only where its broker may be down: the other topic has no route either."""
    down = with_topics(between(1820, HOURS), deleted="t")
    down[ROUTE_SNAPSHOTS] = [
        row | {"listed": None, "queues": row["queues"] if is_up else []} for row in down[ROUTE_SNAPSHOTS]
    ]
    step = steps(together(with_topics(between(0, 1820)), down), hour(0))[at(0)]
    assert intervals(step, "t") == "0-1820 REPLAYED, 1820-3600 NOT_REPLAYABLE NO_ROUTE"
    missed = [] if is_up else [("UNOBSERVED", at(1860), at(HOURS))]
    assert sorted({*findings(step)}) == [("BROKER_NOT_READABLE", at(1820), at(HOURS)), *missed]
    assert status(step, "deleted_topics") is None


def test_what_was_wrong_with_a_topic_ends_with_it_and_no_gap_ends_the_deletion() -> None:
    """Broker `b` may not be read from 10:20 on. From 10:50 no member subscribes to `t`: its route is not asked for."""
    unreadable = with_topics(between(1200, 1820))
    for row in unreadable[ROUTE_SNAPSHOTS]:
        row["queues"] = [entry | {"perm": 2 if entry["broker_name"] == "b" else 6} for entry in row["queues"]]
    dropped = with_topics(between(3000, 2 * HOURS), topics="u")
    rows = together(with_topics(between(0, 1200)), unreadable, with_topics(between(1820, 3000), deleted="t"), dropped)
    first = steps(rows, hour(0))[at(0)]
    assert intervals(first, "t").endswith(", 1820-3600 NOT_APPLICABLE TOPIC_DELETED")
    reported = {
        (rule, row["topic"], end) for row, (rule, _, end) in zip(first[FINDINGS.name], findings(first), strict=True)
    }
    assert ("BROKER_NOT_READABLE", "t", at(1820)) in reported
    assert {end for _, topic, end in reported if topic == "t"} == {at(1820)}
    assert status(first, "deleted_topics") == T_DELETED
    assert intervals(steps(rows, hour(1))[at(HOURS)], "t") == ""


def test_a_topic_that_is_back_is_as_any_other() -> None:
    """Deleted at 10:30:20; at 10:35 a broker of it does not answer; back at 10:40, and not recorded from 11:30."""
    unproven = with_topics(between(2100, 2120), deleted="t")
    unproven[ROUTE_SNAPSHOTS] = [row | {"listed": None} for row in unproven[ROUTE_SNAPSHOTS]]
    rows = together(
        with_topics(between(0, 1820)),
        with_topics(between(1820, 2100), deleted="t"),
        unproven,
        with_topics(between(2120, 2400), deleted="t"),
        with_topics(between(2400, 5400)),
    )
    step = steps(rows, hour(0))[at(0)]
    assert intervals(step, "t") == "0-1820 REPLAYED, 1820-2400 NOT_APPLICABLE TOPIC_DELETED, 2400-3600 REPLAYED"
    assert (findings(step), status(step, "deleted_topics")) == ([], None)
    assert found(rows, hour(1), "UNOBSERVED") == [(at(5440), at(2 * HOURS), "INFO", "g")]
