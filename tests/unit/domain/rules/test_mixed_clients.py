"""Clients of one group that need not compute alike."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from spark_jobs.domain.kernel.allocations import Member
from spark_jobs.domain.kernel.audited_step import Disagreement
from spark_jobs.domain.model.finding import ConflictingValue
from spark_jobs.domain.model.history import Membership
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.rules.mixed_clients import MIXED_CLIENTS as RULE
from spark_jobs.domain.rules.mixed_clients import MIXED_STRATEGIES, SWITCHED_TO_BROADCASTING
from tests.support.builders import allocation, audited_step, broker_said, interval, members
from tests.support.client_steps import recorded_step
from tests.support.findings import rule_hit
from tests.support.snapshots import offsets
from tests.support.tables import cells
from tests.support.times import micros, second_of

#: language version strategy of each member (`-` is unknown) | mixed strategies | how the clients differ
_TABLE = """
    JAVA 493 AVG                                          | no  | -
    JAVA 493 AVG, JAVA 493 AVG                            | no  | -
    JAVA 493 AVG, JAVA 393 AVG                            | no  | -
    JAVA 493 AVG, JAVA 493 AVG_BY_CIRCLE                  | yes | -
    JAVA 493 AVG, JAVA 493 MACHINE_ROOM_NEARBY-AVG        | yes | -
    JAVA 393 AVG, JAVA 392 AVG                            | no  | DIFFERENT_INSTANCE_NAMES
    JAVA 392 AVG, JAVA - AVG                              | no  | -
    JAVA 392 AVG, - 493 AVG                               | no  | -
    JAVA 493 AVG, GO 493 AVG                              | no  | -
    JAVA 493 AVG, CPP 393 AVG, JAVA 300 AVG               | no  | DIFFERENT_INSTANCE_NAMES
    JAVA 493 AVG, - - AVG                                 | no  | -
    JAVA 493 CONSISTENT_HASH, GO 493 CONSISTENT_HASH      | no  | DIFFERENT_RULES
    JAVA 493 CONSISTENT_HASH, CPP 493 CONSISTENT_HASH     | no  | -
    JAVA 493 CONSISTENT_HASH, - 493 CONSISTENT_HASH       | no  | -
    GO 493 CONSISTENT_HASH, GO 300 CONSISTENT_HASH        | no  | -
    JAVA 493 CONSISTENT_HASH, JAVA 394 CONSISTENT_HASH    | no  | -
    JAVA 493 CONSISTENT_HASH, GO 493 AVG                  | yes | -
    JAVA 356 MACHINE_ROOM, JAVA 355 MACHINE_ROOM          | no  | DIFFERENT_RULES
    JAVA 355 MACHINE_ROOM, JAVA 353 MACHINE_ROOM          | no  | -
    JAVA 493 MACHINE_ROOM, JAVA 356 MACHINE_ROOM          | no  | DIFFERENT_INSTANCE_NAMES
    JAVA 493 MACHINE_ROOM, JAVA - MACHINE_ROOM            | no  | -
    JAVA 355 MACHINE_ROOM, JAVA - MACHINE_ROOM            | no  | -
    JAVA 493 MACHINE_ROOM, GO 493 MACHINE_ROOM            | no  | DIFFERENT_RULES
    CPP - MACHINE_ROOM, CPP 300 MACHINE_ROOM              | no  | -
    JAVA 355 MACHINE_ROOM, CPP - MACHINE_ROOM             | no  | DIFFERENT_RULES
    JAVA 355 MACHINE_ROOM, GO 493 MACHINE_ROOM            | no  | -
    JAVA 493 AVG, JAVA 355 AVG                            | no  | DIFFERENT_INSTANCE_NAMES
