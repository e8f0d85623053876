"""A consumer is shut down in a process that keeps running for another group, and brokers do not learn of it: before
5.5.1 they list it for good, and from then on until its heartbeats have been missing for 120 s.
"""

import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from schemas import FINDINGS
from tests.end_to_end.live import scenario
from tests.end_to_end.live.cluster import VERSION, Cluster, cluster
from tests.end_to_end.live.recorded import Recorded

pytestmark = pytest.mark.live

EXPIRES = tuple(map(int, VERSION.split("."))) >= (5, 5, 1)
CADENCE = 5
#: Clients are asked in every second round.
LATE = timedelta(seconds=2 * CADENCE + 5)
#: Seconds from the start to the shutdown, and from there to the end: a broker looks every 10 s.
BEFORE, AFTER = 40, 160
GROUP, CLIENT = "ghost-service", "10.9.9.1@1"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """The cluster is gone, its folder has the recording."""
    with cluster(tmp_path_factory.mktemp("ghost")) as made:
        made.admin("topics", "orders:2", "payments:2")
        made.clients("producer", "produce", ["orders", "payments"])
        made.consumers("alone", [f"{GROUP},orders,10.9.9.2,1,avg"])
        ghost, other = (f"{told},10.9.9.1,1,avg" for told in (f"{GROUP},orders", "other-service,payments"))
        made.clients("ghost", "ghost", [str(BEFORE), ghost, other])
        made.wait_started("ghost")
        capture = scenario.start_capture(made, made.folder / "recordings", CADENCE)
        time.sleep(BEFORE + AFTER)
        scenario.stop_capture(capture)
    return made


def gone(made: Cluster) -> datetime:
    return datetime.fromtimestamp(int(re.findall(r"gone (\d+)", made.log("ghost"))[0]) / 1000, UTC)


def test_a_ghost_is_a_finding_as_long_as_brokers_list_it(made: Cluster) -> None:
    recorded = Recorded.read(Path(made.folder / "recordings"))
    recorded.check_whole()
    found = [one for one in recorded.audited(CADENCE)[FINDINGS] if one["severity"] != "INFO"]
    (ghost,) = [one for one in found if one["rule"] == "GHOST_MEMBER"]
    assert (ghost["consumer_group"], ghost["subject"], ghost["severity"]) == (GROUP, CLIENT, "ERROR")
    queues = {(one["topic"], one["broker_name"], one["queue_id"]) for one in ghost["evidence"]["queues"]}
    assert queues == {("orders", "broker-a", 0), ("orders", "broker-a", 1), (f"%RETRY%{GROUP}", "broker-a", 0)}
    assert {one["root_finding_id"] for one in found if one["consumer_group"] == GROUP} <= {None, ghost["finding_id"]}
    assert {one["rule"] for one in found if one["root_finding_id"] is None} <= {"GHOST_MEMBER", "UNOBSERVED"}
    begins, ends = gone(made) - timedelta(seconds=1), gone(made) + timedelta(seconds=AFTER)
    assert begins <= ghost["started_at"] <= begins + LATE
    if EXPIRES:
        assert gone(made) + timedelta(seconds=85) <= ghost["ended_at"] <= gone(made) + timedelta(seconds=135) + LATE
    else:
        assert ghost["ended_at"] >= ends - LATE
