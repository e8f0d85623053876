"""`watch` beside a recording that is replayed in real time: killed, on a full disk, without a source for a while."""

import gzip
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from schemas import AUDIT_RUNS, INCIDENTS, NOTICES, OFFSET_SNAPSHOTS, OUTPUTS, SIGHTINGS, SOURCES
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.pipeline.publish.claims import claims_of
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.warehouse import Warehouse
from tests.end_to_end.reliability.killing import Started, started
from tests.end_to_end.reliability.small_fleet import contents, quietly
from tests.end_to_end.reliability.test_faults import file_system, fill
from tests.spark.recording.conftest import CONFIGURATION, EXAMPLE
from tests.support.stored import stored_rows
from tests.unit.jobs.test_notices import Service

pytestmark = pytest.mark.reliability

STEP = timedelta(minutes=5)
#: Lines of the recording are loaded together when the first is so old.
PIECE = timedelta(seconds=20)
#: Seconds without the source, longer than `watch` rests after an error; for a fault to be seen; and for steps.
AWAY, SEEN, SLOWEST = 90, 600, 2400
_AT, _MILLISECONDS = re.compile(rb'"at":(\d+)'), re.compile(rb"\b1[67]\d{11}\b")


class Replay:
    """The recording, moved by whole steps so that it begins within the next one."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        meta, *lines = gzip.decompress(EXAMPLE.read_bytes()).splitlines(keepends=True)
        step, piece = (round(length.total_seconds() * 1000) for length in (STEP, PIECE))
        moved = -((_at(lines[0]) - round(time.time() * 1000)) // step) * step
        by_end: dict[int, list[bytes]] = {}
        for line in lines:
            end = ((_at(line) + moved) // piece + 1) * piece
            by_end.setdefault(end, []).append(_MILLISECONDS.sub(lambda ms: b"%d" % (int(ms[0]) + moved), line))
        #: When they are due, in seconds since 1970, and files.
        self.due = [(end / 1000, folder / f"{end}.jsonl") for end in sorted(by_end)]
        for end, lines_of_piece in by_end.items():
            (folder / f"{end}.jsonl").write_bytes(b"".join([meta, *lines_of_piece]))
        first, last = (end // step * step for end in (min(by_end) - piece, max(by_end) - piece))
        self.interval = Interval(*(datetime.fromtimestamp(ms / 1000, UTC) for ms in (first, last + step)))

    def load(self, warehouse: Warehouse) -> None:
        """Loads what is due; what cannot be loaded stays due."""
        while self.due and self.due[0][0] <= time.time():
            if quietly(["ingest", "--warehouse", warehouse.location, str(self.due[0][1])]) == 4:
                return
            self.due.pop(0)


def _at(line: bytes) -> int:
    found = _AT.search(line)
    assert found
    return int(found[1])


class Watched:
    """A warehouse, what is loaded into it, and the command, which is begun again where it has ended."""

    def __init__(self, warehouse: Warehouse, replay: Replay, begin: Callable[[], Started]) -> None:
        self.warehouse, self.replay, self.begin = warehouse, replay, begin
        self.watch, self.begun, self.is_loading = begin(), 1, True

    def until(self, seen: Callable[[], bool], seconds: float) -> None:
        """Loads and supervises until then; fails where it is not seen within the time."""
        ends = time.monotonic() + seconds
        while not seen():
            assert time.monotonic() < ends, self.watch.said()
            if self.is_loading:
                self.replay.load(self.warehouse)
            if self.watch.process.poll() is not None:
                self.watch, self.begun = self.begin(), self.begun + 1
            time.sleep(0.5)

    def steps(self) -> int:
        """How many were published; not the empty one before the first."""
        if not delta_tables(self.warehouse.location).exists(AUDIT_RUNS):
            return 0
        published = (run for run in stored_rows(self.warehouse, AUDIT_RUNS) if run["outcome"] == "published")
        first = self.replay.interval.start.replace(tzinfo=None)
        return len({run["interval_start"] for run in published if run["interval_start"].replace(tzinfo=None) >= first})

    def is_auditing(self) -> bool:
        claims = claims_of(self.warehouse)
        return claims is not None and any(name.startswith("run-") for name in claims.active())

    def until_auditing(self, published: int) -> None:
        """When so many steps are published, or more: it may audit one while something is loaded here."""
        self.until(lambda: self.steps() >= published and self.is_auditing(), SLOWEST)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 200 MB."""
    with file_system(tmp_path / "disk", 200) as folder:
        yield folder


