"""CONSUMER_LAGGING of queues that all members may pop, that brokers filter, and that are worked off slowly."""

from collections.abc import Container, Sequence
from typing import Any

import pytest

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS
from spark_jobs.domain.rules.consumer_lagging import RULE
from tests.support.builders import span
from tests.support.kernel import evaluated
from tests.support.snapshots import membership, offsets, route
from tests.support.tables import described
from tests.support.times import HOUR
from tests.support.what_if import client_row, rate, snapshots, status

#: One thread that takes 400 ms is busy with 2.5 messages a second, and half of the time with 1.25.
BUSY, IDLE = "400/2.5/1/2.5", "400/1.25/1/1.25"


@pytest.mark.parametrize(("second_member", "root"), [(BUSY, "SLOW_LISTENER"), (IDLE, None)])
def test_a_topic_that_all_members_pop_lags_because_all_of_them_are_busy(second_member: str, root: str | None) -> None:
    minutes = {"c1": BUSY, "c2": second_member}
    rows = [
        client_row(second, client_id, [status(minute)], queues=0, client_rebalance=False)
        for second in range(0, 601, 20)
        for client_id, minute in minutes.items()
    ]
    (step,) = evaluated(snapshots(lambda _: ["c1", "c2"], [rate(5)] * 2, [rate(2)] * 2, clients=rows), HOUR)
    rule_of = {found.finding_id: found.rule for found in step.findings}
    (lagging,) = [found for found in step.findings if found.rule == "CONSUMER_LAGGING"]
    assert rule_of.get(lagging.root_finding_id or "") == root
    assert lagging.evidence.client_ids == (["c1", "c2"] if root else [])


@pytest.mark.parametrize(
    ("expression", "minute", "expected"),
    described("""
        the broker skips nine of ten messages | VIP | 5/3.6/1/4 | FILTERED_SLOWLY
        … fewer                               | VIP | 5/3.7/1/4 | FALLING_BEHIND
        … but the members are busy            | VIP | 200/3.6/1/4 | FALLING_BEHIND
        … or consume nothing                  | VIP | 5/0/1/4   | FALLING_BEHIND
        the group has no filter               | *   | 5/3.6/1/4 | FALLING_BEHIND
    """),
)
def test_idle_members_lag_because_brokers_filter(expression: str, minute: str, expected: str) -> None:
    """Of 80 messages a second the offsets advance by 40, or by 36 until the span ends."""
    rows = [client_row(second, "c1", [status(minute)], queues=2) for second in range(0, 601, 20)]
    snapshots_of = snapshots(lambda _: ["c1"], [rate(40)] * 2, [rate(20)] * 2, clients=rows)
    for row in snapshots_of[MEMBERSHIP_SNAPSHOTS]:
        row["subscriptions"] = [each | {"sub_string": expression} for each in row["subscriptions"]]
    (step,) = evaluated(snapshots_of, HOUR)
    (lagging,) = [found for found in step.findings if found.rule == "CONSUMER_LAGGING"]
    assert lagging.cause == expected
    assert ("subscribes to VIP: its members are idle and consume 3.6 " in lagging.advice) == (
        expected == "FILTERED_SLOWLY"
    )


def worked_off(
    pace: float, *, since: int = 100, stands: Container[int] = (), back: int = 0, clients: Sequence[dict[str, Any]] = ()
) -> list[tuple[str, float]]:
    """When, and how many messages waited at most, of a queue into which 1,000 come at once, `since`: so many of them a
    second are consumed. At 600 s the offset goes `back`.
    """
    times, consumed, offset = range(0, 2400, 20), [], 0.0
    for second in times:
        offset += 0 if second in stands or second <= since else min(20 * pace, 1000 - offset)
        offset -= back if second == 600 else 0
        consumed.append(int(offset))
    rows = {
        MEMBERSHIP_SNAPSHOTS: [membership(second, "c1") for second in times],
        ROUTE_SNAPSHOTS: [route(second, 1) for second in times],
        OFFSET_SNAPSHOTS: [
            offsets(second, (1 + 1000 * (second >= since), 1 + one, 1))
            for second, one in zip(times, consumed, strict=True)
        ],
        CLIENT_SNAPSHOTS: clients,
    }
    (step,) = evaluated(rows, HOUR)
    hits = (hit for hit in RULE.hits(step.step) if hit.cause == "WORKED_OFF_SLOWLY")
    return [(span(hit), hit.weight or 0) for hit in hits]


def test_a_burst_of_which_messages_wait_seven_minutes_later_is_worked_off_slowly() -> None:
    assert worked_off(1.0) == [("100-1060", 1000)]
    assert worked_off(2.0) == [("100-580", 1000)]
    assert worked_off(2.5) == []


def test_what_stands_or_goes_back_or_was_there_before_is_not_worked_off() -> None:
    assert worked_off(1.0, stands=range(300, 380)) == [("100-1140", 1000)]
    assert worked_off(1.0, stands=range(300, 400)) == []
    assert worked_off(1.0, back=100) == []
    assert worked_off(1.0, since=0) == []


def test_clients_that_report_say_themselves_what_keeps_them() -> None:
    rows = [client_row(second, "c1", [status("400/1/1/1")]) for second in range(0, 2400, 20)]
    assert worked_off(1.0, clients=rows) == []
