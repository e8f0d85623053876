"""Measures of queues by their samples, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from spark_jobs.domain.model.history import UNKNOWN, Numbers


@dataclass(frozen=True)
class QueueMeasures:
    """Measures of some queues by the samples of one time, aligned arrays. Null is `history.UNKNOWN`; microseconds.

    Those that `queue_progress` has are columns of it, by the same names. `lag_first` and `lag_last`: at the first and
    at the last sample, null where that one does not tell. `consumer_offset` and `end_offset`: at the last sample. Of
    the time in which a queue was stuck, between samples of the step: `stuck_growth` of the lag and `stuck_produced`,
    messages, and `stuck_time`; 0 where there is none.
    """

    readings: Numbers
    last_reading_at: Numbers
    consumer_offset: Numbers
    end_offset: Numbers
    produced: Numbers
    consumed: Numbers
    rewinds: Numbers
    rewound: Numbers
    rewound_max: Numbers
    rewound_at: Numbers
    moved_at: Numbers
    lag_first: Numbers
    lag_last: Numbers
    lag_max: Numbers
    age_ms: Numbers
    stuck_growth: Numbers
    stuck_produced: Numbers
    stuck_time: Numbers

    @classmethod
    def unread(cls, count: int) -> QueueMeasures:
        """Those of so many queues without a sample."""
        unknown, none = np.full(count, UNKNOWN), np.zeros(count, np.int64)
        measures = QueueMeasures(**dict.fromkeys(COLUMNS, unknown))
        return replace(measures, readings=none, stuck_growth=none, stuck_produced=none, stuck_time=none)

    def among(self, places: Sequence[int], count: int) -> QueueMeasures:
        """The same at these places of so many queues, of which the others have no sample."""
        if len(places) == count:  # as mostly
            return self
        every = {name: column.copy() for name, column in vars(QueueMeasures.unread(count)).items()}
        for name, column in every.items():
            column[places] = getattr(self, name)
        return QueueMeasures(**every)


#: The names of the measures.
COLUMNS = tuple(field.name for field in fields(QueueMeasures))
