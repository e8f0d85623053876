"""When members and routes are known, and whose list counts."""

from collections.abc import Mapping

import pytest

from spark_jobs.domain.kernel.views import with_modes
from spark_jobs.domain.model.message_queue import RouteEntry
from tests.support.builders import broker_said
from tests.support.histories import A, B, History, as_row, calm, intervals, listed, routed, rows
from tests.support.oracle.snapshots import MembershipSnapshot, RouteSnapshot
from tests.support.times import micros

BOTH = routed({-210: (A, B)})
#: Still readable, and a broker without queues: no queue changes.
PERMISSIONS = RouteEntry("a", 7, 4, 4), RouteEntry("c", 6, 0, 0)
JOINED = {-210: "c1", 100: "c1 c2"}
HISTORIES: Mapping[str, tuple[History, list[str]]] = {
    "nothing happens": (calm(), ["0-300 * DEFAULT c1 c2"]),
    "members change when a snapshot shows it": (
     calm(memberships=listed("a", {-210: "c1", 100: "c2 c1 c2", 200: ""})),
     ["0-100 * DEFAULT c1", "100-200 * DEFAULT c1 c2 c2", "200-300 * DEFAULT"]),
    "a snapshot holds for the gap and no longer": (
     calm(memberships=listed("a", {-210: "c1", 100: None, 200: "c1"})),
     ["0-120 * DEFAULT c1", "120-200 * NO_MEMBERSHIP_SNAPSHOT", "200-300 * DEFAULT c1"]),
    "a short silence is no gap": (
     calm(memberships=listed("a", {-210: "c1", 100: None, 120: "c1"})), ["0-300 * DEFAULT c1"]),
    "a route holds for the gap and no longer": (
     calm(routes=routed({-210: (A,), 100: None, 200: (A,)})),
     ["0-120 * DEFAULT c1 c2", "120-200 * NO_ROUTE_SNAPSHOT", "200-300 * DEFAULT c1 c2"]),
    "only what changes a queue cuts": (
     calm(routes=routed({-210: (A,), 50: PERMISSIONS, 100: (RouteEntry("a", 6, 4, 5),)})),
     ["0-100 * DEFAULT c1 c2", "100-300 * DEFAULT c1 c2"]),
    "a route without brokers": (
     calm(routes=routed({-210: (A,), 100: ()})), ["0-100 * DEFAULT c1 c2", "100-300 * NO_ROUTE"]),
    "only brokers of the route count": (
     calm(memberships=listed("a", {-210: "c1 c2"}) + listed("b", {-210: "c1 c2 c3"})), ["0-300 * DEFAULT c1 c2"]),
    "none of them": (calm(memberships=listed("b", {-210: "c1"})), ["0-300 * NO_MEMBERSHIP_SNAPSHOT"]),
    "brokers that disagree are a view each": (
     calm(memberships=listed("a", {-210: "c1 c2"}) + listed("b", {-210: "c2 c1", 100: "c1"}), routes=BOTH),
     ["0-100 * DEFAULT c1 c2", "100-300 a DEFAULT c1 c2", "100-300 b DEFAULT c1"]),
    "duplicates on one broker only are a disagreement": (
     calm(memberships=listed("a", {-210: "c1 c1"}) + listed("b", {-210: "c1"}), routes=BOTH),
     ["0-300 a DEFAULT c1 c1", "0-300 b DEFAULT c1"]),
    "a broker that lists nobody while another does is ignored": (
     calm(memberships=listed("a", {-210: "c1", 200: ""}) + listed("b", {-210: ""}), routes=BOTH),
     ["0-200 * DEFAULT c1", "200-300 * DEFAULT"]),
    "a broker that does not answer is ignored": (
     calm(memberships=listed("a", {-210: "c1"}) + listed("b", {-210: "c1 c2", 100: None}), routes=BOTH),
     ["0-120 a DEFAULT c1", "0-120 b DEFAULT c1 c2", "120-300 * DEFAULT c1"]),
    "a disagreement shorter than half a round is the recorder on its way": (
     calm(memberships=listed("a", JOINED) + listed("b", JOINED, late=4), routes=BOTH),
     ["0-100 * DEFAULT c1", "100-300 * DEFAULT c1 c2"]),
    "one as long as half a round is none": (
     calm(memberships=listed("a", JOINED) + listed("b", JOINED, late=5), routes=BOTH),
     ["0-100 * DEFAULT c1", "100-105 a DEFAULT c1 c2", "100-105 b DEFAULT c1", "105-300 * DEFAULT c1 c2"]),
    "the end of a long disagreement is not the recorder on its way": (
     calm(memberships=listed("a", JOINED) + listed("b", {-210: "c1", 124: "c1 c2"}, late=4), routes=BOTH),
     ["0-100 * DEFAULT c1", "100-124 a DEFAULT c1 c2", "100-124 b DEFAULT c1", "124-300 * DEFAULT c1 c2"]),
}  # fmt: skip


