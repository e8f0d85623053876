"""A group that members consume whom no broker lists."""

from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.rules.owners_unknown import MEMBERS_UNSEEN as RULE
from tests.support.builders import audited_step, interval
from tests.support.findings import rule_hit


def test_one_hit_per_interval_of_an_ordinary_topic_with_the_reason_as_its_cause() -> None:
    step = audited_step(
        interval(0, 100, reason=Reason.CONSUMED_THROUGH_PROXY),
        interval(100, 200, reason=Reason.CONSUMED_BY_UNSEEN),
        interval(0, 100, reason=Reason.CONSUMED_THROUGH_PROXY, topic="%RETRY%g"),
        interval(200, 300),
    )
    assert list(RULE.hits(step)) == [
        rule_hit(start, start + 100, cause, severity="INFO", minimum_seconds=50.0)
        for start, cause in ((0, "CONSUMED_THROUGH_PROXY"), (100, "CONSUMED_BY_UNSEEN"))
    ]
