"""Contents of a trace, read back by the format's own messages and compared with values written by hand."""

from io import BytesIO
from typing import Any

from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import SECOND
from spark_jobs.show.trace_tracks import TracedGroup, TraceWriter, add_group, add_incidents, backlog_points
from tests.support import rows
from tests.support.pages import span
from tests.support.published import key
from tests.support.times import START, at, micros
from tests.support.traces import facts, packets, tracks
from tests.unit.test_incidents import incident


def progress(
    start: float, end: float, queue_id: int, first: int | None, last: int | None, topic: str = "t"
) -> dict[str, Any]:
    row = rows.interval(start, end, topic=topic)
    return rows.progress(row, f"b:{queue_id}", lag_first=first, lag_last=last) | key("g")


def traced(group: TracedGroup, at_most: int = 100) -> tuple[bytes, list[str]]:
    out = BytesIO()
    writer = TraceWriter(out, START)
    left_out = add_group(writer, writer.track(group.cluster), group, at_most)
    return out.getvalue(), left_out


def test_owners_are_slices_and_the_backlog_is_a_counter() -> None:
    ownership = [
        span(0, 120, 10, "a:1"),
        span(60, 90, 2),
        span(0, 60, 2, "a:1"),
        span(90, 120, 2, "a:1", "b:1", double_owned_cause="MIXED_STRATEGIES"),
        span(0, 120, 2, "b:1", membership_view="b2"),
    ]
    lags = [progress(0, 60, 2, 10, 20), progress(60, 120, 2, 20, 5), progress(0, 120, 10, 1, 2)]
    written, left_out = traced(TracedGroup("c", "g", ownership, lags))
    assert (tracks(written), left_out) == (
        {
            ("c",): [],
            ("c", "g"): [],
            ("c", "g", "backlog"): [(0, 11), (60, 21), (120, 7)],
            ("c", "g", "t b:2"): [(0, 60, "a"), (60, 90, "no owner"), (90, 120, "2 owners: a, b")],
            ("c", "g", "t b:2 (b2 says)"): [(0, 120, "b")],
            ("c", "g", "t b:10"): [(0, 120, "a")],
        },
        [],
    )
    expected = {"cause": "DUPLICATE_CLIENT_ID", "lag_first": 10, "lag_last": 20, "lag_max": 1500}
    assert facts(written, "no owner") == expected
    twice = {"addresses": "a:1, b:1", "cause": "MIXED_STRATEGIES", "lag_first": 10, "lag_last": 20, "lag_max": 1500}
    assert facts(written, "2 owners: a, b") == twice


def test_many_owners_are_named_in_part_and_pop_shares() -> None:
    shared = span(0, 60, 0, *[f"c{number}:1" for number in range(6)], double_owned_cause="POP_SHARED")
    written, _ = traced(TracedGroup("c", "g", [shared], []))
    assert tracks(written)["c", "g", "t b:0"] == [(0, 60, "6 share it by POP: c0, c1, c2, c3 and 2 more")]
    assert ("c", "g", "backlog") not in tracks(written)


def test_a_group_with_too_many_spans_says_so() -> None:
    ownership = [span(60, 120, 0, "b:1"), span(0, 60, 0, "a:1"), span(0, 60, 1, "a:1")]
    written, left_out = traced(TracedGroup("c", "g", ownership, []), at_most=2)
    expected = {("c",): [], ("c", "g"): [], ("c", "g", "t b:0"): [(0, 60, "a")], ("c", "g", "t b:1"): [(0, 60, "a")]}
    assert tracks(written) == expected
    assert left_out == [
        "The trace has only the first 2 of 3 spans of ownership of group g (cluster c): choose only this group, or a "
        "shorter interval."
    ]


def points(*read: dict[str, Any]) -> list[tuple[float, int]]:
    return [((moment - START) / SECOND, messages) for moment, messages in backlog_points(read)]


def test_an_unknown_backlog_has_no_point() -> None:
    assert points() == points(progress(0, 60, 0, None, None)) == []
    assert points(progress(0, 60, 0, None, 7)) == [(60, 7)]


def test_an_interval_without_sample_keeps_what_was_known_before() -> None:
    expected = [(0, 1), (60, 2), (120, 5), (180, 6)]
    assert points(progress(0, 60, 0, 1, 2), progress(60, 120, 0, None, None), progress(120, 180, 0, 5, 6)) == expected


def test_a_queue_that_is_not_observed_any_more_does_not_count() -> None:
    """Queue 0 of t has no interval from 60 to 120; that of u goes on."""
    read = [progress(0, 60, 0, 1, 2), progress(120, 180, 0, 4, 4)]
    other = [progress(0, 90, 0, 100, 100, topic="u"), progress(90, 180, 0, 200, 300, topic="u")]
    assert points(*read, *other) == [(0, 101), (60, 102), (90, 200), (120, 204), (180, 304)]


def test_incidents_that_overlap_have_lanes_and_those_that_stood_at_the_end_have_no_end() -> None:
    told = [
        incident(incident_id="1", headline="before", opened_at=micros(-3600), resolved_at=micros(60)),
        incident(incident_id="2", headline="meanwhile", opened_at=micros(30), resolved_at=micros(90)),
        incident(incident_id="3", headline="after", opened_at=micros(60), resolved_at=micros(120)),
        incident(incident_id="4", headline="open", opened_at=micros(90), resolved_at=None),
        incident(incident_id="5", headline="later", opened_at=micros(3000), resolved_at=micros(7200)),
    ]
    out = BytesIO()
    writer = TraceWriter(out, START)
    add_incidents(writer, writer.track("eu"), reversed(told), Interval(at(0), at(3600)))
    assert tracks(out.getvalue()) == {
        ("eu",): [],
        ("eu", "incidents"): [
            (0, 60, "before"),
            (30, 90, "meanwhile"),
            (60, 120, "after"),
            (90, None, "open"),
            (3000, None, "later"),
        ],
    }
    made = [one.track_descriptor.name for one in packets(out.getvalue()) if one.HasField("track_descriptor")]
    assert made == ["eu", "incidents", "incidents"]
    assert facts(out.getvalue(), "open") == (
        {"incident_id": "4", "severity": "ERROR", "rule": "GROUP_OFFLINE", "cause": "NO_MEMBERS"}
        | {"groups": "g", "opened_at": "2026-03-01T10:01:30Z", "resolved_at": "open"}
        | {"peak_backlog_messages": 12345, "advice": "Start it."}
    )
    assert facts(out.getvalue(), "before")["opened_at"] == "2026-03-01T09:00Z"


def test_the_time_of_the_trace_is_utc() -> None:
    """Nanoseconds since 1970 on both clocks: 6 is the trace's own, 1 is UTC."""
    first = packets(traced(TracedGroup("c", "g", [], []))[0])[0]
    expected = 1772359200 * 1_000_000_000  # 2026-03-01T10:00Z
    assert [(one.clock_id, one.timestamp) for one in first.clock_snapshot.clocks] == [(6, expected), (1, expected)]


def test_names_may_hold_anything() -> None:
    hostile = 'incidents\n"\\\x00\u202e<script>'
    written, _ = traced(TracedGroup(hostile, hostile, [span(0, 60, 0, hostile, topic=hostile)], []))
    assert (hostile, hostile, f"{hostile} b:0") in tracks(written)
