"""A process that is stopped while it publishes, and continued after others were let in; S3 is moto's server."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import obstore
import pytest
from obstore.store import ObjectStore

from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import PublishConflictError
from spark_jobs.pipeline.publish import leases
from spark_jobs.pipeline.publish.claims import claim, claim_turn
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.store.location import Location
from spark_jobs.store.s3.objects import object_store
from tests.end_to_end.reliability.s3_server import BUCKET, s3_server

pytestmark = pytest.mark.reliability
TEN = RunSpec(Interval.parse("2026-03-01T10:00/2026-03-01T11:00"))
#: Seconds after which a lease ends here.
LEASE = 1.0

#: Holds the steps and the turn, and commits once for every line that it reads, as long as it holds them.
PUBLISHER = """
import sys
from datetime import timedelta
from spark_jobs.errors import WarehouseError
from spark_jobs.pipeline.publish import leases
from spark_jobs.pipeline.publish.claims import claim, claim_turn
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.store.location import Location
leases.LEASE, leases._RENEWED_EVERY = timedelta(seconds=1), 0.1
place = Location.parse(sys.argv[1])
with claim(place, RunSpec.from_json(sys.argv[2]), "suspended") as claimed, claim_turn(place) as turn:
    print("begun", flush=True)
    for _ in sys.stdin:
        try:
            claimed.check()
            turn.check()
            print("committed", flush=True)
        except WarehouseError as error:
            print(error, flush=True)
"""


class Publisher:
    """The process of `PUBLISHER`."""

    def __init__(self, place: Location, environment: Mapping[str, str]) -> None:
        command = [sys.executable, "-c", PUBLISHER, place.location, TEN.as_json()]
        self.process = subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.says() == "begun"

    def says(self) -> str:
        assert self.process.stdout is not None
        return str(self.process.stdout.readline()).strip()

    def commits(self) -> str:
        """What becomes of its next commit."""
        assert self.process.stdin is not None
        print(file=self.process.stdin, flush=True)
        return self.says()

    def ends(self) -> None:
        self.process.communicate(timeout=30)


@contextmanager
def suspended(publisher: Publisher) -> Iterator[None]:
    os.kill(publisher.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(publisher.process.pid, signal.SIGCONT)


@pytest.fixture(scope="module")
def server() -> Iterator[Mapping[str, str]]:
    with s3_server() as given, pytest.MonkeyPatch.context() as patch:
        for name, value in given.items():
            patch.setenv(name, value)
        patch.setattr(leases, "LEASE", timedelta(seconds=LEASE))
        patch.setattr(leases, "_RENEWED_EVERY", 0.1)
        yield given


def names(store: ObjectStore) -> list[str]:
    return [entry["path"] for page in obstore.list(store) for entry in page]


def test_who_was_suspended_commits_nothing_once_another_has_published(server: Mapping[str, str]) -> None:
    place = Location.parse(f"s3a://{BUCKET}/suspended")
    publisher = Publisher(place, server)
    assert publisher.commits() == "committed"
    with suspended(publisher):
        time.sleep(2 * LEASE + 1)  # S3 tells times in whole seconds
        with claim(place, TEN, "other"), claim_turn(place):
            pass
    time.sleep(5 * leases._RENEWED_EVERY)  # it would renew its claim now
    for _ in range(2):
        assert "another process took over" in publisher.commits()
    publisher.ends()
    assert names(object_store(place)) == []


def test_who_was_suspended_for_a_moment_goes_on(server: Mapping[str, str]) -> None:
    """Or for longer, if nobody wanted the steps meanwhile: then those who want them are refused again."""
    place = Location.parse(f"s3a://{BUCKET}/moment")
    publisher = Publisher(place, server)
    with suspended(publisher):
        time.sleep(2 * LEASE + 1)
    assert publisher.commits() == "committed"
    with pytest.raises(PublishConflictError), claim(place, TEN, "other"):
        pass
    assert publisher.commits() == "committed"
    publisher.ends()


def test_on_a_file_system_nobody_takes_over_from_a_suspended_process(tmp_path: Path) -> None:
    place = Location.parse(str(tmp_path / "warehouse"))
    publisher = Publisher(place, os.environ)
    with suspended(publisher):
        time.sleep(2 * LEASE)
        with pytest.raises(PublishConflictError, match="run suspended is auditing"), claim(place, TEN, "other"):
            pass
    assert publisher.commits() == "committed"
    publisher.ends()
