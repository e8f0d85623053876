"""A file in Perfetto's format: tracks, and what is on them.

The format is a sequence of `TracePacket`s (protos/perfetto/trace of google/perfetto); times are nanoseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import ClockSnapshot, TracePacket, TrackDescriptor, TrackEvent
from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

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
        """A new track, below those of its parent that were made before; with a unit one of a counter. A viewer shows
        the lanes of one name and parent as one track.
        """
        self._tracks += 1
        packet = self._builder.create_packet()
        made = packet.track_descriptor
        made.uuid, made.name = self._tracks, name
        made.child_ordering, made.sibling_order_rank = TrackDescriptor.EXPLICIT, self._tracks
        merging = TrackDescriptor.SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY
        made.sibling_merge_behavior = merging if is_lane else TrackDescriptor.SIBLING_MERGE_BEHAVIOR_NONE
        if is_lane:
            made.sibling_merge_key = name
        if parent:
            made.parent_uuid = parent
        if unit is not None:
            made.counter.unit_name = unit
        self._builder.write_packet(packet)
        return self._tracks

    def slice(self, track: int, start: int, end: int | None, name: str, facts: Mapping[str, str | int | None]) -> None:
        """A slice, after those of its track that were over when it began; `end` None: it did not end."""
        packet = self._event(track, start, TrackEvent.TYPE_SLICE_BEGIN)
        packet.track_event.name = name
        for fact, value in facts.items():
            if value is not None:
                noted = packet.track_event.debug_annotations.add()
                noted.name = fact
                setattr(noted, "string_value" if isinstance(value, str) else "int_value", value)
        self._builder.write_packet(packet)
        if end is not None:
            self._builder.write_packet(self._event(track, end, TrackEvent.TYPE_SLICE_END))

    def count(self, track: int, moment: int, value: int) -> None:
        """A point of a counter; it holds until the next one."""
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
        """That the time of the trace is UTC: a viewer may show either."""
        packet = self._builder.create_packet()
        packet.trusted_packet_sequence_id = _SEQUENCE
        clocks = ClockSnapshot.Clock
        for clock in (clocks.BOOTTIME, clocks.REALTIME):
            told = packet.clock_snapshot.clocks.add()
            told.clock_id, told.timestamp = clock, start * _MICROSECOND
        self._builder.write_packet(packet)
