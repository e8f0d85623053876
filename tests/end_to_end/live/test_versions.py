"""A cluster of an older version, or in the middle of an upgrade, is recorded whole, and the audit says of it what was
done to it.

`ROCKETMQ` names the version of servers and clients, 4.3.0 or later, or `4.9.4+5.4.0` for a broker of each.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from schemas import ALLOCATIONS, CLIENT_SNAPSHOTS, FINDINGS, REBALANCE_INTERVALS, Table
from tests.end_to_end.live import versions
from tests.end_to_end.live.cluster import VERSION, cluster
from tests.end_to_end.live.recorded import Recorded
from tests.end_to_end.live.scenario import CADENCE
from tests.spark.recording.test_truth import Answer, History, answers
from tests.support.tables import cells

pytestmark = pytest.mark.live

_RULES = """
twin-service    | DUPLICATE_CLIENT_ID   | begin
twin-service    | DOUBLE_OWNED_QUEUE    | begin
twin-service    | UNASSIGNED_QUEUE      | begin
tags-service    | SUBSCRIPTION_MISMATCH | begin
frozen-service  | CLIENT_HUNG           | freeze
dead-service    | GROUP_OFFLINE         | kill
shrunk-service  | STRANDED_WRITE_QUEUES | shrink
reset-service   | OFFSET_REWOUND        | reset
"""
#: A finding begins with the first answer that shows it: clients are asked in every second round, and a call that is not
#: answered takes 3 s.
LATE = timedelta(seconds=2 * CADENCE + 5)
#: What was there when the recording began is in its first round.
EARLY = {True: timedelta(seconds=CADENCE + 1), False: timedelta(seconds=1)}
#: Clients and brokers follow a change of members within so long.
NEAR = timedelta(seconds=10)


@dataclass(frozen=True)
class Old:
    """When things happened, what was recorded and published, and what `capture` printed."""

    times: Mapping[str, datetime]
    recorded: Recorded
    published: Mapping[Table, list[dict[str, Any]]]
    log: str


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Old:
    folder = tmp_path_factory.mktemp("old")
    first, _, other = VERSION.partition("+")
    brokers = {"broker-a": first, "broker-b": other or first}
    with cluster(folder, version=first, brokers=brokers, program="OldClients.java") as made:
        versions.begin(made)
        times = versions.record(made, folder / "recordings")
        log = made.log("capture")
    recorded = Recorded.read(folder / "recordings")
    return Old(times, recorded, recorded.audited(CADENCE), log)


def test_every_group_is_recorded_whole_in_every_round(old: Old) -> None:
    print(f"\n{VERSION}", *versions.proof(old.recorded, old.log), sep="\n")
    old.recorded.check_whole()
    number = len(versions.rounds(old.log))
    assert number >= versions.END // CADENCE - 3
    assert versions.shares(old.recorded, number) == dict.fromkeys(versions.GROUPS, (1.0, 1.0))
    assert "MISSED" not in old.log
    assert max(versions.rounds(old.log)) < CADENCE / 2


def test_only_what_a_version_lacks_is_left_out(old: Old) -> None:
    left_out = {line.partition(" (")[0] for line in old.log.splitlines() if "is not asked for" in line}
    versions_of = dict(zip(("broker-a", "broker-b"), (VERSION.split("+") * 2)[:2], strict=True))
    assert left_out == {name for name, version in versions_of.items() if version < "5"}


@pytest.mark.parametrize(("group", "rule", "start"), cells(_RULES))
def test_what_was_done_is_found_in_time(old: Old, group: str, rule: str, start: str) -> None:
    findings = old.published[FINDINGS]
    begins = [row["started_at"] for row in findings if (row["consumer_group"], row["rule"]) == (group, rule)]
    assert begins, Counter((row["consumer_group"], row["rule"]) for row in findings)
    assert old.times[start] - EARLY[start == "begin"] <= min(begins) <= old.times[start] + LATE


def test_healthy_groups_have_no_finding_above_info(old: Old) -> None:
    healthy = ("healthy-service", "orderly-service")
    said = [row for row in old.published[FINDINGS] if row["consumer_group"] in healthy and row["severity"] != "INFO"]
    assert [(row["consumer_group"], row["rule"], row["started_at"]) for row in said] == []


def test_replay_equals_what_clients_really_owned(old: Old) -> None:
    history = History(old.published[REBALANCE_INTERVALS], old.published[ALLOCATIONS])
    said = answers(old.recorded.rows(CLIENT_SNAPSHOTS))  # type: ignore[arg-type]
    compared = list(history.compared(said, partial(_stands, history)))
    differing = [(answer, owned) for answer, owned in compared if answer.owned != owned]
    print(f"\n{VERSION}: {len(differing)} of {len(compared)} answers of clients differ from the replay")
    assert len(differing) <= 0.01 * len(compared), differing[:1]
    assert len(compared) > 50


def _stands(history: History, answer: Answer) -> dict[str, Any] | None:
    """The interval of the answer, if nothing changes within 10 s. What changes between two snapshots is known with the
    second, and a client learns within 30 s that a topic has other queues.
    """
    if answer.group == "shrunk-service":
        return history.settled(answer)
    found = history.at(answer)
    if found is None or found["status"] != "REPLAYED" or found["membership_view"] != "*":
        return None
    before, after = found["interval_start"] + NEAR, found["interval_end"] - NEAR - timedelta(seconds=CADENCE)
    return found if before <= answer.at <= after else None
