"""CONSUMER_LAGGING of queues that all members may pop."""

import pytest

from tests.support.kernel import evaluated
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
