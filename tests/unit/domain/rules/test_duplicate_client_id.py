"""Repeated client ids: what is found, where they come from, and how bad it is."""

from dataclasses import replace
from typing import Any

import pytest

from schemas import MEMBERSHIP_SNAPSHOTS
from spark_jobs.domain.model.finding import Condition, ConflictingValue, Counts, Finding
from spark_jobs.domain.model.history import Connection
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.model.window import to_micros
from spark_jobs.domain.rules.duplicate_client_id import RULE, instance_name, probable_cause
from tests.support.builders import allocation, audited_step, broker_said, interval, members
from tests.support.findings import rule_hit
from tests.support.kernel import evaluated
from tests.support.snapshots import healthy_group
from tests.support.tables import cells
from tests.support.times import HOUR, micros

#: connections (host:port language version, `-` is unknown) | persistent | client id | cause
_TABLE = """
    10.0.0.1:1 JAVA 392, 10.0.0.1:2 JAVA 392 | no  | 172.17.0.1@1         | STALE_CONNECTION
    10.0.0.1:1 JAVA 493, 10.0.0.1:2 JAVA 493 | no  | 172.17.0.1@1#99      | STALE_CONNECTION
    10.0.0.1:1 JAVA 393, 10.0.0.1:2 JAVA 393 | no  | 172.17.0.1@1#99      | STALE_CONNECTION
    [::1]:1 JAVA 493, [::1]:2 JAVA 493       | no  | ::1@worker           | STALE_CONNECTION
    [::1]:1 JAVA 493, [::2]:2 JAVA 493       | no  | ::1@worker           | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 392, 10.0.0.2:1 JAVA 392 | no  | 172.17.0.1@1         | CONTAINER_IDENTITY
    10.0.0.1:1 JAVA 392, 10.0.0.2:1 JAVA 392 | yes | 172.17.0.1@1         | CONTAINER_IDENTITY
    10.0.0.1:1 JAVA 392, 10.0.0.1:2 JAVA 392 | yes | 172.17.0.1@1         | CONTAINER_IDENTITY
    10.0.0.1:1 JAVA 392, 10.0.0.1:2 JAVA 392 | yes | 172.17.0.1@1@unit    | CONTAINER_IDENTITY
    10.0.0.1:1 JAVA 493, 10.0.0.1:2 JAVA 392 | yes | 172.17.0.1@1         | CONTAINER_IDENTITY
    10.0.0.1:1 JAVA 393, 10.0.0.1:2 JAVA 392 | yes | 172.17.0.1@1         | CONTAINER_IDENTITY
    10.0.0.1:1 JAVA 493, 10.0.0.1:2 JAVA -   | yes | 172.17.0.1@1         | CONTAINER_IDENTITY
    10.0.0.1:1 JAVA -, 10.0.0.1:2 JAVA -     | yes | 172.17.0.1@1         | CONTAINER_IDENTITY
    10.0.0.1:1 GO 500, 10.0.0.1:2 GO 500     | yes | 172.17.0.1@1         | CONTAINER_IDENTITY
    10.0.0.1:1 - -, 10.0.0.1:2 - -           | yes | 172.17.0.1@1         | CONTAINER_IDENTITY
    10.0.0.1:1 CPP 400, 10.0.0.2:1 CPP 400   | no  | 172.17.0.1@1#DEFAULT | CONTAINER_IDENTITY
    10.0.0.1:1 CPP 400, 10.0.0.1:2 CPP 400   | yes | 172.17.0.1@1#DEFAULT | CONTAINER_IDENTITY
    10.0.0.1:1 PYTHON -, 10.0.0.2:1 PYTHON - | yes | 172.17.0.1@1#DEFAULT | CONTAINER_IDENTITY
    10.0.0.1:1 JAVA 493, 10.0.0.2:1 JAVA 493 | yes | 172.17.0.1@1#DEFAULT | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 393, 10.0.0.1:2 JAVA 393 | yes | 172.17.0.1@1#DEFAULT | FIXED_INSTANCE_NAME
    10.0.0.1:1 PYTHON 400, 10.0.0.1:2 PYTHON 400 | yes | 172.17.0.1@#DEFAULT | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 393, 10.0.0.1:2 JAVA 393 | yes | 172.17.0.1@1         | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 392, 10.0.0.2:1 JAVA 392 | yes | 172.17.0.1@worker    | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 393, 10.0.0.2:1 JAVA 393 | no  | 172.17.0.1@worker    | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 493, 10.0.0.2:1 JAVA 493 | no  | 172.17.0.1@1#x       | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 393, 10.0.0.2:1 JAVA 393 | yes | 172.17.0.1@1#x       | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 392, 10.0.0.2:1 JAVA 392 | yes | 172.17.0.1@\u0661    | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 392, 10.0.0.2:1 JAVA 392 | yes | 172.17.0.1           | FIXED_INSTANCE_NAME
    - JAVA 493, - JAVA 493                   | no  | 172.17.0.1@worker    | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 493, - JAVA 493          | no  | 172.17.0.1@worker    | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 441, 10.0.0.2:1 JAVA 441 | yes | 172.17.0.1@10.20.0.9:9876@1 | FRAMEWORK_NAME
    10.0.0.1:1 JAVA 441, 10.0.0.2:1 JAVA 441 | yes | 172.17.0.1@ns-a:9876;ns-b:9876@1 | FRAMEWORK_NAME
    10.0.0.1:1 JAVA 441, 10.0.0.2:1 JAVA 441 | yes | 172.17.0.1@ns-a:9876@1@unit | FRAMEWORK_NAME
    10.0.0.1:1 JAVA 493, 10.0.0.2:1 JAVA 493 | yes | 172.17.0.1@orders¦1 | FRAMEWORK_NAME
    10.0.0.1:1 JAVA 441, 10.0.0.2:1 JAVA 441 | yes | 172.17.0.1@10.20.0.9:9876 | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 441, 10.0.0.2:1 JAVA 441 | yes | 172.17.0.1@ns-a:9876@1@7712 | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 493, 10.0.0.1:2 JAVA 493 | yes | 172.17.0.1@1#99      | CLONED_PROCESS
    10.0.0.1:1 JAVA 393, 10.0.0.2:1 JAVA 393 | yes | 172.17.0.1@1#99      | CLONED_PROCESS
"""