@contextmanager
def watched(disk: Path, folder: Path, url: str) -> Iterator[Watched]:
    warehouse, config, target = Warehouse.parse(str(disk / "warehouse")), folder / "audit.yaml", folder / "notices.url"
    config.write_text(f"{CONFIGURATION.read_text()}\nstep_seconds: {round(STEP.total_seconds())}\n")
    target.touch(0o600)
    target.write_text(url)
    options = ["--warehouse", warehouse.location, "--config", str(config), "--to", str(target)]
    with ExitStack() as begun:
        numbers = iter(range(1, 100))
        yield Watched(
            warehouse,
            Replay(folder / "replay"),
            lambda: begun.enter_context(started(["watch", *options], folder / str(next(numbers)))),
        )


def test_nothing_is_lost_or_said_twice(disk: Path, tmp_path: Path) -> None:
    """What is published is what one undisturbed backfill publishes of the same snapshots."""
    with Service.running() as service, watched(disk, tmp_path, service.url) as beside:
        beside.until_auditing(1)
        assert beside.watch.kill("all")
        beside.until_auditing(2)
        filler, before = fill(disk, 0), beside.steps()
        beside.until(lambda: "no space left" in beside.watch.said().lower(), SEEN)
        filler.unlink()
        beside.until(lambda: beside.steps() > before, SEEN)
        source, elsewhere = Path(beside.warehouse.location) / OFFSET_SNAPSHOTS.name, tmp_path / "elsewhere"
        shutil.move(source, elsewhere)
        beside.is_loading, back_at = False, time.monotonic() + max(AWAY, _until_the_next_step() + AWAY)
        beside.until(lambda: time.monotonic() > back_at, SEEN)
        shutil.move(elsewhere, source)
        beside.is_loading = True
        steps = round((beside.replay.interval.end - beside.replay.interval.start) / STEP)
        beside.until(lambda: not beside.replay.due and beside.steps() == steps, SLOWEST)
        beside.until(lambda: not beside.is_auditing(), SEEN)
        time.sleep(30)  # what the last step opened is sent
        beside.watch.process.terminate()
        assert beside.watch.process.wait(60) == 0
        # After ten errors in a row, such as while the source is gone for five minutes, a process ends by itself.
        assert beside.begun in (2, 3)
        sent = service.got

    undisturbed = Warehouse.parse(str(tmp_path / "undisturbed"))
    for table in (*SOURCES, SIGHTINGS):
        shutil.copytree(disk / "warehouse" / table.name, tmp_path / "undisturbed" / table.name)
    options = ["--warehouse", undisturbed.location, "--config", str(tmp_path / "audit.yaml")]
    assert quietly(["backfill", *options, "--interval", str(beside.replay.interval)]) in (0, 1, 2)
    published, expected = contents(beside.warehouse), contents(undisturbed)
    assert {table.name: published[table.name] for table in OUTPUTS} == {
        table.name: expected[table.name] for table in OUTPUTS
    }
    incidents, opened = stored_rows(beside.warehouse, INCIDENTS), stored_rows(undisturbed, INCIDENTS)
    assert {one["incident_id"] for one in incidents} == {one["incident_id"] for one in opened}
    notices = stored_rows(beside.warehouse, NOTICES)
    # What is over may begin again in the next step, and ends once more.
    events = [(one["incident_id"], one["event"], one["resolved_at"]) for one in notices]
    assert len(events) == len(set(events))
    assert {one["incident_id"] for one in notices} >= {
        one["incident_id"] for one in incidents if one["severity"] != "INFO"
    }
    texts = [(one["title"], one["message"]) for one in sent]
    assert len(set(texts)) == len(texts) > 0


def _until_the_next_step() -> float:
    """Seconds."""
    return STEP.total_seconds() - time.time() % STEP.total_seconds()
