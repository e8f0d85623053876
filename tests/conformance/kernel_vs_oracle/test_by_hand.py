"""Small groups written by hand, each for one thing that chance rarely brings about; expected by hand, too."""

from collections.abc import Mapping
from itertools import chain

import pytest

from spark_jobs.domain.evaluate import EvaluatedStep, evaluate
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.window import SECOND
from tests.conformance.kernel_vs_oracle import by_kernel, by_oracle
from tests.conformance.kernel_vs_oracle.courses import SETTINGS, STEP
from tests.conformance.kernel_vs_oracle.forms import Said
from tests.conformance.kernel_vs_oracle.recordings import Recording
from tests.support.histories import listed, routed
from tests.support.oracle.snapshots import Group, MembershipSnapshot, OffsetEntry, OffsetSnapshot
from tests.support.times import START, micros

#: Seconds of the step; the minute begins with it.
ROUNDS = range(-100, 40, 10)
#: What a broker lists from each second on (None: it is not heard any more).
Lists = Mapping[int, str | None]


def group(
    lists: Mapping[str, Lists],
    *,
    routes: Mapping[str, Mapping[int, str]],
    queue_0: Mapping[int, tuple[int, int]] | None = None,
    late: int = 0,
) -> Group:
    """Per topic a route, as `a2 b4`, and the offsets of queue 0 of broker a in topic T.

    Each broker is asked so many seconds after the one before it.
    """
    memberships = (
        listed(broker, changes, late=place * late, topics=routes, rounds=ROUNDS)
        for place, (broker, changes) in enumerate(lists.items())
    )
    by_topic = {
        topic: routed({since: _entries(text) for since, text in route.items()}, ROUNDS)
        for topic, route in routes.items()
    }
    offsets = tuple(
        OffsetSnapshot(micros(second), (OffsetEntry("a", 0, *pair, 1),)) for second, pair in (queue_0 or {}).items()
    )
    return Group(tuple(chain(*memberships)), by_topic, (), {"T": offsets})


def _entries(text: str) -> tuple[RouteEntry, ...]:
    return tuple(RouteEntry(broker[0], 6, int(broker[1:]), int(broker[1:])) for broker in text.split())


def evaluated(recorded: Group) -> EvaluatedStep:
    (found,) = evaluate(by_kernel.history_of(recorded), recorded.configured, SETTINGS, START, START + STEP)
    return found


def said(recorded: Group) -> Said:
    """Of the first step, by the kernel; the oracle says the same."""
    found = by_kernel.said(evaluated(recorded))
    (window,) = Recording(recorded, 1).windows()
    assert found == by_oracle.said(recorded, window, SETTINGS.thresholds)
    return found


def test_a_view_that_is_over_leaves_its_samples_to_nobody() -> None:
    """Three views from 0 s on, of which the first is over at 20 s; the others go on, and nothing begins."""
    found = said(
        group(
            {"a": {-100: "p q", 0: "q", 10: None}, "b": {-100: "p q", 0: "p"}, "c": {-100: "p q", 0: "p q r"}},
            routes={"T": {-100: "a2 b2 c2"}},
            queue_0={0: (100, 100), 10: (110, 105), 20: (120, 105), 30: (130, 105)},
        )
    )
    rows = {(line.view, line.start, line.end, line.measured.readings) for line in found.progress}
    assert rows == {("a", micros(0), micros(20), 2), ("a", micros(0), micros(20), 0)}
    # Before the split, a:0 was p's; to the list of a it is q's: all of the growth is a hand-over.
    assert found.growths == {"T": (5, 0, 0, 5, 0, 0)}


def test_a_broker_that_is_new_and_disagrees_from_the_first_moment_on() -> None:
    found = said(group({"a": {-100: "p q"}, "b": {-100: None, 0: "p"}}, routes={"T": {-100: "a2", 0: "a2 b2"}}))
    begun = {
        (interval.start, interval.view): interval.began and interval.began.triggers for interval in found.intervals
    }
    assert begun[micros(0), "a"] == (("QUEUES_ADDED", "b:0-1"),)
    assert begun[micros(0), "b"] == (("QUEUES_ADDED", "b:0-1"), ("MEMBER_LEFT", "q"))


def test_a_connection_goes_by_its_number_whatever_its_address() -> None:
    """A topic grows when the minute, and with it every port, is another than where the other topic's interval began."""
    found = said(group({"a": {-100: "p q r"}}, routes={"T": {-100: "a3"}, "S": {-100: "a1", 10: "a2"}}))
    # r owns a queue of T and none of S.
    assert found.counts == (3, 3, 0, 5, 5, 0, 0)


