"""The tracks of a trace, as `TracePacket`s of Perfetto: owners, incidents, backlogs. Times are ns since 1970."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import IO, NamedTuple

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import ClockSnapshot, TracePacket, TrackDescriptor, TrackEvent
from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.kernel.audited_step import ALL_HOSTS
from spark_jobs.domain.model.causes import DoubleOwnedCause
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.domain.model.window import from_micros, to_micros
from spark_jobs.domain.phrases import UNKNOWN, names_text
from spark_jobs.show.page.incident_chart import non_overlapping_rows
from spark_jobs.show.rows import QUEUE, Key, Row

#: Everything is written by one producer.
_SEQUENCE = 1
_MICROSECOND = 1000


class TraceWriter:
    """Writes packets as they are made: no more than one is in memory. Times are microseconds since 1970."""

    def __init__(self, out: IO[bytes], start: int) -> None:
        self._builder = StreamingTraceProtoBuilder(out)
        self._tracks = 0
        self._write_clock(start)

    def track(self, name: str, parent: int = 0, *, unit: str | None = None, is_lane: bool = False) -> int:
        """Make a track below its parent and return its id; with a unit, a counter. Equal lanes become one track."""
        self._tracks += 1
        packet = self._builder.create_packet()
        descriptor = packet.track_descriptor
        descriptor.uuid, descriptor.name = self._tracks, name
        descriptor.child_ordering, descriptor.sibling_order_rank = TrackDescriptor.EXPLICIT, self._tracks
        merging = TrackDescriptor.SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY
        descriptor.sibling_merge_behavior = merging if is_lane else TrackDescriptor.SIBLING_MERGE_BEHAVIOR_NONE
        if is_lane:
            descriptor.sibling_merge_key = name
        if parent:
            descriptor.parent_uuid = parent
        if unit is not None:
            descriptor.counter.unit_name = unit
        self._builder.write_packet(packet)
        return self._tracks

    def slice(self, track: int, start: int, end: int | None, name: str, facts: Mapping[str, str | int | None]) -> None:
        """Writes a slice; earlier slices of its track have ended when it begins. `end` None: it did not end."""
        packet = self._event(track, start, TrackEvent.TYPE_SLICE_BEGIN)
        packet.track_event.name = name
        for fact, value in facts.items():
            if value is not None:
                annotation = packet.track_event.debug_annotations.add()
                annotation.name = fact
                setattr(annotation, "string_value" if isinstance(value, str) else "int_value", value)
        self._builder.write_packet(packet)
        if end is not None:
            self._builder.write_packet(self._event(track, end, TrackEvent.TYPE_SLICE_END))

    def count(self, track: int, moment: int, value: int) -> None:
        """Writes a point of a counter, which is valid until the next one."""
        packet = self._event(track, moment, TrackEvent.TYPE_COUNTER)
        packet.track_event.counter_value = value
        self._builder.write_packet(packet)

    def _event(self, track: int, moment: int, kind: int) -> TracePacket:
        packet = self._builder.create_packet()
        packet.timestamp = moment * _MICROSECOND
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.track_event.track_uuid, packet.track_event.type = track, kind
        return packet

    def _write_clock(self, start: int) -> None:
        """Says that the time of the trace is UTC, for both clocks that a viewer may show."""
        packet = self._builder.create_packet()
        packet.trusted_packet_sequence_id = _SEQUENCE
        clocks = ClockSnapshot.Clock
        for clock in (clocks.BOOTTIME, clocks.REALTIME):
            snapshot = packet.clock_snapshot.clocks.add()
            snapshot.clock_id, snapshot.timestamp = clock, start * _MICROSECOND
        self._builder.write_packet(packet)


#: Owners that the name of a slice names, at most.
_NAMED = 4
_LAGS = ("lag_first", "lag_last", "lag_max")


class TracedGroup(NamedTuple):
    """One group: its rows of `spans.ownership` and its rows of `queue_progress`."""

    cluster: str
    consumer_group: str
    ownership: Sequence[Row]
    progress: Sequence[Row]


def add_group(writer: TraceWriter, cluster: int, group: TracedGroup, max_spans: int) -> list[str]:
    """Write the group's track with its backlog and queues, up to `max_spans`; return a sentence if some are missing."""
    in_order = sorted(group.ownership, key=itemgetter("start"))
    track = writer.track(group.consumer_group, cluster)
    points = [*backlog_points(group.progress)]
    if points:
        counter = writer.track("backlog", track, unit="messages")
        for moment, messages in points:
            writer.count(counter, moment, messages)
    spans_per_queue = by_key(in_order[:max_spans], itemgetter(*QUEUE[2:], "membership_view"))
    for queue, spans in sorted(spans_per_queue.items()):
        queue_track = writer.track(_queue_name(*queue), track)
        for span in spans:
            writer.slice(queue_track, to_micros(span["start"]), to_micros(span["end"]), _owners(span), _facts(span))
    if len(group.ownership) <= max_spans:
        return []
    return [
        f"The trace has only the first {max_spans:,} of {len(group.ownership):,} spans of ownership of group "
        f"{group.consumer_group} (cluster {group.cluster}): choose only this group, or a shorter interval."
    ]


