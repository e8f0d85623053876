"""Random fleets: Spark says of every interval, queue, backlog and group what plain Python says, step by step."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.domain.attribution import Part
from spark_jobs.jobs.audit import keep
from spark_jobs.progress.queue_progress import queue_progress
from spark_jobs.replay.moves import with_moves
from spark_jobs.replay.states import clipped, replayed_states
from spark_jobs.status.attribution import attribution, pace_before
from spark_jobs.status.group_status import group_status
from tests.replay import progresses, rebalances, statuses, timelines
from tests.replay.configured import CADENCE
from tests.replay.fleets_by_hand import FLEETS, FOUND, moment
from tests.replay.histories import Key, cases
from tests.replay.random_fleets import START, Fleet, random_fleet
from tests.replay.timelines import WINDOW, intervals_of, sources

#: Spark works on so many at once.
_BATCH = 400
#: A fleet has up to four histories in four steps each.
_CASES_PER_FLEET = 12

Outcome = dict[str, Mapping[Key, Any]]


@pytest.fixture(scope="module")
def outcomes(spark: SparkSession) -> tuple[dict[str, Fleet], Outcome, Outcome]:
    """Sixty random fleets and those written by hand, with what plain Python and Spark say of them."""
    fleets = [*map(random_fleet, range(60)), *FLEETS]
    return {fleet.cluster: fleet for fleet in fleets}, by_domain(fleets), by_spark(spark, fleets)


def test_random_fleets(outcomes: tuple[dict[str, Fleet], Outcome, Outcome]) -> None:
    check_equal(*outcomes)


@pytest.mark.fuzz
def test_many_random_fleets(spark: SparkSession) -> None:
    count = int(os.environ.get("FUZZ_CASES", "20000")) // _CASES_PER_FLEET
    for first in range(0, count, _BATCH):
        fleets = {f"fleet {seed}": random_fleet(seed) for seed in range(first, min(first + _BATCH, count))}
        check_equal(fleets, by_domain(list(fleets.values())), by_spark(spark, list(fleets.values())))


def check_equal(fleets: Mapping[str, Fleet], expected: Outcome, found: Outcome) -> None:
    """Fails with the smallest of the fleets on which Spark and plain Python differ."""
    for what in expected:
        _compare(what, fleets, expected[what], found[what])


def test_what_was_worked_out_by_hand(outcomes: tuple[dict[str, Fleet], Outcome, Outcome]) -> None:
    for outcome in outcomes[1:]:
        first_step = {
            (what, key.cluster, key.topic): said
            for what, of_all in outcome.items()
            for key, said in of_all.items()
            if key.step == START
        }
        _check_by_hand(first_step)


def _check_by_hand(said: dict[tuple[str, str, str], Any]) -> None:
    # From 20 s on, the list of a is over, and its readings belong to nobody's interval.
    tiles = {(row.view, row.start, row.end, row.measured.readings) for row in said["queues", "view over", "T"]}
    assert tiles == {("a", moment(0), moment(20), 2), ("a", moment(0), moment(20), 0)}
    # Before the split, a:0 was p's; to the list of a it is q's.
    assert said["growth", "view over", "T"] == (5, _parts(hand_over=5))
    # Nobody's queue does not change hands: 10 messages came in above the pace before, 5 were consumed.
    assert said["growth", "comes online", "T"] == (5, _parts(producer_surge=5))
    begun = {(one.start, one.view): one.triggers for one in said["rebalances", "new broker", "T"]}
    assert begun[moment(0), "a"] == (("QUEUES_ADDED", "b:0-1"),)
    assert begun[moment(0), "b"] == (("QUEUES_ADDED", "b:0-1"), ("MEMBER_LEFT", "q"))
    views = {
        name: {one.view for one in said["intervals of the step", name, "T"]} for name in ("half a cadence", "less")
    }
    assert views == {"half a cadence": {"*", "a", "b"}, "less": {"*"}}
    # r owns a queue of T and none of S.
    assert said["groups", "reconnected", ""].counts == (3, 3, 0, 5, 5, 0, 0)
    assert said["groups", "offline", ""].counts == (0, 0, 0, 2, 0, 0, 2)
    assert said["groups", "retrying", ""].counts == (3, 3, 1, 2, 2, 0, 0)
    assert said["groups", "retrying", ""].judged == ("ERROR", 3, "ALLOCATION", False, 1, 1)


def _parts(**messages: int) -> dict[str, int]:
    return {part.value: messages.get(part.value, 0) for part in Part}


def by_domain(fleets: Sequence[Fleet]) -> Outcome:
    """What plain Python says."""
    histories = cases(fleets)
    rows = progresses.by_domain(histories)
    growths = progresses.growths(histories, rows)
    return {
        "intervals": timelines.by_domain(histories),
        "intervals of the step": timelines.by_domain(histories, clipped_to_step=True),
        "rebalances": rebalances.by_domain(histories),
        "queues": rows,
        "growth": growths,
        "groups": statuses.by_domain(histories, rows, growths),
    }


def by_spark(spark: SparkSession, fleets: Sequence[Fleet]) -> Outcome:
    """What Spark says of all of them in one run."""
    recorded = sources(spark, fleets)
    intervals = keep(intervals_of(recorded))
    states = keep(replayed_states(intervals))
    moved = keep(with_moves(intervals, states, recorded.clients, WINDOW, CADENCE))
    progress = keep(queue_progress(intervals, states, recorded.offsets, WINDOW, progresses.ALLOWED_LAG))
    inside = clipped(moved)
    grown = keep(attribution(progress, inside, pace_before(recorded.offsets, WINDOW)))
    found = [(fleet.cluster, "plain", START, *one) for fleet in fleets for one in FOUND.get(fleet.cluster, ())]
    key = "cluster string, consumer_group string, step_start timestamp"
    findings = spark.createDataFrame(found, f"{key}, rule string, cause string, severity string")
    return {
        "intervals": timelines.by_spark(intervals),
        "intervals of the step": timelines.by_spark(clipped(intervals)),
        "rebalances": rebalances.by_spark(moved),
        "queues": progresses.by_spark(progress),
        "growth": progresses.growths_by_spark(grown),
        "groups": statuses.by_spark(group_status(inside, progress, grown, findings)),
    }


def _compare(what: str, fleets: Mapping[str, Fleet], expected: Mapping[Key, Any], found: Mapping[Key, Any]) -> None:
    keys = expected.keys() | found.keys()
    differing = sorted(key for key in keys if expected.get(key) != found.get(key))
    if differing:
        key = min(differing, key=lambda one: (fleets[one.cluster].size, one))
        plain, spark = _lines(expected.get(key)), _lines(found.get(key))
        lines = [f"{what}: {len(differing)} of {len(keys)} differ; in the smallest fleet, {key}", "only plain Python:"]
        lines += [f"  {line}" for line in plain if line not in spark]
        lines += ["only Spark:", *(f"  {line}" for line in spark if line not in plain)]
        pytest.fail("\n".join(lines))


def _lines(said: Any) -> list[Any]:
    return said if isinstance(said, list) else [said]
