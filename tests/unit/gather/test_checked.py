"""Snapshots as Spark gathers them are checked like whole rows: what breaks a rule is counted, named and left out."""

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from expectations import BY_TABLE
from schemas import (
    CLIENT_SNAPSHOTS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    OUTPUTS,
    ROUTE_SNAPSHOTS,
    SOURCES,
    TOPIC_SNAPSHOTS,
    Table,
)
from spark_jobs.pipeline.gather.checked import Checked, checked
from spark_jobs.pipeline.gather.histories import histories
from spark_jobs.pipeline.quality.facts import BROKEN, LEFT_OUT, REJECTED, ROWS, SERIES, SPANS, by_name
from tests.support.gathered import gathered
from tests.support.snapshots import membership, offsets, route
from tests.support.times import at
from tests.unit.expectations.cases import SETTINGS, Cases
from tests.unit.expectations.test_expectations import ALL

GOOD, OTHER = (100, 90, 1), (100, 91, 1)
QUEUE = {"broker_name": "b", "queue_id": 0, "min_offset": 0, "max_offset": 9}
TOPIC = {"cluster": "c", "topic": "t", "queues": [QUEUE], "captured_at": at(0)}
#: Two groups that share the topic.
MEMBERS = [membership(0, "c1", group=group) for group in ("g1", "g2")]


def facts(found: Checked, table: Table) -> list[dict[str, Any]]:
    return [by_name(BY_TABLE[table], one) for one in found.facts if one.table_name == table.name]


def look(rows: dict[Table, list[dict[str, Any]]]) -> Checked:
    return checked(*gathered(rows), SETTINGS)


@pytest.mark.parametrize(
    "cases", [one for one in ALL if one.suite.table in SOURCES], ids=lambda cases: cases.suite.table.name
)
def test_gathered_snapshots_break_what_their_rows_break(cases: Cases) -> None:
    """A snapshot outside of the read window is never gathered."""
    table = cases.suite.table
    for name, breaks, rows in cases.named():
        if breaks == {"captured_at_is_of_the_run"}:
            continue
        found = look({one: [dict(row) for row in several] for one, several in rows.items()})
        (fact, *_) = facts(found, table)
        assert {one for one, count in fact[BROKEN].items() if count} == breaks, name
        assert (fact[REJECTED] > 0) == bool({one.name for one in cases.suite.rejecting} & breaks), name
        # One of two equal rows is used.
        assert (fact[LEFT_OUT] > 0) == bool(found.rejected) == bool(breaks - {"brokers_are_the_hosts"}), name


