"""Inputs of a replayed interval, and reasons why one is not replayed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from spark_jobs.domain.evaluate import evaluate
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.model.history import Connection, GroupHistory, Membership
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.statuses import Reason, Status
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rocketmq.strategies import CONFIG, CONSISTENT_HASH, MACHINE_ROOM, POP, StrategySettings
from tests.conformance.kernel_vs_oracle import by_kernel
from tests.support.histories import (
    CADENCE,
    CALM,
    CLASS,
    SETTINGS,
    A,
    B,
    History,
    as_row,
    calm,
    client,
    clipped,
    listed,
    routed,
    rows,
)
from tests.support.kernel import series_of
from tests.support.oracle.snapshots import ClientSnapshot, MembershipSnapshot
from tests.support.times import START, micros

AVERAGELY, CIRCLE = CLASS + "AllocateMessageQueueAveragely", CLASS + "AllocateMessageQueueAveragelyByCircle"
MACHINE_ROOM_CLASS, NEARBY = CLASS + "AllocateMessageQueueByMachineRoom", CLASS + "AllocateMachineRoomNearby"
OWN = "com.example.Mine"
NOTHING = StrategySettings()
NOT_READABLE = RouteEntry("a", 2, 4, 4)
#: What is said at -210, -200, … 290 s.
ASKED = CALM.memberships
ROOMS = StrategySettings("MACHINE_ROOM_NEARBY-AVG", broker_room="^(.)$", client_room="^(c)")


def of_model(model: str, snapshots: Sequence[MembershipSnapshot] = ASKED) -> tuple[MembershipSnapshot, ...]:
    return tuple(snapshot._replace(message_model=model) for snapshot in snapshots)


def modeled(client_id: str, second: int, model: str) -> ClientSnapshot:
    return ClientSnapshot(client_id, micros(second), message_model=model)


#: Topic T is read, but no broker says that anybody subscribes it.
UNNAMED = calm(memberships=listed("a", {-210: "c1", 100: ""}, topics=["S"]))
OFFLINE = calm(memberships=listed("a", {-210: "c1", -30: ""}))
OF_B = tuple(snapshot._replace(broker_name="b") for snapshot in of_model("BROADCASTING"))
#: Answers of a broker that was restarted, or of a group that went.
EMPTY = [snapshot._replace(client_ids=(), message_model=None) for snapshot in ASKED]
SPLIT = calm(memberships=listed("a", {-210: "c1"}) + listed("b", {-210: "c2"}), routes=routed({-210: (A, B)}))


#: What clients report, and the intervals of that.
REPORTED = {
    "members run what their clients report": ([client("c1", 0, AVERAGELY), client("c2", 0, CIRCLE)],
     ["0-300 * CLIENT c1 c2/AVG_BY_CIRCLE"]),
    "a client that comes back with another strategy cuts": (
     [client("c1", 0, AVERAGELY), client("c2", 0, AVERAGELY), client("c2", 100, CIRCLE)],
     ["0-100 * CLIENT c1 c2", "100-300 * CLIENT c1 c2/AVG_BY_CIRCLE"]),
    "an answer that changes nothing does not cut": ([client("c1", second, AVERAGELY) for second in range(0, 300, 20)],
     ["0-300 * CLIENT c1 c2"]),
    "learning what was assumed does not cut": ([client("c1", 0), client("c1", 100, AVERAGELY)],
     ["0-300 * DEFAULT c1 c2"]),
    "subscriptions are those of each client": (
     [client("c1", 0, AVERAGELY, topics=["T", "S"]), client("c2", 0, AVERAGELY, topics=["S"])],
     ["0-300 * CLIENT c1 c2!"]),
    "as far as they are known": ([client("c2", 0, AVERAGELY, topics=["S"])], ["0-300 * CLIENT c1 c2!"]),
    "who subscribes later is another interval": ([client("c2", 0, topics=["S"]), client("c2", 100, topics=["S", "T"])],
     ["0-100 * DEFAULT c1 c2!", "100-300 * DEFAULT c1 c2"]),
    "nobody subscribes the topic any more": ([client("c1", 0, topics=["S"]), client("c2", 0, topics=[])],
     ["0-300 * NOT_SUBSCRIBED"]),
    "until somebody does": (
     [client("c1", 0, topics=["S"]), client("c2", 0, topics=[]), client("c2", 100, topics=["T"])],
     ["0-100 * NOT_SUBSCRIBED", "100-300 * DEFAULT c1! c2"]),
    "one that does not subscribe it": ([client("c1", 0, topics=["S"])], ["0-300 * DEFAULT c1! c2"]),
    "who broadcasts consumes nothing for the group": ([modeled("c2", 0, "BROADCASTING")], ["0-300 * DEFAULT c1 c2!"]),
    "as long as it does": ([modeled("c2", 0, "BROADCASTING"), modeled("c2", 100, "CLUSTERING")],
     ["0-100 * DEFAULT c1 c2!", "100-300 * DEFAULT c1 c2"]),
    "the broker assigns the queues": ([ClientSnapshot("c1", micros(0), client_rebalance=False)],
     ["0-300 * BROKER_REBALANCE"]),
    "clients assign them": ([ClientSnapshot("c1", micros(0), client_rebalance=True)], ["0-300 * DEFAULT c1 c2"]),
    "who left does not decide how others consume": ([ClientSnapshot("c0", micros(-200), client_rebalance=False)],
     ["0-300 * DEFAULT c1 c2"]),
    "one answer holds until the next": (
     [ClientSnapshot("c1", micros(second), client_rebalance=second != 100) for second in range(-210, 300, 10)],
     ["0-100 * DEFAULT c1 c2", "100-110 * BROKER_REBALANCE", "110-300 * DEFAULT c1 c2"]),
}  # fmt: skip
#: What brokers list and name servers route, with what is configured.
RECORDED = {
    "who is not known runs what most of its own view run, or else its group": (
     calm(memberships=listed("a", {-210: "c1 c3"}) + listed("b", {-210: "c2 c3"}), routes=routed({-210: (A, B)}),
          clients=(client("c1", 0, CIRCLE),)),
     ["0-300 a CLIENT c1/AVG_BY_CIRCLE c3/AVG_BY_CIRCLE", "0-300 b CLIENT c2/AVG_BY_CIRCLE c3/AVG_BY_CIRCLE"]),
    "a topic that nobody names is none": (UNNAMED, []),
    "offsets after the step do not name it": (replace(UNNAMED, offset_times=(micros(300),)), []),
    "offsets make no subscription, but keep the topic in sight": (
     replace(UNNAMED, offset_times=(micros(10),)), ["0-100 * NOT_SUBSCRIBED", "100-300 * DEFAULT"]),
    "a client alone can name the topic": (
     calm(memberships=listed("a", {-210: "c1 c2"}, topics=["S"]), clients=(client("c1", 0, topics=["T"]),)),
     ["0-300 * DEFAULT c1 c2"]),
    "an offline group is replayed without members": (OFFLINE, ["0-300 * DEFAULT"]),
    "by its strategy": (replace(OFFLINE, configured=StrategySettings(CONSISTENT_HASH)), ["0-300 * CONFIGURATION"]),
    "also without a readable queue": (replace(OFFLINE, routes=routed({-210: (NOT_READABLE,)})), ["0-300 * DEFAULT"]),
    "a broadcasting group has no owners": (calm(memberships=of_model("BROADCASTING")), ["0-300 * BROADCASTING"]),
    "also as all clients report it": (
     calm(memberships=of_model("BROADCASTING"), clients=(modeled("c1", 0, "BROADCASTING"),)), ["0-300 * BROADCASTING"]),
    "also where the broker has not heard it": (
     calm(clients=(modeled("c1", 0, "BROADCASTING"), modeled("c2", 0, "BROADCASTING"))), ["0-300 * BROADCASTING"]),
    "it has owners while a member consumes for the group, whoever sent the last heartbeat": (
     calm(memberships=of_model("BROADCASTING"),
          clients=(modeled("c1", 0, "BROADCASTING"), modeled("c2", 0, "CLUSTERING"), modeled("c0", 0, "CLUSTERING"))),
     ["0-300 * DEFAULT c1! c2"]),
    "who left does not count": (
     calm(memberships=of_model("BROADCASTING"), clients=(modeled("c0", 0, "CLUSTERING"),)), ["0-300 * BROADCASTING"]),
    "nor have queues that the broker assigns": (calm(configured=StrategySettings(POP)), ["0-300 * BROKER_REBALANCE"]),
    "in each view": (
     replace(SPLIT, configured=StrategySettings(POP)), ["0-300 a BROKER_REBALANCE", "0-300 b BROKER_REBALANCE"]),
    "one message model holds until the next": (
     calm(memberships=of_model("CLUSTERING", ASKED[:31]) + of_model("BROADCASTING", ASKED[31:32]) + ASKED[32:]),
     ["0-100 * DEFAULT c1 c2", "100-110 * BROADCASTING", "110-300 * DEFAULT c1 c2"]),
    "an answer without members says no message model": (
     calm(memberships=(*of_model("BROADCASTING")[:30], *EMPTY[30:])), ["0-90 * BROADCASTING", "90-300 * BROADCASTING"]),
    "it is the first one afterwards": (
     calm(memberships=(*EMPTY[:30], *of_model("BROADCASTING")[30:])), ["0-90 * BROADCASTING", "90-300 * BROADCASTING"]),
    "or the one before": (
     calm(memberships=(*ASKED[:30], *EMPTY[30:40], *of_model("BROADCASTING")[40:])),
     ["0-90 * DEFAULT c1 c2", "90-190 * DEFAULT", "190-300 * BROADCASTING"]),
    "any broker of the topic that says broadcasting counts": (
     calm(memberships=(*ASKED, *OF_B), routes=routed({-210: (A, B)})), ["0-300 * BROADCASTING"]),
    "no other broker does": (calm(memberships=(*ASKED, *OF_B)), ["0-300 * DEFAULT c1 c2"]),
    # Their ids are `host@pid@number@nanoseconds` (org.apache.rocketmq.client.java.misc.ClientId).
    "gRPC clients that a broker lists own no queues": (
     calm(memberships=listed("a", {-210: "host-1@4711@0@2ft5n8w1q z"})), ["0-300 * BROKER_REBALANCE"]),
    **{f"{client_id} owns queues": (
        calm(memberships=listed("a", {-210: f"{client_id} z"})), [f"0-300 * DEFAULT {client_id} z"])
       for client_id in ("10.0.0.1@4711#5479043343903@unit@STREAM", "10.0.0.1@4711@5@STREAM",
                         "10.0.0.1@4711#5479043343903", "10.0.0.1@4711")},
    "without readable queues clients keep what they had": (
     calm(routes=routed({-210: (A,), 100: (NOT_READABLE,)})),
     ["0-100 * DEFAULT c1 c2", "100-300 * NO_READABLE_QUEUE"]),
    "the room of a broker without readable queues does not matter": (
     calm(routes=routed({-210: (A, RouteEntry("nowhere", 2, 4, 4))}), configured=ROOMS),
     ["0-300 * CONFIGURATION c1/MACHINE_ROOM_NEARBY-AVG c2/MACHINE_ROOM_NEARBY-AVG"]),
    "a route that changes cuts no time in which the members are unknown": (
     calm(memberships=(), routes=routed({-210: (A,), 100: (A, B)}), offset_times=(micros(0),)),
     ["0-300 * NO_MEMBERSHIP_SNAPSHOT"]),
    "rooms can be configured for a strategy that clients report": (
     calm(clients=(client("c1", 0, MACHINE_ROOM_CLASS),), configured=StrategySettings(rooms=frozenset({"room1"}))),
     ["0-300 * CLIENT c1/MACHINE_ROOM c2/MACHINE_ROOM"]),
}  # fmt: skip
HISTORIES = {what: (calm(clients=tuple(said)), expected) for what, (said, expected) in REPORTED.items()} | RECORDED


@pytest.mark.parametrize(("history", "expected"), HISTORIES.values(), ids=HISTORIES)
def test_what_a_replay_says_of_what_was_recorded(history: History, expected: list[str]) -> None:
    assert rows(history) == expected


def test_members_with_different_message_models_are_named_while_they_differ() -> None:
    """c0 is no member any more."""
    models = {"c0": "BROADCASTING", "c1": "CLUSTERING", "c2": "BROADCASTING"}
    differ = [ClientSnapshot(client_id, micros(-200), message_model=model) for client_id, model in models.items()]
    agrees = ClientSnapshot("c2", micros(100), message_model="CLUSTERING")
    mixed, same = clipped(calm(clients=(*differ, agrees)))
    assert {mixture.models for mixture in mixed.disagreements} == {(("c1", "CLUSTERING"), ("c2", "BROADCASTING"))}
    assert (mixed.end, same.disagreements) == (micros(100), ())


@pytest.mark.parametrize(
    ("strategy_class", "configured", "expected"),
    [
        (OWN, NOTHING, "0-300 * UNKNOWN_STRATEGY"),
        (OWN, StrategySettings("AVG_BY_CIRCLE"), "0-300 * CONFIGURATION c1/AVG_BY_CIRCLE c2/AVG_BY_CIRCLE"),
        (MACHINE_ROOM_CLASS, NOTHING, "0-300 * SETTINGS_MISSING"),
        (NEARBY, NOTHING, "0-300 * SETTINGS_MISSING"),
        (NEARBY, ROOMS, "0-300 * CONFIGURATION c1/MACHINE_ROOM_NEARBY-AVG c2/MACHINE_ROOM_NEARBY-AVG"),
        (NEARBY, replace(ROOMS, client_room=None), "0-300 * SETTINGS_MISSING"),
        (NEARBY, replace(ROOMS, client_room="^(c1)"), "0-300 * ROOM_UNRESOLVABLE"),
        (NEARBY, replace(ROOMS, broker_room="^(b)"), "0-300 * ROOM_UNRESOLVABLE"),
        (None, StrategySettings(CONFIG), "0-300 * SETTINGS_MISSING"),
        (None, StrategySettings(MACHINE_ROOM, rooms=frozenset()), "0-300 * SETTINGS_MISSING"),
        (AVERAGELY, StrategySettings(MACHINE_ROOM), "0-300 * SETTINGS_MISSING"),  # c2 runs what is configured
    ],
)
def test_what_a_replay_needs_to_know(strategy_class: str | None, configured: StrategySettings, expected: str) -> None:
    assert rows(calm(clients=(client("c1", 0, strategy_class),), configured=configured)) == [expected]


def test_the_first_reason_counts() -> None:
    """Take the reasons away one by one, from the first on."""
    broken = calm(
        memberships=of_model("BROADCASTING", listed("a", {-210: "c1"}, topics=["S"])),
        routes=(),
        clients=(ClientSnapshot("c1", micros(0), strategy_class=OWN, client_rebalance=False, topics=frozenset("S")),),
        offset_times=(micros(0),),
    )
    silent, routed_a = broken.memberships, routed({-210: (NOT_READABLE,)})
    in_turn = [broken]

    def then(**changes: object) -> None:
        in_turn.append(replace(in_turn[-1], **changes))  # type: ignore[arg-type]

    then(routes=routed({-210: ()}))
    then(routes=routed_a, memberships=())
    then(memberships=silent, routes=routed({-210: (NOT_READABLE._replace(topic_type="STATIC"),)}))
    then(routes=routed({-210: (NOT_READABLE._replace(topic_type="LITE"),)}))
    then(routes=routed_a)
    then(memberships=listed("a", {-210: "c1 c2"}, topics=["S"]))
    then(clients=(client("c1", 0, OWN, topics=["S"]), client("c2", 0, NEARBY, topics=["S"])))
    then(clients=(client("c1", 0, OWN, topics=["T"]), client("c2", 0, NEARBY, topics=["S"])))
    then(routes=routed({-210: (A,)}))
    then(clients=(client("c1", 0, AVERAGELY, topics=["T"]), client("c2", 0, NEARBY, topics=["S"])))
    then(configured=replace(ROOMS, client_room="(x)"))
    # Offsets of what is assigned by hand advance (`test_assigned_by_hand.py`).
    # Those that somebody unseen consumes have no members, and what the broker assigns needs its request modes.
    # Of a deleted group or topic there is nothing else (`test_deleted.py`).
    others = {Reason.CONSUMED_THROUGH_PROXY, Reason.CONSUMED_BY_UNSEEN, Reason.ASSIGNED_BY_HAND}
    others |= {Reason.POP_ALL_QUEUES, Reason.BROKER_LACKS_STRATEGY, Reason.DELETED, Reason.TOPIC_DELETED}
    reasons = [[interval.reason for interval in clipped(history)] for history in in_turn]
    assert reasons == [[reason] for reason in Reason if reason not in others]


def test_each_reason_has_its_status() -> None:
    assert {reason.name: reason.status for reason in Reason} == (
        {"NO_ROUTE_SNAPSHOT": Status.UNOBSERVED, "NO_MEMBERSHIP_SNAPSHOT": Status.UNOBSERVED}
        | {"LITE": Status.NOT_APPLICABLE, "BROADCASTING": Status.NOT_APPLICABLE}
        | {"BROKER_REBALANCE": Status.NOT_APPLICABLE, "POP_ALL_QUEUES": Status.NOT_APPLICABLE}
        | {"CONSUMED_THROUGH_PROXY": Status.NOT_APPLICABLE, "CONSUMED_BY_UNSEEN": Status.NOT_APPLICABLE}
        | {"DELETED": Status.NOT_APPLICABLE, "TOPIC_DELETED": Status.NOT_APPLICABLE}
        | {"ASSIGNED_BY_HAND": Status.NOT_APPLICABLE}
        | {"NOT_SUBSCRIBED": Status.NOT_APPLICABLE, "NO_ROUTE": Status.NOT_REPLAYABLE}
        | {"STATIC_TOPIC": Status.NOT_REPLAYABLE, "NO_READABLE_QUEUE": Status.NOT_REPLAYABLE}
        | {"UNKNOWN_STRATEGY": Status.NOT_REPLAYABLE, "BROKER_LACKS_STRATEGY": Status.NOT_REPLAYABLE}
        | {"SETTINGS_MISSING": Status.NOT_REPLAYABLE, "ROOM_UNRESOLVABLE": Status.NOT_REPLAYABLE}
    )


def test_what_is_not_replayed_was_seen_but_has_no_allocation() -> None:
    (interval,) = clipped(calm(configured=StrategySettings(POP)))
    assert [member.client_id for member in interval.members or ()] == ["c1", "c2"]
    assert interval.queues == (("a", 0), ("a", 1), ("a", 2), ("a", 3))
    assert (interval.strategy_source, interval.allocation, interval.moves) == (None, None, None)


def test_unobserved_is_not_empty() -> None:
    (interval,) = clipped(calm(memberships=(), offset_times=(micros(0),)))
    assert (interval.members, interval.queues) == (None, (("a", 0), ("a", 1), ("a", 2), ("a", 3)))
    assert [interval.queues for interval in clipped(calm(routes=()))] == [None]


@pytest.mark.parametrize("reason", ["BROKER_REBALANCE", "BROADCASTING", "UNKNOWN_STRATEGY", "NO_READABLE_QUEUE"])
def test_a_change_of_members_begins_an_interval_where_nothing_is_replayed_and_is_no_rebalance(reason: str) -> None:
    lists = listed("a", {-210: "c1", 100: "c1 c2", 200: "c2 c2"})
    history = calm(
        memberships=of_model("BROADCASTING", lists) if reason == "BROADCASTING" else lists,
        routes=routed({-210: (NOT_READABLE if reason == "NO_READABLE_QUEUE" else A,)}),
        clients=(client("c1", 0, OWN), client("c2", 0, OWN)) if reason == "UNKNOWN_STRATEGY" else (),
        configured=StrategySettings(POP) if reason == "BROKER_REBALANCE" else NOTHING,
    )
    expected = [
        (f"0-100 * {reason}", "c1", []),
        (f"100-200 * {reason}", "c1 c2", ["MEMBER_JOINED c2"]),
        (f"200-300 * {reason}", "c2 c2", ["MEMBER_LEFT c1", "MEMBER_JOINED c2"]),
    ]
    assert [why_begun(interval) for interval in clipped(history)] == expected
    recorded = by_kernel.history_of(history.group)
    (evaluated,) = evaluate(recorded, history.configured, SETTINGS, START, START + SETTINGS.step)
    assert evaluated.step.rebalances == []


def why_begun(interval: RebalanceInterval) -> tuple[str, str, list[str]]:
    """The interval, its members, and what began it."""
    triggers = interval.moves.triggers if interval.moves else ()
    members = " ".join(member.client_id for member in interval.members or ())
    return as_row(interval), members, [f"{trigger} {subject}" for trigger, subject in triggers]


def test_a_change_of_queues_begins_an_interval_where_nothing_is_replayed() -> None:
    routes = routed({-210: (A,), 100: (A._replace(read_queue_nums=5),), 200: ()})
    assert [why_begun(interval) for interval in clipped(calm(memberships=of_model("BROADCASTING"), routes=routes))] == [
        ("0-100 * BROADCASTING", "c1 c2", []),
        ("100-200 * BROADCASTING", "c1 c2", ["QUEUES_ADDED a:4"]),
        ("200-300 * NO_ROUTE", "", []),
    ]


def test_what_is_not_replayed_says_what_differs_from_the_last_that_was_known() -> None:
    lists = listed("a", {-210: "c1 c2", 0: None, 100: "c1"})
    pop = calm(memberships=lists, configured=StrategySettings(POP))
    assert [why_begun(interval) for interval in clipped(pop)] == [
        ("0-20 * BROKER_REBALANCE", "c1 c2", []),
        ("20-100 * NO_MEMBERSHIP_SNAPSHOT", "", []),
        ("100-300 * BROKER_REBALANCE", "c1", ["MEMBER_LEFT c2"]),
    ]
    first = calm(memberships=listed("a", {-210: None, 100: "c1"}), configured=StrategySettings(POP))
    assert [why_begun(interval) for interval in clipped(first)][1:] == [
        ("100-300 * BROKER_REBALANCE", "c1", ["FIRST_OBSERVATION None"])
    ]


def seen(broker: str, lists: Mapping[float, str]) -> tuple[MembershipSnapshot, ...]:
    """Its lists, by the second of the step."""
    return tuple(
        MembershipSnapshot(broker, micros(second), tuple(ids.split()), frozenset("T")) for second, ids in lists.items()
    )


def sights(history: History) -> list[tuple[float | None, ...]]:
    """Start, end, and last sight of the members of what was replayed, in seconds of the step."""
    times = ((interval.start, interval.end, interval.seen_at) for interval in clipped(history) if interval.allocation)
    return [tuple(None if moment is None else (moment - START) / SECOND for moment in each) for each in times]


def test_seen_at_is_the_last_snapshot_that_showed_the_members() -> None:
    history = calm(memberships=seen("a", {0: "c1", 10: "c1", 13: "c1 c1", 16: "c1 c1"}))
    assert sights(history) == [(0, 13, 10), (13, 46, 16)]


def test_hosts_that_agree_were_last_seen_by_the_last_of_them_and_others_each_by_itself() -> None:
    lists = seen("a", {0: "c1", 10: "c1", 20: "c2"}) + seen("b", {3: "c1", 13: "c1"})
    history = calm(memberships=lists, routes=routed({-210: (A, B)}))
    # b saw c1 at 13 s; from 20 s on a sees c2, and b's list holds until 43 s.
    assert sights(history) == [(0, 20, 13), (20, 43, 20), (20, 43, 13), (43, 50, 20)]


def test_addresses_are_those_at_the_beginning() -> None:
    """The ports of these snapshots are the minute's, which cuts nothing: 02:57 when the replay begins."""
    (interval,) = clipped(calm(memberships=listed("a", {-210: "c1 c1"})))
    addresses = [(member.client_id, member.client_addr) for member in interval.members or ()]
    assert addresses == [("c1", "10.0.0.0:40057"), ("c1", "10.0.0.1:40057")]


