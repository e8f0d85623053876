"""Clients of Go, Node, Python, and old and new Java on one cluster: the owners are those that the clients wrote down,
each event is an incident or none, and the logs of the same time say the same.

`LIVE_KEPT` names the folder that an earlier run left: it is audited again, and nothing is started.
"""

import math
import os
import random
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from schemas import ALLOCATIONS, FINDINGS, REBALANCE_INTERVALS, Table
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import UnknownNameError
from spark_jobs.ingest.logs.read import CADENCE as LOGGED_EVERY
from spark_jobs.ingest.logs.recorded import recording_of_logs, write_recording
from spark_jobs.ingest.logs.sources import LogFolder
from spark_jobs.show.message import MessagePlace, message_answer
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.published import Scope
from tests.end_to_end.live import languages, mixed
from tests.end_to_end.live.recorded import Recorded
from tests.end_to_end.live.scenario import CADENCE
from tests.support.agreement import Ownership, agreement, held, owned
from tests.support.deliveries import is_right
from tests.support.look import audit_into
from tests.support.tables import cells

pytestmark = pytest.mark.live

#: rule | group | begin | end: seconds of the recording; `…`: with it, or before its second round.
_INCIDENTS = """
    DUPLICATE_CLIENT_ID   | go-twin   | 90  | 330
    GROUP_OFFLINE         | go-kill   | 390 | 480
    CLIENT_HUNG           | go-circle | 120 | 235
    MIXED_CLIENTS         | mix-hash  | …   | 300
    CONSUMER_STOPPED      | go-block  | 90  | 450
    UNASSIGNED_QUEUE      | go-order  | 300 | 360
    SUBSCRIPTION_MISMATCH | go-subs   | …   | …
    SUBSCRIPTION_MISMATCH | node-push | 60  | …
    STRANDED_WRITE_QUEUES | old-wrong | 60  | …
    MEMBERSHIP_VIEW_SPLIT | half      | …   | 180
    GROUP_OFFLINE         | half      | 180 | …
    BROKER_NOT_READABLE   | wiped     | 270 | …
"""
#: Clients are asked in every second round, a broker forgets a client 120 to 130 s after its last heartbeat, which comes
#: every 30 s, and a host at work is late.
_TOLERANCE = 2 * CADENCE + 15
#: Groups whose clients report their queues to brokers, of which all brokers know all members.
_REPORTING = [group for group in mixed.GROUPS if group not in ("node-push", "py-push", "half")]
#: What logs do not have: the strategy of Go clients, if it is not AVG, and when a client waits for a lock.
#: Nor when a broker without its store left the route of its topic.
_NOT_IN_LOGS = ("go-circle", "mix-hash", "go-order", "wiped")
#: Rules about members, which logs know. Without offsets, an offline group is UNASSIGNED_QUEUE there.
_OF_MEMBERS = ("DUPLICATE_CLIENT_ID", "SUBSCRIPTION_MISMATCH", "MIXED_CLIENTS")
#: So many messages of each queue are asked for.
_MESSAGES = 100
#: No step ends within a run, which takes less than half an hour: strategies take a minute of settled reports to infer.
_STEP, _RUN = timedelta(days=1), timedelta(minutes=30)
#: Per origin how long around a change nothing is compared.
_NEAR, _NEAR_LOGS = 10, 5

Published = Mapping[Table, list[dict[str, Any]]]