def test_a_connection_is_the_same_wherever_it_stands_in_a_topic_s_list() -> None:
    """q is second in a's list and owns nothing there; in b's list, which counts for S, it is first and owns a queue."""
    found = said(group({"a": {-100: "p q"}, "b": {-100: "q"}}, routes={"T": {-100: "a1"}, "S": {-100: "b1"}}))
    assert found.counts == (2, 2, 0, 2, 2, 0, 0)


def test_nobody_is_there() -> None:
    found = said(group({"a": {-100: ""}}, routes={"T": {-100: "a2"}}, queue_0={0: (100, 90), 10: (110, 90)}))
    assert found.counts == (0, 0, 0, 2, 0, 0, 2)
    assert found.growths == {"T": (10, 10, 0, 0, 0, 0)}


def test_a_queue_that_nobody_had_does_not_change_hands() -> None:
    """10 messages came in above the pace before, 5 were consumed."""
    found = said(
        group(
            {"a": {-100: "", 0: "p"}},
            routes={"T": {-100: "a2"}},
            queue_0={-60: (100, 100), -10: (100, 100), 0: (100, 100), 10: (110, 105)},
        )
    )
    assert found.growths == {"T": (5, 0, 0, 0, 5, 0)}


P_Q = {-100: "p", 0: "p q"}
P_Q_P = {-100: "p", 0: "p q", 10: "p", 20: "p q"}
#: Broker a hosts T, and b, which is asked so many seconds later, S. Of each rebalance its moment, topic and start.
REBALANCES = {
    "what changes within half an interval is one": (P_Q, {-100: "p", 0: "p r"}, 4, [(0, "S", 4), (0, "T", 0)]),
    "what changes half an interval later is another": (P_Q, {-100: "p", 0: "p r"}, 5, [(0, "T", 0), (5, "S", 5)]),
    "what another topic showed already is no other": (
        P_Q_P, P_Q_P, 9, [(0, "S", 9), (0, "T", 0), (10, "S", 19), (10, "T", 10), (20, "S", 29), (20, "T", 20)]),
    "a broker that was not asked shows two changes at once": (
        {-100: "p", 0: "p q", 10: "q"}, {-100: "p", 0: None, 10: "q"}, 6, [(0, "T", 0), (10, "S", 16), (10, "T", 10)]),
    "in addition it shows a new one": (
        {-100: "p", 0: "p q", 10: "q"}, {-100: "p", 0: None, 10: "q r"}, 6,
        [(0, "T", 0), (10, "T", 10), (16, "S", 16)]),
    "a snapshot applies for 20 s": (
        {-100: "p", -50: "p q"}, {-100: "p", -31: "p q"}, 9, [(-50, "S", -31), (-50, "T", -50)]),
    "and no longer": ({-100: "p", -50: "p q"}, {-100: "p", -31: "p q"}, 10, [(-50, "T", -50), (-30, "S", -30)]),
}  # fmt: skip


@pytest.mark.parametrize(("a", "b", "late", "rebalances"), REBALANCES.values(), ids=REBALANCES)
def test_what_is_one_rebalance(a: Lists, b: Lists, late: int, rebalances: list[tuple[int, str, int]]) -> None:
    found = said(group({"a": a, "b": b}, routes={"T": {-100: "a2"}, "S": {-100: "b2"}}, late=late)).rebalances
    assert [((at - START) // SECOND, topic, (start - START) // SECOND) for at, topic, start in found] == rebalances


def test_retry_topics_count_for_no_total_however_many_queues_they_have() -> None:
    retrying = group(
        {"a": {-100: "p q r"}},
        routes={"T": {-100: "a2"}, "%RETRY%plain": {-100: "a8"}},
        queue_0={0: (100, 90), 10: (200, 90)},
    )
    assert said(retrying).counts == (3, 3, 1, 2, 2, 0, 0)
    status = evaluated(retrying).status
    assert status is not None
    # Two queues for three members: none of eight is shared by them.
    assert (status.busiest_member_queues, status.busiest_member_queues_with_one_more) == (1, 1)
    assert status.bottleneck == "QUEUES"


def test_steps_are_whole_wherever_the_rounds_are() -> None:
    """A change at the very end of a step is the next one's."""
    at_the_end = group({"a": {-100: "p"}}, routes={"T": {-100: "a2"}})
    later = MembershipSnapshot("a", START + STEP, ("q",), frozenset("T"))
    with_it = Group(tuple(chain(at_the_end.memberships, [later])), at_the_end.routes, (), {})
    assert said(with_it).intervals == said(at_the_end).intervals
