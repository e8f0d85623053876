"""NEAR_CAPACITY on hours of one client, on paper: what it said once a minute, and what came into its queues."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.model.finding import Finding, FindingQueue
from spark_jobs.domain.rules import near_capacity, slow_listener
from spark_jobs.domain.rules.findings import findings
from spark_jobs.domain.rules.near_capacity import best_change
from tests.support.builders import audited_step
from tests.support.client_steps import recorded_step
from tests.support.kernel import settings
from tests.support.times import second_of
from tests.support.what_if import client_row, status
from tests.unit.domain.test_utilization import row

#: Pulls of a queue that take 200 ms together bring 160 messages a second of it.
PULLS = {"pull_interval_ms": 199}


def reports(
    minute: str, seconds: Sequence[int] = range(60, 661, 60), *, usual: str = "1/1/1/1", **settings: Any
) -> list[dict[str, Any]]:
    """Client `A`, once a minute: `response time (ms)/consumed/pull time (ms)/pulled` then, and otherwise the usual."""
    return [
        client_row(second, "A", [status(minute if second in seconds else usual)], **PULLS | settings)
        for second in range(-240, 3600, 60)
    ]


def step(reported: Sequence[dict[str, Any]], *rows: IntervalProgress, **thresholds: int) -> AuditedStep:
    clients = recorded_step(reported).history.clients
    intervals = (progress.interval for progress in rows)
    audited = audited_step(*intervals, progress=rows, settings=settings(30, **thresholds))
    return replace(audited, history=replace(audited.history, clients=clients))


def findings_of(reported: Sequence[dict[str, Any]], *rows: IntervalProgress, **thresholds: int) -> list[Finding]:
    return findings(step(reported, *rows, **thresholds), [near_capacity.RULE])


def spans_of(reported: Sequence[dict[str, Any]], *rows: IntervalProgress, **thresholds: int) -> list[str]:
    """`cause start-end`, seconds of the hour."""
    return [
        f"{finding.cause} {second_of(finding.started_at)}-{second_of(finding.ended_at)}"
        for finding in findings_of(reported, *rows, **thresholds)
    ]


def measures_of(reported: Sequence[dict[str, Any]], *rows: IntervalProgress) -> dict[str, float | None]:
    (finding,) = findings_of(reported, *rows)
    return dict(finding.evidence.measures or [])


#: Eleven minutes, of which the last holds until the next one; what the client sets; what is found.
@pytest.mark.parametrize(
    ("minute", "settings", "expected"),
    [
        # One thread that takes 400 ms does 2.5 a second.
        ("400/2/1/2", {}, ["LISTENER 60-720"]),
        ("400/1.9/1/1.9", {}, []),
        ("400/1.5/1/2", {}, ["LISTENER 60-720"]),
        ("400/2/1/-", {}, ["LISTENER 60-720"]),
        ("400/2/1/2", {"consume_threads": 2}, []),
        ("400/4/1/4", {"consume_threads": 2}, ["LISTENER 60-720"]),
        # Ten messages in each call.
        ("400/20/1/20", {"consume_batch_size": 10}, ["LISTENER 60-720"]),
        ("400/19/1/19", {"consume_batch_size": 10}, []),
        # A listener that takes no time: 4 queues of 160 a second.
        ("0/512/1/512", {}, ["PULLS 60-720"]),
        ("0/511/1/511", {}, []),
        ("0/512/1/512", {"queues": 5}, []),
        ("0/512/1/512", {"pull_interval_ms": 99}, []),
        # Orderly: one thread takes 50 of each of 4 queues; of 2 threads together that is 100.
        ("20/160/1/160", {"consume_orderly": True, "consume_threads": 20}, ["ORDERED_QUEUE 60-720"]),
        ("20/159/1/159", {"consume_orderly": True, "consume_threads": 20}, []),
        ("20/80/1/80", {"consume_orderly": True, "consume_threads": 2}, ["LISTENER 60-720"]),
        # Who does not say all of it is unknown.
        ("400/2/1/2", {"consume_threads": None}, []),
        ("400/2/1/2", {"pull_interval_ms": None}, []),
        ("-/2/1/2", {}, []),
    ],
)
def test_who_consumes_nearly_as_much_as_it_can(minute: str, settings: dict[str, Any], expected: list[str]) -> None:
    assert spans_of(reports(minute, **settings)) == expected


@pytest.mark.parametrize(
    ("seconds", "thresholds", "expected"),
    [
        # A minute holds until the next: five of them are 300 s.
        (range(60, 301, 60), {}, ["LISTENER 60-360"]),
        (range(60, 241, 60), {}, []),
        (range(60, 241, 60), {"near_capacity_seconds": 240}, ["LISTENER 60-300"]),
        (range(60, 301, 60), {"near_capacity_percent": 81}, []),
        # Before the hour counts for how long it lasted.
        (range(-180, 61, 60), {}, ["LISTENER 0-120"]),
        (range(-240, -59, 60), {}, []),
        # One minute below the limit ends it.
        ([*range(60, 301, 60), *range(420, 661, 60)], {}, ["LISTENER 60-360", "LISTENER 420-720"]),
        ([*range(60, 241, 60), *range(360, 541, 60)], {}, []),
    ],
)
def test_high_utilization_must_last(seconds: Sequence[int], thresholds: dict[str, int], expected: list[str]) -> None:
    assert spans_of(reports("400/2/1/2", seconds), **thresholds) == expected


def test_without_an_answer_for_too_long_it_ends() -> None:
    every = reports("400/2/1/2", range(-240, 3600, 60))
    cut = [snapshot for place, snapshot in enumerate(every) if not 15 <= place < 20]
    assert spans_of(cut) == ["LISTENER 0-690", "LISTENER 960-3600"]


def test_each_change_leaves_a_utilization_of_its_own() -> None:
    (finding,) = findings_of(reports("400/2/1/2"), row("0-3600 A 3600 A 3600 B 0 B 0"))
    # 2 of 4 queues, of 2 members: with 2 more each has one.
    members = {"with_more_members": 0.4, "more_members": 2.0}
    others = {"with_twice_the_queues": 0.8, "with_half_the_response_time": 0.4, "with_no_pull_interval": 0.8}
    expected = {"utilization": 0.8, "with_twice_the_threads": 0.4} | members | others
    assert dict(finding.evidence.measures or []) == pytest.approx(expected)
    best = "Of all single changes, twice the consume threads would help most: 40 % instead of 80 %."
    assert finding.advice.endswith(best)
    assert (finding.subject, finding.severity, finding.evidence.client_ids) == ("A", "WARN", ["A"])


def test_pulls_are_helped_by_what_brings_more_of_each_queue() -> None:
    (finding,) = findings_of(reports("0/512/1/512"), row("0-3600 A 460800 A 460800 A 460800 A 460800"))
    same = dict.fromkeys(("utilization", "with_twice_the_threads", "with_more_members"), 0.8)
    # 32,000 a second of each queue.
    others = {"with_twice_the_queues": 0.4, "with_half_the_response_time": 0.8, "with_no_pull_interval": 0.004}
    assert dict(finding.evidence.measures or []) == pytest.approx(same | {"more_members": 1.0} | others)
    assert finding.advice.endswith("Of all single changes, a pull interval of 0 would help most: 0 % instead of 80 %.")


@pytest.mark.parametrize(
    ("of_other", "brokers", "says"),
    [
        ("1", "b", " A pull takes 50 ms, of other members 1 ms. All its queues are of b: look at its disk, load and"),
        ("10", "b", " A pull takes 50 ms, of other members 10 ms. All its queues are of b:"),
        ("10.1", "b", " A pull takes 50 ms: look at the way to the brokers"),
        ("-", "b", " A pull takes 50 ms: look at the way"),  # there is no other member
        ("1", "x", " A pull takes 50 ms, of other members 1 ms."),
    ],
)
def test_pulls_that_take_several_times_as_long_as_those_of_others_point_to_a_broker(
    of_other: str, brokers: str, says: str
) -> None:
    """Pulls of 50 ms without an interval bring 640 messages a second of a queue; what is above long polling counts."""
    slow: dict[str, Any] = {"pull_interval_ms": 0}
    reported = reports("0/2048/51.953125/2048", range(-240, 3600, 60), **slow)
    rows = [row("0-3600 A 1843200 A 1843200 A 1843200 A 1843200")]
    if of_other != "-":
        took = float(of_other) + 1.953125
        reported += [
            each | {"client_id": "B"} for each in reports(f"0/2048/{took}/2048", range(-240, 3600, 60), **slow)
        ]
    if brokers == "x":
        of = rows[0].interval.allocation
        assert of is not None
        two = replace(of, queues=[("x", 0), *of.queues[1:]])
        rows = [replace(rows[0], interval=replace(rows[0].interval, allocation=two))]
    (hit,) = near_capacity.RULE.hits(step(reported, *rows))
    assert hit.cause == "PULLS"
    assert says in (hit.hint or "")
    assert ("look at its disk" in (hit.hint or "")) is (brokers == "b" and "other members" in says)


def test_pulls_that_are_short_say_nothing() -> None:
    """Pulls of 49.4 ms without 4 queues ÷ 2,100 messages a second of long polling: 525 of 648 a second of a queue."""
    reported = reports("0/2100/51.305/2100", range(-240, 3600, 60), pull_interval_ms=0)
    (hit,) = near_capacity.RULE.hits(step(reported, row("0-3600 A 1843200 A 1843200 A 1843200 A 1843200")))
    assert (hit.cause, "A pull takes" in (hit.hint or "")) == ("PULLS", False)


def test_an_orderly_consumer_is_not_helped_by_threads() -> None:
    minute = reports("20/160/1/160", consume_orderly=True, consume_threads=20)
    (finding,) = findings_of(minute, row("0-3600 A 144000 A 144000 A 144000 A 144000"))
    assert dict(finding.evidence.measures or [])["with_twice_the_threads"] == pytest.approx(0.8)
    assert finding.advice.endswith("Of all single changes, twice the queues would help most: 40 % instead of 80 %.")
    assert finding.advice.startswith("Each queue has its thread already")


def test_more_members_are_no_change_where_one_has_no_queue_already() -> None:
    every = row("0-3600 A 3600 A 3600 B 0 B 0")
    idle = every.interval.allocation
    assert idle is not None
    left_out = replace(every.interval, allocation=replace(idle, queues_per_member=[2, 0]))
    measures = measures_of(reports("400/2/1/2"), replace(every, interval=left_out))
    assert (measures["with_more_members"], measures["more_members"]) == (None, None)


def test_who_owns_one_queue_gets_no_less_with_more_members() -> None:
    measures = measures_of(reports("400/2/1/2", queues=1), row("0-3600 A 7200 B 7200"))
    assert (measures["with_more_members"], measures["more_members"]) == (None, None)


def test_where_more_comes_than_it_consumes_that_counts() -> None:
    # 5 a second come, 2 are consumed, 9 were pulled.
    measures = measures_of(reports("400/2/1/9"), row("0-3600 A 9000 A 9000"))
    assert (measures["utilization"], measures["with_twice_the_threads"]) == pytest.approx((2.0, 1.0))
    # Of one queue it is not known.
    assert measures_of(reports("400/2/1/9"), row("0-3600 A 9000 A ?"))["utilization"] == pytest.approx(1.0)
    # In a short interval it is not known what came.
    short = row("0-610 B 0 B 0"), row("610-900 A 750 A 750")
    assert measures_of(reports("400/2/1/9"), *short)["utilization"] == pytest.approx(3.6)


def test_a_minute_that_ended_before_the_step_counts_for_its_beginning() -> None:
    minutes = [(second, "400/2.4/1/2.4" if second == -30 else "400/2/1/2") for second in range(-210, 600, 60)]
    rows = [client_row(second, "A", [status(minute)], **PULLS) for second, minute in minutes]
    came = row("0-3600 A 9000 A 9000")
    assert spans_of(rows, came) == ["LISTENER 0-660"]
    assert measures_of(rows, came)["utilization"] == pytest.approx(2.0)


def test_a_queue_that_was_dropped_is_not_its_own() -> None:
    rows = reports("0/512/1/512", queues=5)
    for snapshot in rows:
        snapshot["owned_queues"][0]["dropped"] = True
    assert spans_of(rows) == ["PULLS 60-720"]


def test_who_owns_more_than_an_even_share_needs_one_more_at_least() -> None:
    measures = measures_of(reports("400/2/1/2"), row("0-3600 A 2400 A 2400 A 2400 B 0"))
    assert measures["more_members"] == 1.0
    assert measures["with_more_members"] == pytest.approx(1.6 / 3)


def test_where_no_change_helps_the_advice_says_so() -> None:
    changes = ("utilization", "with_twice_the_threads", "with_twice_the_queues", "with_half_the_response_time")
    same: dict[str, float | None] = dict.fromkeys((*changes, "with_no_pull_interval"), 0.8)
    none = "No single change of its threads, pulls, listener, queues or members would help."
    assert best_change(same | {"with_more_members": None, "more_members": None}) == none
    more = "Of all single changes, 2 more members would help most: 40 % instead of 80 %."
    assert best_change(same | {"with_more_members": 0.4, "more_members": 2.0}) == more


def test_the_worst_minute_of_the_step_counts() -> None:
    rows = reports("400/2/1/2", range(-240, 661, 60))
    rows[2]["consume_status"], rows[6]["consume_status"] = [status("400/2.4/1/2.4")], [status("400/2.2/1/2.2")]
    assert measures_of(rows)["utilization"] == pytest.approx(0.88)


#: Messages that came in an hour into each of three queues, of which A can take 160 a second: 460,800 are 80 %.
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["0-3600 A 460800 A 0 A 0"], ["HOT_QUEUE 0-3600"]),
        (["0-3600 A 460700 A 0 A 0"], []),
        (["0-3600 A 460800 A 460700 A 460700"], ["HOT_QUEUE 0-3600"]),
        # All of them together: that is the pulls' limit, which its minutes show.
        (["0-3600 A 460800 A 460800 A 460800"], []),
        (["0-300 A 38400 A 0 A 0"], ["HOT_QUEUE 0-300"]),
        (["0-299 A 38400 A 0 A 0"], []),
        (["0-200 A 25600 A 0 A 0", "200-400 A 25600 A 0 A 0"], []),
        (["0-3600 B 460800 A 0 A 0"], []),
        (["0-3600 A ? A 0 A 0"], []),
    ],
)
def test_one_queue_receives_nearly_what_its_owner_can_take_of_it(lines: list[str], expected: list[str]) -> None:
    assert spans_of(reports("0/1/1/1", usual="0/1/1/1"), *map(row, lines)) == expected


def test_a_hot_queue_is_named() -> None:
    (finding,) = findings_of(reports("0/1/1/1", usual="0/1/1/1"), row("0-3600 A 0 A 518400 A 0"))
    (queue,) = finding.evidence.queues
    assert (queue[:4], finding.topic, finding.subject) == (FindingQueue("t", "b", 1, "HOT"), "t", "A")
    measures = dict(finding.evidence.measures or [])
    assert (measures["utilization"], measures["with_twice_the_queues"]) == pytest.approx((0.9, 0.45))


def test_where_brokers_disagree_nobody_knows_what_came() -> None:
    disputed = row("0-3600 A 460800 A 0 A 0", view="broker-a")
    assert findings_of(reports("0/1/1/1", usual="0/1/1/1"), disputed) == []


def test_busy_threads_of_the_same_client_are_its_root() -> None:
    audited = step(reports("400/2.5/1/2.5", usual="400/0.1/1/0.1"))
    slow, near = findings(audited, [slow_listener.RULE, near_capacity.RULE])
    assert (slow.rule, near.rule, near.root_finding_id) == ("SLOW_LISTENER", "NEAR_CAPACITY", slow.finding_id)
