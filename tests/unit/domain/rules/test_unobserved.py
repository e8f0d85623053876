"""Times that were not observed, and gaps that are joined."""

from dataclasses import replace

import numpy as np
import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.coverage import gaps, gaps_behind, gaps_where_named
from spark_jobs.domain.model.history import GroupHistory, OffsetSamples, Subscriptions
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.rules.unobserved import RULE
from tests.support.builders import audited_step, broker_said, interval, route, span, with_samples
from tests.support.kernel import series_of
from tests.support.samples import offsets
from tests.support.tables import cells, described, time_spans
from tests.support.times import micros

#: Seconds in which the state is known | seconds in which it is not, up to the end of the step.
SPANS = """
    0..3600                        |
    0..1000 1000..3600             |
    0..1000 1001..3600             | 1000..1001
    500..3600                      |
    -100..200 300..3600            | 200..300
    -100..-50                      | -50..3600
    0..1000 400..500               | 1000..3600
    0..1000 400..1200 1300..3600   | 1200..1300
    0..3600 100..200               |
    0..100 200..300 300..400       | 100..200 400..3600
    300..3600 0..100               | 100..300
"""
#: Seconds of samples, each of which holds 60 s | gaps up to second 180.
TIMES = """
    0 60 120                       |
    0 60 121 180                   | 120..121
    -70 0 60 120                   | -10..0
    119 120                        |
    60                             | 120..180
    119                            | 179..180
    10 110                         | 70..110 170..180
                                   |
"""
NOTHING: Subscriptions = frozenset()


def test_gaps_between_spans() -> None:
    for known, missing in cells(SPANS):
        assert gaps(time_spans(known), 3600) == time_spans(missing), known
    assert gaps([], 3600) == []


def test_gaps_behind_samples() -> None:
    for times, missing in cells(TIMES):
        seconds = np.array(times.split(), dtype=np.int64)
        assert gaps_behind(seconds, 180, 60) == time_spans(missing), times


#: Seconds of a broker's samples, each of which holds 60 s | when the route names it | gaps.
NAMED = """
    0 60 120 180                   | 0..200          |
    0 60 200                       | 0..220          | 120..200
    0 60                           | 0..300          | 120..300
    0 60                           | 0..100          |
    0 60 310                       | 0..100 300..320 |
    0 60 370                       | 0..100 300..400 | 360..370
    370                            | 0..400          |
                                   | 0..400          |
"""


def test_gaps_of_one_broker_are_those_in_which_the_route_names_it() -> None:
    for times, named, missing in cells(NAMED):
        seconds = np.array(times.split(), dtype=np.int64)
        assert list(gaps_where_named(seconds, time_spans(named), 60)) == time_spans(missing), (times, named)


def test_gaps_of_one_time_are_one() -> None:
    """Members, the route of t and the offsets of u: overlapping, touching, inside each other, and apart."""
    answers = [broker_said(0, 100, "c1", NOTHING), broker_said(200, 500, "c1", NOTHING)]
    answers += [broker_said(600, 700, "c1", NOTHING), broker_said(900, 3600, "c1", NOTHING)]
    routes = [route(0, 150, b=6), route(300, 720, b=6), route(730, 3600, b=6)]
    offset_times = [*range(-60, 241, 60), *range(400, 3600, 60)]
    topics = [interval(-210, 3600, None, topic=topic) for topic in ("t", "u")]
    step = audited_step(*topics, memberships={"b": answers})
    step = with_samples(step, {"u": read(*offset_times)}, routes={"t": routes})
    members, of_t, of_u = "membership_snapshots", "route_snapshots: t", "offset_snapshots: u"
    assert missing_in(step) == [
        ("100-400", "WARN", [members, of_u, of_t]),
        ("500-600", "WARN", [members]),
        ("700-900", "WARN", [members, of_t]),
    ]


def missing_in(step: AuditedStep) -> list[tuple[str, str | None, list[str]]]:
    """Span, severity, and the sources without snapshots."""
    hits = list(RULE.hits(step))
    for hit in hits:
        sources = ", ".join(party.name for party in hit.conflicting_values or ())
        broker = f" ({hit.queue.broker_name})" if hit.queue else ""
        assert (hit.cause, hit.topic) == ("SILENT_BROKER" if broker else "NO_SNAPSHOTS", None)
        assert sources.endswith(broker)
    assert all(party.client_ids is None for hit in hits for party in hit.conflicting_values or ())
    return [(span(hit), hit.severity, [party.name for party in hit.conflicting_values or ()]) for hit in hits]


