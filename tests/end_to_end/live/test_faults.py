"""`capture` is killed, its disk is full, its clock is set, the cluster's parts stop: what was recorded is whole and of
each time once, what is missing is told of as such and nothing else is, and nothing is left running.
"""

import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from schemas import FINDINGS, MEMBERSHIP_SNAPSHOTS
from tests.end_to_end.live import processes, scenario
from tests.end_to_end.live.cluster import Cluster, cluster
from tests.end_to_end.live.recorded import Recorded

pytestmark = pytest.mark.live

CADENCE = 2
HOLDS = timedelta(seconds=3 * CADENCE)
#: A round is a cadence long; what a loaded host adds to it.
LATE = timedelta(seconds=2 * CADENCE + 2)
#: When it is killed: seconds after its start, before anything is written, and after the first round is: between two, in
#: the middle of one.
EARLY, LATER = (1.0, 2.5), (0.0, 0.3, 0.7, 1.2, 1.9, 2.2, 3.1, 4.4)
ON_BOTH, ON_B = "orders-service", "singles-service"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with a group on both brokers, and one on the second."""
    with cluster(tmp_path_factory.mktemp("faults")) as made:
        made.admin("topics", "orders:4")
        made.admin("topics", "singles:4", brokers=["broker-b"])
        made.consumers("consumers", [f"{ON_BOTH},orders,10.9.1.1,1,avg", f"{ON_B},singles,10.9.1.2,1,avg"])
        # Clients poll routes every 30 s: until then they do not have the queues of their new retry topics, and while a
        # broker hangs they cannot take its.
        time.sleep(45)
        yield made


def jvms(made: Cluster) -> set[str]:
    """Processes of admin clients of this cluster."""
    wanted = f"-Drocketmq.namesrv.addr={made.namesrv}".encode()
    return {path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if wanted in _bytes(path)}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # the process has ended meanwhile
        return b""


def begun(made: Cluster, out: Path, *program: str, cadence: int = CADENCE) -> subprocess.Popen[bytes]:
    return scenario.start_capture(made, out, cadence, program or ("-m", "spark_jobs.cli"))


def first_round(made: Cluster, out: Path, *program: str, cadence: int = CADENCE) -> subprocess.Popen[bytes]:
    """Begun, and the first round is written."""
    before = {file.name for file in out.glob("*.partial")}
    capture = begun(made, out, *program, cadence=cadence)

    def is_written() -> bool:
        assert capture.poll() is None
        return any(file.name not in before and file.stat().st_size for file in out.glob("*.partial"))

    processes.wait_until(is_written, 90, every=0.05)
    return capture


@contextmanager
def recording(made: Cluster, out: Path, *program: str, cadence: int = CADENCE) -> Iterator[None]:
    """From some rounds after its beginning; it ends by SIGTERM."""
    capture = first_round(made, out, *program, cadence=cadence)
    time.sleep(3 * cadence)
    try:
        yield
        time.sleep(3 * cadence)
    finally:
        scenario.stop_capture(capture)


def invented(recorded: Recorded, *but: str, cadence: int = CADENCE) -> list[dict[str, Any]]:
    """What is told of the groups, though they were in health all the time; not the rebalances that follow from the
    connections of one client that a broker lists after it has hung.
    """
    return [
        {name: finding[name] for name in ("consumer_group", "rule", "topic", "started_at", "ended_at")}
        for finding in recorded.audited(cadence)[FINDINGS]
        if finding["severity"] != "INFO" and finding["rule"] not in ("UNOBSERVED", *but)
        if finding["rule"] != "REBALANCE_STORM" or finding["root_finding_id"] is None
    ]


def now() -> datetime:
    return datetime.now(UTC)


def test_a_recorder_that_is_killed_at_ten_moments_leaves_whole_lines_and_named_gaps(
    small: Cluster, tmp_path: Path
) -> None:
    killed = []
    for begin, seconds in [*((begun, one) for one in EARLY), *((first_round, one) for one in LATER)]:
        capture = begin(small, tmp_path)
        time.sleep(seconds)
        processes.kill(capture)
        killed.append(now())
        # A snapshot holds for three rounds: every other time it is back too late for that.
        time.sleep(4 * CADENCE if len(killed) % 2 else 0)
    with recording(small, tmp_path):
        time.sleep(1)
    assert not list(tmp_path.glob("*.partial"))
    recorded = Recorded.read(tmp_path)
    recorded.check_whole()
    assert len(recorded.rows(MEMBERSHIP_SNAPSHOTS)) > 20
    gaps = recorded.unobserved(CADENCE, "orders")
    seen = [row["captured_at"] for row in recorded.rows(MEMBERSHIP_SNAPSHOTS) if row["consumer_group"] == ON_BOTH]
    for before, after in pairwise(sorted(seen)):
        if after - before > HOLDS:
            assert any(start <= before + HOLDS and after <= end for start, end in gaps), (before, after)
    for start, end in gaps:
        assert any(start - HOLDS - LATE <= one <= end for one in killed), (start, end)
    assert len(gaps) > 2
    assert invented(recorded) == []
    processes.wait_until(lambda: jvms(small) == set(), 20)


def test_a_broker_that_hangs_for_two_minutes_is_named(small: Cluster, tmp_path: Path) -> None:
    """A call to it takes 3 s until it is given up; the name server forgets it meanwhile."""
    cadence = 5
    holds, late = timedelta(seconds=3 * cadence), timedelta(seconds=3 * cadence)
    with recording(small, tmp_path, cadence=cadence):
        stopped = now()
        processes.kill(small.running["broker-b"], signal.SIGSTOP)
        time.sleep(120)
        processes.kill(small.running["broker-b"], signal.SIGCONT)
        back = now()
        time.sleep(15)
    recorded = Recorded.read(tmp_path)
    recorded.check_whole()
    silent = recorded.times("TIMED_OUT", "broker-b")
    assert recorded.times("NOT_ASKED", "broker-b")
    assert not [one for one in recorded.times("ANSWERED", "broker-b") if silent[0] < one < silent[-1]]
    of_a = recorded.times("ANSWERED", "broker-a")
    assert max(after - before for before, after in pairwise(of_a)) < 3 * timedelta(seconds=cadence)
    for group, sources, forgotten in (
        (ON_BOTH, {"offset_snapshots: orders (broker-b)"}, timedelta(seconds=90)),
        (ON_B, {"membership_snapshots", "offset_snapshots: singles"}, timedelta(seconds=120)),
    ):
        gaps = recorded.gaps(cadence, group)
        assert {name for gap in gaps for name in gap.sources} - {"route_snapshots: singles"} == sources
        assert stopped <= gaps[0].start <= stopped + holds + late
        assert stopped + forgotten <= gaps[-1].end <= back + 2 * late
    assert invented(recorded, "BROKER_NOT_READABLE", cadence=cadence) == []


def test_a_name_server_that_restarts_costs_routes_only(small: Cluster, tmp_path: Path) -> None:
    with recording(small, tmp_path):
        stopped = now()
        small.stop("namesrv")
        time.sleep(6)
        small.start_namesrv()
        processes.wait_listening(int(small.namesrv.rpartition(":")[2]))
        # Brokers register again every 30 s.
        time.sleep(35)
    recorded = Recorded.read(tmp_path)
    recorded.check_whole()
    assert recorded.times("REFUSED", "name server")
    gaps = recorded.unobserved(CADENCE, "orders")
    assert stopped <= gaps[0][0] <= stopped + HOLDS + LATE
    of_a = recorded.times("ANSWERED", "broker-a")
    assert max(after - before for before, after in pairwise(of_a)) < 2 * LATE
    # It knows of no route until a broker is registered, and then routes lack the other one.
    assert invented(recorded, "BROKER_NOT_READABLE") == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("this user may mount nothing")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_costs_whole_rounds(small: Cluster, small_disk: Path) -> None:
    out, filler = small_disk / "out", small_disk / "filler"
    with recording(small, out):
        full = now()
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(b"x" * 1024):
                pass
        time.sleep(40)
        assert "NOT WRITTEN" in small.log("capture")
        filler.unlink()
        free = now()
    recorded = Recorded.read(out)
    recorded.check_whole()
    assert recorded.gaps(CADENCE, ON_BOTH)
    # What is left of a page is used up first; later a small round may still fit into it, which makes two gaps of one.
    gaps = recorded.unobserved(CADENCE, "orders")
    assert full <= gaps[0][0] <= full + timedelta(seconds=15)
    assert free - timedelta(seconds=2 * CADENCE) <= gaps[-1][1] <= free + LATE
    assert invented(recorded) == []


def test_a_clock_that_jumps_records_no_time_twice(small: Cluster, tmp_path: Path) -> None:
    off = tmp_path / "off"

    def jump(seconds: int) -> datetime:
        (tmp_path / "new").write_text(str(seconds))
        (tmp_path / "new").rename(off)
        return now()

    jump(0)
    with recording(small, tmp_path, "-m", "tests.end_to_end.live.with_clock", str(off)):
        back = jump(-60)
        time.sleep(15)
        assert "the clock was set back by" in small.log("capture")
        right = jump(0)
        time.sleep(10)
        forward = jump(100)
        time.sleep(10)
    recorded = Recorded.read(tmp_path)
    recorded.check_whole()
    per_key: dict[Sequence[Any], list[datetime]] = defaultdict(list)
    for row in recorded.rows(MEMBERSHIP_SNAPSHOTS):
        per_key[row["consumer_group"], row["broker_name"]].append(row["captured_at"])
    assert all(times == sorted(times) for times in per_key.values())
    (first, first_end), (second, second_end) = recorded.unobserved(CADENCE, "orders")
    assert back <= first <= back + HOLDS + LATE
    assert right - LATE <= first_end <= right + LATE
    assert forward <= second <= forward + HOLDS + LATE
    assert timedelta(0) <= second_end - (forward + timedelta(seconds=100)) <= LATE
    assert invented(recorded) == []