def test_states_that_differ_in_addresses_alone_are_replayed_once() -> None:
    first, second, third = clipped(calm(memberships=listed("a", {-210: "c1 c2", 100: "c1", 200: "c1 c2"})))
    of_first, of_third = ([member.client_addr for member in one.members or ()] for one in (first, third))
    assert of_first != of_third
    assert first.allocation is third.allocation
    assert first.allocation is not second.allocation


def steps_of(history: GroupHistory) -> list[AuditedStep]:
    """Three steps of 100 s, in one run."""
    settings = replace(SETTINGS, step=100 * SECOND)
    return [
        evaluated.step for evaluated in evaluate(history, StrategySettings(), settings, START, START + SETTINGS.step)
    ]


def test_a_state_is_resolved_once_for_all_steps_of_a_run() -> None:
    listed = Membership((Connection("c1"), Connection("c2")), frozenset({"T"}), frozenset(), "CLUSTERING")
    series = series_of([(micros(second), listed) for second in range(-210, 300, CADENCE)])
    history = replace(by_kernel.history_of(CALM.group), memberships={"a": series})
    intervals = [interval for step in steps_of(history) for interval in step.intervals]
    times = ("-180-100", "-80-200", "20-300")
    assert [as_row(interval) for interval in intervals] == [f"{time} * DEFAULT c1 c2" for time in times]
    assert len({id(interval.members) for interval in intervals}) == 1


def test_a_topic_that_only_an_earlier_step_saw_subscribed_is_not() -> None:
    """`d`, who is not connected, named the topic 200 s before the first step, and what a step reads is 210 s old."""
    named = client("d", -200, topics=["T"])
    times = tuple(micros(second) for second in range(-210, 300, CADENCE))
    history = calm(memberships=listed("a", {-210: "c1"}, topics=["S"]), clients=(named,), offset_times=times)
    reasons = [
        [interval.reason for interval in step.intervals if interval.topic == "T"]
        for step in steps_of(by_kernel.history_of(history.group))
    ]
    assert reasons == [[None], ["NOT_SUBSCRIBED"], ["NOT_SUBSCRIBED"]]
