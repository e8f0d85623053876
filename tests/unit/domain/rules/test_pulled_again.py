"""Messages that a member consumes several times while its offsets go forward: CONSUME_FAILING/PULLED_AGAIN on hours
written by hand.

Times are seconds after 10:00, a snapshot every 20 s. Member c1 owns both queues of topic `t`, of broker `b`, to each of
which 4 messages a second come.
"""

from collections.abc import Callable
from typing import Any

import pytest

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS
from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.model.window import SECOND, to_micros
from spark_jobs.domain.rules.consume_failing import RULE
from tests.support.kernel import evaluated
from tests.support.snapshots import client, membership, offsets, route
from tests.support.times import HOUR

TIMES = range(0, 3600, 20)
START = to_micros(HOUR.start)
#: A number at a second.
At = Callable[[int], float]


def steady(second: int) -> float:
    """The offset of a queue to which 4 messages a second come."""
    return 100.0 + 4 * second


def repeated(
    reported: At = lambda _: 240.0,
    committed: At = steady,
    came: At = steady,
    failed: float = 0.0,
    queues: int | None = 2,
    drops: bool = False,
) -> list[Finding]:
    """The findings, if c1 reports so many messages a second; `committed`, `came`: the offsets of each queue. It
    reports the first `queues` (None: not which), and the second one only at first if it `drops` it.
    """
    fields = {"consume_ok_tps": 0.0, "consume_failed_tps": failed, "consume_rt_ms": 1.0}
    owned = [{"topic": "t", "broker_name": "b", "queue_id": queue} for queue in range(queues or 0)]

    def row(second: int) -> dict[str, Any]:
        status = {"topic": "t", **fields, "consume_ok_tps": reported(second)}
        has = None if queues is None else owned[: 1 if drops and second else None]
        return client(second, "c1", owned_queues=has, consume_status=[status])

    rows = {
        MEMBERSHIP_SNAPSHOTS: [membership(second, "c1") for second in TIMES],
        ROUTE_SNAPSHOTS: [route(second, 2) for second in TIMES],
        OFFSET_SNAPSHOTS: [offsets(s, *[(int(came(s)), int(committed(s)), 1)] * 2) for s in TIMES],
        CLIENT_SNAPSHOTS: [row(second) for second in TIMES],
    }
    (step,) = evaluated(rows, HOUR)
    return [finding for finding in step.findings if finding.cause == "PULLED_AGAIN"]


def test_a_member_consumes_more_than_can_have_come() -> None:
    """8 a second come, and it consumes 240: 232 more, in an hour."""
    (finding,) = repeated()
    assert (finding.severity, finding.topic, finding.evidence.client_ids) == ("WARN", "t", ["c1"])
    assert (finding.started_at - START, finding.ended_at - START) == (0, 3600 * SECOND)
    assert [queue[:3] for queue in finding.evidence.queues] == [("t", "b", 0), ("t", "b", 1)]
    assert dict(finding.evidence.measures or ()) == {
        "consumed_again": 835_200.0,
        "consumed_per_second": 240.0,
        "different_per_second": 8.0,
    }
    assert RULE.detail
    assert RULE.detail(finding) == "one consumes 240 messages/s, at most 8.0 of them different, and each about 30 times"
    assert RULE.broker(finding) == "b"


def test_it_does_so_for_twenty_minutes() -> None:
    (finding,) = repeated(lambda second: 240.0 if 1200 <= second < 2400 else 8.0)
    assert (finding.started_at - START, finding.ended_at - START) == (1200 * SECOND, 2400 * SECOND)


@pytest.mark.parametrize("dropped_second_queue", [False, True])
def test_messages_of_a_queue_that_it_had_can_explain_it(dropped_second_queue: bool) -> None:
    """12 a second are more than twice the 4 of one queue, and no more than twice the 8 of both."""
    queues = 2 if dropped_second_queue else 1
    found = repeated(lambda _: 12.0, queues=queues, drops=dropped_second_queue)
    assert bool(found) is not dropped_second_queue


@pytest.mark.parametrize(
    ("what", "of"),
    [
        ("as many as come", {"reported": lambda _: 8.0}),
        ("less than twice as many", {"reported": lambda _: 15.0}),
        ("what is unknown", {"reported": lambda _: None}),
        ("of queues that are unknown", {"queues": None}),
        ("messages that fail, and are retried", {"reported": lambda _: 0.0, "failed": 240.0}),
        ("less than one a second", {"reported": lambda _: 0.9, "came": lambda _: 100, "committed": lambda _: 100}),
        ("a backlog", {"came": lambda _: 500_000, "committed": lambda second: 100 + 120 * second}),
        ("what waits above an offset that is held back", {"came": lambda _: 100_000, "committed": lambda _: 100}),
        ("again, after offsets went back", {"committed": lambda second: 100 + 4 * (second % 300)}),
        (
            "30,000 that came just before a window",
            {
                "reported": lambda second: 500.0 if 560 < second <= 620 else 0.0,
                "came": lambda second: 100 if second <= 560 else 15_100,
                "committed": lambda second: 100 if second <= 580 else 15_100,
            },
        ),
    ],
)
def test_it_consumes(what: str, of: dict[str, Any]) -> None:
    assert not repeated(**of), what
