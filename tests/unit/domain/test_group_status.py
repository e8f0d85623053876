"""Status of a group: its members at the end, its backlog and its findings."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations
from typing import Any

import pytest

from schemas.group_status import GROUP_STATUS
from schemas.types import Array, Struct
from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress, RebalanceInterval
from spark_jobs.domain.kernel.progress import topic_progress
from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.model.history import Place
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.status.attribution import TopicGrowth, attribution
from spark_jobs.domain.status.backlog import Backlog, queue_intervals
from spark_jobs.domain.status.group_status import GroupStatus, group_status
from spark_jobs.what_if.answer import advice_in_numbers
from tests.support.builders import audited_step, interval, replayed
from tests.support.findings import finding
from tests.support.kernel import SETTINGS, WINDOW
from tests.support.samples import measured, offsets
from tests.support.tables import described

PLACES: list[Place] = [("b", number) for number in range(4)]


def owned(*owners: tuple[int, ...]) -> dict[Place, tuple[int, ...]]:
    return dict(zip(PLACES, owners, strict=False))


def status(*intervals: RebalanceInterval, progress: Sequence[IntervalProgress] = ()) -> GroupStatus:
    return status_of(audited_step(*intervals, progress=progress), [])


def status_of(step: AuditedStep, findings: Sequence[Finding]) -> GroupStatus:
    """The status of a group that has one."""
    status = group_status(step, findings, (), partial(advice_in_numbers, step, StrategySettings()))
    assert status is not None
    return status


def test_fields_are_those_of_the_table() -> None:
    keys = ("step_start", "cluster", "consumer_group")
    assert list(GroupStatus._fields) == [name for name in GROUP_STATUS.columns if name not in keys]
    entries = GROUP_STATUS.schema["attribution"].type
    assert isinstance(entries, Array)
    assert isinstance(entries.element, Struct)
    assert TopicGrowth._fields == entries.element.names


def test_a_group_without_an_interval_in_the_step_has_no_status() -> None:
    for step in (audited_step(), audited_step(replayed(-60, 0, owned((0,))))):
        assert group_status(step, [], (), partial(advice_in_numbers, step, StrategySettings())) is None


def test_a_group_that_was_never_replayed_is_unknown() -> None:
    nothing_known = "Unknown: the backlog of the group is not known."
    nothing = dict.fromkeys(GroupStatus._fields)
    known = {"finding_count": 0, "unknown_queues": 0, "bottleneck": "UNKNOWN_BACKLOG", "advice": nothing_known}
    unknown = GroupStatus(**nothing | known)  # type: ignore[arg-type]
    assert status(interval(0, 3600, None, reason=Reason.NO_ROUTE_SNAPSHOT)) == unknown
    # What was replayed before the step began is not published.
    assert status(replayed(-60, 0, owned((0,))), interval(0, 3600, None, reason=Reason.NO_ROUTE_SNAPSHOT)) == unknown


#: what | intervals: time, members, the positions that own each queue (`-`: none), and what else is given | members,
#: distinct and idle ones | queues, those with one owner, two and none | queues of the busiest member, and with one more
_MEMBERS = """
queues count at the end of each topic, members of the latest | -30-60 A+B 0 1 0, 60-120 A+A+B 0+1 - 2, 0-90 A+B+C+D 3 - topic=u, 120-3600 reason=NO_ROUTE_SNAPSHOT | 3 2 0 | 5 2 1 2 | 1 1
of topics that end together the one with most members | 0-60 A+A 0, 0-60 B 0 topic=u | 2 1 1 | 2 2 0 0 | 1 1
of views that end together the one with most ids    | 0-60 A 0 view=a, 0-60 A+B+C 0 view=b         | 3 3 2 | 1 1 0 0 | 1 1
of as many ids any of them                          | 0-60 A+B 0 view=a, 0-60 A+C 0 view=b         | 2 2 1 | 1 1 0 0 | 1 1
… duplicates make a list no longer                  | 0-60 A+B 0 view=a, 0-60 A+A+B 0 view=b       | 2 2 1 | 1 1 0 0 | 1 1
… nor two of one id                                 | 0-60 A+A 0 view=a, 0-60 A+B 0 view=b         | 2 2 1 | 1 1 0 0 | 1 1
queues of retry topics are left out                 | 0-60 A 0, 0-90 A+B+C 0 1 topic=%RETRY%g      | 3 3 0 | 1 1 0 0 | 1 1
… if there are no others, queues are unknown        | 0-90 A+B+C 0 1 topic=%RETRY%g                | 3 3 - | - - - - | 0 0
who has a queue of any topic is not idle            | 0-60 A+A+B+C 0 0, 0-60 A+B 1 topic=u         | 4 3 2 | 3 3 0 0 | 1 1
who left before the end is not idle                 | 0-60 A+C+D 0 - -, 60-90 A+B+D 0 1 - topic=u  | 3 3 1 | 6 3 0 3 | 1 1
a group without members has no idle ones            | 0-60  - -                                    | 0 0 0 | 2 0 0 2 | - 2
members that broadcast are known, the owners are not | 0-60 A+B+C+D 0 reason=BROADCASTING, 60-3600 A+A+B 0 reason=BROADCASTING | 3 2 - | - - - - | - -
… also if they consumed together before               | 0-60 A+B 0 1, 60-120  - -, 90-120  - topic=%RETRY%g, 120-3600 C+D 0 reason=BROADCASTING | 2 2 - | - - - - | - -
… not if they do so afterwards                       | 0-60 C+D 0 reason=BROADCASTING, 60-3600 A+B 0 1 | 2 2 0 | 2 2 0 0 | 1 1
… or are not replayed for another reason            | 0-60 A+B 0 reason=UNKNOWN_STRATEGY, 60-3600 A+A+B 0 reason=SETTINGS_MISSING | 3 2 - | - - - - | - -
… those behind a proxy are not                      | 60-3600 A+A+B 0 reason=CONSUMED_THROUGH_PROXY | - - - | - - - - | - -
… of two lists the longest counts                   | 0-3600 A+A 0 reason=BROADCASTING, 0-3600 B+C 0 reason=BROADCASTING | 2 2 - | - - - - | - -
… in any order                                      | 0-3600 B+C 0 reason=BROADCASTING, 0-3600 A+A 0 reason=BROADCASTING | 2 2 - | - - - - | - -
… with duplicates                                   | 0-3600 A+A+A 0 reason=BROADCASTING, 0-3600 B+C 0 reason=BROADCASTING | 3 1 - | - - - - | - -
… in any order                                      | 0-3600 B+C 0 reason=BROADCASTING, 0-3600 A+A+A 0 reason=BROADCASTING | 3 1 - | - - - - | - -
"""  # noqa: E501 - a table


def written(text: str) -> RebalanceInterval:
    time, *words = text.strip().split(" ")
    options: dict[str, Any] = dict(word.split("=") for word in words if "=" in word)
    ids, *owners = [word for word in words if "=" not in word] or [""]
    start, end = map(int, time.rsplit("-", 1))
    of_queues = owned(*(tuple(int(place) for place in of.split("+") if place != "-") for of in owners))
    reason = options.pop("reason", None)
    found = replayed(start, end, of_queues, ids.replace("+", " "), **options)
    return replace(found, allocation=None, reason=Reason(reason)) if reason else found


@pytest.mark.parametrize(("intervals", "members", "queues", "busiest"), described(_MEMBERS))
def test_members_and_queues_of_a_group(intervals: str, members: str, queues: str, busiest: str) -> None:
    names = (
        *("member_count", "distinct_members", "idle_members"),
        *("queue_count", "queues_with_one_owner", "double_owned_queues", "unassigned_queues"),
        *("busiest_member_queues", "busiest_member_queues_with_one_more"),
    )
    found = status(*map(written, intervals.split(",")))
    shown = ["-" if value is None else str(value) for value in (getattr(found, name) for name in names)]
    assert shown == [*members.split(), *queues.split(), *busiest.split()]


@pytest.mark.parametrize(("topic", "limit"), [("%RETRY%g", "UNKNOWN_BACKLOG"), ("t", "NO_BACKLOG")])
def test_that_nothing_waits_in_the_retry_topic_says_nothing_about_other_topics(topic: str, limit: str) -> None:
    nobody = replayed(0, 3600, owned(()), "", topic=topic)
    empty = measured(nobody, lag_first=[0], lag_last=[0], lag_max=[0])
    assert status(nobody, progress=[empty]).bottleneck == limit


def test_findings_are_counted_and_limit_the_group() -> None:
    interval = replayed(0, 60, owned((0,), ()), "A")
    row = measured(interval, lag_first=[0, 0], lag_last=[0, 900], lag_max=[0, 900])
    read = {"t": offsets(PLACES[:2], {0: ["5/5", "5/5"], 30: ["5/5", "905/5"]})}
    findings = [
        finding("f", "UNASSIGNED_QUEUE", 0, 60, "ROOM_FILTER", "WARN"),
        finding("f", "IDLE_CONSUMER", 0, 60, "NO_QUEUE", "INFO"),
    ]
    found = status_of(audited_step(interval, progress=[row], offsets=read), findings)
    assert (found.worst_severity, found.finding_count, found.bottleneck) == ("WARN", 2, "ALLOCATION")
    busiest = found.busiest_member_queues, found.busiest_member_queues_with_one_more
    assert (found.more_members_help, *busiest) == (False, 2, 1)
    assert found.advice == (
        "No: the strategy or its configuration left queues without an owner, and the backlog reached 900 "
        "messages in 1 queue. "
        "Correct it. How large the backlog would have been otherwise is unknown: no member was seen to consume, or "
        "reports how fast it is."
    )


def test_where_nothing_limited_it_the_answer_says_what_is_wrong() -> None:
    interval = replayed(0, 60, owned((0,), (1,)), "A B")
    row = measured(interval, readings=[6, 6], lag_first=[0, None], lag_last=[0, 5], lag_max=[0, 5])
    read = {"t": offsets(PLACES[:2], {0: ["5/5", "5/?"], 30: ["5/5", "10/5"]})}
    findings = [
        finding("f", "REDELIVERY_EXPOSURE", 0, 60, "QUEUES_MOVED", "INFO"),
        finding("f", "IDLE_CONSUMER", 0, 60, "NO_QUEUE", "WARN"),
        finding("f", "GROUP_OFFLINE", 0, 60, "NO_MEMBERS", silenced_because="it is known"),
        *[finding("f", "BROKER_NOT_READABLE", 0, 60, "LEFT_ROUTE")] * 2,
    ]
    found = status_of(audited_step(interval, progress=[row], offsets=read), findings)
    assert (found.worst_severity, found.finding_count, found.backlog_start, found.backlog_end) == ("ERROR", 5, None, 5)
    assert found.advice == (
        "No: 2 members kept up with 2 queues. What was wrong is of another kind: BROKER_NOT_READABLE, IDLE_CONSUMER. "
        "The backlog of 1 queue was unknown at first: the group had not committed an offset there."
    )


def test_a_silenced_finding_counts_and_makes_nothing_worse() -> None:
    silenced = finding("f", "B", 0, 60, "Y", "ERROR", silenced_because="known")
    found = status_of(audited_step(replayed(0, 60, owned((0,)))), [finding("f", "A", 0, 60, "X", "WARN"), silenced])
    assert (found.worst_severity, found.finding_count) == ("WARN", 2)


def test_what_made_the_backlog_grow() -> None:
    interval = replayed(0, 100, owned((0,)), "A")
    row = measured(interval, lag_first=[0], lag_last=[900], lag_max=[900], produced=[1000])
    read = {"t": offsets([("b", 0)], {-60: ["0/0"], -10: ["150/150"], 0: ["150/150"], 90: ["1150/250"]})}
    found = status_of(audited_step(interval, progress=[row], offsets=read), [])
    # 3 a second before, 10 a second now.
    assert found.attribution == [TopicGrowth("t", 900, 0, 0, 0, 700, 200)]
    assert (found.backlog_start, found.backlog_end, found.produced_messages_per_second) == (0, 900, 10.0)
    assert (found.bottleneck, found.more_members_help) == ("QUEUES", False)


def test_a_queue_begins_with_its_first_known_lag_and_ends_with_its_last() -> None:
    first = measured(
        replayed(0, 100, owned((0,), (0,), (0,))),
        produced=[50, None, None],
        consumed=[20, None, None],
        lag_first=[5, None, None],
        lag_last=[35, None, None],
        age_ms=[4000, None, None],
    )
    second = measured(
        replayed(100, 200, {PLACES[1]: (0,), PLACES[0]: (0,), PLACES[2]: (0,)}),
        produced=[30, 50, 20],
        consumed=[0, 80, None],
        lag_first=[7, 35, None],
        lag_last=[37, 5, None],
        age_ms=[9000, 1000, None],
    )
    # Queue 1 was read in its second interval only; in queue 2 nothing was ever committed.
    # 100 in 200 s, 30 in 100 s and 20 in 100 s; 100 in 200 s and none in 100 s.
    rates = {"produced_messages_per_second": 0.5 + 0.3 + 0.2, "consumed_messages_per_second": 0.5}
    assert _backlog(second, first) == Backlog(5 + 7, 5 + 37, 1, 9000, **rates)


def test_queues_of_two_topics_are_different_queues() -> None:
    rows = [measured(replayed(0, 10, owned((0,)), topic=topic), lag_first=[1], lag_last=[2]) for topic in ("t", "u")]
    assert _backlog(*rows) == Backlog(2, 4, 0, None, None, None)


def test_nothing_was_measured() -> None:
    assert _backlog() == Backlog(None, None, 0, None, None, None)
    assert _backlog(measured(replayed(0, 10, owned((0,), (0,))))) == Backlog(None, None, 2, None, None, None)
    assert _backlog(measured(replayed(0, 10, {}))) == Backlog(None, None, 0, None, None, None)


def _backlog(*rows: IntervalProgress) -> Backlog:
    return queue_intervals(rows).backlog()


def _rate(seconds: float, *produced: int) -> float | None:
    owners: dict[Place, tuple[int, ...]] = {("b", number): (0,) for number in range(len(produced))}
    return _backlog(measured(replayed(0, seconds, owners), produced=produced)).produced_messages_per_second


def test_messages_of_a_gap_came_in_the_gap() -> None:
    """300 that the first sample after 300 s without snapshots shows, of the same 1 a second."""
    before, after = (
        measured(replayed(start, start + 100, owned((0,))), produced=[produced])
        for start, produced in ((0, 100), (400, 400))
    )
    assert _backlog(before, after).produced_messages_per_second == 1.0


def test_rates_do_not_depend_on_the_order_of_the_queues() -> None:
    """0.1 + 0.2 + 0.3 messages a second: as doubles 0.6 or 0.6000000000000001, by the order."""
    assert [_rate(10, *order) for order in permutations((1, 2, 3))] == [0.6] * 6


def test_rates_have_six_decimals_a_queue() -> None:
    assert _rate(3, 1, 1) == 0.666666
    assert _rate(3, 2) == 0.666667
    # 0.0003125: half up.
    assert _rate(3200, 1) == 0.000313
    assert _rate(3200, 0) == 0.0


#: what | in each interval, of each queue: first and last lag (`?`: unknown, `-`: no sample) | backlog at both ends, and
#: queues of which it is unknown | growth
_LAGS = """
1281 messages of a queue that was first read without an offset did not come at once | 3>4 ?>?, 4>5 ?>1281 | ? 1286 0 | 2
an empty queue says nothing of what came later: unknown at the end, it is at the start | 3>4 0>0, 4>5 ?>? | 3 5 1 | 2
an interval without samples is neither the first nor the last of a queue            | - 7>7, 4>5 -      | 11 12 0 | 1
what grew adds up to both ends, however it was known in between                      | 2>?, 50>60        | 2 60 0  | 58
"""


def _known(text: str) -> int | None:
    return None if text in ("?", "") else int(text)


@pytest.mark.parametrize(("lags", "backlog", "growth"), described(_LAGS))
def test_both_ends_of_a_backlog_are_of_the_same_queues(lags: str, backlog: str, growth: str) -> None:
    rows = []
    for number, each in enumerate(map(str.split, lags.split(","))):
        ends = [cell.strip("-").partition(">") for cell in each]
        rows.append(
            measured(
                replayed(60 * number, 60 * number + 60, owned(*[(0,)] * len(each))),
                readings=[0 if cell == "-" else 6 for cell in each],
                lag_first=[_known(first) for first, _, _ in ends],
                lag_last=[_known(last) for _, _, last in ends],
            )
        )
    assert _backlog(*rows)[:3] == tuple(map(_known, backlog.split()))
    assert attribution(queue_intervals(rows), {}, WINDOW) == [TopicGrowth("t", int(growth), 0, 0, 0, 0, int(growth))]


def test_a_queue_into_which_nothing_ever_came_is_known_and_says_nothing_of_the_others() -> None:
    interval = replayed(0, 60, owned((0,), (0,)))
    known: dict[str, Any] = dict.fromkeys(("lag_first", "lag_last", "consumer_offset", "consumed"), (0, None))
    row = measured(interval, readings=[6, 6], produced=[0, 60], **known)
    assert _backlog(row) == Backlog(None, None, 1, None, 1.0, None)
    assert attribution(queue_intervals([row]), {}, WINDOW) == []
    # Of a group of such queues only, all is known.
    row = measured(replayed(0, 60, owned((0,))), lag_first=[0], lag_last=[0], consumer_offset=[0], consumed=[0])
    assert _backlog(row) == Backlog(0, 0, 0, None, None, 0.0)


def test_the_time_of_queues_without_an_owner_is_added_up() -> None:
    """Two queues for 60 s, one for 600 s, and none of a time in which owners are not known, or of retry topics."""
    times = [
        replayed(0, 60, owned((0,), (), ())),
        replayed(60, 660, owned((0,), (0,), ())),
        replayed(660, 3600, owned((0,), (0,), (0,))),
        replayed(0, 3600, owned(()), topic="%RETRY%g"),
    ]
    assert status(*times, progress=[measured(each) for each in times]).unassigned_queue_seconds == 720.0
    assert status(*times).unassigned_queue_seconds is None


def test_the_time_left_is_known_where_the_backlog_is() -> None:
    """An empty queue has no lag, and says nothing of the one beside it, whose lag is unknown."""
    interval = replayed(0, 3600, owned((0,), (0,)), "A")

    def time_left(first: str, second: str) -> tuple[bool | None, float | None]:
        read = offsets(PLACES[:2], {0: ["0/0", first], 300: ["0/0", second]})
        progress = topic_progress([interval], read, WINDOW, SETTINGS)
        told = status_of(audited_step(interval, progress=progress, offsets={"t": read}), [])
        assert told is not None
        return told.catches_up, told.catch_up_seconds

    assert time_left("900/0", "900/600") == (True, 150.0)
    assert time_left("900/?", "900/?") == (None, None)
