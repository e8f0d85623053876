"""Groups without a connected consumer, and when that matters."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.history import Subscriptions
from spark_jobs.domain.model.window import offline_times
from spark_jobs.domain.rules.findings import findings
from spark_jobs.domain.rules.group_offline import RULE
from tests.support.builders import allocation, audited_step, broker_said, interval, members, span, with_samples
from tests.support.kernel import series_of
from tests.support.samples import offsets
from tests.support.tables import cells, time_spans
from tests.support.times import micros

#: Seconds in which the hosts of a topic list no consumer, one word per topic | in which a broker lists one | offline
_TIMES = """
    0..100                 |                | 0..100
    0..100                 | 100..200       | 0..100
    0..100                 | 50..60         | 0..50 60..100
    0..100                 | 0..100         |
    0..100                 | -10..20 10..30 | 30..100
    0..100 50..150         |                | 0..150
    0..100 100..200        |                | 0..200
    0..100 120..200        |                | 0..100 120..200
    0..100 0..100          | 40..60 50..70  | 0..40 70..100
    0..100                 | 20..40 40..60  | 0..20 60..100
                           | 0..100         |
"""
NOTHING: Subscriptions = frozenset()
NO_OWNERS = allocation((), "- -")
QUEUES = [("b", 0), ("b", 1)]


@pytest.mark.parametrize(("unlisted", "listed", "offline"), cells(_TIMES))
def test_a_group_is_offline_while_no_broker_lists_a_consumer(unlisted: str, listed: str, offline: str) -> None:
    assert offline_times(time_spans(unlisted), time_spans(listed)) == time_spans(offline)


def step_with(samples: Mapping[int, str], start: int = 100, end: int = 200) -> AuditedStep:
    """No consumer is connected from `start` to `end`; per sample and queue `end offset/consumer offset`."""
    read = offsets(QUEUES, {at: row.split() for at, row in samples.items()})
    return with_samples(audited_step(interval(start, end, (), NO_OWNERS)), {"t": read})


def measured(step: AuditedStep) -> tuple[str, float | None, float | None] | None:
    """Span, produced, backlog at the end."""
    for hit in RULE.hits(step):
        assert hit.measures
        assert (hit.cause, hit.topic) == ("NO_MEMBERS", None)
        return span(hit), hit.measures["produced"], hit.measures["backlog_end"]
    return None


@pytest.mark.parametrize(("end", "severity"), [(219, "WARN"), (220, "ERROR")])
def test_a_group_that_is_back_before_its_queues_count_as_stalled_is_a_warning(end: int, severity: str) -> None:
    """From 100 s on, and `stalled_after_seconds` is 120."""
    assert [hit.severity for hit in RULE.hits(step_with({140: "17/10 20/20"}, end=end))] == [severity]


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ({99: "0/0 0/0", 100: "10/10 20/20", 140: "17/10 20/20", 199: "15/10 23/20", 200: "99/10 99/20"}, (8, 8)),
        # A backlog is enough; a group that missed nothing is well.
        ({150: "10/9 5/5"}, (None, 1)),
        ({140: "10/10 5/5", 150: "10/10 5/5"}, None),
        ({140: "10/10 5/5", 150: "11/11 5/5"}, (1, 0)),
        # It waited for a while, and then did not.
        ({140: "10/9 5/5", 150: "10/10 5/5"}, (0, 0)),
        # What is unknown is no evidence.
        ({}, None),
        ({99: "10/0 5/0", 200: "99/0 99/0"}, None),
        ({150: "?/9 -"}, None),
        ({140: "10/? -", 150: "12/? -"}, (2, None)),
        ({140: "?/9 -", 150: "12/9 -"}, (None, 3)),
        # Each queue counts from its first sample to its last.
        ({110: "- 20/20", 120: "10/10 22/20", 130: "14/10 -"}, (6, 6)),
        # A topic that was created again.
        ({110: "10/0 1/1", 120: "4/0 2/1"}, (1, 5)),
    ],
)
def test_what_came_and_waits_is_what_samples_of_that_time_say(
    samples: dict[int, str], expected: tuple[int | None, int | None] | None
) -> None:
    assert measured(step_with(samples)) == (expected and ("100-200", *expected))


def test_what_came_before_the_step_is_not_counted_again_but_it_waits() -> None:
    assert measured(step_with({-20: "0/0 -", 20: "9/8 -", 40: "10/8 -"}, start=-100)) == ("-100-200", 1, 2)
    assert measured(step_with({-20: "9/8 -"}, start=-100, end=10)) == ("-100-10", None, None)
    assert measured(step_with({-20: "9/8 -"}, start=-100, end=-10)) is None


#: A message a second comes into the first queue, whose first message is the next to consume.
COMES = {"t": offsets(QUEUES, {at: [f"{at}/0", "-"] for at in range(100, 200, 10)})}


def test_whoever_is_connected_to_any_broker_keeps_the_group_online() -> None:
    online = {"x": [broker_said(0, 150, "c1", NOTHING)], "y": [broker_said(150, 300, "", NOTHING)]}
    step = with_samples(audited_step(interval(100, 200, (), NO_OWNERS), memberships=online), COMES)
    assert measured(step) == ("150-200", 40, 190)


def test_a_group_with_members_and_one_that_is_not_replayed_are_not_offline() -> None:
    listed = members("c1")
    assert measured(with_samples(audited_step(interval(100, 200, listed, allocation(listed, "0"))), COMES)) is None
    assert measured(with_samples(audited_step(interval(100, 200, None)), COMES)) is None
    assert measured(with_samples(audited_step(interval(100, 200, ())), COMES)) is None


@pytest.mark.parametrize(("seen_at", "is_found"), [(149, False), (150, True)])
def test_a_restart_that_one_snapshot_shows_is_not_offline(seen_at: int, is_found: bool) -> None:
    """Seen since 100 s: for 49 s or 50 s, whenever the next snapshot shows somebody."""
    without = audited_step(interval(100, 200, (), NO_OWNERS, seen_at=seen_at))
    assert bool(findings(with_samples(without, COMES), [RULE])) is is_found


def test_who_came_to_another_broker_ends_what_is_seen() -> None:
    """The topic's own broker goes on to list no consumer."""
    online = {"x": [broker_said(140, 300, "c1", NOTHING)]}
    without = audited_step(interval(100, 200, (), NO_OWNERS, seen_at=190), memberships=online)
    (hit,) = RULE.hits(with_samples(without, COMES))
    assert (span(hit), hit.seen_at) == ("100-140", micros(140))


