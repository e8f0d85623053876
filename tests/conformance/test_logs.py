"""Real logs of brokers, proxies, name servers and Java clients, of a time that was recorded, too: who was a member is
the same, and what followed from it. No configuration, no Spark. `tests/data/logs/README.md` says what was done.
"""

import tarfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS
from spark_jobs.domain.evaluate import EvaluatedStep
from spark_jobs.domain.model.window import SECOND, from_micros, to_micros
from spark_jobs.ingest.logs.recorded import recording_of_logs, write_recording
from spark_jobs.ingest.logs.sources import LogFolder
from tests.conformance.test_live2 import FOLDER, HOUR, REPORTING, compared
from tests.support.kernel import evaluated, recorded_rows
from tests.support.tables import cells
from tests.unit.project.test_layers import ROOT

LOGS = ROOT / "tests" / "data" / "logs"
#: What logs do not have: Go's strategy, which is not AVG in go-circle.
WITHOUT_STRATEGY = ("go-circle",)
#: rule | cause | group | client id or parties | begin | end: all beyond INFO that is no symptom of another one.
INCIDENTS = """
    DUPLICATE_CLIENT_ID   | CONTAINER_IDENTITY    | go-twin   | 22:24:58 | 22:32:28
    UNASSIGNED_QUEUE      | GROUP_OFFLINE         | go-kill   | 22:34:58 | 22:36:28
    MIXED_CLIENTS         | DIFFERENT_RULES       | mix-hash  | 22:20:53 | 22:33:28
    UNASSIGNED_QUEUE      | LOCK_NOT_RELEASED     | go-order  | 22:20:36 | 22:21:55
    UNASSIGNED_QUEUE      | LOCK_NOT_RELEASED     | go-order  | 22:35:48 | 22:36:48
    SUBSCRIPTION_MISMATCH | DIFFERENT_TOPICS      | go-subs   | 22:20:36 | 22:39:26
    SUBSCRIPTION_MISMATCH | DIFFERENT_EXPRESSIONS | node-push | 22:29:29 | 22:39:00
"""
#: Per version and group when its members changed, by the broker's log, and who they were then. Times are UTC.
MEMBERS = """
    4.3.0 | dup  | 00:11:31 other same same, 00:13:48 other same
    4.3.0 | kill | 00:11:31 32273 32287, 00:12:58 32273
    4.3.0 | norm | 00:11:35 a b
    4.7.1 | dup  | 00:05:43 other same same, 00:08:00 other same
    4.7.1 | kill | 00:05:43 23776 23789, 00:07:10 23776
    4.7.1 | norm | 00:05:47 a b
    4.9.4 | dup  | 00:00:33 other same same, 00:02:50 other same
    4.9.4 | kill | 00:00:33 17253 17254, 00:02:00 17253
    4.9.4 | norm | 00:00:37 a, 00:00:38 a b
    5.1.4 | dup  | 00:14:55 other same same, 00:17:12 other same
    5.1.4 | kill | 00:14:55 2811 2819, 00:16:22 2811
    5.1.4 | norm | 00:14:58 b, 00:14:59 a b
"""


