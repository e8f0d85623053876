"""`capture` is killed, the cluster's parts stop: what was recorded is whole, and nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from schemas import CAPTURE_CALLS, MEMBERSHIP_SNAPSHOTS
from spark_jobs.ingest.files import read_lines
from spark_jobs.ingest.recording import Meta, NoObservation, Outcome, Row, outcomes
from tests.live import processes, scenario
from tests.live.cluster import Cluster, cluster, wait_for

pytestmark = pytest.mark.live

#: Seconds after its start: before the first round, between two, in the middle of one.
KILLS = (2.0, 4.0, 4.6, 5.3, 6.1, 6.7, 7.4, 8.2, 8.9, 9.5)


class Recorded(NamedTuple):
    outcomes: list[Outcome]

    def times(self, fate: str, called: str) -> list[datetime]:
        """When calls to the broker ended so."""
        rows = (one.values for one in self.outcomes if isinstance(one, Row) and one.table is CAPTURE_CALLS)
        found = [row["captured_at"] for row in rows if (row["fate"], row["called"]) == (fate, called)]
        return sorted(one for one in found if isinstance(one, datetime))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with one group."""
    with cluster(tmp_path_factory.mktemp("faults"), os.environ.get("ROCKETMQ", "5.4.0")) as made:
        made.admin("topics", "orders:4")
        made.clients("consumers", "consume", ["orders-service,orders,10.9.1.1,1,avg"])
        time.sleep(15)
        yield made


def read(folder: Path) -> Recorded:
    """Every line of every file, the one that is being written too."""
    files = sorted(folder.glob("*.jsonl.gz*"))
    return Recorded([one for file in files for one in outcomes(read_lines(file))])


def jvms(made: Cluster) -> set[str]:
    """Processes of admin clients of this cluster."""
    wanted = f"-Drocketmq.namesrv.addr={made.namesrv}".encode()
    return {path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if wanted in _bytes(path)}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # the process has ended meanwhile
        return b""


def begun(made: Cluster, out: Path) -> subprocess.Popen[bytes]:
    return scenario.start_capture(made, out, "--cadence", "2s")


def recording(made: Cluster, out: Path) -> subprocess.Popen[bytes]:
    """Begun, and the first round is written."""
    capture, until = begun(made, out), time.monotonic() + 60
    while not list(out.glob("*.partial")):
        assert capture.poll() is None
        assert time.monotonic() < until
        time.sleep(0.2)
    return capture


def test_killed_at_ten_moments_it_leaves_whole_lines(small: Cluster, tmp_path: Path) -> None:
    for seconds in KILLS:
        capture = begun(small, tmp_path)
        time.sleep(seconds)
        processes.kill(capture)
    last = recording(small, tmp_path)
    time.sleep(6)
    last.send_signal(signal.SIGTERM)
    assert last.wait(60) == 0
    assert not list(tmp_path.glob("*.partial"))
    found = read(tmp_path).outcomes
    assert {type(one) for one in found} <= {Row, Meta, NoObservation}
    keys = [(one.table.name, *one.key) for one in found if isinstance(one, Row)]
    assert len(keys) == len(set(keys))
    assert sum(isinstance(one, Row) and one.table is MEMBERSHIP_SNAPSHOTS for one in found) > 10
    until = time.monotonic() + 20
    while jvms(small) and time.monotonic() < until:
        time.sleep(0.5)
    assert jvms(small) == set()


def test_a_broker_that_is_gone_is_a_gap_of_its_own(small: Cluster, tmp_path: Path) -> None:
    capture = recording(small, tmp_path)
    time.sleep(5)
    processes.kill(small.running["broker-b"], signal.SIGSTOP)
    time.sleep(15)
    processes.kill(small.running["broker-b"], signal.SIGCONT)
    time.sleep(15)
    capture.send_signal(signal.SIGTERM)
    assert capture.wait(60) == 0
    found = read(tmp_path)
    silent = found.times("TIMED_OUT", "broker-b")
    assert silent
    assert found.times("NOT_ASKED", "broker-b")
    assert not [one for one in found.times("ANSWERED", "broker-b") if silent[0] < one < silent[-1]]
    assert found.times("ANSWERED", "broker-b")[-1] > silent[-1]
    of_a = found.times("ANSWERED", "broker-a")
    assert max((later - earlier).total_seconds() for earlier, later in pairwise(of_a)) < 8


def test_a_name_server_that_restarts_costs_routes_only(small: Cluster, tmp_path: Path) -> None:
    capture = recording(small, tmp_path)
    time.sleep(5)
    small.stop("namesrv")
    time.sleep(6)
    small.start_namesrv()
    wait_for(int(small.namesrv.rpartition(":")[2]))
    time.sleep(40)
    capture.send_signal(signal.SIGTERM)
    assert capture.wait(60) == 0
    found = read(tmp_path)
    gone = found.times("REFUSED", "name server")
    assert gone
    assert found.times("ANSWERED", "name server")[-1] > gone[-1]
    assert [one for one in found.times("ANSWERED", "broker-a") if gone[0] < one]