"""


def _member(number: int, text: str) -> Member:
    language, version, strategy = (None if word == "-" else word for word in text.split())
    return Member(f"c{number}", None, language, int(version) if version else None, strategy or "", True, True)


@pytest.mark.parametrize(("clients", "mixed", "cause"), cells(_TABLE))
def test_who_does_not_compute_alike(clients: str, mixed: str, cause: str) -> None:
    listed = [_member(number, text) for number, text in enumerate(clients.split(","), start=1)]
    step = audited_step(interval(0, 60, listed, allocation(listed, "0")))
    assert len(list(MIXED_STRATEGIES.hits(step))) == (mixed == "yes")
    assert [(hit.cause, hit.severity) for hit in RULE.hits(step)] == ([] if cause == "-" else [(cause, "INFO")])


@pytest.mark.parametrize(
    ("owners", "unassigned", "double_owned", "severity"),
    [
        ("0 1", None, None, "INFO"),
        ("0 -", {1: ("DUPLICATE_CLIENT_ID", None)}, None, "INFO"),
        ("0 -", {1: ("MIXED_CLIENTS", "c2")}, None, "ERROR"),
        ("0 0+1", None, {1: "MIXED_CLIENTS"}, "ERROR"),
    ],
)
def test_different_rules_are_an_error_where_they_divide_these_queues_differently(
    owners: str, unassigned: dict[int, tuple[str, str | None]], double_owned: dict[int, str], severity: str
) -> None:
    listed = [_member(1, "JAVA 493 CONSISTENT_HASH"), _member(2, "GO 493 CONSISTENT_HASH")]
    owned = allocation(listed, owners, unassigned=unassigned, double_owned=double_owned)
    assert [hit.severity for hit in RULE.hits(audited_step(interval(0, 60, listed, owned)))] == [severity]


def test_conflicting_values_are_languages_with_versions_without_what_is_unknown() -> None:
    texts = (f"{software} CONSISTENT_HASH" for software in ("JAVA 493", "GO -", "- -", "- 400", "JAVA 493"))
    listed = [_member(number, text) for number, text in enumerate(texts, start=1)]
    step = audited_step(interval(0, 60, listed, allocation(listed, "0"), topic="%RETRY%g", view="b"))
    rules = {"": ("c3",), "400": ("c4",), "GO": ("c2",), "JAVA 493": ("c1", "c5")}
    values = tuple(ConflictingValue(*each) for each in rules.items())
    (hit,) = RULE.hits(step)
    assert hit == rule_hit(0, 60, "DIFFERENT_RULES", view="b", severity="INFO", conflicting_values=values)


def test_what_is_not_replayed_says_nothing() -> None:
    listed = [_member(1, "JAVA 493 CONSISTENT_HASH"), _member(2, "GO 493 CONSISTENT_HASH")]
    assert list(RULE.hits(audited_step(interval(0, 60, listed, None)))) == []


def test_members_of_different_message_models_whether_replayed_or_not() -> None:
    reported = (("c1", "CLUSTERING"), ("c2", "BROADCASTING"), ("c3", "CLUSTERING"))
    conflicting = interval(0, 60, None, None, mismatches=[Disagreement(micros(10), micros(40), models=reported)])
    (hit,) = RULE.hits(audited_step(conflicting))
    values = ConflictingValue("BROADCASTING", ("c2",)), ConflictingValue("CLUSTERING", ("c1", "c3"))
    about: dict[str, Any] = {"view": "*", "severity": "ERROR", "weight": 1, "conflicting_values": values}
    assert hit == rule_hit(10, 40, "DIFFERENT_MESSAGE_MODELS", **about)


def test_a_broker_that_says_now_one_message_model_and_now_the_other() -> None:
    def listed(start: int, model: str | None, ids: str = "c1 c2") -> Span[Membership]:
        span = broker_said(start, start + 20, ids, frozenset())
        return span._replace(state=span.state._replace(message_model=model))

    def conflicts(*spans: Span[Membership]) -> list[tuple[int, int]]:
        got = RULE.hits(audited_step(interval(0, 60, None, None), memberships={"b": spans}))
        values = (ConflictingValue("BROADCASTING", None), ConflictingValue("CLUSTERING", None))
        return [(second_of(hit.start), second_of(hit.end)) for hit in got if hit.conflicting_values == values]

    assert conflicts(listed(0, "CLUSTERING"), listed(20, "BROADCASTING"), listed(40, "CLUSTERING")) == [(20, 40)]
    assert conflicts(listed(0, "CLUSTERING"), listed(20, "BROADCASTING")) == []
    assert conflicts(listed(0, "CLUSTERING"), listed(20, None), listed(40, "CLUSTERING")) == []
    assert conflicts(listed(0, "CLUSTERING"), listed(20, "BROADCASTING", "c1"), listed(40, "CLUSTERING")) == []


@pytest.mark.parametrize(
    ("times", "advances", "found"),
    [
        # Members and the reason of each time, and the seconds at which the committed offset advances.
        ([("A B", None), ("B X", None), ("X Y", "BROADCASTING")], range(0, 190, 20), [(200, "X Y", "B", "50")]),
        (
            [("A B", None), ("B X", "BROADCASTING"), ("X Y", "BROADCASTING")],
            (20,),
            [(100, "B X", "A", "80"), (200, "X Y", "A B", "130")],
        ),
        ([("A B", None), ("", None), ("X Y", "BROADCASTING")], range(0, 90, 20), []),  # stopped, and started
        ([("A B", None), ("", None), ("go", "BROADCASTING")], range(0, 90, 20), [(200, "go", "A B", "100")]),
        ([("A B", None), ("B X", None), ("X Y", "BROADCASTING")], (), []),  # offsets of long ago
        ([("A B", None), ("B X", None), ("X Y", "BROADCASTING")], (20, 260), []),  # somebody commits
        ([("A B", "BROADCASTING"), ("B X", "BROADCASTING"), ("X", "BROADCASTING")], (20,), []),
    ],
)  # fmt: skip
def test_members_that_broadcast_after_others_consumed_for_the_group(
    times: Sequence[tuple[str, str | None]], advances: Iterable[int], found: object
) -> None:
    """Each of the times lasts 100 s. A message comes every 2 s, and a commit takes all that came."""
    intervals = []
    for place, (ids, reason) in enumerate(times):
        listed = [each._replace(language="GO" if each.client_id == "go" else "JAVA") for each in members(ids)]
        owned = None if reason else allocation(listed, "0" if listed else "-")
        intervals.append(interval(100 * place, 100 * place + 100, listed, owned, reason=Reason(reason or "NO_ROUTE")))
    reads = [
        offsets(second, (second // 2, max((at for at in advances if at <= second), default=0) // 2, 1))
        for second in range(0, 300, 20)
    ]
    hits = RULE.hits(recorded_step([], *intervals, read=reads))
    got = [
        (
            second_of(hit.start),
            *(" ".join(each.client_ids or ()) for each in hit.conflicting_values or ()),
            "".join(filter(str.isdigit, hit.hint or "")),
        )
        for hit in hits
        if hit.cause == SWITCHED_TO_BROADCASTING
    ]
    assert got == found
