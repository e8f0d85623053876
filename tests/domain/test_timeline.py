"""What an interval is replayed with, and why one is not replayed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_jobs.domain.message_queue import RouteEntry
from spark_jobs.domain.snapshots import ClientSnapshot, GroupHistory
from spark_jobs.domain.strategies import CONFIG, CONSISTENT_HASH, MACHINE_ROOM, POP, Strategy
from spark_jobs.domain.timeline import Reason, Status, clip, rebalance_intervals
from tests.domain.histories import CLASS, WINDOW, A, B, at, calm, client, listed, routed, rows

AVERAGELY, CIRCLE = CLASS + "AllocateMessageQueueAveragely", CLASS + "AllocateMessageQueueAveragelyByCircle"
MACHINE_ROOM_CLASS, NEARBY = CLASS + "AllocateMessageQueueByMachineRoom", CLASS + "AllocateMachineRoomNearby"
OWN = "com.example.Mine"
NOT_READABLE = RouteEntry("a", 2, 4, 4)
ROOMS = Strategy("MACHINE_ROOM_NEARBY-AVG", broker_room="^(.)$", client_room="^(c)")


def test_members_run_what_their_clients_say() -> None:
    history = calm(clients=(client("c1", 0, AVERAGELY), client("c2", 0, CIRCLE)))
    assert rows(history) == ["0-300 * CLIENT c1 c2/AVG_BY_CIRCLE"]


def test_a_client_that_comes_back_with_another_strategy_cuts() -> None:
    history = calm(clients=(client("c1", 0, AVERAGELY), client("c2", 0, AVERAGELY), client("c2", 100, CIRCLE)))
    assert rows(history) == ["0-100 * CLIENT c1 c2", "100-300 * CLIENT c1 c2/AVG_BY_CIRCLE"]


def test_an_answer_that_changes_nothing_does_not_cut() -> None:
    history = calm(clients=tuple(client("c1", second, AVERAGELY) for second in range(0, 300, 20)))
    assert rows(history) == ["0-300 * CLIENT c1 c2"]


def test_learning_what_was_assumed_does_not_cut() -> None:
    history = calm(clients=(client("c1", 0), client("c1", 100, AVERAGELY)))
    assert rows(history) == ["0-300 * DEFAULT c1 c2"]


def test_who_is_not_known_runs_what_most_of_its_own_view_run() -> None:
    history = calm(
        memberships=listed("a", {-210: "c1 c3"}) + listed("b", {-210: "c2 c3"}),
        routes=routed({-210: (A, B)}),
        clients=(client("c1", 0, CIRCLE),),
    )
    assert rows(history) == ["0-300 a CLIENT c1/AVG_BY_CIRCLE c3/AVG_BY_CIRCLE", "0-300 b DEFAULT c2 c3"]


def test_subscriptions_are_those_of_each_client_as_far_as_known() -> None:
    history = calm(clients=(client("c1", 0, AVERAGELY, topics=["T", "S"]), client("c2", 0, AVERAGELY, topics=["S"])))
    assert rows(history) == ["0-300 * CLIENT c1 c2!"]
    assert rows(calm(clients=(client("c2", 0, AVERAGELY, topics=["S"]),))) == ["0-300 * CLIENT c1 c2!"]


def test_who_subscribes_later_is_another_interval() -> None:
    history = calm(clients=(client("c2", 0, topics=["S"]), client("c2", 100, topics=["S", "T"])))
    assert rows(history) == ["0-100 * DEFAULT c1 c2!", "100-300 * DEFAULT c1 c2"]


def test_nobody_subscribes_the_topic_any_more() -> None:
    silent = (client("c1", 0, topics=["S"]), client("c2", 0, topics=[]))
    assert rows(calm(clients=silent)) == ["0-300 * NOT_SUBSCRIBED"]
    back = (*silent, client("c2", 100, topics=["T"]))
    assert rows(calm(clients=back)) == ["0-100 * NOT_SUBSCRIBED", "100-300 * DEFAULT c1! c2"]
    assert rows(calm(clients=silent[:1])) == ["0-300 * DEFAULT c1! c2"]


def test_offsets_alone_make_no_subscription_but_keep_the_topic_in_sight() -> None:
    unnamed = calm(memberships=listed("a", {-210: "c1", 100: ""}, topics=["S"]))
    assert rows(unnamed) == []
    assert rows(replace(unnamed, offset_times=(at(300),))) == []
    with_offsets = replace(unnamed, offset_times=(at(10),))
    assert rows(with_offsets) == ["0-100 * NOT_SUBSCRIBED", "100-300 * DEFAULT"]


def test_a_client_alone_can_name_the_topic() -> None:
    unnamed = listed("a", {-210: "c1 c2"}, topics=["S"])
    assert rows(calm(memberships=unnamed, clients=(client("c1", 0, topics=["T"]),))) == ["0-300 * DEFAULT c1 c2"]


def test_an_offline_group_is_replayed_without_members() -> None:
    offline = calm(memberships=listed("a", {-210: "c1", -30: ""}))
    assert rows(offline) == ["0-300 * DEFAULT"]
    assert rows(replace(offline, configured=Strategy(CONSISTENT_HASH))) == ["0-300 * CONFIGURATION"]
    assert rows(replace(offline, routes=routed({-210: (NOT_READABLE,)}))) == ["0-300 * DEFAULT"]


def test_broadcasting_and_broker_side_rebalance_have_no_owners() -> None:
    broadcasting = tuple(replace(one, message_model="BROADCASTING") for one in calm().memberships[:9])
    by_broker = (ClientSnapshot("c1", at(0), client_rebalance=False),)
    by_client = (ClientSnapshot("c1", at(0), client_rebalance=True),)
    members = broadcasting + listed("a", {-120: "c1", 100: None})
    assert rows(calm(memberships=members)) == ["0-120 * BROADCASTING", "120-300 * NO_MEMBERSHIP_SNAPSHOT"]
    assert rows(calm(clients=by_broker)) == ["0-300 * BROKER_REBALANCE"]
    assert rows(calm(clients=by_client)) == ["0-300 * DEFAULT c1 c2"]
    assert rows(calm(configured=Strategy(POP))) == ["0-300 * BROKER_REBALANCE"]


def test_not_applicable_holds_for_each_view() -> None:
    split = listed("a", {-210: "c1"}) + listed("b", {-210: "c2"})
    history = calm(memberships=split, routes=routed({-210: (A, B)}), configured=Strategy(POP))
    assert rows(history) == ["0-300 a BROKER_REBALANCE", "0-300 b BROKER_REBALANCE"]


def test_without_readable_queues_clients_keep_what_they_had() -> None:
    history = calm(routes=routed({-210: (A,), 100: (NOT_READABLE,)}))
    assert rows(history) == ["0-100 * DEFAULT c1 c2", "100-300 * NO_READABLE_QUEUE"]


@pytest.mark.parametrize(
    ("strategy_class", "configured", "expected"),
    [
        (OWN, None, "0-300 * UNKNOWN_STRATEGY"),
        (OWN, Strategy("AVG_BY_CIRCLE"), "0-300 * CONFIGURATION c1/AVG_BY_CIRCLE c2/AVG_BY_CIRCLE"),
        (MACHINE_ROOM_CLASS, None, "0-300 * SETTINGS_MISSING"),
        (NEARBY, None, "0-300 * SETTINGS_MISSING"),
        (NEARBY, ROOMS, "0-300 * CONFIGURATION c1/MACHINE_ROOM_NEARBY-AVG c2/MACHINE_ROOM_NEARBY-AVG"),
        (NEARBY, replace(ROOMS, client_room=None), "0-300 * SETTINGS_MISSING"),
        (NEARBY, replace(ROOMS, client_room="^(c1)"), "0-300 * ROOM_UNRESOLVABLE"),
        (NEARBY, replace(ROOMS, broker_room="^(b)"), "0-300 * ROOM_UNRESOLVABLE"),
        (None, Strategy(CONFIG), "0-300 * SETTINGS_MISSING"),
        (None, Strategy(MACHINE_ROOM, rooms=frozenset()), "0-300 * SETTINGS_MISSING"),
        (AVERAGELY, Strategy(MACHINE_ROOM), "0-300 * SETTINGS_MISSING"),  # c2 runs what is configured
    ],
)
def test_what_a_replay_needs_to_know(strategy_class: str | None, configured: Strategy | None, expected: str) -> None:
    assert rows(calm(clients=(client("c1", 0, strategy_class),), configured=configured)) == [expected]


def test_the_room_of_a_broker_without_readable_queues_does_not_matter() -> None:
    history = calm(routes=routed({-210: (A, RouteEntry("nowhere", 2, 4, 4))}), configured=ROOMS)
    assert rows(history) == ["0-300 * CONFIGURATION c1/MACHINE_ROOM_NEARBY-AVG c2/MACHINE_ROOM_NEARBY-AVG"]


def test_the_first_reason_counts() -> None:
    """Take the reasons away one by one, from the first on."""
    broken = calm(
        memberships=tuple(
            replace(one, message_model="BROADCASTING") for one in listed("a", {-210: "c1"}, topics=["S"])
        ),
        routes=(),
        clients=(ClientSnapshot("c1", at(0), strategy_class=OWN, client_rebalance=False, topics=frozenset("S")),),
        offset_times=(at(0),),
    )
    silent, routed_a = broken.memberships, routed({-210: (NOT_READABLE,)})
    in_turn = [broken]

    def then(**changes: object) -> None:
        in_turn.append(replace(in_turn[-1], **changes))  # type: ignore[arg-type]

    then(routes=routed({-210: ()}))
    then(routes=routed_a, memberships=())
    then(memberships=silent)
    then(memberships=listed("a", {-210: "c1 c2"}, topics=["S"]))
    then(clients=(client("c1", 0, OWN, topics=["S"]), client("c2", 0, NEARBY, topics=["S"])))
    then(clients=(client("c1", 0, OWN, topics=["T"]), client("c2", 0, NEARBY, topics=["S"])))
    then(routes=routed({-210: (A,)}))
    then(clients=(client("c1", 0, AVERAGELY, topics=["T"]), client("c2", 0, NEARBY, topics=["S"])))
    then(configured=replace(ROOMS, client_room="(x)"))
    assert [reason_of(history) for history in in_turn] == list(Reason)


def reason_of(history: GroupHistory) -> Reason | None:
    (interval,) = clip(rebalance_intervals(history, WINDOW), WINDOW.step)
    return interval.reason


def test_each_reason_has_its_status() -> None:
    assert {reason.name: reason.status for reason in Reason} == {
        "NO_ROUTE_SNAPSHOT": Status.UNOBSERVED,
        "NO_MEMBERSHIP_SNAPSHOT": Status.UNOBSERVED,
        "BROADCASTING": Status.NOT_APPLICABLE,
        "BROKER_REBALANCE": Status.NOT_APPLICABLE,
        "NOT_SUBSCRIBED": Status.NOT_APPLICABLE,
        "NO_ROUTE": Status.NOT_REPLAYABLE,
        "NO_READABLE_QUEUE": Status.NOT_REPLAYABLE,
        "UNKNOWN_STRATEGY": Status.NOT_REPLAYABLE,
        "SETTINGS_MISSING": Status.NOT_REPLAYABLE,
        "ROOM_UNRESOLVABLE": Status.NOT_REPLAYABLE,
    }


def test_intervals_that_are_not_replayed_carry_no_inputs() -> None:
    for interval in rebalance_intervals(calm(configured=Strategy(POP)), WINDOW):
        assert (interval.members, interval.queues, interval.strategy_source) == ((), (), None)


def test_a_change_of_members_does_not_cut_what_is_not_replayed() -> None:
    history = calm(memberships=listed("a", {-210: "c1", 100: "c1 c2"}), configured=Strategy(POP))
    assert rows(history) == ["0-300 * BROKER_REBALANCE"]