def read(*times: float) -> OffsetSamples:
    return offsets([("b", 0)], {at: [(1, 1, 1, 5)] for at in times})


@pytest.mark.parametrize(
    ("lists_of_y", "expected"), [("900..3600", []), ("1100..3600", ["1000-1100 WARN"]), ("", ["1000-3600 INFO"])]
)
def test_members_are_unobserved_only_if_no_broker_answered(lists_of_y: str, expected: list[str]) -> None:
    """`x` lists members until 1000 s. What is missing to the end of the step may have ended."""
    lists = {
        name: [broker_said(*time, "", NOTHING) for time in time_spans(text)]
        for name, text in (("x", "0..1000"), ("y", lists_of_y))
    }
    found = missing_in(audited_step(memberships=lists))
    assert found == [(*line.split(), ["membership_snapshots"]) for line in expected]


def test_routes_and_offsets_are_those_of_the_ordinary_topics_of_the_group() -> None:
    topics = [interval(-210, 3600, None, topic=topic) for topic in ("t", "u", "%RETRY%g")]
    routes = {topic: [route(0, 100, b=6), route(200, 3600, b=6)] for topic in ("t", "other", "%RETRY%g")}
    every = range(-60, 3600, 60)
    times = {"u": read(*(at for at in every if not 120 < at <= 240)), "%RETRY%g": read(0), "other": read(0)}
    step = with_samples(audited_step(*topics), times, routes=routes)
    assert missing_in(step) == [("100-300", "WARN", ["offset_snapshots: u", "route_snapshots: t"])]


def test_a_topic_with_several_intervals_is_looked_at_once() -> None:
    topics = [interval(0, 100, None), interval(100, 3600, None)]
    step = with_samples(audited_step(*topics), {"t": read(0, 3599)})
    assert missing_in(step) == [("60-3599", "WARN", ["offset_snapshots: t"])]


def test_samples_outside_the_window_are_not_known_to_the_step() -> None:
    """The window begins 420 s before the step."""
    step = audited_step(interval(-360, 3600, None))
    assert missing_in(with_samples(step, {"t": read(-421, *range(0, 3600, 60), 3700)})) == []
    early = missing_in(with_samples(step, {"t": read(-420, *range(0, 3600, 60))}))
    assert early == [("-360-0", "WARN", ["offset_snapshots: t"])]
    assert missing_in(with_samples(step, {"t": read(-421, 3600)})) == []


def test_one_broker_that_is_silent_is_named() -> None:
    def step(silent: range, route_of: list[Span[tuple[RouteEntry, ...]]], ends: int = 3600) -> AuditedStep:
        rows = {at: ["1/1", "-" if at in silent else "1/1"] for at in range(-60, ends, 60)}
        both = offsets([("a", 0), ("b", 0)], rows)
        return with_samples(audited_step(interval(-210, 3600, None)), {"t": both}, routes={"t": route_of})

    def silence(span: str) -> list[tuple[str, str, list[str]]]:
        return [(span, "WARN", ["offset_snapshots: t (b)"])]

    always = [route(-210, 3600, a=6, b=6)]
    assert missing_in(step(range(0), always)) == []
    assert missing_in(step(range(120, 300), always)) == silence("120-300")
    # Who lists members has answered.
    silent = step(range(120, 300), always)
    listed = series_of([(micros(at), broker_said(0, 1, "", NOTHING).state) for at in range(0, 300, 40)])
    for broker, missing in (("a", silence("120-300")), ("b", [])):
        assert missing_in(replace(silent, history=replace(silent.history, memberships={broker: listed}))) == missing
    # A route that names it no longer says why.
    left = [route(-210, 130, a=6, b=6), route(130, 290, a=6), route(290, 3600, a=6, b=6)]
    assert missing_in(step(range(120, 300), left)) == silence("120-130")
    # Another route of the same broker is no sign of it.
    other = [route(-210, 130, a=6, b=6), route(130, 3600, a=4, b=6)]
    assert missing_in(step(range(120, 300), other)) == silence("120-300")
    # It is silent to the end, and the recording goes on.
    assert missing_in(step(range(120, 3600), always)) == silence("120-3600")
    # If no broker answers, the topic is named, not each of its brokers.
    assert missing_in(step(range(0), always, ends=1000)) == [("1020-3600", "INFO", ["offset_snapshots: t"])]


