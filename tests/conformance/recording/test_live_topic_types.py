"""Topics of each message type, as a real broker gave them to `capture`: `tests/data/topic_types.jsonl.gz`.

RocketMQ 5.5.1, asked by an admin client of 5.4.0, every 5 s for a minute. The tables are written by hand from what was
started on one broker, with 4 queues a topic:

- `bills`: 50 messages a second, of which every tenth has the tag that its one consumer subscribes to;
- `urgent`, type PRIORITY: one member that is to pop; 8 messages a second of priority 0, 42 of priority 3. It committed
  nothing in this minute, so the queues are unknown, and no starvation shows;
- `sessions`, type LITE: 5 messages a second for seven lite topics, and an ordinary consumer of a group that is bound to
  the parent topic: there is no client of lite topics in this recording.
"""

from functools import cache
from pathlib import Path

from schemas import FINDINGS, GROUP_STATUS, QUEUE_PROGRESS, REBALANCE_INTERVALS, ROUTE_SNAPSHOTS
from tests.support.kernel import published_hour, recorded_rows
from tests.support.tables import cells

FILE = Path(__file__).parents[2] / "data" / "topic_types.jsonl.gz"
#: Topic | message type | status | reason.
TOPICS = """
bills    | NORMAL   | REPLAYED       |
urgent   | PRIORITY | NOT_APPLICABLE | POP_ALL_QUEUES
sessions | LITE     | NOT_APPLICABLE | LITE
"""


audited = cache(lambda: published_hour(recorded_rows(FILE), cadence_seconds=5))


def test_every_route_has_the_type_of_its_topic_from_the_first_on() -> None:
    told = {
        (row["topic"], row["message_type"]) for row in recorded_rows(FILE)[ROUTE_SNAPSHOTS] if row["topic"][0] != "%"
    }
    rows = [row for row in audited()[REBALANCE_INTERVALS] if row["topic"][0] != "%" and row["status"] != "UNOBSERVED"]
    assert told == {line[:2] for line in cells(TOPICS)}
    assert {(row["topic"], row["status"], row["reason"] or "") for row in rows} == {
        (topic, status, reason) for topic, _, status, reason in cells(TOPICS)
    }


def test_the_offset_of_a_group_that_filters_advances_over_what_it_skips() -> None:
    """Some 55 s between the first sample and the last one: 690 messages a queue, of which 69 have the tag."""
    rows = [row for row in audited()[QUEUE_PROGRESS] if row["topic"] == "bills"]
    assert [(row["lag_quality"], row["verdict"]) for row in rows] == [("UNFILTERED", "OK")] * 4
    for row in rows:
        assert 600 < row["produced"] < 750
        assert abs(row["consumed"] - row["produced"]) < 50


def test_nothing_is_measured_of_the_parent_of_lite_topics_and_nobody_is_alarmed() -> None:
    assert [row for row in audited()[QUEUE_PROGRESS] if row["topic"] == "sessions"] == []
    # The recording ends before its hour.
    assert {(row["rule"], row["severity"]) for row in audited()[FINDINGS]} == {("UNOBSERVED", "INFO")}
    status = {row["consumer_group"]: row["lag_quality"] for row in audited()[GROUP_STATUS]}
    assert (status["bills-eu"], status["sessions-lite"]) == ("UNFILTERED", "MEASURED")