def test_messages_of_all_topics_of_the_group_count() -> None:
    of_t, of_u = (offsets([("b", 0)], {at: [f"{at * n}/0"] for at in (110, 120)}) for n in (1, 2))
    step = with_samples(audited_step(interval(100, 200, (), NO_OWNERS)), {"t": of_t, "u": of_u})
    assert measured(step) == ("100-200", 30, 360)


@pytest.mark.parametrize(
    ("before", "says"),
    [
        ({"x": "0..100 c1"}, "The only member left"),
        ({"x": "0..100 c1 c2"}, "Both members left"),
        ({"x": "0..100 c1 c2", "y": "0..81 c1 c3"}, "All 3 members left"),  # brokers are asked one after the other
        ({"x": "0..100 c2", "y": "0..80 c1"}, "The only member left"),  # the other one a round before
        ({"x": "0..80 c1"}, None),
        ({}, None),
    ],
    ids=str,
)
def test_members_that_left_together_may_run_without_heartbeats(before: Mapping[str, str], says: str | None) -> None:
    """The cadence is 20 s."""
    said = {}
    for broker, text in before.items():
        end, ids = text.removeprefix("0..").split(" ", 1)
        said[broker] = [broker_said(0, int(end), ids, NOTHING), broker_said(int(end), 300, "", NOTHING)]
    step = with_samples(audited_step(interval(100, 200, (), NO_OWNERS), memberships=said), COMES)
    assert step.settings.cadence == micros(20) - micros(0)
    (hit,) = RULE.hits(step)
    assert (hit.hint or "").startswith(f"{says} between two snapshots. If processes") if says else hit.hint is None


