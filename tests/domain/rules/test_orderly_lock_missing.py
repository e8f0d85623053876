"""ORDERLY_LOCK_MISSING on the hour of `client_groups`."""

from __future__ import annotations

from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.rules.orderly_lock_missing import RULE
from tests.domain.rules.client_groups import hits_of
from tests.domain.rules.client_steps import micros


def test_a_hit_is_a_span_and_a_queue_and_as_bad_as_the_harm() -> None:
    assert hits_of(RULE, "unlocked") == [
        RuleHit(
            micros(200),
            micros(240),
            cause="NOT_LOCKED",
            topic="unlocked",
            client_id="c1",
            queue=FindingQueue("unlocked", "b", queue_id, "UNLOCKED"),
            implicated="c1",
        )
        for queue_id in (0, 1)
    ]
