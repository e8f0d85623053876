"""Topics of which few queues get most messages."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS
from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.history import UNKNOWN, GroupHistory, Place
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.rules.producer_skew import RULE, skew
from tests.support.builders import allocation, audited_step, interval, members, span, with_samples
from tests.support.kernel import evaluated, series_of
from tests.support.samples import offsets, progress
from tests.support.snapshots import membership, route
from tests.support.snapshots import offsets as snapshot
from tests.support.tables import cells
from tests.support.times import HOUR, START, micros

#: broker:messages of each queue (`?`: unknown), least mean | busiest ÷ mean (`-`: nothing to say)
_SKEWS = """
    a:100 a:100 a:100 a:100     100 | 1.0
    a:400 a:0 a:0 a:0           100 | 4.0
    a:399 a:0 a:0 a:0           100 | -
    a:300 a:100 b:0 b:0         100 | 1.5
    a:300 a:100 b:1 b:0         100 | 2.993
    a:300 a:100 a:? a:?         100 | 1.5
    a:? b:0                     0   | -
    a:0 a:0                     0   | -
    a:500                       100 | 1.0
"""
LISTED = members("c1")
RouteSaid = tuple[str, int, int, int]


def test_how_skewed_production_is() -> None:
    for case, expected in cells(_SKEWS):
        *queues, least_mean = case.split()
        pairs = [queue.split(":") for queue in queues]
        produced = np.array([UNKNOWN if messages == "?" else int(messages) for _, messages in pairs])
        measured = skew([broker for broker, _ in pairs], produced, int(least_mean))
        assert ("-" if measured is None else str(round(measured[1], 3))) == expected, case


def produced(start: int, *messages: int | None, end: int = 3600, topic: str = "t") -> IntervalProgress:
    """Of queues 0 …, with one owner."""
    of = interval(start, end, LISTED, allocation(LISTED, " ".join("0" for _ in messages)), topic=topic)
    return progress(of, start, end, produced=messages)


def step_with(*parts: IntervalProgress) -> AuditedStep:
    return replace(audited_step(*(part.interval for part in parts)), progress=parts)


def hot(*parts: IntervalProgress) -> list[tuple[int, str, float | None]]:
    hits = list(RULE.hits(step_with(*parts)))
    assert {(hit.cause, hit.severity) for hit in hits} <= {("HOT_QUEUES", "WARN")}
    return [(hit.queue.queue_id, span(hit), hit.weight) for hit in hits if hit.queue]


def test_queues_that_were_added_late_make_the_others_no_hot_ones() -> None:
    """One message a second comes into each; the mean of the step is 1,300."""
    before, after = produced(0, 3400, 3400), produced(3400, *(200,) * 6)
    assert hot(before, after) == []


def test_queues_that_get_more_than_others() -> None:
    assert hot(produced(200, 400, 0, 0, 0)) == [(0, "200-3600", 400)]
    assert hot(produced(200, 396, 0, 0, 0)) == []
    assert hot(produced(200, 599, 201, 200, 200)) == []
    assert hot(produced(200, 600, 200, 200, 200)) == [(0, "200-3600", 600)]
    assert hot(produced(200, 400, 200, None, None)) == []
    assert hot(produced(200, 0, 900, 0, 800, 0, 0)) == [(1, "200-3600", 900), (3, "200-3600", 800)]
    assert hot(produced(200, 400, 0, 0, 0, topic="%RETRY%g")) == []
    assert hot(produced(200, None, None)) == []
    assert hot() == []


@pytest.mark.parametrize(
    ("start", "end", "expected"), [(0, 3600, "0-3600"), (1200, 1800, "1200-1800"), (1200, 3600, "1200-3600")]
)
def test_a_queue_is_hot_while_its_samples_rise_more_than_those_of_the_others(
    start: int, end: int, expected: str
) -> None:
    """A sample a minute from before the step on: a message in each queue, and 600 in queue 0 from `start` to `end`.
    Queue 3, and those of a broker without messages, are in no sample; one sample lacks queue 1.
    """
    rows = {}
    for second in range(-60, 3600, 60):
        each, more = second // 60, 10 * max(0, min(second, end) - start)
        rows[second] = [f"{100 + each + more}/0", "-" if second == 1500 else f"{100 + each}/0", f"{100 + each}/0"]
    queues = [*(("b", number) for number in range(4)), ("z", 0)]
    part = of_brokers(10 * (end - start), 60, 60, None, 0, queues=queues)
    step = with_samples(step_with(part), {"t": offsets(queues[:3], rows)})
    assert [(hit.queue and hit.queue.queue_id, span(hit)) for hit in RULE.hits(step)] == [(0, expected)]


def test_messages_of_all_intervals_count_together() -> None:
    """Twice the mean of 300: 400 in one interval, 200 in another, which has one queue only."""
    parts = (produced(0, 200, end=200), produced(200, 400, 200, 200, 200))
    assert hot(*parts) == [(0, "0-3600", 600)]
    (hit,) = RULE.hits(step_with(*parts))
    assert hit.measures == {"max_over_mean": 2, "mean": 300, "produced_max": 600, "has_backlog": 1}
    assert hit.queue
    assert (hit.topic, hit.queue.topic, hit.queue.broker_name, hit.queue.role) == ("t", "t", "b", "HOT")


def test_a_queue_unknown_in_one_interval_has_what_is_known_of_it() -> None:
    """0: 600, 1: 100, 2: 100, 3: unknown."""
    parts = (produced(0, 600, None, 50, None, end=100), produced(100, None, 100, 50, None))
    assert hot(*parts) == [(0, "0-3600", 600)]
    (hit,) = RULE.hits(step_with(*parts))
    assert (hit.measures or {})["mean"] == 800 / 3


def test_topics_are_apart() -> None:
    assert hot(produced(0, 400, 0), produced(0, 100, 100, topic="u")) == [(0, "0-3600", 400)]
    assert hot(produced(0, 150, 150), produced(0, 150, 149, topic="u")) == []


B, Z = ("b", 6, 2, 2), ("z", 6, 2, 2)
TWO_BROKERS = [("b", 0), ("b", 1), ("z", 0), ("z", 1)]


def of_brokers(
    *messages: int | None, start: int = 0, end: int = 3600, queues: list[Place] = TWO_BROKERS
) -> IntervalProgress:
    part = produced(start, *messages, end=end)
    assert part.interval.allocation
    owned = replace(part.interval.allocation, queues=queues)
    return replace(part, interval=replace(part.interval, allocation=owned))


def unwritten(
    parts: Sequence[IntervalProgress],
    routes: Mapping[tuple[int, int], Sequence[RouteSaid]],
    slaves: Sequence[tuple[int, frozenset[str]]] = (),
) -> list[Place]:
    """The queues of brokers without messages; `routes`: by time (name, perm, read and write queues) of each broker;
    `slaves`: by time the brokers that have no master.
    """
    spans = [
        Span(micros(start), micros(end), micros(end), tuple(RouteEntry(*entry) for entry in said))
        for (start, end), said in routes.items()
    ]
    history = GroupHistory("c", "g", masterless={"t": series_of(slaves)})
    hits = list(RULE.hits(replace(step_with(*parts), routes={"t": spans}, history=history)))
    assert {(hit.cause, hit.severity) for hit in hits} <= {("BROKER_WITHOUT_MESSAGES", "WARN")}
    assert {hit.queue.role for hit in hits if hit.queue} <= {"WITHOUT_MESSAGES"}
    return [(hit.queue.broker_name, hit.queue.queue_id) for hit in hits if hit.queue]


def test_a_broker_that_got_nothing_does_not_make_the_others_hot() -> None:
    """Two queues of broker `b` share 300 and 100; broker `z` got nothing: 300 is 1.5 times the mean, not 3 times."""
    assert hot(of_brokers(300, 100, 0, 0)) == []
    assert hot(produced(0, 300, 100, 0, 0)) == [(0, "0-3600", 300)]


@pytest.mark.parametrize(
    ("messages", "broker_z", "expected"),
    [
        ((150, 100, 0, 0), Z, [("z", 0), ("z", 1)]),
        ((150, 100, 0, 1), Z, []),
        ((150, 100, 0, None), Z, []),  # what is not known may be anything
        ((110, 89, 0, 0), Z, []),  # too few to say
        ((150, 100, 0, 0), ("z", 4, 2, 2), []),  # no producer may write there
        ((150, 100, 0, 0), ("z", 6, 2, 0), []),
        ((150, 100, 0, 0), ("z", 6, 2, 1), [("z", 0)]),
        ((150, 100, 0, 0), ("z", 6, 2, 3), []),  # of the third queue nothing is known
        ((150, 100, 0, 0), ("y", 6, 2, 2), []),
    ],
)
def test_a_broker_that_can_be_written_to_and_got_nothing(
    messages: tuple[int | None, ...], broker_z: RouteSaid, expected: list[Place]
) -> None:
    assert unwritten([of_brokers(*messages)], {(0, 3600): (B, broker_z)}) == expected
    assert unwritten([of_brokers(*messages)], {}) == []


def test_a_broker_that_could_not_be_written_to_all_the_time_is_not_meant() -> None:
    part = of_brokers(150, 100, 0, 0)
    assert unwritten([part], {(0, 1800): (B,), (1800, 3600): (B, Z)}) == []
    assert unwritten([part], {(0, 1800): (B, ("z", 4, 2, 2)), (1800, 3600): (B, Z)}) == []
    before_and_after = {(-60, 0): (B,), (0, 3600): (B, Z), (3600, 3660): (B,)}
    assert unwritten([part], before_and_after) == [("z", 0), ("z", 1)]


def silent(last: int, *, pace: int = 1, until: int = 3600, route: RouteSaid = Z, missing: int = -1) -> list[str]:
    """Queue and time of each hit: broker `b` gets `pace` messages a second in each of two queues, `z` one a second up
    to a second. `missing`: a snapshot in which `z` is not.
    """
    rows: dict[int, list[str]] = {}
    for second in range(0, until, 60):
        of_z = [f"{min(second, last)}/?" if second != missing else "-"] * 2
        rows[second] = [*[f"{pace * second}/?"] * 2, *of_z]
    queues = [("b", 0), ("b", 1), ("z", 0), ("z", 1)]
    part = of_brokers(3600 * pace, 3600 * pace, last, last)
    spans = [Span(micros(0), micros(3600), micros(3600), (RouteEntry(*B), RouteEntry(*route)))]
    step = audited_step(part.interval, progress=[part], offsets={"t": offsets(queues, rows)}, routes={"t": spans})
    hits = [hit for hit in RULE.hits(step) if hit.cause == "BROKER_WITHOUT_MESSAGES"]
    return [f"{hit.queue.broker_name}:{hit.queue.queue_id} {span(hit)}" for hit in hits if hit.queue]


def test_a_broker_that_gets_nothing_any_more() -> None:
    """From the last sample with a message on."""
    assert silent(1200) == ["z:0 1200-3600", "z:1 1200-3600"]
    assert silent(3240) == ["z:0 3240-3600", "z:1 3240-3600"]  # for 360 s
    assert silent(3360) == []  # for 240 s
    assert silent(3540) == []
    assert silent(1200, route=("z", 4, 2, 2)) == []  # producers may not write there
    assert silent(1200, missing=2400) == []  # it may have got some


def test_nothing_for_a_while_is_only_silence_if_much_comes_elsewhere() -> None:
    """40 messages, or 100, come to each queue of the other broker after 1,200 s."""
    rows = {0: ["0/?"] * 2, 1200: ["1200/?"] * 2}

    def after(more: int) -> list[RuleHit]:
        read = offsets([("b", 0), ("z", 0)], {**rows, 3300: ["1200/?"] * 2, 3500: [f"{1200 + more}/?", "1200/?"]})
        part = of_brokers(1300, 1200, queues=[("b", 0), ("z", 0)])
        spans = [Span(micros(0), micros(3600), micros(3600), (RouteEntry("b", 6, 1, 1), RouteEntry("z", 6, 1, 1)))]
        step = audited_step(part.interval, progress=[part], offsets={"t": read}, routes={"t": spans})
        return list(RULE.hits(step))

    assert [len(after(more)) for more in (99, 100)] == [0, 1]


def test_producers_cannot_write_to_a_broker_without_master() -> None:
    """However its slave's route has the permission."""
    part = of_brokers(150, 100, 0, 0)
    seen = [(micros(at), frozenset("z" if at == 1200 else "")) for at in range(0, 3600, 20)]
    assert unwritten([part], {(0, 3600): (B, Z)}, seen) == []
    assert unwritten([part], {(0, 3600): (B, Z)}, seen[:60]) == [("z", 0), ("z", 1)]


