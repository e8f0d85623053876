"""Topics of which few queues get most messages."""

from __future__ import annotations

from dataclasses import replace

from spark_jobs.domain.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.rules.producer_skew import RULE, skew
from tests.domain.rules.builders import allocation, audited_step, interval, members
from tests.domain.rules.readings import progress, span

#: broker:messages of each queue (`?`: unknown), least mean | busiest ÷ mean (`-`: nothing to say)
_SKEWS = """
    a:100 a:100 a:100 a:100     100 | 1.0
    a:400 a:0 a:0 a:0           100 | 4.0
    a:399 a:0 a:0 a:0           100 | -
    a:300 a:100 b:0 b:0         100 | 1.5
    a:300 a:100 b:1 b:0         100 | 2.993
    a:300 a:100 a:? a:?         100 | 1.5
    a:? b:0                     0   | -
    a:0 a:0                     0   | -
    a:500                       100 | 1.0
"""
LISTED = members("c1")


def test_how_skewed_production_is() -> None:
    for line in _SKEWS.strip().splitlines():
        cells, _, expected = line.partition("|")
        *queues, least_mean = cells.split()
        pairs = [queue.split(":") for queue in queues]
        produced = [(broker, None if messages == "?" else int(messages)) for broker, messages in pairs]
        found = skew(produced, int(least_mean))
        assert ("-" if found is None else str(round(found.ratio, 3))) == expected.strip(), line


def produced(start: int, *messages: int | None, end: int = 3600, topic: str = "t") -> IntervalProgress:
    """Of queues 0 …, with one owner."""
    of = interval(start, end, LISTED, allocation(LISTED, " ".join("0" for _ in messages)), topic=topic)
    return progress(of, start, end, produced=messages)


def step_with(*parts: IntervalProgress) -> AuditedStep:
    return replace(audited_step(*(one.interval for one in parts)), progress=parts)


def hot(*parts: IntervalProgress) -> list[tuple[int, str, float | None]]:
    found = list(RULE.hits(step_with(*parts)))
    assert {(hit.cause, hit.view, hit.severity) for hit in found} <= {("HOT_QUEUES", "*", "WARN")}
    return [(hit.queue.queue_id, span(hit), hit.weight) for hit in found if hit.queue]


def test_queues_that_get_more_than_others() -> None:
    assert hot(produced(200, 400, 0, 0, 0)) == [(0, "200-3600", 400)]
    assert hot(produced(200, 396, 0, 0, 0)) == []
    assert hot(produced(200, 599, 201, 200, 200)) == []
    assert hot(produced(200, 600, 200, 200, 200)) == [(0, "200-3600", 600)]
    assert hot(produced(200, 400, 200, None, None)) == []
    assert hot(produced(200, 0, 900, 0, 800, 0, 0)) == [(1, "200-3600", 900), (3, "200-3600", 800)]
    assert hot(produced(200, 400, 0, 0, 0, topic="%RETRY%g")) == []
    assert hot(produced(200, None, None)) == []
    assert hot() == []


def test_messages_of_all_intervals_count_together() -> None:
    """Twice the mean of 300: 400 in one interval, 200 in another, which has one queue only."""
    parts = (produced(0, 200, end=200), produced(200, 400, 200, 200, 200))
    assert hot(*parts) == [(0, "0-3600", 600)]
    (hit,) = RULE.hits(step_with(*parts))
    assert hit.measures == {"max_over_mean": 2, "mean": 300, "produced_max": 600}
    assert hit.queue
    assert (hit.topic, hit.queue.topic, hit.queue.broker_name, hit.queue.role) == ("t", "t", "b", "HOT")


def test_a_queue_unknown_in_one_interval_has_what_is_known_of_it() -> None:
    """0: 600, 1: 100, 2: 100, 3: unknown."""
    parts = (produced(0, 600, None, 50, None, end=100), produced(100, None, 100, 50, None))
    assert hot(*parts) == [(0, "0-3600", 600)]
    (hit,) = RULE.hits(step_with(*parts))
    assert (hit.measures or {})["mean"] == 800 / 3


def test_topics_are_apart() -> None:
    assert hot(produced(0, 400, 0), produced(0, 100, 100, topic="u")) == [(0, "0-3600", 400)]
    assert hot(produced(0, 150, 150), produced(0, 150, 149, topic="u")) == []


def test_brokers_that_got_nothing_are_left_out() -> None:
    """Two queues of broker `b` share 300 and 100; broker `z` got nothing: 300 is 1.5 times the mean, not 3 times."""
    part = produced(0, 300, 100, 0, 0)
    assert part.interval.allocation
    owned = replace(part.interval.allocation, queues=[("b", 0), ("b", 1), ("z", 0), ("z", 1)])
    assert hot(replace(part, interval=replace(part.interval, allocation=owned))) == []
    assert hot(part) == [(0, "0-3600", 300)]
