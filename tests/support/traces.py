"""Traces read back by the format's own messages: what is on each track, in the order of the file."""

from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackDescriptor, TrackEvent

from spark_jobs.domain.model.window import SECOND
from tests.support.times import START


def packets(written: bytes) -> list[Any]:
    """The packets of a file."""
    trace = Trace()
    trace.ParseFromString(written)
    return list(trace.packet)


def tracks(written: bytes) -> dict[tuple[str, ...], list[tuple[Any, ...]]]:
    """By path (the names from the top): (start, end, name) of slices, (time, value) of a counter, in seconds after the
    test's start. Lanes of one name are one, as a viewer shows them.
    """
    described: dict[int, tuple[str, ...]] = {}
    found: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
    begun: dict[int, tuple[tuple[str, ...], int]] = {}
    for packet in packets(written):
        if packet.HasField("track_descriptor"):
            made = packet.track_descriptor
            above = described[made.parent_uuid] if made.HasField("parent_uuid") else ()
            described[made.uuid] = (*above, made.name)
            is_lane = made.sibling_merge_behavior != TrackDescriptor.SIBLING_MERGE_BEHAVIOR_NONE
            assert is_lane or described[made.uuid] not in found, "two tracks of one name"
            found.setdefault(described[made.uuid], [])
        elif packet.HasField("track_event"):
            _add(packet, found, described[packet.track_event.track_uuid], begun)
    return found


def _add(packet: Any, found: Any, path: tuple[str, ...], begun: dict[int, tuple[tuple[str, ...], int]]) -> None:
    event, seconds = packet.track_event, (packet.timestamp / 1000 - START) / SECOND
    if event.type == TrackEvent.TYPE_COUNTER:
        found[path].append((seconds, event.counter_value))
    elif event.type == TrackEvent.TYPE_SLICE_BEGIN:
        assert event.track_uuid not in begun, "a slice inside another"
        begun[event.track_uuid] = path, len(found[path])
        found[path].append((seconds, None, event.name))
    else:
        of_path, place = begun.pop(event.track_uuid)
        start, _, name = found[of_path][place]
        found[of_path][place] = start, seconds, name


def facts(written: bytes, name: str) -> dict[str, Any]:
    """What is noted of the one slice of that name."""
    (event,) = [one.track_event for one in packets(written) if one.track_event.name == name]
    return {one.name: getattr(one, one.WhichOneof("value")) for one in event.debug_annotations}
