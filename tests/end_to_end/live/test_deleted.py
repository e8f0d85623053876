"""A group and a topic are deleted, as `mqadmin deleteSubGroup` and `deleteTopic` do, while `capture` records."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest

from schemas import FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS, Table
from tests.end_to_end.live import scenario
from tests.end_to_end.live.cluster import cluster
from tests.end_to_end.live.recorded import Recorded

pytestmark = pytest.mark.live

CADENCE = 5
#: Groups are listed in every third round.
LATE = timedelta(seconds=4 * CADENCE + 5)
#: Seconds until the group's only process is killed, from then until the deletions, and from there to the end.
BEFORE, OFFLINE, AFTER = 40, 60, 90
GROUP, ITS_TOPIC, TOPIC, STAYS = "retired-service", "orders", "retired-topic", "slow-service"


class Deleted(NamedTuple):
    """What was published of the recording; when the process was killed, and the time of the deletions."""

    published: Mapping[Table, list[dict[str, Any]]]
    killed: datetime
    began: datetime
    ended: datetime

    def reasons(self, group: str, topic: str) -> list[tuple[str, str | None, datetime]]:
        """Status, reason and start of the intervals, one per state."""
        of_topic = (
            (row["interval_start"], row["status"], row["reason"])
            for row in self.published[REBALANCE_INTERVALS]
            if (row["consumer_group"], row["topic"]) == (group, topic)
        )
        states: list[tuple[str, str | None, datetime]] = []
        for start, status, reason in sorted(of_topic):
            if not states or states[-1][:2] != (status, reason):
                states.append((status, reason, start))
        return states

    def findings(self, group: str) -> list[dict[str, Any]]:
        return [row for row in self.published[FINDINGS] if row["consumer_group"] == group]

    def status(self, group: str) -> dict[str, Any]:
        return [row for row in self.published[GROUP_STATUS] if row["consumer_group"] == group][-1]


@pytest.fixture(scope="module")
def deleted(tmp_path_factory: pytest.TempPathFactory) -> Deleted:
    """The slow group has some 400 messages to consume, one in five seconds."""
    # Without it a broker does not delete a topic to its end.
    with cluster(tmp_path_factory.mktemp("deleted"), "timerWheelEnable=true\n") as made:
        made.admin("topics", f"{ITS_TOPIC}:2", f"{TOPIC}:2")
        made.clients("producer", "produce", [ITS_TOPIC])
        made.clients("sender", "send", [f"{TOPIC},400,0,10"])
        made.consumers("retired", [f"{GROUP},{ITS_TOPIC},10.9.9.1,1,avg"])
        made.consumers("slow", [f"{STAYS},{TOPIC},10.9.9.2,1,avg,1,5000,0"])
        time.sleep(45)
        out = made.folder / "recordings"
        capture = scenario.start_capture(made, out, CADENCE)
        time.sleep(BEFORE)
        killed = datetime.now(UTC)
        made.stop("retired")
        time.sleep(OFFLINE)
        began = datetime.now(UTC)
        made.admin("delete-group", GROUP)
        made.admin("delete-topic", TOPIC)
        ended = datetime.now(UTC)
        time.sleep(AFTER)
        scenario.stop_capture(capture)
    recorded = Recorded.read(out)
    recorded.check_whole()
    return Deleted(recorded.audited(CADENCE), killed, began, ended)


def test_a_deleted_group_is_offline_until_then_and_nobody_misses_it(deleted: Deleted) -> None:
    *_, (status, reason, since) = deleted.reasons(GROUP, ITS_TOPIC)
    assert (status, reason) == ("NOT_APPLICABLE", "DELETED")
    assert deleted.began <= since <= deleted.ended + LATE
    assert deleted.status(GROUP)["deleted_at"] == since
    (offline,) = [row for row in deleted.findings(GROUP) if row["rule"] == "GROUP_OFFLINE"]
    assert deleted.killed <= offline["started_at"] <= deleted.killed + LATE
    assert offline["ended_at"] == since
    assert max(row["ended_at"] for row in deleted.findings(GROUP)) == since


def test_a_deleted_topic_is_no_broker_that_left_and_nobody_misses_it(deleted: Deleted) -> None:
    *_, (status, reason, since) = deleted.reasons(STAYS, TOPIC)
    assert (status, reason) == ("NOT_APPLICABLE", "TOPIC_DELETED")
    assert deleted.began <= since <= deleted.ended + LATE
    assert deleted.status(STAYS)["deleted_topics"] == [{"topic": TOPIC, "deleted_at": since.replace(tzinfo=None)}]
    assert deleted.status(STAYS)["deleted_at"] is None
    after = [row for row in deleted.findings(STAYS) if row["ended_at"] > since]
    assert not [row for row in after if row["topic"] == TOPIC]
    # The recording ends, and its one thread is busy with what it had fetched.
    assert {row["rule"] for row in after} <= {"UNOBSERVED", "SLOW_LISTENER"}
    missing = {party["name"] for row in after for party in row["evidence"]["conflicting_values"] or ()}
    assert not [name for name in missing if TOPIC in name]
