"""Logs of a cluster to which much is done within nine minutes: each event is known from them, with its cause, and
nothing else. `tests/data/logs/README.md` says whose logs they are. No configuration, no Spark.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from schemas import FINDINGS, REBALANCE_INTERVALS, Table
from spark_jobs.domain.model.intervals import Interval
from tests.conformance.test_logs import LOGS, recorded
from tests.support.kernel import published, recorded_rows
from tests.support.tables import cells

Published = dict[Table, list[dict[str, Any]]]
#: When all consumers that begin had begun; the logs end at 11:40:23.
BEGIN = "11:31:23"
#: at | what was done | group | trigger | of which member or broker. Times are UTC, as the scenario wrote them down.
CHANGES = """
    11:32:23 | a consumer is killed                 | go-kill   | MEMBER_LEFT    | 192.0.2.2@17094
    11:32:27 | fewer queues to read                 | old-wrong | QUEUES_REMOVED | broker-a:4-7
    11:32:30 | fewer queues to read                 | old-wrong | QUEUES_REMOVED | broker-b:4-7
    11:32:53 | a container starts with another's id | go-twin   | MEMBER_JOINED  | 192.0.2.2@1
    11:33:24 | fewer queues                         | go-right  | QUEUES_REMOVED | broker-a:4-7
    11:33:26 | fewer queues                         | go-right  | QUEUES_REMOVED | broker-b:4-7
    11:33:28 | scale-out: Java joins two of Go      | mix-avg   | MEMBER_JOINED  | 10.9.2.1@1
    11:33:53 | scale-out: a third one starts        | go-kill   | MEMBER_JOINED  | 192.0.2.2@21023
    11:34:23 | both consumers stop                  | half      | MEMBER_LEFT    | 10.9.6.1@1
    11:34:43 | a consumer stops                     | old-avg   | MEMBER_LEFT    | 10.9.3.2@1
    11:34:53 | an orderly consumer stops            | go-order  | MEMBER_LEFT    | 192.0.2.2@17647
    11:35:16 | frozen since 11:33:23                | go-circle | MEMBER_LEFT    | 192.0.2.2@c2
    11:35:53 | stops, starts without its store      | wiped     | BROKER_GONE    | broker-c
    11:36:23 | the frozen consumer goes on          | go-circle | MEMBER_JOINED  | 192.0.2.2@c2
    11:36:23 | another orderly one starts           | go-order  | MEMBER_JOINED  | 192.0.2.2@23034
    11:36:23 | the Java consumer stops              | mix-hash  | MEMBER_LEFT    | 10.9.1.1@1
    11:36:53 | the first container is killed        | go-twin   | MEMBER_LEFT    | 192.0.2.2@1
    11:37:23 | the Java consumer stops              | mix-avg   | MEMBER_LEFT    | 10.9.2.1@1
    11:37:53 | all three consumers stop             | go-kill   | MEMBER_LEFT    | 192.0.2.2@17048, 192.0.2.2@17126, …
    11:39:23 | two consumers start                  | go-kill   | MEMBER_JOINED  | 192.0.2.2@26702, 192.0.2.2@26719
"""
#: rule | cause | group | begin | end; …: before the first event, or after the last one. All that is no symptom.
INCIDENTS = """
    DUPLICATE_CLIENT_ID   | CONTAINER_IDENTITY    | go-twin   | 11:32:53 | 11:36:53
    UNASSIGNED_QUEUE      | GROUP_OFFLINE         | go-kill   | 11:37:53 | 11:39:23
    UNASSIGNED_QUEUE      | GROUP_OFFLINE         | half      | 11:34:23 | …
    UNASSIGNED_QUEUE      | LOCK_NOT_RELEASED     | go-order  | 11:36:23 | 11:37:23
    SUBSCRIPTION_MISMATCH | DIFFERENT_TOPICS      | go-subs   | …        | …
    MIXED_CLIENTS         | DIFFERENT_RULES       | mix-hash  | …        | 11:36:23
    MEMBERSHIP_VIEW_SPLIT | BROKERS_DISAGREE      | half      | …        | 11:34:23
    STRANDED_WRITE_QUEUES | BEYOND_READ_QUEUES    | old-wrong | 11:32:27 | …
    REBALANCE_STORM       | MEMBER_CHANGES        | go-kill   | …        | 11:39:23
"""
#: A broker is last known to be up 20 s before it stops, at most, and the hosts were busy.
TOLERANCE = 8


class Change(NamedTuple):
    """A rebalance interval began, at so many seconds of the day."""

    group: str
    at: int
    trigger: str
    subject: str


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Published:
    recording = recorded(LOGS / "languages.tar.gz", Path(tmp_path_factory.mktemp("languages")))
    return published(recorded_rows(recording), Interval.parse("2026-11-26T11:00/2026-11-26T12:00"))


def test_every_change_of_members_and_brokers_has_its_trigger(audited: Published) -> None:
    found = sorted(_changes(audited))
    expected = sorted(Change(group, _seconds(at), trigger, of) for at, _, group, trigger, of in cells(CHANGES))
    assert [change._replace(at=0) for change in found] == [change._replace(at=0) for change in expected]
    late = [now.at - done.at for now, done in zip(found, expected, strict=True)]
    assert all(0 <= seconds <= TOLERANCE for seconds in late)


def _changes(audited: Published) -> Iterator[Change]:
    """Those after `BEGIN`, of topics of users, as all brokers see them."""
    for row in audited[REBALANCE_INTERVALS]:
        at = _second(row["interval_start"])
        if at > _seconds(BEGIN) and row["membership_view"] == "*" and not row["topic"].startswith(("%", "Default")):
            for trigger in row["triggers"] or ():
                yield Change(row["consumer_group"], at, trigger["trigger_type"], _short(trigger["subject"]))


def _short(subject: str) -> str:
    """Return the first two members."""
    members = subject.split(", ")
    return ", ".join([*members[:2], *(["…"] if len(members) > 2 else [])])


def test_incidents_and_no_others(audited: Published) -> None:
    found = {
        (row["rule"], row["cause"], row["consumer_group"]): (row["started_at"], row["ended_at"])
        for row in audited[FINDINGS]
        if row["severity"] != "INFO" and row["root_finding_id"] is None and _second(row["ended_at"]) > _seconds(BEGIN)
    }
    expected = {(rule, cause, group): times for rule, cause, group, *times in cells(INCIDENTS)}
    assert found.keys() == expected.keys()
    wrong = {key: found[key] for key, times in expected.items() if not all(map(_is_at, found[key], times, (0, 1)))}
    assert wrong == {}


def _is_at(found: datetime, expected: str, place: int) -> bool:
    if expected == "…":
        return _second(found) > _seconds("11:40:00") if place else _second(found) < _seconds(BEGIN)
    return 0 <= _second(found) - _seconds(expected) <= TOLERANCE


def _second(moment: datetime) -> int:
    """Of the day."""
    return _seconds(f"{moment:%H:%M:%S}")


def _seconds(clock: str) -> int:
    hours, minutes, seconds = map(int, clock.split(":"))
    return hours * 3600 + minutes * 60 + seconds
