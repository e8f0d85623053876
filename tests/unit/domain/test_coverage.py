"""How much of a question was recorded, audited and seen: rows written by hand, what is said of them by hand."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from spark_jobs.domain.coverage import (
    NO_COVERAGE,
    Asked,
    Coverage,
    Known,
    coverage,
    share_text,
    silent_times,
)
from spark_jobs.domain.kernel.coverage import MEMBERSHIPS, OFFSETS, ROUTES, CoverageRow, Lack, Missing
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import SECOND
from tests.support.tables import cases
from tests.support.times import at, micros

LENGTH = 3600 * SECOND


def minute(text: str) -> int:
    """`11:20`, or `11:20:30`, of the day of the tests."""
    hours, minutes, seconds = (*map(int, text.split(":")), 0)[:3]
    return micros(3600 * (hours - 10) + 60 * minutes + seconds)


def row(text: str) -> CoverageRow:
    """`d/g@10` is the group of cluster `d` in the step of 10:00, `*@10` the row of the cluster `c`; `+10:40`: expected
    since then; `-10:20..10:30`: without snapshots of its members then.
    """
    named, *missing = text.split("-")
    named, _, since = named.partition("+")
    name, _, hour = named.partition("@")
    cluster, _, group = name.rpartition("/")
    start, end = minute(f"{hour}:00"), minute(f"{hour}:00") + LENGTH
    times = [(minute(first), minute(last)) for first, _, last in (part.partition("..") for part in missing)]
    expected = (end - (minute(since) if since else start)) / SECOND
    observed = expected - sum(last - first for first, last in times) / SECOND
    own = None if group == "*" else group
    lacking = [Missing(*time, MEMBERSHIPS, Lack.NO_SNAPSHOTS) for time in times]
    return CoverageRow(start, cluster or "c", own, expected, observed, observed, 0.0, 0.0, 0.0, None, None, lacking)


def known(rows: str, expected: str) -> Known:
    """`expected`: groups, and the hours in which their cluster was recorded, as `d/g@10,11`."""
    groups: dict[str, set[str]] = defaultdict(set)
    recorded: dict[str, set[int]] = defaultdict(set)
    for word in expected.split():
        name, _, hours = word.partition("@")
        cluster, _, group = name.rpartition("/")
        groups[cluster or "c"].add(group)
        recorded[cluster or "c"].update(minute(f"{hour}:00") for hour in hours.split(",") if hour)
    return Known([*map(row, rows.split())], groups, recorded)


def asked(text: str) -> Asked:
    """`10:20..11:00`, of one group with `g@` before it."""
    group, _, times = text.rpartition("@")
    start, end = map(minute, times.split(".."))
    first = start - (start - minute("00:00")) % LENGTH
    return Asked([*range(first, end, LENGTH)], LENGTH, group or None, (start, end))


def values(covered: Coverage) -> Iterator[str]:
    for group in covered.groups:
        cluster = "" if group.cluster == "c" else f"{group.cluster}/"
        yield f"{cluster}{group.consumer_group} {group.seen} {share_text(group.share)}"


#: What | rows | expected groups, and the hours in which they were recorded | asked | groups; below it sentences.
CASES = """
    all of it              | g@10 h@10 *@10                   |      | 10:00..11:00 | g WHOLE 100 %, h WHOLE 100 %
    one of two groups      | g@10 h@10 *@10                   |      | h@10:00..11:00 | h WHOLE 100 %
    in part                | g@10-10:20..10:50 h@10 *@10      |      | 10:00..11:00 | g IN_PART 50 %, h WHOLE 100 %
        50 % was observed of g: no snapshots of members were recorded.
    … and asked of before  | g@10-10:20..10:50 h@10 *@10      |      | 10:00..10:20 | g WHOLE 100 %, h WHOLE 100 %
    … and asked of after   | g@10-10:20..10:50 h@10 *@10      |      | 10:40..11:00 | g IN_PART 50 %, h WHOLE 100 %
        50 % was observed of g: no snapshots of members were recorded.
    groups with one reason | g@10-10:00..10:30 h@10-10:00..10:45 i@10 *@10 | | 10:00..11:00 | g IN_PART 50 %, h IN_PART 25 %, i WHOLE 100 %
        25 % to 50 % was observed of g, h: no snapshots of members were recorded.
    just complete          | g@10-10:54..11:00 h@10 *@10      |      | 10:00..11:00 | g WHOLE 90 %, h WHOLE 100 %
    just not complete      | g@10-10:53:59..11:00 h@10 *@10   |      | 10:00..11:00 | g IN_PART 89 %, h WHOLE 100 %
        89 % was observed of g: no snapshots of members were recorded.
    complete in two hours  | g@10-10:48..11:00 g@11 *@10 *@11 |      | 10:00..12:00 | g WHOLE 90 %
    not seen               | g@10-10:00..11:00 h@10 *@10      |      | 10:00..11:00 | g NOT_SEEN 0 %, h WHOLE 100 %
        0 % was observed of g: no snapshots of members were recorded.
    one group was audited  | g@10                             | g@10 h@10 i@10 | 10:00..11:00 | g WHOLE 100 %, h NOT_AUDITED 0 %, i NOT_AUDITED 0 %
        h, i of the cluster c were not audited in 2026-03-01T10:00Z/2026-03-01T11:00Z.
    … and asked of it      | g@10                             | g@10 h@10 | g@10:00..11:00 | g WHOLE 100 %
    … and of another one   | g@10                             | g@10 h@10 | h@10:00..11:00 | h NOT_AUDITED 0 %
        h of the cluster c was not audited in 2026-03-01T10:00Z/2026-03-01T11:00Z.
    one cluster was        | g@10 *@10                        | d/x@10 | 10:00..11:00 | g WHOLE 100 %, d/x NOT_AUDITED 0 %
        x of the cluster d was not audited in 2026-03-01T10:00Z/2026-03-01T11:00Z.
    no run of an hour      | g@10 *@10                        | g@10,11 | 10:00..12:00 | g NOT_AUDITED 50 %
        g of the cluster c was not audited in 2026-03-01T11:00Z/2026-03-01T12:00Z.
    no run of two hours    | g@12 *@12                        | g@10,11 | 10:00..13:00 | g NOT_AUDITED 33 %
        g of the cluster c was not audited in 2026-03-01T10:00Z/2026-03-01T12:00Z.
    … one was not recorded | g@12 *@12                        | g@10  | 10:00..13:00 | g NOT_AUDITED 33 %
        Nothing was recorded of g of the cluster c in 2026-03-01T11:00Z/2026-03-01T12:00Z.
        g of the cluster c was not audited in 2026-03-01T10:00Z/2026-03-01T11:00Z.
    an hour not recorded   |                                  | g     | 10:00..11:00 | g NOT_RECORDED 0 %
        Nothing was recorded of g of the cluster c in 2026-03-01T10:00Z/2026-03-01T11:00Z.
    nobody knows of it     |                                  |      | 10:00..11:00 |
        Nothing was recorded in 2026-03-01T10:00Z/2026-03-01T11:00Z.
    the recording begins   | g@10+10:40 *@10+10:40            |      | 10:00..11:00 | g WHOLE 100 %
    … and asked of before  | g@10+10:40 *@10+10:40            |      | 10:00..10:30 | g NOT_RECORDED 0 %
        Nothing was recorded of g of the cluster c in 2026-03-01T10:00Z/2026-03-01T10:30Z.
    a group is new         | g@10+10:40 h@10 *@10             |      | 10:00..10:30 | g WHOLE 100 %, h WHOLE 100 %
    … and lacks something  | g@10+10:40-10:45..10:50 h@10 *@10 |     | 10:00..11:00 | g IN_PART 75 %, h WHOLE 100 %
        75 % was observed of g: no snapshots of members were recorded.
    a group was deleted    | g@10 h@10 *@10 h@11 *@11         |      | 10:00..12:00 | g WHOLE 100 %, h WHOLE 100 %
    a cluster is silent    | g@10-10:50..11:00 *@10-10:50..11:00 |   | 10:00..11:00 | g IN_PART 83 %
        Nothing was recorded of the cluster c from 2026-03-01T10:50Z to 2026-03-01T11:00Z.
    … for a little while   | g@10-10:58..11:00 *@10-10:58..11:00 |   | 10:00..11:00 | g WHOLE 96 %
        Nothing was recorded of the cluster c from 2026-03-01T10:58Z to 2026-03-01T11:00Z.
    … and another is not   | g@10-10:06..11:00 *@10-10:06..11:00 d/x@10-10:00..10:30 d/*@10 | | 10:00..11:00 | g IN_PART 10 %, d/x IN_PART 50 %
        Nothing was recorded of the cluster c from 2026-03-01T10:06Z to 2026-03-01T11:00Z.
        50 % was observed of x: no snapshots of members were recorded.
    … and asked of before  | g@10-10:50..11:00 *@10-10:50..11:00 |   | 10:00..10:30 | g WHOLE 100 %
    silent in the middle   | g@10-10:20..10:30 *@10-10:20..10:30 |   | 10:00..11:00 | g IN_PART 83 %
        83 % was observed of g: no snapshots of members were recorded.
    silent over a border   | g@10-10:50..11:00 *@10-10:50..11:00 g@11-11:00..11:10 *@11-11:00..11:10 | | 10:00..12:00 | g IN_PART 83 %
        Nothing was recorded of the cluster c from 2026-03-01T10:50Z to 2026-03-01T11:10Z.
"""  # noqa: E501 - a table


@pytest.mark.parametrize(
    ("rows", "expected", "question", "groups", "sentences"),
    [pytest.param(*others, id=what) for what, *others in cases(CASES)],
)
def test_what_is_said_of_rows(rows: str, expected: str, question: str, groups: str, sentences: str) -> None:
    covered = coverage(asked(question), known(rows, expected))
    assert (", ".join(values(covered)), " ".join(covered.lacks())) == (groups, sentences)
    assert covered.is_whole == (not sentences)


def test_silent_times_reach_the_end_of_an_audited_step() -> None:
    """Rows of groups do not count, nor does a time that ends before the step does; clusters are apart."""
    rows = "*@10-10:10..10:20 *@11-11:30..12:00 *@12-12:00..12:05 d/*@10-10:30..11:00 d/*@12 g@10-10:00..11:00"
    assert silent_times(map(row, rows.split()), LENGTH) == {
        "c": [(minute("11:30"), minute("12:05"))],
        "d": [(minute("10:30"), minute("11:00"))],
    }
    assert silent_times(map(row, ("*@12-12:00..12:05", "d/*@12")), LENGTH) == {}


def test_the_complete_share_can_be_configured() -> None:
    half = known("g@10-10:00..10:30 *@10", "")
    for share, whole in ((0.5, True), (0.51, False), (0.0, True)):
        assert coverage(asked("10:00..11:00"), half, share).is_whole is whole, share
    not_seen = known("g@10-10:00..11:00 *@10", "")
    assert coverage(asked("10:00..11:00"), not_seen, 0.1).groups[0].seen == "NOT_SEEN"


def missing(start: str, end: str, source: str, reason: Lack) -> Missing:
    return Missing(minute(start), minute(end), source, reason)


@pytest.mark.parametrize(
    ("lacking", "sentence"),
    [
        ([("10:00", "10:30", MEMBERSHIPS, Lack.NOT_ANSWERED)], "brokers did not answer who its members are"),
        ([("10:00", "10:30", OFFSETS, Lack.NO_SNAPSHOTS)], "no snapshots of offsets were recorded"),
        (
            [("10:00", "10:30", source, Lack.NO_SNAPSHOTS) for source in (MEMBERSHIPS, ROUTES)],
            "no snapshots of members, routes were recorded",
        ),
        ([("10:00", "10:30", ROUTES, Lack.REJECTED)], "snapshots of routes are in quarantine"),
        # The reason of most of the time.
        (
            [
                ("10:00", "10:10", MEMBERSHIPS, Lack.NO_SNAPSHOTS),
                ("10:10", "10:25", MEMBERSHIPS, Lack.REJECTED),
                ("10:25", "10:30", MEMBERSHIPS, Lack.NOT_ANSWERED),
            ],
            "snapshots of members are in quarantine",
        ),
    ],
)
def test_the_sentence_says_why_something_is_missing(lacking: list[tuple[str, str, str, Lack]], sentence: str) -> None:
    half = row("g@10-10:00..10:30")._replace(missing=[missing(*each) for each in lacking])
    covered = coverage(asked("10:00..11:00"), Known([half, row("*@10")]))
    assert covered.lacks() == [f"50 % was observed of g: {sentence}."]


def test_many_groups_are_counted() -> None:
    names = [f"g{number}" for number in range(6)]
    covered = coverage(asked("10:00..11:00"), known("g0@10", " ".join(f"{name}@10" for name in names)))
    assert covered.lacks() == [
        "g1, g2, g3 and 2 more of the cluster c were not audited in 2026-03-01T10:00Z/2026-03-01T11:00Z."
    ]


def test_what_an_answer_stands_on() -> None:
    hour = "2026-03-01T10:00Z/2026-03-01T11:00Z"
    one = coverage(asked("10:00..11:00"), known("g@10 *@10", ""))
    assert one.text() == f"1 group of c, {hour}, 100 % observed"
    rows = "g@10-10:57..11:00 h@10 *@10 d/x@10 d/*@10"
    assert coverage(asked("10:00..11:00"), known(rows, "")).text() == f"3 groups of c, d, {hour}, 98 % observed"
    assert NO_COVERAGE.text() == "0 groups, 0 % observed"
    assert NO_COVERAGE.lacks() == ["Nothing was recorded."]
    assert not NO_COVERAGE.is_whole


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (0.0001, "less than 1 %"), (0.01, "1 %"), (0.8999, "89 %"), (0.999, "99 %"), (1, "100 %")],
)
def test_only_the_whole_is_100_percent_and_only_nothing_0(share: float, text: str) -> None:
    assert share_text(share) == text


def test_data_that_are_too_old_and_what_is_not_over_are_said() -> None:
    """A question that lies partly in the future is answered for the rest; old data are no answer about now."""
    whole = coverage(asked("10:00..11:00"), known("g@10 *@10", ""))
    future = replace(whole, future=Interval(at(3600), at(7200)))
    assert future.lacks() == ["2026-03-01T11:00Z/2026-03-01T12:00Z is not over yet."]
    assert future.is_whole
    old = replace(whole, too_old={"c": timedelta(hours=5)})
    assert old.lacks() == [
        "The data of c end 5 h 00 min ago: older than two steps, check the recorder and the schedule."
    ]
    assert not old.is_whole


def test_times_without_audit_are_joined() -> None:
    """Of what was recorded, and of what was not; of any cluster."""
    covered = coverage(asked("10:00..13:00"), known("g@11 *@11 d/x@10", "g@10 d/x@10,11 d/y@10,11"))
    assert [*map(str, covered.unaudited_times(recorded=True))] == ["2026-03-01T10:00Z/2026-03-01T12:00Z"]
    assert [*map(str, covered.unaudited_times(recorded=False))] == ["2026-03-01T12:00Z/2026-03-01T13:00Z"]