def recorded(archive: Path, folder: Path) -> Path:
    """The recording that the logs of an archive make."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder / "logs", filter="data")
    recording = recording_of_logs([LogFolder(folder / "logs", None)], "live2", "UTC")
    assert recording.unknown == {}
    return write_recording(recording, folder / "logs.jsonl.gz")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(LOGS / "live2.tar.gz", tmp_path_factory.mktemp("live2"))


@pytest.fixture(scope="module")
def steps(live: Path) -> Mapping[str, EvaluatedStep]:
    return {step.step.history.consumer_group: step for step in evaluated(recorded_rows(live), HOUR)}


def memberships(recording: Path) -> dict[tuple[str, str], list[tuple[int, Any]]]:
    """Per group and broker: (microseconds, what it knew of the group), in order of time."""
    found: dict[tuple[str, str], list[tuple[int, Any]]] = defaultdict(list)
    for row in sorted(recorded_rows(recording)[MEMBERSHIP_SNAPSHOTS], key=lambda row: row["captured_at"]):
        broker = str(row["broker_name"]).partition(" ")[0]  # a proxy's logs do not say where it listens
        known = [row[name] for name in ("connections", "subscriptions", "message_model", "consume_type")]
        found[row["consumer_group"], broker].append((to_micros(row["captured_at"]), known))
    return found


def test_every_recorded_snapshot_of_members_is_that_of_the_logs(live: Path) -> None:
    """Subscriptions and versions, too; not where a consumer behind a proxy begins, which its lines do not say."""
    of_logs, compared_snapshots = memberships(live), 0
    for key, snapshots in memberships(FOLDER / "recording.jsonl.gz").items():
        if key != ("go-kill", "proxy"):  # the recorder asked the proxy for a group that it never had
            for at, known in snapshots:
                assert known == [state for moment, state in of_logs[key] if moment <= at][-1], (key, from_micros(at))
                compared_snapshots += 1
    assert compared_snapshots == 2390


@pytest.mark.parametrize("group", ["mix-avg", "mix-hash", "old-avg"])
def test_committed_offsets_are_those_that_were_recorded(group: str, live: Path) -> None:
    """Every recorded offset of a Java client's queue lies between what logs have before and after it."""
    of_logs, of_recorder = committed_offsets(live, group), committed_offsets(FOLDER / "recording.jsonl.gz", group)
    compared_offsets = 0
    for queue, samples in of_logs.items():
        for (since, low), (until, high) in pairwise(samples):
            if until - since <= 30 * SECOND:
                inside = [offset for at, offset in of_recorder.get(queue, ()) if since + SECOND <= at < until]
                assert all(low <= offset <= high for offset in inside), queue
                compared_offsets += len(inside)
    assert compared_offsets > 50


def committed_offsets(recording: Path, group: str) -> dict[tuple[str, str, int], list[tuple[int, int]]]:
    """Per topic, broker and queue: (microseconds, the group's offset), in order of time."""
    found: dict[tuple[str, str, int], list[tuple[int, int]]] = defaultdict(list)
    for row in sorted(recorded_rows(recording)[OFFSET_SNAPSHOTS], key=lambda row: row["captured_at"]):
        for queue in row["offsets"] if row["consumer_group"] == group else ():
            place = row["topic"], queue["broker_name"], queue["queue_id"]
            found[place].append((to_micros(row["captured_at"]), queue["consumer_offset"]))
    return found


@pytest.mark.parametrize("group", [group for group in REPORTING if group not in WITHOUT_STRATEGY])
def test_owners_are_those_that_hold_the_queues(group: str, steps: Mapping[str, EvaluatedStep]) -> None:
    right = compared(group, steps[group])
    assert right[True] == right.total() > 5000


def test_incidents_and_no_others(steps: Mapping[str, EvaluatedStep]) -> None:
    found = {
        (finding.rule, finding.cause, group, *map(_clock, (finding.started_at, finding.ended_at)))
        for group, step in steps.items()
        for finding in step.findings
        if finding.severity != "INFO" and finding.root_finding_id is None
    }
    assert found == set(cells(INCIDENTS))


@pytest.mark.parametrize("version", ["4.3.0", "4.7.1", "4.9.4", "5.1.4"])
def test_members_of_old_brokers_are_known_to_the_second(version: str, tmp_path: Path) -> None:
    """The recordings of 4.3.0 and 4.7.1 lack the group whose consumers share an id."""
    of_logs = memberships(recorded(LOGS / f"{version}.tar.gz", tmp_path))
    for of_version, group, changes in cells(MEMBERS):
        if of_version == version:
            assert list(_changes(of_logs[group, "broker-a"])) == changes.split(", ")


def _changes(snapshots: Sequence[tuple[int, Any]]) -> Iterator[str]:
    before: list[str] = []
    for at, (connections, *_) in snapshots:
        ids = [connection["client_id"].partition("@")[2] for connection in connections]
        if ids != before:
            yield " ".join([_clock(at), *ids])
        before = ids


def _clock(micros: int) -> str:
    return f"{from_micros(micros):%H:%M:%S}"
