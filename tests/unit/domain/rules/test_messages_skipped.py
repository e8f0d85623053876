"""MESSAGES_SKIPPED: offsets that jump, on rows written by hand; and what only looks like it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from schemas import TOPIC_SNAPSHOTS
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.history import Membership
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.window import AuditSettings
from spark_jobs.domain.rules.messages_skipped import BEGAN_AT_END, RULE
from tests.support.client_groups import held, measured
from tests.support.client_steps import recorded_step, replayed
from tests.support.findings import finding
from tests.support.kernel import SETTINGS, settings
from tests.support.samples import progress
from tests.support.snapshots import client, offsets
from tests.support.times import at, micros, second_of

TIMES = range(0, 640, 20)


def hits(
    *consumed: Mapping[int, int | None],
    owner: str | None = "c1",
    tps: float | None = 2.0,
    consumes: bool = False,
    oldest: dict[int, int] | None = None,
    filtered: bool = False,
    begins: str | None = None,
    unseen: range = range(0),
    settings: AuditSettings = SETTINGS,
) -> list[RuleHit]:
    """Two messages a second come into each queue, whose offsets are from the seconds on what `consumed` says, and go on
    by two a second; without a word all are consumed. None: no offset yet. `consumes`: the client consumes while the
    offset is the same. `begins`: where members begin a queue without an offset. `unseen`: seconds without snapshots.
    """
    read, rows, topics = [], [], []
    for second in (each for each in TIMES if each not in unseen):
        numbers = [_offset(queue, second) for queue in consumed]
        ends = [max(1000 + 2 * second, number or 0) for number in numbers]
        read.append(offsets(second, *((end, to or 0, min(to or 0, 1)) for end, to in zip(ends, numbers, strict=True))))
        own = [held("t", queue, second, _last_consume(second, consumes)) for queue in range(len(consumed))]
        status = [] if tps is None else [measured("t", 1.0, tps, 0.0, 1.0, tps)]
        rows.append(client(second, owned_queues=own, consume_status=status))
        least = _value(oldest or {0: 0}, second)
        entries = [{"broker_name": "b", "queue_id": 0, "min_offset": least, "max_offset": 1000 + 2 * second}]
        topics.append({"cluster": "c", "topic": "t", "captured_at": at(second), "queues": entries})
    step = recorded_step(rows if owner else [], read=read, more={TOPIC_SNAPSHOTS: topics})
    shares = {"c1": list(range(len(consumed))) if owner else [], "c2": []}
    interval = replayed("t", -100, 660, shares, len(consumed))
    shown = replace(progress(interval, 0, 660), start=interval.start, end=interval.end, is_filtered=filtered)
    listed = Membership((), frozenset(), frozenset(), "CLUSTERING", consume_from_where=begins)
    memberships = {"b": [Span(micros(0), micros(640), micros(620), listed)]}
    return list(RULE.hits(replace(step, progress=[shown], memberships=memberships, settings=settings)))


def _offset(course: Mapping[int, int | None], second: int) -> int | None:
    since = max(moment for moment in course if moment <= second)
    offset = course[since]
    return None if offset is None else offset + (0 if since in (100,) else 2 * (second - since))


def _value(course: dict[int, int], second: int) -> int:
    return course[max(moment for moment in course if moment <= second)]


def _last_consume(second: int, consumes: bool) -> dict[str, Any]:
    idle = 100 <= second < 500 and not consumes
    return {"last_consume": held("t", 0, 100 if idle else second, {})["last_consume"]}


#: Consumed to the end, standing at 1200 from 100 s on, and again to the end at 500 s: 2000.
STANDS_AND_JUMPS = {0: 1000, 100: 1200, 500: 2000}


def skips(hits: list[RuleHit]) -> list[tuple[str | None, str | None, int, int | None]]:
    skipped = [(hit, int((hit.measures or {})["skipped"] or 0)) for hit in hits]
    return [(hit.cause, hit.severity, second_of(hit.start), messages) for hit, messages in skipped]


def test_a_commit_over_messages_that_the_client_did_not_consume() -> None:
    (hit,) = hits(STANDS_AND_JUMPS, {0: 1000})
    assert skips([hit]) == [("COMMITTED_UNREAD", "ERROR", 500, 800)]
    assert (hit.start, hit.end, hit.implicated) == (micros(500), micros(520), "c1")
    assert hit.hint == "The offset of b:0 jumped from 1200 to 2000: about 800 messages."


@pytest.mark.parametrize(
    "differs",
    [
        {"consumes": True},  # one message was held back
        {"tps": 9.0},  # 540 in a minute, and half of that more
        {"tps": None},
        {"filtered": True},
    ],
    ids=str,
)
def test_what_the_client_may_have_consumed_is_not_skipped(differs: dict[str, Any]) -> None:
    assert hits(STANDS_AND_JUMPS, {0: 1000}, **differs) == []


def test_the_pace_of_a_queue_counts_as_long_as_there_are_no_snapshots() -> None:
    """480 messages in 60 s: twelve times what comes in 20 s, and four times what comes in 60."""
    faster: Mapping[int, int | None] = {0: 1000, 360: 2080}
    assert hits(faster, {0: 1000}, unseen=range(320, 360)) == []
    assert skips(hits(faster, {0: 1000})) == [("COMMITTED_UNREAD", "ERROR", 360, 400)]


def test_a_client_may_consume_as_long_as_there_are_no_snapshots() -> None:
    """4,200 messages in 120 s are 35 a second: half more than 25, and more than half more than 20."""
    burst: Mapping[int, int | None] = {0: 1000, 420: 5800}
    seen: dict[str, Any] = {"unseen": range(320, 420), "settings": settings(60)}
    assert hits(burst, {0: 1000}, tps=25.0, **seen) == []
    assert skips(hits(burst, {0: 1000}, tps=20.0, **seen)) == [("COMMITTED_UNREAD", "ERROR", 420, 4200)]


def test_all_queues_with_a_backlog_that_jump_together_were_reset() -> None:
    together = hits(STANDS_AND_JUMPS, STANDS_AND_JUMPS, {0: 1000})
    assert skips(together) == [("RESET_FORWARD", "WARN", 500, 800)] * 2
    assert {hit.measures["skipped_together"] for hit in together if hit.measures} == {1600}


def test_the_headline_adds_up_what_was_skipped_at_several_samples() -> None:
    """400 messages of a queue at 300 s, and 800 of another one at 500 s."""
    numbers = [hit.measures or {} for hit in hits({0: 1000, 100: 1200, 300: 1600}, STANDS_AND_JUMPS)]
    assert [(each["skipped_together"], each["skipped_in_all"]) for each in numbers] == [(400, 1200), (800, 1200)]
    measures = [("skipped_together", 800.0), ("skipped_in_all", 1200.0)]
    assert RULE.detail
    assert (
        RULE.detail(finding("f", "MESSAGES_SKIPPED", 500, 560, evidence={"measures": measures}))
        == "about 1,200 messages"
    )


def test_an_offset_that_moves_without_members_was_reset() -> None:
    assert skips(hits(STANDS_AND_JUMPS, {0: 1000}, owner=None)) == [("RESET_FORWARD", "WARN", 500, 800)]


def test_a_jump_of_all_queues_that_no_client_reports_is_a_skip_or_very_fast() -> None:
    """5 messages in 20 s, and then 1,055, of all queues with a backlog; no client reports whether it consumed them.

    A commit that comes late jumps from an offset that stood; 455 are less than a hundred times the pace of before.
    """
    slow = {second: 1000 + second // 4 for second in range(0, 600, 20)}
    fast = slow | {600: 2200}
    together = hits(fast, fast, {0: 1000}, tps=None)
    assert skips(together) == [("SKIPPED_OR_CONSUMED", "WARN", 600, 1055)] * 2
    assert {hit.measures["skipped_together"] for hit in together if hit.measures} == {2110}
    assert hits(fast, {0: 1000}, {0: 1000}, tps=None) == []
    assert hits(STANDS_AND_JUMPS, STANDS_AND_JUMPS, tps=None) == []
    nearer = slow | {600: 1600, 620: 2240}
    assert hits(nearer, nearer, tps=None) == []


def test_an_offset_that_lands_at_the_oldest_message_shows_what_is_lost() -> None:
    """Also of clients that report nothing; a broker that deletes what was consumed loses nothing."""
    expected = [("LOST", "ERROR", 500, 790)]
    assert skips(hits(STANDS_AND_JUMPS, {0: 1000}, tps=None, oldest={0: 0, 480: 1990})) == expected
    assert hits({0: 1000}, {0: 1000}, oldest={0: 0, 480: 1900}) == []


def test_what_was_consumed_before_is_not_skipped() -> None:
    """A slave with older offsets for a moment, and commits every two minutes."""
    assert hits({0: 1000, 300: 1100, 340: 1680}, {0: 1000}) == []
    batches = {second: 1000 + 2 * (second - second % 120) - 2 * (second % 120) for second in TIMES}
    assert hits(batches, {0: 1000}) == []


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ({0: None, 300: 1600}, [("BEGAN_AT_END", "WARN", 300, 560)]),  # 2 a second for the 280 s before
        ({0: None, 300: 1550}, []),  # somewhere before the end
        ({0: None, 100: 1200}, []),  # sooner than a consumer counts as stalled
        ({0: None, 300: None}, []),
    ],
    ids=str,
)
def test_the_first_offset_of_a_queue_is_behind_what_came_before(
    first: Mapping[int, int | None], expected: list[tuple[Any, ...]]
) -> None:
    """The group has offsets of another queue: it is no new one, and not where it likes."""
    assert skips(hits(first, {0: 1000})) == expected


@pytest.mark.parametrize(
    ("begins", "is_skipped"),
    [("CONSUME_FROM_FIRST_OFFSET", False), ("CONSUME_FROM_LAST_OFFSET", True), ("CONSUME_FROM_TIMESTAMP", True)],
)
def test_members_that_begin_at_the_oldest_message_skip_none(begins: str, is_skipped: bool) -> None:
    assert bool(hits({0: None, 300: 1600}, {0: 1000}, begins=begins)) is is_skipped


@pytest.mark.parametrize(("tps", "is_skipped"), [(4.0, False), (3.1, False), (2.9, True), (None, True)])
def test_a_first_offset_at_the_end_skips_nothing_if_clients_consumed_what_came_before(
    tps: float | None, is_skipped: bool
) -> None:
    """Two a second of another queue, which its offset shows, and half of the two a second that came into this one."""
    assert bool(hits({0: None, 300: 1600}, {0: 1000}, tps=tps)) is is_skipped


@pytest.mark.parametrize(
    ("course", "oldest", "expected"),
    [
        # It stands at 1100 from 40 s on, and is lost from 300 s on; at the last sample without it the end is 1640.
        ({0: 1000, 40: 1100, 300: None, 340: 1680}, 500, [("OFFSETS_LOST", "ERROR", 340, 540)]),
        ({0: 1000, 40: 1100, 300: None, 340: 1640}, 500, [("OFFSETS_LOST", "ERROR", 340, 540)]),
        # Not as far as the end; not far (40 of two a second and 20 s); never again.
        ({0: 1000, 40: 1100, 300: None, 340: 1639}, 500, []),
        ({0: 1000, 300: None, 340: 1680}, 500, []),
        ({0: 1000, 40: 1100, 300: None}, 500, []),
        # It may be a reset to the beginning, all of which is consumed at once.
        ({0: 1000, 40: 1100, 300: None, 340: 1680}, 0, []),
    ],
    ids=str,
)
def test_whoever_begins_at_the_end_after_the_broker_lost_the_offset_skips_what_waited(
    course: Mapping[int, int | None], oldest: int, expected: list[tuple[Any, ...]]
) -> None:
    stands = {second: offset for second, offset in course.items() if second != 40}
    if 40 in course:
        stands |= dict.fromkeys(range(40, 300, 20), 1100)
    found = hits(stands, {0: 1000}, oldest={0: oldest})
    assert skips(found) == expected
    hint = "The offset of b:0 was 1100, then there was none, and the next one is "
    assert all((hit.hint or "").startswith(hint) for hit in found)


@pytest.mark.parametrize(("since", "severity"), [(290, "ERROR"), (200, "WARN")])
def test_what_came_while_no_member_was_there_is_certainly_not_consumed(since: int, severity: str) -> None:
    """The only member comes shortly before the first commit, or while messages come."""
    read = [
        offsets(second, (1000 + 2 * second, 0, 0) if second < 300 else (1000 + 2 * second,) * 2 + (1,), (1000, 1000, 1))
        for second in TIMES
    ]
    offline = replace(replayed("t", -100, since, {}, 2), members=())
    online = replayed("t", since, 660, {"c1": [0, 1]}, 2)
    step = recorded_step([], offline, online, read=read)
    shown = replace(progress(online, 0, 660), start=online.start, end=online.end)
    step = replace(step, progress=[shown])
    assert skips(list(RULE.hits(step))) == [("BEGAN_AT_END", severity, 300, 560)]


@pytest.mark.parametrize("other", [{0: None, 300: 1600}, {0: 1000, 100: 1200, 300: 1600}], ids=["new", "as fast"])
def test_a_first_offset_at_the_end_skips_nothing_if_another_does_as_much(other: Mapping[int, int | None]) -> None:
    assert hits({0: None, 300: 1600}, other, consumes=True) == []


LAST = "CONSUME_FROM_LAST_OFFSET"


@pytest.mark.parametrize(
    ("first", "other", "recorded_since", "oldest", "skipped", "begins"),
    [
        (1640, 1100, 0, 1000, 600, LAST),
        (1640, 1100, 200, 1000, 200, LAST),
        (1640, 1100, 260, 1000, None, LAST),  # the topic is not recorded before the group came
        (1640, 1439, 0, 1000, 600, LAST),
        (1640, 1440, 0, 1000, None, LAST),  # members may have begun there: the end when no sample shows the group
        (1640, 1100, 0, 1036, None, LAST),  # about the oldest message, where members may begin
        (1640, 1100, 0, 1035, 600, LAST),
        (1600, 1100, 0, 1000, 600, LAST),
        (1599, 1100, 0, 1000, None, LAST),  # not as far as the end
        (None, 1100, 0, 1000, None, LAST),
        (1640, 1100, 0, 1000, None, "CONSUME_FROM_TIMESTAMP"),  # of before then
        (1640, None, 0, 1000, None, LAST),  # a new group begins everywhere alike
    ],
)
def test_a_new_group_skips_messages_where_no_offset_was_set_and_it_was_in_all_other_queues(
    first: int | None, other: int | None, recorded_since: int, oldest: int, skipped: int | None, begins: str
) -> None:
    """Two messages a second since 0 s, above 1000. The group comes at 300 s, and commits queue 0 from 320 s on."""
    read, topics = list[dict[str, Any]](), list[dict[str, Any]]()
    for second in TIMES:
        end = 1000 + 2 * second
        commits = [first if second >= 320 else None, (other or end if second >= 320 else other)]
        if second >= 300:
            read.append(offsets(second, *((end, offset or 0, min(offset or 0, 1)) for offset in commits)))
        entries = [{"broker_name": "b", "queue_id": each, "min_offset": oldest, "max_offset": end} for each in (0, 1)]
        if second >= recorded_since:
            topics.append({"cluster": "c", "topic": "t", "captured_at": at(second), "queues": entries})
    step = recorded_step([], read=read, more={TOPIC_SNAPSHOTS: topics})
    interval = replayed("t", 280, 660, {"c1": [0, 1]}, 2)
    listed = Membership((), frozenset(), frozenset(), "CLUSTERING", consume_from_where=begins)
    memberships = {"b": [Span(micros(280), micros(640), micros(620), listed)]}
    found = list(RULE.hits(replace(step, progress=[progress(interval, 280, 660)], memberships=memberships)))
    assert skips(found) == ([("SET_IN_PART", "ERROR", 320, skipped)] if skipped else [])
    waited = f"Meanwhile {1600 - (other or 0):,} messages waited in 1 other queue."
    assert all((hit.hint or "").endswith(waited) for hit in found)


#: Pulled at its end from 300 s on, and committed at 340 s.
FOUND_AT_300 = {0: 0, 300: 1600}


def pulled_by_hand(
    pulled: Mapping[int, int | None],
    *,
    other: Mapping[int, int] | None = None,
    commits_since: int = 340,
    consume_type: str = "CONSUME_ACTIVELY",
    begins: str | None = None,
    tps: float | None = None,
) -> list[RuleHit]:
    """Two messages a second come into both queues of an application, which pulls and commits queue 1 all the time, and
    queue 0 as `pulled` says: its first commit is 1100, or at the end if no pull is known. `other`: offsets of queue 1.
    """
    read = []
    for second in TIMES:
        since = max(moment for moment in pulled if moment <= second)
        first, end = pulled[since], 1000 + 2 * second
        pull = first and first + 2 * (second - since)
        committed = (end if pull is None else pull or 1100) if second >= commits_since else 0
        consumed = _offset(other or {0: 1000}, second) or 0
        rows = offsets(second, (end, committed, min(committed, 1)), (end, consumed, 1))
        rows["offsets"][0]["pull_offset"] = pull
        read.append(rows)
    interval = replayed("t", -100, 660, {"c1": [0], "c2": [1]}, 2)
    shown = replace(progress(interval, 0, 660), start=interval.start, end=interval.end)
    listed = Membership((), frozenset(), frozenset(), "CLUSTERING", consume_type, consume_from_where=begins)
    memberships = {"b": [Span(micros(0), micros(640), micros(620), listed)]}
    reports = [client(second, consume_status=[measured("t", 1.0, tps, 0.0, 1.0, tps)]) for second in TIMES if tps]
    step = recorded_step(reports, interval, read=read)
    return list(RULE.hits(replace(step, progress=[shown], memberships=memberships)))


def test_an_application_that_first_pulls_a_queue_at_its_end_skips_what_came_before() -> None:
    (hit,) = pulled_by_hand(FOUND_AT_300)
    assert skips([hit]) == [(BEGAN_AT_END, "WARN", 300, 600)]
    text = "No client pulled b:0 until 2026-03-01T10:04:40Z, and the first pull offset is 1600: about 600 messages "
    assert hit.hint == f"{text}had come before."


@pytest.mark.parametrize(
    ("pulled", "differs"),
    [
        ({0: 0, 300: 1550}, {}),  # somewhere before the end
        ({0: 0, 100: 1200}, {}),  # sooner than a consumer counts as stalled
        ({0: 0, 200: 1100, 300: 1600}, {}),  # from the oldest one on, as fast as a sample shows
        (FOUND_AT_300, {"commits_since": 200}),
        (FOUND_AT_300, {"begins": "CONSUME_FROM_FIRST_OFFSET"}),
        (FOUND_AT_300, {"tps": 4.0}),  # both queues
        (FOUND_AT_300, {"other": {0: 1000, 80: 800, 140: 1180}}),  # the group read 300 between two samples of queue 1
        ({0: 1000, 100: 0, 300: 1600}, {}),  # a broker that was restarted forgot that it was pulled
        ({0: None}, {}),  # a broker before 5.1
        ({0: 0}, {}),
    ],
    ids=str,
)
def test_an_application_that_may_have_read_them_skips_nothing(
    pulled: Mapping[int, int | None], differs: dict[str, Any]
) -> None:
    assert pulled_by_hand(pulled, **differs) == []


def test_of_other_members_commits_say_what_was_skipped() -> None:
    (hit,) = pulled_by_hand(FOUND_AT_300, consume_type="CONSUME_PASSIVELY")
    assert skips([hit]) == [(BEGAN_AT_END, "WARN", 340, 640)]