@pytest.mark.parametrize(("history", "expected"), HISTORIES.values(), ids=HISTORIES)
def test_when_members_and_routes_are_known(history: History, expected: list[str]) -> None:
    assert rows(history) == expected


def test_a_route_change_cuts_and_the_order_of_its_entries_does_not() -> None:
    more = RouteEntry("a", 6, 8, 8)
    history = calm(
        memberships=listed("a", {-210: "c1"}) + listed("b", {-210: "c1"}),
        routes=routed({-210: (A, B), 50: (B, A), 100: (more, B)}),
    )
    assert rows(history) == ["0-100 * DEFAULT c1", "100-300 * DEFAULT c1"]
    assert [len(interval.queues or ()) for interval in intervals(history)] == [8, 12]


def test_a_list_without_a_message_model_has_that_of_the_one_before_or_else_of_the_first_with_one() -> None:
    reported = [None, "BROADCASTING", None, "CLUSTERING", None]
    spans = [broker_said(20 * place, 20 * place + 20, "", frozenset()) for place in range(len(reported))]
    of_broker = [
        span._replace(state=span.state._replace(message_model=model))
        for span, model in zip(spans, reported, strict=True)
    ]
    models = [span.state.message_model for span in with_modes(of_broker)]
    assert models == ["BROADCASTING"] * 3 + ["CLUSTERING"] * 2


def test_a_disagreement_is_as_long_as_all_of_it_whatever_changes_meanwhile() -> None:
    a = listed("a", {-210: "c1", 100: "c1 c2", 104: "c1 c2 c3"})
    on_the_way = MembershipSnapshot("a", micros(104), ("c1", "c2", "c3"), frozenset({"T"}))
    history = calm(memberships=(*a, on_the_way, *listed("b", {-210: "c1", 104: "c1 c2 c3"}, late=7)), routes=BOTH)
    assert rows(history) == [
        "0-100 * DEFAULT c1",
        "100-104 a DEFAULT c1 c2",
        "100-107 b DEFAULT c1",
        "104-107 a DEFAULT c1 c2 c3",
        "107-300 * DEFAULT c1 c2 c3",
    ]


def test_agreement_after_a_silence_settles_nothing_before_it() -> None:
    seen = tuple(RouteSnapshot(micros(second), (A, B)) for second in (*range(-210, 71, 10), 72, *range(103, 300, 10)))
    history = calm(memberships=listed("a", JOINED) + listed("b", JOINED, late=4), routes=seen)
    assert rows(history) == [
        *("0-100 * DEFAULT c1", "100-102 a DEFAULT c1 c2", "100-102 b DEFAULT c1"),
        *("102-103 * NO_ROUTE_SNAPSHOT", "103-300 * DEFAULT c1 c2"),
    ]


@pytest.mark.parametrize(("second", "counts"), [(-210, False), (-209.999, True), (299.999, True), (300, False)])
def test_a_step_sees_what_holds_when_it_begins_and_all_until_its_end(second: float, counts: bool) -> None:
    other = MembershipSnapshot("elsewhere", micros(second), (), frozenset({"T"}))
    unnamed = listed("a", {-210: "c1 c2"}, topics=["S"])
    assert rows(calm(memberships=(*unnamed, other))) == (["0-300 * DEFAULT c1 c2"] if counts else [])


def test_a_disagreement_that_ends_with_the_step_stands() -> None:
    changes = {-210: "c1", 298: "c1 c2"}
    members = listed("a", changes, late=8) + listed("b", changes)
    history = calm(memberships=(*members, MembershipSnapshot("b", micros(300), ("c1", "c2"))), routes=BOTH)
    assert rows(history) == ["0-298 * DEFAULT c1", "298-300 a DEFAULT c1 c2", "298-300 b DEFAULT c1"]


def test_the_replayed_span_begins_before_the_step() -> None:
    spans = intervals(calm(memberships=listed("a", {-210: "c1", -100: "c1 c1", 50: "c1"})))
    by_hand = ["-180--100 * DEFAULT c1", "-100-50 * DEFAULT c1 c1", "50-300 * DEFAULT c1"]
    assert [as_row(interval) for interval in spans] == by_hand
