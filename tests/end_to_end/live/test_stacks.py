"""A listener hangs: `capture` asks its client, and no other, for stacks, and the incident shows where it hangs."""

import time
from datetime import timedelta
from pathlib import Path

import pytest

from schemas import CAPTURE_CALLS, CLIENT_STACKS
from spark_jobs.cli.main import main
from spark_jobs.domain.model.intervals import Interval
from tests.end_to_end.live import scenario
from tests.end_to_end.live.cluster import Cluster, cluster
from tests.end_to_end.live.recorded import Recorded
from tests.support.look import audit_into

pytestmark = pytest.mark.live

CADENCE, SECONDS = 10, 200
#: Four threads that take an hour for a message, and four that take none.
STUCK, HEALTHY = "stuck-service,orders,10.9.1.1,1,avg,4,3600000,0", "healthy-service,orders,10.9.2.1,1,avg,4,0,0"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """The cluster is gone, its folder has the recording."""
    with cluster(tmp_path_factory.mktemp("stacks")) as made:
        made.admin("topics", "orders:4")
        made.clients("producer", "produce", ["orders"])
        made.consumers("stuck", [STUCK])
        made.consumers("healthy", [HEALTHY])
        capture = scenario.start_capture(made, made.folder / "recordings", CADENCE)
        time.sleep(SECONDS)
        scenario.stop_capture(capture)
    return made


def test_the_client_is_asked_once_and_no_other(made: Cluster) -> None:
    recorded = Recorded.read(made.folder / "recordings")
    recorded.check_whole()
    (call,) = [call for call in recorded.rows(CAPTURE_CALLS) if call["request"] == "stacks"]
    assert (call["subject"], call["outcome"]) == ("stuck-service 10.9.1.1@1", "ANSWERED")
    (answer,) = recorded.rows(CLIENT_STACKS)
    assert (answer["consumer_group"], answer["client_id"], answer["threads"]) == ("stuck-service", "10.9.1.1@1", 4)
    (stack,) = answer["stacks"]
    assert (stack["state"], stack["threads"]) == ("TIMED_WAITING", 4)
    assert stack["frames"][1].startswith("app//Clients.work(Clients.java:")


def test_the_incident_shows_the_method(made: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted((made.folder / "recordings").glob("*.jsonl.gz"))
    (answer,) = Recorded.read(made.folder / "recordings").rows(CLIENT_STACKS)
    start = answer["captured_at"].replace(minute=0, second=0, microsecond=0)
    audit_into(tmp_path, Interval(start, start + timedelta(hours=1)), CADENCE, files)
    main(["incidents", "--warehouse", str(tmp_path), "--group", "stuck-service", "--id", ""])
    shown = capsys.readouterr().out
    assert "stuck-service (1 client): 4 of 4 consume threads wait in Clients.work, seen since" in shown