def test_a_broker_must_be_known_to_get_nothing_whenever_the_others_are_known() -> None:
    first = of_brokers(150, 100, 0, 0, end=60)
    for rest, expected in (((9, 9, None, None), []), ((None,) * 4, [("z", 0), ("z", 1)])):
        assert unwritten([first, of_brokers(*rest, start=60)], {(0, 3600): (B, Z)}) == expected


def test_a_broker_that_got_nothing_is_named_also_where_no_queue_is_hot() -> None:
    """150 in each of the four queues of `b`: no more than 1.5 times the mean of all six."""
    queues = [*(("b", place) for place in range(4)), ("z", 0), ("z", 1)]
    part = of_brokers(150, 150, 150, 150, 0, 0, queues=queues)
    assert unwritten([part], {(0, 3600): (("b", 6, 4, 4), Z)}) == [("z", 0), ("z", 1)]


def test_what_the_finding_of_a_broker_says() -> None:
    route: tuple[RouteEntry, ...] = (RouteEntry(*B), RouteEntry(*Z))
    spans = [Span(START, micros(3600), micros(3600), route)]
    hit, _ = RULE.hits(replace(step_with(of_brokers(150, 100, 0, 0)), routes={"t": spans}))
    assert (span(hit), hit.topic, hit.measures) == ("0-3600", "t", {"mean": 125})