@dataclass(frozen=True)
class Audited:
    """The run, and what is published of it: of the recording, and of the logs alone."""

    scenario: mixed.Scenario
    recorded: Published
    logged: Published

    @property
    def seconds(self) -> range:
        """From the second round on, to the last one."""
        return range(int(self.scenario.begin) + CADENCE, int(self.scenario.begin) + mixed.END - CADENCE)

    def second(self, moment: datetime) -> float:
        """Of the recording."""
        return moment.timestamp() - self.scenario.begin


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Audited:
    languages.need("mvn", "go", "node", "npm")
    kept = os.environ.get("LIVE_KEPT")
    if kept is None:
        _wait_past_midnight()
    scenario = mixed.Scenario.load(Path(kept)) if kept else mixed.run(tmp_path_factory.mktemp("mixed"))
    print(f"\n{scenario.folder}")
    return Audited(
        scenario,
        Recorded.read(scenario.folder / "recordings").audited(CADENCE, _STEP),
        Recorded.read(_recording_of_logs(scenario)).audited(LOGGED_EVERY // 1000, _STEP),
    )


def _wait_past_midnight() -> None:
    """Unless there is time enough before it."""
    left = _STEP - timedelta(seconds=time.time() % _STEP.total_seconds())
    if left < _RUN:
        time.sleep(left.total_seconds())


def _recording_of_logs(scenario: mixed.Scenario) -> Path:
    """The folder with the recording that the logs of all processes make."""
    kept = [*scenario.folder.glob("*/logs/rocketmqlogs"), *scenario.folder.glob("*/config/topics.json")]
    recording = recording_of_logs([LogFolder(path, None) for path in sorted(kept)], "LiveCluster", "UTC")
    folder = scenario.folder / "of-logs"
    folder.mkdir(exist_ok=True)
    write_recording(recording, folder / "logs.jsonl.gz")
    print(recording)
    return folder


def _of_group(published: Published, table: Table, group: str) -> list[dict[str, Any]]:
    return [row for row in published[table] if row["consumer_group"] == group]


def _owners(published: Published, group: str) -> Ownership:
    return owned(_of_group(published, ALLOCATIONS, group))


@pytest.mark.parametrize("group", _REPORTING)
def test_owners_are_those_that_hold_the_queues(audited: Audited, group: str) -> None:
    owners, processes = _owners(audited.recorded, group), mixed.holders(audited.scenario, group)
    truth = held(processes, owners, audited.seconds)
    # A queue that the audit does not name has no owner.
    every = {
        queue: {second: of_queue.get(second, frozenset()) for second in audited.seconds}
        for queue, of_queue in owners.items()
    }
    # That a client has got a lock is known when it is asked, in every second round.
    near = 2 * CADENCE if group == "go-order" else _NEAR
    right = agreement(every, truth, audited.seconds, near, processes)
    print(f"\n{group}: owners right in {right[True]} of {right.total()} seconds and queues")
    assert right[True] >= 0.99 * right.total() > 0


def test_the_outcome_of_a_message_is_what_listeners_got(
    audited: Audited, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Of random messages of each queue that were stored after the first rounds."""
    warehouse, hour, chance = (
        tmp_path_factory.mktemp("messages"),
        timedelta(hours=1),
        random.Random(audited.scenario.begin),
    )
    begin = datetime.fromtimestamp(audited.scenario.begin, UTC).replace(minute=0, second=0, microsecond=0)
    recordings = sorted((audited.scenario.folder / "recordings").glob("*.jsonl.gz"))
    audit_into(warehouse, Interval(begin, begin + 2 * hour), CADENCE, recordings)
    total: Counter[bool | None] = Counter()
    stored, since = delta_tables(str(warehouse)), audited.scenario.begin + 3 * CADENCE
    for group in mixed.LISTENING:
        right: Counter[bool | None] = Counter()
        for (topic, queue), delivered in mixed.deliveries(audited.scenario, group).items():
            known = [offset for offset, times in delivered.items() if min(times) > since]
            if known:
                offsets = chance.sample(range(min(known), max(known) + 1), min(_MESSAGES, len(known)))
                broker_name, _, queue_id = queue.rpartition(":")
                place = MessagePlace(topic, (broker_name, int(queue_id)), offsets)
                try:
                    answer = message_answer(stored, Scope(None, None, group), place, lambda _: None)
                except UnknownNameError:  # brokers list what one member subscribes to: the topic may not be recorded
                    right[None] += len(offsets)
                    continue
                right.update(is_right(message, delivered.get(message.offset, [])) for message in answer.messages)
        print(
            f"\n{group}: right for {right[True]} messages, wrong for {right[False]}, unknown for {right[None]}", end=""
        )
        total += right
    answered = total[True] + total[False]
    assert total[True] >= 0.99 * answered
    assert answered >= 0.9 * total.total() > 0


def test_each_event_is_an_incident_or_none(audited: Audited) -> None:
    found, expected = _roots(audited.recorded), _expected()
    for key, (severity, *times) in sorted(found.items()):
        print(severity, *key, *(round(audited.second(moment)) for moment in times), "" if key in expected else "(!)")
    assert expected.keys() <= found.keys()
    begin_and_end = {key: [audited.second(moment) for moment in found[key][1:]] for key in expected}
    assert {key: times for key, times in begin_and_end.items() if not _is_near(times, expected[key])} == {}
    assert {key for key, (severity, *_) in found.items() if severity == "ERROR"} <= expected.keys()


def _expected() -> dict[tuple[str, str], list[str]]:
    return {(rule, group): times for rule, group, *times in cells(_INCIDENTS)}


def _roots(published: Published) -> dict[tuple[str, str], tuple[str, datetime, datetime]]:
    """Per rule and group: the worst severity, begin and end of all beyond INFO that is no symptom."""
    found: dict[tuple[str, str], tuple[str, datetime, datetime]] = {}
    for row in published[FINDINGS]:
        if row["severity"] != "INFO" and row["root_finding_id"] is None:
            key = row["rule"], row["consumer_group"]
            severity, begin, end = found.get(key, (row["severity"], row["started_at"], row["ended_at"]))
            found[key] = min(severity, row["severity"]), min(begin, row["started_at"]), max(end, row["ended_at"])
    return found


def _is_near(times: Sequence[float], expected: Sequence[str]) -> bool:
    """Begin and end; `…`: the recording begins or ends there."""
    open_ended = {0: (-math.inf, _TOLERANCE), 1: (mixed.END - _TOLERANCE, math.inf)}
    spans = (
        open_ended[place] if second == "…" else (int(second) - _TOLERANCE, int(second) + _TOLERANCE)
        for place, second in enumerate(expected)
    )
    return all(first <= time <= last for time, (first, last) in zip(times, spans, strict=True))


def test_logs_alone_name_the_same_members(audited: Audited) -> None:
    total: Counter[bool | None] = Counter()
    for group in mixed.GROUPS:
        recorded, logged = (_members(published, group) for published in (audited.recorded, audited.logged))
        equal = agreement(recorded, logged, audited.seconds, _NEAR_LOGS)
        print(
            f"\n{group}: members equal in {equal[True]} s, different in {equal[False]} s, unknown in {equal[None]} s",
            end="",
        )
        total += equal
    _check_equal(total)


def test_logs_alone_name_the_same_owners(audited: Audited) -> None:
    total: Counter[bool | None] = Counter()
    for group in mixed.GROUPS:
        recorded, logged = (_owners(published, group) for published in (audited.recorded, audited.logged))
        equal = agreement(recorded, logged, audited.seconds, _NEAR_LOGS)
        minutes = {
            name: round(equal[key] / 60, 1) for name, key in (("equal", True), ("not", False), ("unknown", None))
        }
        print(f"\n{group}: queue-minutes of the owners {minutes}", end="")
        total += equal if group not in _NOT_IN_LOGS else Counter()
    _check_equal(total)


def _check_equal(seconds: Counter[bool | None]) -> None:
    """Logs that do not know an owner say unknown, and no other one."""
    print(f"\nequal {seconds[True]}, different {seconds[False]}, unknown to one of both {seconds[None]}")
    assert seconds[True] >= 0.99 * (seconds[True] + seconds[False]) > 0.45 * seconds.total()


def test_logs_alone_show_the_same_membership_incidents(audited: Audited) -> None:
    recorded, logged = (_roots(published) for published in (audited.recorded, audited.logged))
    of_members = {key for key in recorded if key[0] in _OF_MEMBERS}
    assert of_members == {key for key in logged if key[0] in _OF_MEMBERS}
    for key in of_members:
        # Logs begin before the recording, and end after it.
        times = [[min(max(audited.second(at), 0), mixed.END) for at in found[key][1:]] for found in (recorded, logged)]
        assert all(abs(one - other) <= _TOLERANCE for one, other in zip(*times, strict=True)), (key, times)


def _members(published: Published, group: str) -> Ownership:
    """The connections of a group by second, where all brokers list the same, as if they owned its topics."""
    found: dict[tuple[str, str], dict[int, frozenset[str]]] = defaultdict(dict)
    for row in _of_group(published, REBALANCE_INTERVALS, group):
        if row["membership_view"] == "*" and row["members"] is not None and not row["topic"].startswith("%"):
            start, end = (math.ceil(row[name].timestamp()) for name in ("interval_start", "interval_end"))
            members = frozenset(f"{member['client_id']} {member['client_addr']}" for member in row["members"])
            found[row["topic"], "members"] |= dict.fromkeys(range(start, end), members)
    return found