@pytest.mark.parametrize(("after", "says"), [("c1 c3", "Members with the same ids"), ("c3", "The only member left")])
def test_the_same_ids_before_and_after_may_have_run_all_the_time(after: str, says: str) -> None:
    assert (absent("c1", after).hint or "").startswith(says)


def absent(before: str, after: str) -> RuleHit:
    """From 100 to 200 s nobody is listed; these are before and after it."""
    said = [broker_said(start, start + 100, ids, NOTHING) for start, ids in ((0, before), (100, ""), (200, after))]
    step = audited_step(interval(100, 200, (), NO_OWNERS), memberships={"x": said})
    (hit,) = RULE.hits(with_samples(step, COMES))
    return hit


@pytest.mark.parametrize(
    ("client_id", "cause"),
    [
        ("10.0.0.1@7#812345", "NO_HEARTBEATS"),
        ("10.0.0.1@7#812345@unit", "NO_HEARTBEATS"),
        ("host-1@7@0@c6bjl3u0", "NO_HEARTBEATS"),
        ("10.0.0.1@7@0@", "NO_MEMBERS"),
        ("10.0.0.1@7", "NO_MEMBERS"),
        ("10.0.0.1@orders#1", "NO_MEMBERS"),
    ],
)
def test_a_process_that_runs_before_and_after_ran_without_heartbeats(client_id: str, cause: str) -> None:
    hit = absent(client_id, client_id)
    assert (hit.cause, str(hit.hint).startswith("All its queues are of b:")) == (cause, cause == "NO_HEARTBEATS")


def test_an_absence_that_lasts_is_like_the_one_before() -> None:
    runs_on = "10.0.0.1@7#812345"
    said = [broker_said(start, start + 50, runs_on if start % 100 else "", NOTHING) for start in range(0, 600, 50)]
    away = [interval(start, start + 50, (), NO_OWNERS) for start in range(100, 600, 100)]
    step = audited_step(*away, interval(600, 3600, (), NO_OWNERS), memberships={"x": said})
    reads = offsets(QUEUES, {second: [f"{second}/0", f"{second}/0"] for second in range(100, 3600, 10)})
    hits = list(RULE.hits(with_samples(step, {"t": reads})))
    assert [hit.cause for hit in hits] == ["NO_HEARTBEATS"] * 6
    assert span(hits[-1]) == "600-3600"


@pytest.mark.parametrize(
    ("asked", "at", "may_run"),
    [
        ({}, 0, True),
        # A proxy that was asked lists no consumer; a proxy that comes after the step says nothing of it.
        ({"proxy 192.0.2.1:8080": ""}, 0, False),
        ({}, 9000, False),
        # Who was connected to a broker before does not use a proxy.
        ({"b": "c1"}, 0, False),
    ],
)
def test_behind_proxies_consumers_may_run(asked: dict[str, str], at: int, may_run: bool) -> None:
    step = step_with({150: "10/9 5/5"})
    proxy = series_of([(micros(at), broker_said(0, 300, "192.0.2.1@DEFAULT", NOTHING).state)])
    listed = {broker: [broker_said(0, 90, ids, NOTHING)] for broker, ids in asked.items()}
    history = replace(step.history, proxies={"b": proxy})
    (hit,) = RULE.hits(replace(step, history=history, memberships={**step.memberships, **listed}))
    assert (hit.hint or "").startswith("The cluster has proxies") == may_run