def test_no_queue_is_too_hot_where_the_broker_hands_out_the_messages() -> None:
    part = produced(0, 400, 0, 0, 0)
    assert part.interval.allocation
    queues = tuple(part.interval.allocation.queues)
    shared = replace(part.interval, allocation=None, queues=queues, reason=Reason.BROKER_REBALANCE)
    assert hot(replace(part, interval=shared)) == []
    assert hot(replace(part, interval=replace(shared, reason=Reason.CONSUMED_THROUGH_PROXY))) == [(0, "0-3600", 400)]


@pytest.mark.parametrize(
    ("consumed", "shared"),
    [
        (lambda second: 10 * max(second - 5, 0), "t"),  # 50 wait: what it consumes in 5 s
        (lambda second: 9 * second, ("t", "has_backlog")),
        (None, ("t", "has_backlog")),  # without a commit, messages may wait
    ],
)
def test_groups_whose_hot_queue_has_a_backlog_have_an_event_of_their_own(
    consumed: Callable[[int], int] | None, shared: object
) -> None:
    """Ten messages a second come into queue 0, and one into each of three others."""

    def sample(second: int) -> Iterator[tuple[int, int, int]]:
        yield 1 + 10 * second, 1 + consumed(second) if consumed else 0, 1 if consumed else 0
        yield from [(1 + second, 1 + second, 1)] * 3

    times = range(0, 1300, 20)
    rows = {
        MEMBERSHIP_SNAPSHOTS: [membership(second, "c1") for second in times],
        ROUTE_SNAPSHOTS: [route(second, 4) for second in times],
        OFFSET_SNAPSHOTS: [snapshot(second, *sample(second)) for second in times],
    }
    (step,) = evaluated(rows, HOUR)
    (finding,) = (each for each in step.findings if each.rule == "PRODUCER_SKEW")
    assert (finding.severity, finding.subject) == ("WARN", "b:0")
    assert RULE.spreads_by
    assert [*RULE.spreads_by(finding)] == [shared]


@pytest.mark.parametrize(("write_queues", "skewed"), [(4, [0, 1]), (2, []), (1, [])])
def test_queues_that_are_not_written_any_more_make_the_others_no_hot_ones(write_queues: int, skewed: list[int]) -> None:
    """A topic is made smaller: first its write queues, and later its read queues. Messages come into 0 and 1 only."""
    entries = (RouteEntry("b", 6, 4, write_queues),)
    step = step_with(produced(0, 400, 400, 0, 0))
    routed = replace(step, routes={"t": (Span(micros(0), micros(3600), micros(0), entries),)})
    assert [hit.queue.queue_id for hit in RULE.hits(routed) if hit.queue and hit.cause == "HOT_QUEUES"] == skewed
