"""When a group that no broker lists is consumed all the same. Seconds; a reading every 10 s, 120 s make a stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pytest

from spark_jobs.domain.kernel.unseen import unseen_times
from spark_jobs.domain.model.history import Connection, Membership, OffsetReadings
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.window import SECOND, StepWindow
from tests.support.kernel import settings

SETTINGS = settings(10, step=600)
WINDOW = StepWindow(-210 * SECOND, -180 * SECOND, 0, 600 * SECOND)
#: At a second: next to write, to consume; the last timestamp is 0 where the latter is.
BacklogCourse = Callable[[int], tuple[int, int]]


def lists(start: int, end: int, client_ids: str) -> Span[Membership]:
    connections = tuple(Connection(client_id) for client_id in client_ids.split())
    return Span(start * SECOND, end * SECOND, end * SECOND, Membership(connections, frozenset(), frozenset(), None))


def readings(course: BacklogCourse, times: Iterable[int]) -> OffsetReadings:
    seconds = list(times)
    end, consumed = (np.array([[course(at)[part]] for at in seconds], dtype=np.int64) for part in (0, 1))
    present = np.ones((len(seconds), 1), dtype=bool)
    stored = (consumed > 0).astype(np.int64)
    return OffsetReadings(np.array(seconds) * SECOND, [("b", 0)], end, consumed, consumed, stored, present)


def unseen(
    *courses: BacklogCourse,
    listed: Iterable[Span[Membership]] = (lists(-180, 600, ""),),
    proxies: Iterable[Span[Membership]] = (),
    times: Iterable[int] = range(-180, 600, 10),
    by_proxy: Iterable[Span[Membership]] = (),
) -> list[str]:
    """`start-end by whom`, of a group with these topics."""
    offsets = {f"t{number}": readings(course, times) for number, course in enumerate(courses)}
    asked: Mapping[str, list[Span[Membership]]] = {"p": list(proxies)}
    memberships = {"b": list(listed), "proxy 10.0.0.1:8080": list(by_proxy)}
    spans = unseen_times(memberships, asked, offsets, WINDOW, SETTINGS)
    return [f"{span.start // SECOND}-{span.end // SECOND} {span.state.removeprefix('CONSUMED_')}" for span in spans]


def consumed(second: int) -> tuple[int, int]:
    return 1000 + second, 995 + second


def waiting(second: int) -> tuple[int, int]:
    return 1000 + second, 500


def idle(_: int) -> tuple[int, int]:
    return 1000, 1000


def never_committed(second: int) -> tuple[int, int]:
    return 1000 + second, 0


def until(end: int, course: BacklogCourse = consumed) -> BacklogCourse:
    """Messages come in all the time; none is consumed any more from then on."""
    return lambda second: (1000 + second, course(min(second, end))[1])


PROXY = (lists(-150, 600, "proxy"),)


@pytest.mark.parametrize(
    ("course", "without_proxy", "with_proxy"),
    [
        (consumed, ["-180-600 BY_UNSEEN"], ["-180-600 THROUGH_PROXY"]),
        (waiting, [], []),
        (idle, [], ["-180-600 THROUGH_PROXY"]),
        (never_committed, [], ["-180-600 THROUGH_PROXY"]),
        # The last reading that showed it going on is that of 200 s.
        (until(200), ["-180-200 BY_UNSEEN"], ["-180-200 THROUGH_PROXY"]),
        # From 480 s to the last reading, of 590 s, are 110 s: too little to say.
        (until(480), ["-180-600 BY_UNSEEN"], ["-180-600 THROUGH_PROXY"]),
        (until(470), ["-180-470 BY_UNSEEN"], ["-180-470 THROUGH_PROXY"]),
    ],
)
def test_who_consumes_but_is_not_listed(course: BacklogCourse, without_proxy: list[str], with_proxy: list[str]) -> None:
    assert unseen(course) == without_proxy
    assert unseen(course, proxies=PROXY) == with_proxy


def test_a_group_that_went_offline_is_so_at_once() -> None:
    """It was connected to a broker: that its offsets are not known, or stand, says nothing for a proxy."""
    listed = (lists(-180, 100, "c1"), lists(100, 600, ""))
    for course in (until(90), idle, never_committed):
        assert unseen(course, listed=listed, proxies=PROXY) == []


def test_a_commit_before_it_left_is_not_one_of_somebody_unseen() -> None:
    """The reading of 100 s shows what was committed since that of 90 s, and so does that of 110 s."""
    listed = (lists(-180, 95, "c1"), lists(95, 600, ""))
    assert unseen(until(100), listed=listed) == []
    assert unseen(until(110), listed=listed) == []
    assert unseen(until(120), listed=listed) == ["95-120 BY_UNSEEN"]


def test_who_goes_on_behind_a_proxy_is_seen_to_go_on() -> None:
    listed = (lists(-180, 100, "c1"), lists(100, 600, ""))
    assert unseen(consumed, listed=listed, proxies=PROXY) == ["100-600 THROUGH_PROXY"]
    # Only time in which no broker lists anybody counts.
    partly = (lists(-180, 0, ""), lists(0, 200, "c1"), lists(200, 400, ""))
    assert unseen(consumed, listed=partly) == ["-180-0 BY_UNSEEN", "200-400 BY_UNSEEN"]


def test_offsets_that_move_once_were_set_by_an_operator() -> None:
    def set_at_300(second: int) -> tuple[int, int]:
        return 1000, 500 if second < 300 else 1000

    assert unseen(set_at_300) == []
    # Two topics in one round of the recorder are one.
    assert unseen(set_at_300, set_at_300) == []


def test_who_comes_back_consumes_since_the_reading_before() -> None:
    def pauses(second: int) -> tuple[int, int]:
        return 1000 + second, 995 + (second if second < 100 else 100 if second < 300 else second)

    assert unseen(pauses) == ["-180-100 BY_UNSEEN", "290-600 BY_UNSEEN"]


def test_a_pause_without_messages_is_none() -> None:
    def quiet(second: int) -> tuple[int, int]:
        return (1000 + min(second, 0), 1000 + min(second, 0)) if second < 500 else (500 + second, 500 + second)

    assert unseen(quiet) == ["-180-600 BY_UNSEEN"]


def test_a_topic_that_stands_beside_one_that_is_consumed_is_consumed() -> None:
    assert unseen(consumed, waiting) == ["-180-600 BY_UNSEEN"]
    assert unseen(until(200), until(300)) == ["-180-300 BY_UNSEEN"]


def test_without_readings_a_proxy_says_all() -> None:
    assert unseen() == []
    assert unseen(proxies=PROXY) == ["-180-600 THROUGH_PROXY"]


def test_a_proxy_that_went_takes_with_it_what_was_not_known() -> None:
    """One that was first heard of late has been there; what advances needs no proxy to be consumed."""
    gone = (lists(-150, 100, "proxy"), lists(100, 600, ""))
    assert unseen(never_committed, proxies=gone) == ["-180-100 THROUGH_PROXY"]
    assert unseen(consumed, proxies=gone) == ["-180-600 THROUGH_PROXY"]
    assert unseen(never_committed, proxies=(lists(-180, 600, ""),)) == []


def test_who_is_listed_by_a_proxy_consumes_through_it() -> None:
    """Also where offsets stand; before and after it, and where a broker lists somebody, all is as without it."""
    by_proxy = [lists(-180, 100, ""), lists(100, 400, "c1"), lists(400, 600, "")]
    assert unseen(waiting, by_proxy=by_proxy) == ["100-400 THROUGH_PROXY"]
    assert unseen(consumed, by_proxy=by_proxy) == ["-180-100 BY_UNSEEN", "100-400 THROUGH_PROXY", "400-600 BY_UNSEEN"]
    listed = [lists(-180, 200, ""), lists(200, 300, "c2"), lists(300, 600, "")]
    assert unseen(waiting, by_proxy=by_proxy, listed=listed) == ["100-200 THROUGH_PROXY", "300-400 THROUGH_PROXY"]
    assert unseen(waiting, by_proxy=[lists(-180, 600, "")]) == []
