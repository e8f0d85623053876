"""A group that members consume whom no broker lists."""

from __future__ import annotations

from dataclasses import replace

from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.rules.members_unseen import RULE
from tests.support.builders import audited_step, interval
from tests.support.times import micros


def test_one_hit_per_interval_of_an_ordinary_topic_with_the_reason_as_its_cause() -> None:
    through = replace(interval(0, 100), reason=Reason.CONSUMED_THROUGH_PROXY)
    step = audited_step(
        through,
        replace(through, start=micros(100), end=micros(200), reason=Reason.CONSUMED_BY_UNSEEN),
        replace(through, topic="%RETRY%g"),
        interval(200, 300),
    )

    def hit(start: int, end: int, cause: str) -> RuleHit:
        times = {"minimum_seconds": 50.0}
        return RuleHit(micros(start), micros(end), cause=cause, severity="INFO", **times)  # type: ignore[arg-type]

    assert list(RULE.hits(step)) == [hit(0, 100, "CONSUMED_THROUGH_PROXY"), hit(100, 200, "CONSUMED_BY_UNSEEN")]
