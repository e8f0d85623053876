"""Conditions longer than the look-back of a step stay visible: a group without captures, a broker that is gone, queues
that were removed.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from schemas import FINDINGS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, OUTPUTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.window import HOUR, from_micros, to_micros
from spark_jobs.pipeline.publish.rows import tables
from tests.support.kernel import SETTINGS, evaluated
from tests.support.snapshots import membership, offsets, route
from tests.support.tables import measures
from tests.support.times import at

Rows = dict[Table, list[dict[str, Any]]]
HOURS = 3600
DAYS = 24 * HOURS
#: Seven days, as a configuration has it by default.
WEEK = replace(SETTINGS, sightings=7 * 24 * HOUR)


def hour(number: int) -> Interval:
    """The hour that begins so many hours after 10:00."""
    return Interval(at(number * HOURS), at((number + 1) * HOURS))


def snapshots(
    times: Sequence[int], lag: int = 0, brokers: str = "a b", group: bool = True, perm: int = 6, queues: int = 1
) -> Rows:
    """One member of `g`, and topic `t` with a queue on each of the brokers, so many on `b`: in its last one so many
    messages wait.
    """
    numbers = {name: queues if name == "b" else 1 for name in brokers.split()}
    entries = [RouteEntry(name, perm if name == "b" else 6, n, n)._asdict() for name, n in numbers.items()]
    committed = [
        _queue(name, place, lag if (name, place) == ("b", queues - 1) else 0)
        for name, number in numbers.items()
        for place in range(number)
    ]
    return {
        MEMBERSHIP_SNAPSHOTS: [membership(second, "c1", broker="a") for second in times if group],
        ROUTE_SNAPSHOTS: [route(second, 1) | {"queues": entries} for second in times],
        OFFSET_SNAPSHOTS: [offsets(second) | {"offsets": committed} for second in times if group],
    }


def _queue(broker: str, queue_id: int, lag: int) -> dict[str, Any]:
    offsets = {"broker_offset": 100, "consumer_offset": 100 - lag, "pull_offset": 100 - lag, "last_timestamp": 1}
    return {"broker_name": broker, "queue_id": queue_id, **offsets}


def together(*parts: Rows) -> Rows:
    return {table: [row for part in parts for row in part[table]] for table in parts[0]}


def between(start: int, end: int) -> range:
    return range(start, end, 20)


def steps(
    rows: Rows, interval: Interval, days: float = 7, hours: int = 1
) -> dict[datetime, dict[str, list[dict[str, Any]]]]:
    """The rows of every output table, by step of so many hours, of an audit of the interval that is given what a run of
    it reads: the snapshots of its window, the sightings up to its end, and of the offsets before those around hours of
    sightings.
    """
    settings = replace(SETTINGS, step=hours * HOUR, sightings=round(days * 24 * HOUR))
    read_from = from_micros(to_micros(interval.start) - settings.look_back)
    seen = {table: [row for row in found if row["captured_at"] < interval.end] for table, found in rows.items()}
    read = {table: [row for row in found if row["captured_at"] >= read_from] for table, found in seen.items()}
    gone = {
        (entry["broker_name"], entry["read_queue_nums"]): to_micros(row["captured_at"]) // HOUR * HOUR
        for row in seen[ROUTE_SNAPSHOTS]
        for entry in row["queues"]
        if row["captured_at"] < read_from
    }
    for row in seen[OFFSET_SNAPSHOTS]:
        moment = to_micros(row["captured_at"])
        near = any(start - WEEK.max_gap <= moment < start + HOUR + WEEK.max_gap for start in gone.values())
        if near and row["captured_at"] < read_from:
            read[OFFSET_SNAPSHOTS].append(row)
    found = tables(evaluated(read, interval, settings, sighted=seen))
    by_step: dict[datetime, dict[str, list[dict[str, Any]]]] = {}
    for table in OUTPUTS:
        for row in found[table.name].to_pylist():
            by_step.setdefault(row["step_start"], {}).setdefault(table.name, []).append(row)
    return by_step


def found(
    rows: Rows, interval: Interval, rule: str, days: float = 7, hours: int = 1
) -> list[tuple[datetime, datetime, str, str]]:
    """Start, end, severity, subject of the rule's findings."""
    reported = (
        finding for step in steps(rows, interval, days, hours).values() for finding in step.get(FINDINGS.name, ())
    )
    return [
        (finding["started_at"], finding["ended_at"], finding["severity"], finding["subject"])
        for finding in reported
        if finding["rule"] == rule
    ]


