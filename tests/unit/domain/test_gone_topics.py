"""Topics that are gone and brokers that are dead, on spans written by hand."""

from dataclasses import replace

import numpy as np
import pytest

from spark_jobs.domain.kernel.removed_queues import gone_topics
from spark_jobs.domain.model.history import GroupHistory, Membership, Place
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.series import Sightings, Span
from spark_jobs.domain.model.window import HOUR, SECOND, StepWindow, Time
from tests.support.kernel import SETTINGS
from tests.support.samples import offsets
from tests.support.times import START, micros, second_of

_WINDOW = StepWindow(START, START, START, micros(300))
_NOBODY = Membership((), frozenset(), frozenset(), None)


def _spans(text: str) -> list[Span[tuple[RouteEntry, ...]]]:
    """The brokers of the route in spans of 100 s (`-`: none), each last seen 5 s before its end; `.`: no snapshot."""
    return [
        Span(
            micros(100 * place),
            micros(100 * (place + 1)),
            micros(100 * place + 95),
            tuple(RouteEntry(broker, 6, 4, 4) for broker in word if broker != "-"),
        )
        for place, word in enumerate(text.split())
        if word != "."
    ]


def gone(topic: str, other: str, *, answers: str = "", read: int | None = None, earlier: int = 0) -> list[Time]:
    """Seconds, with a round every 20 s. `earlier`: seconds by which the other route comes earlier; `answers`: the
    brokers that answer about the group in the time from 100 to 200; `read`: when offsets of the topic are read.
    """
    memberships = {broker: [Span(START, micros(200), micros(195), _NOBODY)] for broker in answers}
    samples = {"t": offsets([("a", 0)], {read: [(9, 9, 9, 5)]})} if read else {}
    history = GroupHistory("c", "g", offsets=samples)
    others = [span._replace(start=span.start - earlier * SECOND) for span in _spans(other)]
    times = gone_topics(history, {"t": _spans(topic), "other": others}, memberships, _WINDOW, SETTINGS).get("t", [])
    return [(second_of(start), second_of(end)) for start, end in times]


@pytest.mark.parametrize(
    ("topic", "other", "answers", "expected"),
    [
        ("a - a", "a a a", "", [(100, 200)]),
        ("a - -", "a a a", "", [(100, 200), (200, 300)]),
        # The broker is dead, or cut off from the name servers, although it answers.
        ("a - a", "a - a", "", []),
        ("a - a", "a - a", "a", []),
        # No other route ever named it: what it answers shows that it is up.
        ("a - a", "- - -", "a", [(100, 200)]),
        ("a - a", "b b b", "a", [(100, 200)]),
        ("a - a", "b b b", "b", []),
        # All brokers of the topic are up, or one of them may be dead.
        ("ab - ab", "ab ab ab", "", [(100, 200)]),
        ("ab - ab", "ab a ab", "", []),
        # The topic has brokers, or its brokers before are not known.
        ("ab a ab", "ab ab ab", "", []),
        ("- - -", "a a a", "", []),
        ("a . a", "a a a", "", []),
    ],
)
def test_a_topic_is_gone_if_its_brokers_are_up(topic: str, other: str, answers: str, expected: list[Time]) -> None:
    assert gone(topic, other, answers=answers) == expected


def test_a_topic_is_not_gone_while_its_offsets_are_read() -> None:
    assert gone("a - a", "a a a", read=150) == []
    assert gone("a - a", "a a a", read=250) == [(100, 200)]


@pytest.mark.parametrize("earlier", [1, 10])
def test_a_broker_that_comes_back_is_in_the_other_route_first(earlier: int) -> None:
    assert gone("a - a", "a - a", earlier=earlier) == []


@pytest.mark.parametrize(("hours", "gone_then"), [([-2], True), ([0], False), ([-2, 0], True)])
def test_brokers_of_before_are_those_seen_before_the_window(hours: list[int], gone_then: bool) -> None:
    """The topic's route is empty, and named `a` before it, `b` later: a step does not know what comes after it."""
    named: list[Place | None] = [("b" if hour == 0 else "a", 4) for hour in hours]
    seen = {place: Sightings.of(np.array([START + hour * HOUR])) for place, hour in zip(named, hours, strict=True)}
    history = GroupHistory("c", "g", readable={"t": seen})
    settings = replace(SETTINGS, sightings=24 * HOUR)
    routes = {"t": _spans("- - -"), "other": _spans("a a a")}
    assert bool(gone_topics(history, routes, {}, _WINDOW, settings).get("t", [])) == gone_then
