"""SLOW_LISTENER on the hour of `client_groups`, and its measures."""

from __future__ import annotations

from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.rules.slow_listener import RULE
from tests.support.client_groups import hits_of
from tests.support.times import micros

SLOWER = {"consume_rt_ms": 200, "pull_rt_ms": 50, "usual_consume_rt_ms": 20, "usual_pull_rt_ms": 50}
BUSY = {"busy_threads": 1, "consume_threads": 1, "consume_rt_ms": 400, "pull_rt_ms": 1}


def test_busy_is_one_hit_per_span_of_the_client() -> None:
    assert hits_of(RULE, "busy") == [
        RuleHit(
            micros(200),
            micros(320),
            cause="ALL_THREADS_BUSY",
            client_id="c1",
            implicated="c1",
            minimum_seconds=120.0,
            severity="WARN",
            weight=1.0,
            measures=BUSY,
        )
    ]


def test_slower_is_one_hit_per_snapshot_and_topic() -> None:
    assert hits_of(RULE, "slower") == [
        RuleHit(
            micros(second),
            micros(second + 20),
            cause="RESPONSE_TIME_ROSE",
            topic="t",
            client_id="c1",
            implicated="c1",
            minimum_seconds=120.0,
            severity="WARN",
            weight=200.0,
            measures=SLOWER,
        )
        for second in range(200, 320, 20)
    ]


def test_what_was_so_before_is_measured_too() -> None:
    assert [hit.measures for hit in hits_of(RULE, "slower-since")] == [SLOWER] * 7
