"""Messages that come again, from a real cluster: `tests/data/redelivery.jsonl.gz`, cut from a recording of
`tests/end_to_end/live/redelivery.py` (RocketMQ 5.4.0, two brokers), 200 s, every 10 s, without lines of kind `call`.

Two POP groups of two members get a message a second each. Listeners of `timely-service` take 100 ms, and messages are
invisible for 60 s; those of `late-service` take 15 s, and messages are invisible for 10 s. What is expected is written
by hand, from the offsets that the brokers told. In the last two minutes revive threads of both brokers failed for want
of direct memory, as pop.log says (`revive error`): too short a time for POP_REVIVE_STUCK.
"""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from schemas import FINDINGS, OFFSET_SNAPSHOTS, REBALANCE_INTERVALS, Table
from tests.support.kernel import published_hour, recorded_rows
from tests.support.tables import measures

FILE = Path(__file__).parents[2] / "data" / "redelivery.jsonl.gz"
REVIVE = "rmq_sys_REVIVE_LOG_LiveCluster"
#: Group | its topics with offsets, but for its ordinary retry topic.
TOPICS = {
    "late-service": {"late-topic", "%RETRY%late-service_late-topic"},
    "timely-service": {"timely-topic", "%RETRY%timely-service_timely-topic"},
    "CID_RMQ_SYS_REVIVE_GROUP": {REVIVE},
}


@pytest.fixture(scope="module")
def audited() -> dict[Table, list[dict[str, Any]]]:
    return published_hour(recorded_rows(FILE), cadence_seconds=10)


def test_brokers_return_offsets_of_both_kinds_of_topics() -> None:
    offsets = recorded_rows(FILE)[OFFSET_SNAPSHOTS]
    found: dict[Any, set[Any]] = defaultdict(set)
    for row in offsets:
        if row["topic"] != f"%RETRY%{row['consumer_group']}":
            found[row["consumer_group"]].add(row["topic"])
    assert found == TOPICS
    (revive, *_) = (row["offsets"] for row in offsets if row["topic"] == REVIVE)
    queues = [(one["broker_name"], one["queue_id"]) for one in revive]
    assert queues == [(broker, number) for broker in ("broker-a", "broker-b") for number in range(8)]


def test_the_group_that_is_late_gets_more_again_than_it_consumes(audited: dict[Table, list[dict[str, Any]]]) -> None:
    """170 s from the first growth of the retry topic to the last: 8 and 8 messages in it, then 221 and 141; 28 of the
    topic itself were consumed, then 189. The last sample counts for 30 s. Of `timely-service`, 4 messages came again.
    """
    found = [row for row in audited[FINDINGS] if row["rule"] != "UNOBSERVED"]
    names = ("consumer_group", "rule", "severity", "cause", "topic", "subject")
    assert [tuple(row[name] for name in names) for row in found] == [
        ("late-service", "POP_REDELIVERING", "ERROR", "NOT_ACKNOWLEDGED", "late-topic", "broker-a:0, broker-b:0")
    ]
    (finding,) = found
    assert round((finding["ended_at"] - finding["started_at"]).total_seconds()) == 170 + 30
    redelivered = 221.0 - 8.0 + 141.0 - 8.0
    assert measures(finding["evidence"]) == {"consumed": 189.0 - 28.0, "redelivered": redelivered}


def test_no_member_owns_queues_that_brokers_fill_by_themselves(audited: dict[Table, list[dict[str, Any]]]) -> None:
    topics = {(row["consumer_group"], row["topic"]) for row in audited[REBALANCE_INTERVALS]}
    services = ("late", "timely")
    assert topics == {
        (f"{name}-service", topic) for name in services for topic in (f"{name}-topic", f"%RETRY%{name}-service")
    }