def test_what_breaks_a_rule_is_left_out_and_the_rest_is_evaluated() -> None:
    """As in the table of reasons of `tests/spark/quality/test_quarantine.py`."""

    def broken(second: int, **changes: Any) -> dict[str, Any]:
        row = offsets(second, GOOD)
        return row | {"offsets": [row["offsets"][0] | changes]}

    rows = [
        offsets(0, GOOD),
        broken(20, broker_offset=-1),
        *[offsets(40, GOOD)] * 2,
        offsets(60, GOOD),
        offsets(60, OTHER),
        offsets(80, GOOD),
        *[broken(80, queue_id=65536)] * 2,
    ]
    found = look({OFFSET_SNAPSHOTS: rows})
    (history,) = histories(found.states, found.samples)
    seconds = [(one - int(at(0).timestamp() * 1_000_000)) // 1_000_000 for one in history.offsets["t"].times.tolist()]
    assert seconds == [0, 40, 80]
    (fact,) = facts(found, OFFSET_SNAPSHOTS)
    expected = {ROWS: 9, REJECTED: 3, LEFT_OUT: 6, SERIES: 1, SPANS: 80_000_000}
    assert {name: fact[name] for name in (ROWS, REJECTED, LEFT_OUT, SERIES, SPANS)} == expected
    expected = {"queues_are_named": 2, "keys_are_unique": 2, "offsets_are_possible": 1}
    assert {name: count for name, count in fact[BROKEN].items() if count} == expected
    reasons = [
        (one["source_table"], json.loads(one["row_key"])["captured_at"][14:19], one["reasons"])
        for one in found.rejected
    ]
    assert sorted(reasons) == [
        ("offset_snapshots", "00:20", ["OFFSETS_ARE_POSSIBLE"]),
        ("offset_snapshots", "00:40", ["KEYS_ARE_UNIQUE"]),
        ("offset_snapshots", "01:00", ["KEYS_ARE_UNIQUE"]),
        ("offset_snapshots", "01:00", ["KEYS_ARE_UNIQUE"]),
        ("offset_snapshots", "01:20", ["QUEUES_ARE_NAMED"]),
        ("offset_snapshots", "01:20", ["QUEUES_ARE_NAMED"]),
    ]
    assert len({one["quarantine_id"] for one in found.rejected}) == 6


def test_a_state_stays_as_long_as_a_snapshot_of_it_does_and_goes_with_the_last() -> None:
    good, bad = membership(0, "c1"), membership(20, "")
    found = look({MEMBERSHIP_SNAPSHOTS: [good, bad]})
    (history,) = histories(found.states, found.samples)
    assert [len(one.states) for one in history.memberships.values()] == [1]
    of_bad = look({MEMBERSHIP_SNAPSHOTS: [bad]})
    assert [one.memberships for one in histories(of_bad.states, of_bad.samples)] == [{}]


def of_another_part(states: pa.Table, *kinds: str) -> pa.Table:
    """The same, with those of these kinds as copies, which are counted elsewhere."""
    counted = [kind not in kinds for kind in states["kind"].to_pylist()]
    return states.set_column(states.column_names.index("counted"), "counted", pa.array(counted))


def test_the_copies_of_a_topic_are_left_out_like_the_topic_and_not_counted() -> None:
    backwards = TOPIC | {"captured_at": at(20), "queues": [QUEUE | {"min_offset": 10}]}
    hosts = route(0, 4), route(20, 4) | {"queues": [route(0, 4)["queues"][0] | {"perm": 8}]}
    rows = {MEMBERSHIP_SNAPSHOTS: MEMBERS, ROUTE_SNAPSHOTS: [*hosts], TOPIC_SNAPSHOTS: [TOPIC, backwards]}
    found = look(rows)
    for table in (ROUTE_SNAPSHOTS, TOPIC_SNAPSHOTS):
        (fact,) = facts(found, table)
        assert (fact[ROWS], fact[REJECTED], fact[LEFT_OUT]) == (2, 1, 1)
    assert [(one["source_table"], json.loads(one["row_key"])) for one in found.rejected] == [
        (table, {"cluster": "c", "topic": "t", "captured_at": "2026-03-01T10:00:20.000Z"})
        for table in ("route_snapshots", "topic_snapshots")
    ]
    states, samples = gathered(rows)
    copies = checked(of_another_part(states, "route", "topic"), samples, SETTINGS)
    assert (copies.rejected, {fact.table_name for fact in copies.facts}) == ([], {"membership_snapshots"})
    for usable in (found, copies):
        one, other = histories(usable.states, usable.samples)
        for history in (one, other):
            assert len(history.routes["t"].times) == len(history.topics["t"].times) == 1


def test_of_two_lists_of_a_topic_at_one_time_no_group_is_given_either() -> None:
    rows = [TOPIC, TOPIC | {"queues": [QUEUE, QUEUE | {"queue_id": 1}]}, TOPIC | {"captured_at": at(20)}]
    states, samples = gathered({MEMBERSHIP_SNAPSHOTS: MEMBERS, TOPIC_SNAPSHOTS: rows})
    for one in (states, states.take([*range(len(states))][::-1]), of_another_part(states, "topic")):
        found = checked(one, samples, SETTINGS)
        for history in histories(found.states, found.samples):
            assert [len(history.topics["t"].times), history.topics["t"].queues] == [1, [("b", 0)]]


def test_every_step_is_counted_by_itself() -> None:
    rows = [membership(second, "c1", broker=broker) for second in (-20, 0, 20) for broker in ("b", "b2")]
    before, step = facts(look({MEMBERSHIP_SNAPSHOTS: rows[:-1]}), MEMBERSHIP_SNAPSHOTS)
    assert [one["step_start"] for one in (before, step)] == [at(second).isoformat() for second in (-3600, 0)]
    assert [one[ROWS] for one in (before, step)] == [2, 3]
    assert [one[SERIES] for one in (before, step)] == [2, 2]
    assert [one[SPANS] for one in (before, step)] == [0, 20_000_000]


def test_what_was_read_of_the_time_before_the_window_is_neither_counted_nor_left_out() -> None:
    early = offsets(-301, (-5, 90, 1))
    found = checked(*gathered({OFFSET_SNAPSHOTS: [early, offsets(0, GOOD)]}), replace(SETTINGS, read_start=at(-300)))
    (fact,) = facts(found, OFFSET_SNAPSHOTS)
    assert (fact[ROWS], fact[REJECTED]) == (1, 0)
    (history,) = histories(found.states, found.samples)
    assert len(history.offsets["t"].times) == 2


def test_the_key_of_every_output_has_its_group() -> None:
    """So that a key twice is found in its group."""
    for table in OUTPUTS:
        assert {"cluster", "consumer_group"} <= set(table.key) or table.key == ("finding_id",)
    assert {CLIENT_SNAPSHOTS.name, *(table.name for table in OUTPUTS)} <= {table.name for table in BY_TABLE}