def test_queues_that_only_snapshots_outside_the_window_show_are_not_known_to_the_step() -> None:
    """`b` has a second queue before the window, which begins 420 s before the step, and `c` is read only then."""
    queues = [("a", 0), ("b", 0), ("b", 1), ("c", 0)]
    rows = {at: ["1/1", "-" if 120 <= at < 300 else "1/1", "-", "-"] for at in range(-420, 3600, 60)}
    read = {"t": offsets(queues, {-600: ["1/1"] * 4} | rows)}
    routes = {"t": [route(-210, 3600, a=6, b=6, c=6)]}
    step = with_samples(audited_step(interval(-210, 3600, None)), read, routes=routes)
    listed = series_of([(micros(at), broker_said(0, 1, "", NOTHING).state) for at in (0, 60)])
    hits = RULE.hits(replace(step, history=replace(step.history, memberships={"c": listed})))
    assert [(span(hit), hit.queue and hit.queue[1:3]) for hit in hits] == [("120-300", ("b", 0))]


def called(lists: str, snapshots: str, calls: str) -> AuditedStep:
    """`lists`: when the list of broker `x` is known, and `snapshots` of it; `calls`, as `x@960`: those for the group's
    members that a broker did not answer.
    """
    listed = [broker_said(start, end, "c1", NOTHING) for start, end in time_spans(lists)]
    times: dict[str, list[int]] = {}
    for broker, _, second in (call.partition("@") for call in calls.split()):
        times.setdefault(broker, []).append(int(second))
    history = GroupHistory(
        "c",
        "g",
        unanswered={name: series_of([(micros(at), f"TIMED_OUT by {name}") for at in of]) for name, of in times.items()},
        memberships={
            "x": series_of([(micros(int(at)), broker_said(0, 1, "", NOTHING).state) for at in snapshots.split()])
        },
    )
    return replace(audited_step(memberships={"x": listed}), history=history)


@pytest.mark.parametrize(
    ("lists", "snapshots", "calls", "expected"),
    described("""
        no broker ever lists members   |                    |            | a@1200 a@1220 b@1240 | 1200-3600 ERROR NOT_ANSWERED
        one late answer is no gap      | 1260..3600         |            | x@1200 x@1220        |
        two late answers are one       | 1260..3600         |            | x@1180 x@1220        | 1180-1260 ERROR NOT_ANSWERED
        … before the first snapshot    | 1260..3600         | 1260       | x@1180 x@1220        | 1180-1260 WARN NOT_ANSWERED
        a gap without calls            | 0..1000 2000..3600 | 0 940 2000 | y@200 y@400          | 1000-2000 WARN NO_SNAPSHOTS
        a gap with calls               | 0..1000 2000..3600 | 0 940 2000 | y@200 x@960 x@1980   | 1000-2000 WARN NOT_ANSWERED
        the recording may have ended   | 0..1000            | 0 940      | x@960 x@1200         | 1000-3600 INFO NOT_ANSWERED
        … or goes on without answers   | 0..1000            | 0 940      | x@960 x@3580         | 1000-3600 WARN NOT_ANSWERED
        calls outside the window       |                    |            | a@-421 a@3600        |
        a call as the window begins    |                    |            | a@-420               | -360-3600 INFO NOT_ANSWERED
        … and one in the step          |                    |            | a@-420 a@0           | -360-3600 ERROR NOT_ANSWERED
    """),  # noqa: E501 - a table
)
def test_members_are_unobserved_while_no_broker_answers(lists: str, snapshots: str, calls: str, expected: str) -> None:
    """A snapshot holds 60 s. The window begins 420 s before the step; what is published begins 60 s later."""
    hits = RULE.hits(called(lists, snapshots, calls))
    assert ", ".join(f"{span(hit)} {hit.severity} {hit.cause}" for hit in hits) == expected
    assert {party.name for hit in hits for party in hit.conflicting_values or ()} <= {"membership_snapshots"}


@pytest.mark.parametrize(
    ("step", "hint"),
    [
        (
            called("", "", "a@1200 a@1220 b@1240"),
            "a did not answer the request for the group's connections from 2026-03-01T10:20Z on (TIMED_OUT by a). "
            "b did not answer the request for the group's connections from 2026-03-01T10:20:40Z on (TIMED_OUT by b).",
        ),
        (called("", "", "b0@60 b1@60 b2@60 b3@60 b4@60"), "(TIMED_OUT by b2). Nor did 2 other brokers."),
        (
            called("0..1000 2000..3600", "0 940 2000", "y@200 x@960 x@1980"),
            "x did not answer the request for the group's connections from 2026-03-01T10:16Z on (TIMED_OUT by x).",
        ),
    ],
)
def test_brokers_that_do_not_answer_are_named_with_the_error(step: AuditedStep, hint: str) -> None:
    (hit,) = RULE.hits(step)
    assert (hit.hint or "").endswith(hint)