@pytest.fixture(scope="module")
def uncaptured() -> Rows:
    """The group is not recorded for two days, though the topic's route is read, at times."""
    return together(
        snapshots(between(0, HOURS)),
        snapshots([*between(HOURS, 49 * HOURS)[::30], *between(49 * HOURS, 50 * HOURS + 1200)], group=False),
        snapshots(between(50 * HOURS + 1200, 51 * HOURS)),
    )


def test_a_group_without_snapshots_for_two_days_is_unobserved_until_it_is_back(uncaptured: Rows) -> None:
    # The last snapshot is of 10:59:40 and holds for a minute.
    assert found(uncaptured, hour(1), "UNOBSERVED") == [(at(HOURS + 40), at(2 * HOURS), "INFO", "g")]
    assert found(uncaptured, hour(2), "UNOBSERVED") == [(at(2 * HOURS), at(3 * HOURS), "INFO", "g")]
    assert found(uncaptured, hour(30), "UNOBSERVED") == [(at(30 * HOURS), at(31 * HOURS), "INFO", "g")]
    back = [(at(50 * HOURS), at(50 * HOURS + 1200), "WARN", "g")]
    assert found(uncaptured, hour(50), "UNOBSERVED") == back
    # Nothing else is known of it then.
    assert list(steps(uncaptured, hour(30))[at(30 * HOURS)]) == ["findings", "coverage"]


def test_beyond_the_bound_nothing_is_reported_of_a_group(uncaptured: Rows) -> None:
    """The last snapshot is of 10:59:40: the step of 11:00 of the next day begins a day and 20 s later."""
    assert len(found(uncaptured, hour(24), "UNOBSERVED", days=1)) == 1
    assert found(uncaptured, hour(25), "UNOBSERVED", days=1) == []
    assert found(uncaptured, hour(50), "UNOBSERVED", days=1) == []
    assert found(uncaptured, hour(2), "UNOBSERVED", days=0) == []


def gone(lag: int, perm: int = 6) -> Rows:
    """Broker `b` leaves the route at 10:30, with so many messages; the group and broker `a` are well all the time."""
    return together(snapshots(between(0, 1800), lag=lag, perm=perm), snapshots(between(1800, 4 * HOURS), brokers="a"))


def test_a_broker_that_is_gone_for_hours_cannot_be_read_as_long_as_it_holds_messages() -> None:
    rows = gone(lag=7)
    for number, start in ((0, 1800), (1, HOURS), (2, 2 * HOURS), (3, 3 * HOURS)):
        expected = [(at(start), at((number + 1) * HOURS), "ERROR", "b:0")]
        assert found(rows, hour(number), "BROKER_NOT_READABLE") == expected, number
    step = steps(rows, hour(3))[at(3 * HOURS)][FINDINGS.name]
    (reported,) = (finding for finding in step if finding["rule"] == "BROKER_NOT_READABLE")
    assert (reported["cause"], reported["topic"]) == ("LEFT_ROUTE", "t")
    assert measures(reported["evidence"]) == {"last_known_backlog": 7.0}


def test_a_broker_that_was_drained_may_go() -> None:
    assert found(gone(lag=0, perm=4), hour(3), "BROKER_NOT_READABLE") == []


def test_a_broker_that_was_never_to_be_read_is_not_remembered() -> None:
    assert found(gone(lag=7, perm=2), hour(3), "BROKER_NOT_READABLE") == []


def test_beyond_the_bound_a_broker_is_forgotten() -> None:
    """The route named it until 10:29:40: that is 90 minutes before the step of 12:00, and 150 before that of 13:00."""
    rows = gone(lag=7)
    assert len(found(rows, hour(2), "BROKER_NOT_READABLE", days=1.6 / 24)) == 1
    assert found(rows, hour(3), "BROKER_NOT_READABLE", days=1.6 / 24) == []


def test_a_broker_that_left_while_nothing_was_recorded_is_found_afterwards() -> None:
    """Nothing is recorded from 10:30 to 13:20."""
    rows = together(snapshots(between(0, 1800), lag=7), snapshots(between(3 * HOURS + 1200, 4 * HOURS), brokers="a"))
    expected = [(at(3 * HOURS + 1200), at(4 * HOURS), "ERROR", "b:0")]
    assert found(rows, hour(3), "BROKER_NOT_READABLE") == expected


def removed(lag: int = 7, *later: Rows) -> Rows:
    """Of two queues of broker `b` the second one is removed at 10:30, with so many messages; then as `later` says."""
    lasting = snapshots(between(1800, min(first_at(*later), 4 * HOURS)))
    return together(snapshots(between(0, 1800), lag=lag, queues=2), lasting, *later)


def first_at(*parts: Rows) -> int:
    """The second of the first route of the parts; without parts the end of the fourth hour."""
    times = [(row["captured_at"] - at(0)).seconds for part in parts for row in part[ROUTE_SNAPSHOTS]]
    return min(times, default=4 * HOURS)