def _connection(text: str) -> Connection:
    address, language, version = (None if word == "-" else word for word in text.split())
    return Connection("c", address, language, int(version) if version else None)


@pytest.mark.parametrize(("connections", "persistent", "client_id", "cause"), cells(_TABLE))
def test_where_an_id_probably_comes_from(connections: str, persistent: str, client_id: str, cause: str) -> None:
    client_id = client_id.replace("¦", "|")
    listed = tuple(_connection(text) for text in connections.split(", "))
    assert probable_cause(Condition(client_id, None, listed, persistent == "yes", None, None)) == cause
    assert cause in RULE.causes


@pytest.mark.parametrize(
    ("client_id", "name"),
    [("10.0.0.1@170", "170"), ("10.0.0.1@170#5@unit@STREAM", "170#5"), ("10.0.0.1@@unit", ""), ("nonsense", "")],
)
def test_instance_name_is_between_the_first_two_ats(client_id: str, name: str) -> None:
    assert instance_name(client_id) == name


def test_what_stands_is_an_error_whatever_it_cost() -> None:
    assert RULE.severity(Condition("c", None, (), True, 0, 0)) == "ERROR"
    assert RULE.severity(Condition("c", None, (), False, 9, 9)) == "INFO"
    assert RULE.shows_persistence
    assert RULE.probable_cause is probable_cause


def test_one_hit_for_the_id_and_one_per_harmed_queue() -> None:
    """4 queues, AVG: 0 and 1 are the duplicates' (positions 0, 1), 2 is their other position's, 3 is c2's."""
    listed = members("c1 c1 c2")
    causes = dict.fromkeys((0, 1), "DUPLICATE_CLIENT_ID")
    owned = allocation(listed, "0+1 0+1 - 2", unassigned={2: ("DUPLICATE_CLIENT_ID", "c1")}, double_owned=causes)
    cured: dict[str, Any] = {"if_deduplicated": Counts(0, 2), "if_unique": Counts(0, 0)}
    owned = replace(owned, **cured)
    about: dict[str, Any] = {"client_id": "c1", "view": "b", "seen_at": 40}
    connections = tuple(Connection("c1", f"10.0.0.1:{port}", "JAVA", 493) for port in (1, 2))
    assert list(RULE.hits(audited_step(interval(-20, 60, listed, owned, view="b", seen_at=40)))) == [
        rule_hit(-20, 60, **about, implicated="c1", connections=connections, weight=1.0, **cured),
        rule_hit(-20, 60, queue="t b:2 UNASSIGNED", **about),
        rule_hit(-20, 60, queue="t b:0 DOUBLE_OWNED", **about),
        rule_hit(-20, 60, queue="t b:1 DOUBLE_OWNED", **about),
    ]


