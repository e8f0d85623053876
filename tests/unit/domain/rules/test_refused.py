"""A topic that a broker refuses to a member: what is reported, of which queues, and since when."""

from collections.abc import Callable, Collection
from dataclasses import replace

import pytest

from spark_jobs.domain.model.finding import Finding
from tests.support.reporting import Course, by_rule, history, step_of
from tests.support.samples import oldest
from tests.support.times import START, micros

COURSE: Course = ((0, "c1", {"b": 2}),)
#: One message a second comes into queue 0 of `t`, none into queue 1.
_READ = oldest([("b", 0), ("b", 1)], {second: [f"0/{second}", "0/9"] for second in range(0, 600, 30)})


def _refusals(subscribed: Callable[[int], Collection[str]], consume_type: str | None = None) -> list[Finding]:
    recorded = history(
        COURSE, by_rule(COURSE, lambda _, __, queues: queues), subscribed=subscribed, consume_type=consume_type
    )
    read = replace(_READ, times=_READ.times - _READ.times[0] + START)
    return [each for each in step_of(replace(recorded, topics={"t": read})).findings if each.cause == "REFUSED"]


def test_the_owner_gets_nothing_of_what_the_brokers_subscription_lacks() -> None:
    """From 200 s to 400 s; samples at 210 s and 390 s: 180 messages."""
    (refused,) = _refusals(lambda second: () if 200 <= second < 400 else ("t",))
    assert (refused.rule, refused.severity, refused.evidence.client_ids) == ("CONSUMER_STALLED", "ERROR", ["c1"])
    assert (refused.started_at, refused.ended_at) == (micros(200), micros(400))
    (queue,) = refused.evidence.queues
    assert (queue.topic, queue.broker_name, queue.queue_id, queue.backlog_end) == ("t", "b", 0, 180)


@pytest.mark.parametrize(
    ("subscribed", "consume_type"),
    [
        (lambda _: ("t",), None),
        (lambda second: () if second // 30 % 2 else ("t",), None),
        (lambda _: (), "CONSUME_ACTIVELY"),
    ],
    ids=["listed", "changes with each heartbeat", "pulls by hand"],
)
def test_nothing_is_refused(subscribed: Callable[[int], Collection[str]], consume_type: str | None) -> None:
    assert _refusals(subscribed, consume_type) == []