def test_queues_that_were_removed_cannot_be_read_as_long_as_they_hold_messages() -> None:
    rows = removed()
    for number, start in ((0, 1800), (1, HOURS), (2, 2 * HOURS), (3, 3 * HOURS)):
        expected = [(at(start), at((number + 1) * HOURS), "ERROR", "b:1")]
        assert found(rows, hour(number), "BROKER_NOT_READABLE") == expected, number
    (reported,) = steps(rows, hour(3))[at(3 * HOURS)][FINDINGS.name]
    assert (reported["cause"], reported["topic"]) == ("QUEUES_REMOVED", "t")
    assert measures(reported["evidence"]) == {"last_known_backlog": 7.0}
    whole = Interval(at(0), at(4 * HOURS))
    assert found(rows, whole, "BROKER_NOT_READABLE", hours=4) == [(at(1800), at(4 * HOURS), "ERROR", "b:1")]
    # Beyond the bound they are forgotten, as a broker is.
    assert found(rows, hour(3), "BROKER_NOT_READABLE", days=1.6 / 24) == []


AGAIN, SINCE_THEN = between(HOURS + 1200, HOURS + 2400), between(HOURS + 2400, 4 * HOURS)
READ_AGAIN, BEFORE_THAT = 2 * HOURS + 1200, (at(2 * HOURS), at(2 * HOURS + 1200), "ERROR", "b:1")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # Drained before.
        (removed(0), []),
        # Readable again at 12:20, whether or not they are consumed.
        (removed(7, snapshots(between(READ_AGAIN, 4 * HOURS), queues=2)), [BEFORE_THAT]),
        (removed(7, snapshots(between(READ_AGAIN, 4 * HOURS), lag=7, queues=2)), [BEFORE_THAT]),
        # Readable again from 11:20 to 11:40 and consumed, or not consumed.
        (removed(7, snapshots(AGAIN, queues=2), snapshots(SINCE_THEN)), []),
        (
            removed(7, snapshots(AGAIN, lag=5, queues=2), snapshots(SINCE_THEN)),
            [(at(2 * HOURS), at(3 * HOURS), "ERROR", "b:1"), (at(3 * HOURS), at(4 * HOURS), "ERROR", "b:1")],
        ),
        # The topic is deleted at 11:20 and created again, with a queue on each broker.
        (removed(7, snapshots(AGAIN[:5], brokers=""), snapshots(between(HOURS + 1300, 4 * HOURS))), []),
    ],
)
def test_removed_queues_that_a_consumer_could_read_since_are_forgotten(rows: Rows, expected: list[Any]) -> None:
    for days in (Interval(at(2 * HOURS), at(4 * HOURS)), Interval(at(0), at(4 * HOURS))):
        of_run = found(rows, days, "BROKER_NOT_READABLE")
        assert [finding for finding in of_run if finding[0] >= at(2 * HOURS)] == expected


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_topic_that_lost_its_route_together_with_others_was_not_deleted(forgotten: bool) -> None:
    """The only name server restarts at 11:20, and knows no topic until 11:21:40; or only this topic has no route."""
    restart = snapshots(between(HOURS + 1200, HOURS + 1300), brokers="")
    rows = removed(7, restart, snapshots(between(HOURS + 1300, 4 * HOURS)))
    for table in (ROUTE_SNAPSHOTS, OFFSET_SNAPSHOTS):
        name = "queues" if table is ROUTE_SNAPSHOTS else "offsets"
        always = rows[table][0][name][:1]
        rows[table] += [row | {"topic": "u", name: always if forgotten else row[name][:1]} for row in rows[table]]
    for days in (Interval(at(2 * HOURS), at(4 * HOURS)), Interval(at(0), at(4 * HOURS))):
        reported = {finding[:2] for finding in found(rows, days, "BROKER_NOT_READABLE") if finding[0] >= at(2 * HOURS)}
        assert reported == (set() if forgotten else {(at(n * HOURS), at((n + 1) * HOURS)) for n in (2, 3)})


def test_hours_by_themselves_and_in_one_run_publish_the_same(uncaptured: Rows) -> None:
    """And so does each of them before the next has come, in any order."""
    for rows, hours in ((gone(lag=7), range(4)), (removed(), range(4)), (uncaptured, range(47, 52))):
        whole = steps(rows, Interval(at(hours[0] * HOURS), at((hours[-1] + 1) * HOURS)))
        assert len(whole) == len(hours)
        for number in hours:
            assert steps(rows, hour(number)).get(at(number * HOURS)) == whole.get(at(number * HOURS)), number