def test_every_repeated_id_is_its_own_and_other_harm_is_not_theirs() -> None:
    listed = members("c1 c1 c2 c3 c3")
    unassigned = {0: ("MEMBER_NOT_SUBSCRIBED", "c2"), 1: ("BROKER_NOT_READABLE", None)}
    owned = allocation(listed, "- - 1+2", unassigned=unassigned, double_owned={2: "CONFIG_OVERLAP"})
    found = list(RULE.hits(audited_step(interval(0, 60, listed, owned))))
    assert [(hit.client_id, len(hit.connections), hit.queue) for hit in found] == [("c1", 2, None), ("c3", 2, None)]


def test_no_hit_without_an_allocation() -> None:
    assert list(RULE.hits(audited_step(interval(0, 60, members("c1 c2"), None)))) == []
    assert list(RULE.hits(audited_step(interval(0, 60, None)))) == []


def test_members_that_are_not_replayed_have_twins_too_and_what_that_does_to_queues_is_unknown() -> None:
    """They come and go inside an interval: brokers list them from 20 s on, and until 50 s."""
    listed = broker_said(20, 50, "c1 c2 c1", frozenset())
    ports = (
        Connection(connection.client_id, f"10.0.0.1:{port}")
        for port, connection in enumerate(listed.state.connections, 1)
    )
    listed = Span(*listed[:2], micros(40), listed.state._replace(connections=tuple(ports)))
    alone = broker_said(0, 20, "c1 c2", frozenset())
    of_id, *others = RULE.hits(audited_step(interval(0, 60, members("c1 c2")), memberships={"b": [alone, listed]}))
    assert not others
    assert (of_id.start, of_id.end) == (micros(20), micros(50))
    assert (of_id.client_id, of_id.seen_at, [connection.client_addr for connection in of_id.connections]) == (
        "c1", micros(40), ["10.0.0.1:1", "10.0.0.1:3"],
    )  # fmt: skip
    assert (of_id.if_deduplicated, of_id.if_unique, of_id.queue) == (None, None, None)
    assert of_id.conflicting_values == (ConflictingValue("owners of queues are unknown: UNKNOWN_STRATEGY", ("c1",)),)


def duplicates_found(**more: Any) -> tuple[list[Finding], set[Reason | None]]:
    """Of a group with a duplicate id for ten minutes: its findings, and why the queues are not replayed."""
    rows = healthy_group(range(0, 600, 20), "c1", "c1", "c2")
    rows[MEMBERSHIP_SNAPSHOTS] = [row | more for row in rows[MEMBERSHIP_SNAPSHOTS]]
    (step,) = evaluated(rows, HOUR)
    reasons = {each.reason for each in step.step.intervals if each.start < micros(560) + to_micros(HOUR.start)}
    return [finding for finding in step.findings if finding.rule == "DUPLICATE_CLIENT_ID"], reasons


def test_duplicates_of_a_broadcasting_group_harm_no_queue() -> None:
    """By RocketMQ's `LocalFileOffsetStore` they share a file on one machine."""
    (found,), reasons = duplicates_found(message_model="BROADCASTING")
    assert "BROADCASTING" in reasons
    assert (found.severity, found.subject, found.evidence.persistence) == ("INFO", "c1", "PERSISTENT")
    assert found.cause == "SHARED_OFFSET_FILE"
    assert found.evidence.conflicting_values == [
        ConflictingValue("owners of queues are unknown: BROADCASTING", ("c1",))
    ]
    assert (found.evidence.queues, found.evidence.backlog_max) == ([], None)
