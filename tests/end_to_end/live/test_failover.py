"""A master stops, its slave serves, the master returns with the offsets of the time when it stopped."""

import time
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from schemas import FINDINGS, ROUTE_SNAPSHOTS
from tests.end_to_end.live import processes, scenario
from tests.end_to_end.live.cluster import cluster
from tests.end_to_end.live.recorded import Recorded

pytestmark = pytest.mark.live

CADENCE = 2
SLAVE = "broker-a-slave"
#: Seconds after its start at which a slave has copied its master's topics and offsets, which it does once a minute
#: (`BrokerController.initializeBrokerScheduledTasks`).
COPIED = 75
BESIDE_A = "brokerName=broker-a\nbrokerId=1\nbrokerRole=SLAVE\n"


def test_a_master_that_returns_with_old_offsets_is_no_reset(tmp_path: Path) -> None:
    """Async replication; the slave gets consumer offsets from its master, and gives none back."""
    with cluster(tmp_path, "brokerIP2=127.0.0.1\n") as made:
        made.start_further(SLAVE, BESIDE_A)
        begun = time.monotonic()
        made.admin("topics", "orders:4", brokers=["broker-a"])
        made.admin("topics", "singles:4", brokers=["broker-b"])
        paced = "avg,4,20,0"
        members = [f"orders-service,orders,10.9.1.{one},1,{paced}" for one in (1, 2)]
        made.consumers("consumers", [*members, f"singles-service,singles,10.9.2.1,1,{paced}"])
        sending = made.clients("sender", "send", ["orders,60000,0,5", "singles,20000,0,5"])
        assert sending.wait(60) == 0
        capture = scenario.start_capture(made, tmp_path / "out", CADENCE)
        time.sleep(max(20, begun + COPIED - time.monotonic()))
        made.stop("broker-a")
        time.sleep(40)
        made.start_broker("broker-a")
        # Its port is open long before it has registered.
        processes.wait_until(lambda: made.log("broker-a").count("boot success") >= 2, 120)
        # Seen: the name server names it 10 s after it says so; then all ask it.
        time.sleep(30)
        scenario.stop_capture(capture)
    recorded = Recorded.read(tmp_path / "out")
    found = [one for one in recorded.audited(CADENCE)[FINDINGS] if one["severity"] != "INFO"]
    rewound = [one for one in found if one["rule"] == "OFFSET_REWOUND"]
    assert {(one["consumer_group"], one["cause"]) for one in rewound} == {("orders-service", "BROKER_SWITCHED")}
    last = max(one["started_at"] for one in rewound)
    # A round may read offsets from it before it reads the route.
    assert timedelta(seconds=-CADENCE) <= last - _back(recorded) <= timedelta(seconds=10)


def _back(recorded: Recorded) -> datetime:
    """When a route named the master again."""
    routes = [one for one in recorded.rows(ROUTE_SNAPSHOTS) if one["topic"] == "orders"]
    has_master: dict[datetime, bool] = {
        one["captured_at"]: any(each["broker_id"] == 0 for each in one["addresses"]) for one in routes
    }
    return next(now for before, now in pairwise(sorted(has_master)) if has_master[now] and not has_master[before])
