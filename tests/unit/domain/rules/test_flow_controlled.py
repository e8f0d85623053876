"""FLOW_CONTROLLED on the hour of `client_groups`, and its measures."""

import pytest

from spark_jobs.domain.rules.flow_controlled import RULE
from tests.support.client_groups import held, hits_of
from tests.support.client_steps import recorded_step, replayed
from tests.support.findings import rule_hit
from tests.support.kernel import settings
from tests.support.snapshots import client, offsets
from tests.support.times import micros


def test_it_is_a_warning_with_what_is_cached() -> None:
    measures = {"cached_count": 1001.0, "cached_mib": 0.0, "cached_span": 0.0, "limit": 1000.0}
    about = {"topic": "full", "client_id": "c1", "implicated": "c1", "severity": "WARN", "weight": 1.001}
    full = rule_hit(200, 340, "CACHED_MESSAGES", "full b:0 THROTTLED", measures=measures, **about, minimum_seconds=120)
    assert hits_of(RULE, "full")[0] == full


@pytest.mark.parametrize(
    ("cached", "limits", "cause", "limit", "weight"),
    [
        ({"cached_count": 1500, "cached_mib": None}, {}, "CACHED_MESSAGES", 1000, 1.5),
        ({"cached_mib": 250}, {}, "CACHED_SIZE", 100, 2.5),
        ({"cached_max_offset": 4000}, {}, "CACHED_SPAN", 1000, 4.0),
        ({"cached_count": 1}, {"cached_messages": 0}, "CACHED_MESSAGES", 0, None),
    ],
)
def test_the_weight_is_how_far_beyond_its_limit_the_queue_is(
    cached: dict[str, int | None], limits: dict[str, int], cause: str, limit: int, weight: float | None
) -> None:
    rows = [
        client(second, consume_orderly=False, owned_queues=[held("t", 0, second, dict(cached))]) for second in (0, 20)
    ]
    (hit,) = RULE.hits(recorded_step(rows, settings=settings(**limits)))
    assert (hit.cause, hit.weight) == (cause, weight)
    expected = {"cached_count": 0, "cached_mib": 0, "cached_span": cached.get("cached_max_offset", 0), "limit": limit}
    assert hit.measures == expected | {name: value for name, value in cached.items() if name in expected}


def test_a_span_is_reached_since_its_oldest_message_is_the_oldest() -> None:
    """By the client's own limit, 1000: the message at 500 is the oldest from the second snapshot on."""
    cached = {60: (400, 480), 80: (500, 500), 100: (500, 900), 120: (500, 1500), 140: (500, 1500)}
    rows = [
        client(
            second,
            consume_orderly=False,
            consume_max_span=1000,
            owned_queues=[held("t", 0, second, {"cached_min_offset": low, "cached_max_offset": high})],
        )
        for second, (low, high) in cached.items()
    ]
    (hit,) = RULE.hits(recorded_step(rows))
    assert (hit.start, hit.end, hit.cause, hit.weight) == (micros(80), micros(200), "CACHED_SPAN", 1.0)


@pytest.mark.parametrize(("cached_count", "causes"), [(0, []), (7, ["CACHED_SIZE"])])
def test_a_client_that_counts_too_many_mib_and_holds_nothing_is_not_slow(cached_count: int, causes: list[str]) -> None:
    """Queue 0 stands from 100 s on."""
    rows, read = [], []
    for second in range(0, 660, 20):
        cached = {"cached_count": cached_count, "cached_mib": 101} if second > 100 else {}
        rows.append(client(second, owned_queues=[held("t", 0, second, cached)]))
        read.append(offsets(second, (second + 1, min(second, 100), 1)))
    step = recorded_step(rows, replayed("t", 0, 660, {"c1": [0]}, 1), read=read)
    assert [hit.cause for hit in RULE.hits(step)] == causes


@pytest.mark.parametrize(("cadence", "minimum"), [(20, 120), (40, 120), (60, 180)])
def test_a_burst_is_no_matter_of_the_collection_interval(cadence: int, minimum: int) -> None:
    """Two snapshots a minute apart stand for two minutes: three are needed."""
    rows = [
        client(second, owned_queues=[held("t", 0, second, {"cached_count": 1500})])
        for second in range(0, 3 * cadence, cadence)
    ]
    (hit,) = RULE.hits(recorded_step(rows, settings=settings(cadence)))
    assert hit.minimum_seconds == minimum
