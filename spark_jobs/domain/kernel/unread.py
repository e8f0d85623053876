"""Topics of which the brokers do not report the group's offsets: what is produced stands in the topics' own snapshots.

Consume stats leave out a topic that the broker's subscription of the group lacks, and one of which the group never
committed an offset (`AdminBrokerProcessor.getConsumeStats`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.history import DEAD_LETTERS, RETRY, UNKNOWN, OffsetReadings, TopicReadings
from spark_jobs.domain.model.window import StepWindow


def unread_topics(
    topics: Mapping[str, TopicReadings], names: Iterable[str], window: StepWindow
) -> Mapping[str, OffsetReadings]:
    """By name, readings of those topics that were read inside the window; the consumer offsets are unknown."""
    ordinary = (name for name in names if not name.startswith((RETRY, DEAD_LETTERS)))
    read = ((name, topics[name]) for name in ordinary if name in topics)
    return {name: _as_offsets(readings) for name, readings in read if readings.any_inside(window.read_from, window.end)}


@cached_with_value
def _as_offsets(readings: TopicReadings) -> OffsetReadings:
    unknown = np.full_like(readings.max_offset, UNKNOWN)
    return OffsetReadings(
        readings.times,
        readings.queues,
        end_offset=readings.max_offset,
        consumer_offset=unknown,
        pull_offset=unknown,
        last_timestamp=unknown,
        present=readings.present,
    )
