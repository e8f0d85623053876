"""Laws of the progress of queues: a violation is a bug of the audit."""

import numpy as np

from expectations.common import known_value
from expectations.rows import Rows, Values, codes, least, rows_before, taken
from expectations.suite import Expectation, Severity, Suite, Tables
from schemas import ALLOCATIONS, QUEUE_PROGRESS, REBALANCE_INTERVALS
from schemas.common import OF_QUEUE, OF_TOPIC
from spark_jobs.domain.model.statuses import WITHOUT_OFFSETS, LagQuality, Reason, Status, Verdict

_QUEUE = (*OF_TOPIC.names, *OF_QUEUE.names)
_INTERVAL = (*OF_TOPIC.names, "interval_start")
_MESSAGES = ("produced", "consumed", "rewinds", "rewound", "lag_first", "lag_last", "lag_max", "age_ms")


def with_allocation_and_lag_before(progress: Rows, tables: Tables) -> Rows:
    """Add `is_allocated`: an allocation with this start has the queue, or an interval of unknown owners, or no queue of
    the interval may be read; `lag_before`, `offset_before`: the queue's lag and consumer offset at the end of its
    interval before.
    """
    own, allocated, unowned = codes(QUEUE_PROGRESS.key, progress, tables[ALLOCATIONS], _queues_without_owners(tables))
    intervals = tables[REBALANCE_INTERVALS]
    unreadable = intervals.where(intervals["reason"] == Reason.NO_READABLE_QUEUE)
    own_interval, of_unreadable = codes(_INTERVAL, progress, unreadable)
    (queue,) = codes(_QUEUE, progress)
    before = rows_before(queue, progress["interval_start"].numbers())
    return progress.adding(
        is_allocated=np.isin(own, np.concatenate([allocated, unowned])) | np.isin(own_interval, of_unreadable),
        lag_before=taken(progress["lag_last"], before),
        offset_before=taken(progress["consumer_offset"], before),
    )


def _queues_without_owners(tables: Tables) -> Rows:
    """Those of intervals whose owners are not known, but whose offsets are."""
    intervals = tables[REBALANCE_INTERVALS]
    known = ~intervals["status"].is_in((Status.REPLAYED, Status.UNOBSERVED)) & ~intervals["reason"].is_in(
        WITHOUT_OFFSETS
    )
    queues, of_row = intervals.elements("queues")
    unowned = queues.adding(**{name: intervals[name].array.take(of_row) for name in _INTERVAL})
    return unowned.where(taken(known, of_row))


def _unknown_stays_unknown(rows: Rows) -> Values:
    quality, is_known = rows["lag_quality"], rows["lag_last"].is_known()
    return (
        quality.is_in(LagQuality)
        & (quality.is_in((LagQuality.MEASURED, LagQuality.UNFILTERED)) == is_known)
        & (is_known | rows["verdict"].is_unknown())
        & ((quality == LagQuality.NO_READING) == (rows["readings"] == 0))
    )


def _balances(rows: Rows) -> Values:
    before, after = rows["lag_before"], rows["lag_last"]
    expected = before + rows["produced"] - rows["consumed"] + rows["rewound"].or_else(0)
    unseen = rows["consumer_offset"] - rows["offset_before"] - rows["consumed"] + rows["rewound"].or_else(0)
    went_back = (rows["rewinds"] > 0) & (unseen > 0) & (expected - unseen == after)
    return ~((before > 0) & (after > 0) & rows["lag_first"].is_known()) | (expected == after) | went_back.or_else(False)


SUITE = Suite(
    QUEUE_PROGRESS,
    prepare=with_allocation_and_lag_before,
    expectations=(
        Expectation(
            "queue_is_allocated",
            "Every row has its allocation, or its interval has unknown owners, or no readable queue.",
            lambda rows: rows["is_allocated"],
        ),
        Expectation(
            "verdict_is_known", "The verdict is a value of the enum, or null.", known_value("verdict", Verdict)
        ),
        Expectation(
            "unknown_stays_unknown",
            "There is a lag if and only if there is a known sample; without one there is no verdict.",
            _unknown_stays_unknown,
        ),
        Expectation(
            "messages_are_not_negative",
            "Messages produced, consumed, rewound and left are 0 or more, or unknown.",
            lambda rows: least(*(rows[name] for name in _MESSAGES)) >= 0,
        ),
        Expectation(
            "greatest_lag_is_the_greatest",
            "No lag is greater than `lag_max`.",
            lambda rows: (rows["lag_max"] >= rows["lag_first"]) & (rows["lag_max"] >= rows["lag_last"]),
        ),
        Expectation(
            "what_came_less_what_went_is_what_is_left",
            "Lag before + produced − consumed + rewound = lag after, if both lags are known. Unknown samples in "
            "between, or a rewind to 0, break this.",
            _balances,
            Severity.WARNING,
        ),
    ),
)
