"""Laws of the backlog: a violation is a bug of the audit."""

import numpy as np
import pyarrow as pa

from expectations.common import each, known_value
from expectations.rows import Rows, Values, all_of, taken
from expectations.suite import Expectation, Suite
from schemas import BACKLOG
from spark_jobs.domain.model.statuses import LagQuality

_MEASURED = ("messages", "messages_max", "unknown_queues", "oldest_message_ms", "produced", "consumed")


def _minutes_are_of_the_step(rows: Rows) -> Values:
    """Check that each begins in the step, and after the one before."""
    minutes, of_row = rows.elements("minutes")
    start = taken(rows["step_start"], of_row)
    inside = (minutes["at"] >= start) & (minutes["at"] < start + pa.scalar(rows.settings.step))
    is_later = np.ones(len(minutes), bool)
    at = minutes["at"].numbers()
    is_later[1:] = (of_row[1:] != of_row[:-1]) | (at[1:] > at[:-1])
    are_good = np.ones(len(rows), bool)
    are_good[of_row[~(inside.or_else(False).flags() & is_later)]] = False
    return Values(pa.array(are_good))


SUITE = Suite(
    BACKLOG,
    expectations=(
        Expectation(
            "minutes_are_of_the_step", "Minutes are of the step, in order, once each.", _minutes_are_of_the_step
        ),
        each(
            "messages_are_not_negative",
            "Messages, queues and ages are 0 or more, or unknown.",
            "minutes",
            lambda rows: all_of((rows[name] >= 0).or_else(True) for name in _MEASURED),
        ),
        each(
            "highest_is_the_highest",
            "A minute's highest backlog is at least its last.",
            "minutes",
            lambda rows: (rows["messages"] <= rows["messages_max"]).or_else(False) | rows["messages"].is_unknown(),
        ),
        Expectation(
            "quality_is_known",
            "The quality is MEASURED or UNFILTERED, or unknown.",
            known_value("lag_quality", (LagQuality.MEASURED, LagQuality.UNFILTERED)),
        ),
    ),
)
