"""Topics of which the brokers do not report the group's offsets: what is produced stands in the topics' own snapshots.

Consume stats leave out a topic that the broker's subscription of the group lacks, and one of which the group never
committed an offset (`AdminBrokerProcessor.getConsumeStats`).
"""

from collections.abc import Iterable, Mapping

import numpy as np

from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.history import DEAD_LETTERS, RETRY, UNKNOWN, OffsetSamples, TopicSamples
from spark_jobs.domain.model.window import StepWindow


def unread_topics(
    topics: Mapping[str, TopicSamples], names: Iterable[str], window: StepWindow
) -> Mapping[str, OffsetSamples]:
    """By name, samples of those topics that were read inside the window; the consumer offsets are unknown."""
    ordinary = (name for name in names if not name.startswith((RETRY, DEAD_LETTERS)))
    read = ((name, topics[name]) for name in ordinary if name in topics)
    return {name: _as_offsets(samples) for name, samples in read if samples.any_inside(window.read_from, window.end)}


@cached_with_value
def _as_offsets(samples: TopicSamples) -> OffsetSamples:
    unknown = np.full_like(samples.max_offset, UNKNOWN)
    return OffsetSamples(
        samples.times,
        samples.queues,
        end_offset=samples.max_offset,
        consumer_offset=unknown,
        pull_offset=unknown,
        last_timestamp=unknown,
        present=samples.present,
    )