def _queue_name(topic: str, broker: str, queue_id: int, view: str) -> str:
    return f"{topic} {broker}:{queue_id}" + ("" if view == ALL_HOSTS else f" ({view} says)")


def _owners(span: Row) -> str:
    names = [owner["client_id"] for owner in span["owners"]]
    if len(names) < 2:
        return names[0] if names else "no owner"
    listed = names_text(names, _NAMED)
    is_shared = span["double_owned_cause"] == DoubleOwnedCause.POP_SHARED
    return f"{len(names)} share it by POP: {listed}" if is_shared else f"{len(names)} owners: {listed}"


def _facts(span: Row) -> dict[str, str | int | None]:
    addresses = names_text([owner["client_addr"] or UNKNOWN for owner in span["owners"]], _NAMED)
    cause = span["unassigned_cause"] or span["double_owned_cause"]
    return {"addresses": addresses or None, "cause": cause} | {name: span[name] for name in _LAGS}


def backlog_points(progress: Iterable[Row]) -> Iterator[tuple[int, int]]:
    """(time, backlog of all queues) at each begin or end of an interval; each queue counts with its last known lag."""
    last_lags: dict[Key, int] = {}
    for moment, samples in groupby(sorted(_samples(progress)), key=itemgetter(0)):
        ended = []
        for _, _, queue, lag in samples:
            if lag is None:
                ended.append(queue)
            else:
                last_lags[queue] = lag
        if last_lags:
            yield moment, sum(last_lags.values())
        for queue in ended:
            last_lags.pop(queue, None)


def _samples(progress: Iterable[Row]) -> Iterator[tuple[int, int, Key, int | None]]:
    """(time, order at that time, queue, lag), ends of intervals before beginnings; lag None: no interval follows."""
    for queue, rows in by_key(progress, itemgetter(*QUEUE)).items():
        in_order = sorted(rows, key=itemgetter("interval_start"))
        for row, following in zip_longest(in_order, in_order[1:]):
            end = to_micros(row["interval_end"])
            if row["lag_first"] is not None:
                yield to_micros(row["interval_start"]), 1, queue, row["lag_first"]
            if row["lag_last"] is not None:
                yield end, 0, queue, row["lag_last"]
            if following is None or following["interval_start"] > row["interval_end"]:
                yield end, 2, queue, None


def add_incidents(writer: TraceWriter, cluster: int, incidents: Iterable[Incident], interval: Interval) -> None:
    """Write the cluster's incidents in lanes, within the interval; without an end if they were open at its end."""
    interval_start, interval_end = to_micros(interval.start), to_micros(interval.end)
    lanes = [(writer.track("incidents", cluster, is_lane=True), row) for row in non_overlapping_rows(incidents)]
    placed = [(incident, track) for track, row in lanes for incident in row]
    for incident, track in sorted(placed, key=lambda pair: (pair[0].opened_at, pair[0].incident_id)):
        end = (
            incident.resolved_at if incident.resolved_at is not None and incident.resolved_at <= interval_end else None
        )
        writer.slice(track, max(incident.opened_at, interval_start), end, incident.headline, _incident_facts(incident))


def _incident_facts(incident: Incident) -> dict[str, str | int | None]:
    return {
        "incident_id": incident.incident_id,
        "severity": incident.severity,
        "rule": incident.rule,
        "cause": incident.cause,
        "groups": names_text(incident.consumer_groups, _NAMED),
        "opened_at": format_utc(from_micros(incident.opened_at)),
        "resolved_at": "open" if incident.resolved_at is None else format_utc(from_micros(incident.resolved_at)),
        "peak_backlog_messages": incident.peak_backlog_messages,
        "advice": incident.advice,
    }
