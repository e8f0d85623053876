"""Cases of `expectations/queue_progress.py`."""

from typing import Any

from expectations.queue_progress import SUITE
from schemas import ALLOCATIONS, QUEUE_PROGRESS, REBALANCE_INTERVALS
from tests.support.times import at
from tests.unit.expectations.cases import OWN, Cases, Row, Rows

QUEUE = {"step_start": at(0), "cluster": OWN, "consumer_group": "g", "topic": "t", "broker_name": "b", "queue_id": 0}


def row(start: float = 0, **changes: Any) -> Row:
    """Ten came and ten went: a lag of 5 stays."""
    key = QUEUE | {"membership_view": "*", "interval_start": at(start), "interval_end": at(3600)}
    seen = {"readings": 9, "lag_quality": "MEASURED", "consumer_offset": 95, "produced": 10, "consumed": 10}
    return key | seen | {"lag_first": 5, "lag_last": 5, "lag_max": 5, "age_ms": 40, "verdict": "OK"} | changes


def good(*rows: Row, **changes: Any) -> Rows:
    found = rows or (row(**changes),)
    return {QUEUE_PROGRESS: found, ALLOCATIONS: [QUEUE | {"interval_start": one["interval_start"]} for one in found]}


def unknown(lag_quality: str, **changes: Any) -> Rows:
    nothing = dict.fromkeys(("consumer_offset", "consumed", "lag_first", "lag_last", "lag_max", "age_ms", "verdict"))
    return good(**nothing | {"lag_quality": lag_quality} | changes)


def allocated(**changes: Any) -> Rows:
    return {QUEUE_PROGRESS: [row()], ALLOCATIONS: [QUEUE | {"interval_start": at(0)} | changes]}


def without_owners(reason: str | None, queue_id: int = 0, status: str = "NOT_APPLICABLE") -> Rows:
    """No allocation, and an interval with this reason and one queue."""
    key = {name: value for name, value in QUEUE.items() if name not in ("broker_name", "queue_id")}
    queues = [{"broker_name": "b", "queue_id": queue_id}]
    interval = key | {"interval_start": at(0), "status": status, "reason": reason, "queues": queues}
    return {QUEUE_PROGRESS: [row()], REBALANCE_INTERVALS: [interval]}


def after(**changes: Any) -> Rows:
    """An interval that ended with a lag of 5, and one after it."""
    return good(row(), row(1800, **changes))


CASES = Cases(
    SUITE,
    breaks={
        "queue_is_allocated": [
            {QUEUE_PROGRESS: [row()]},
            allocated(queue_id=1),
            allocated(broker_name="b2"),
            allocated(interval_start=at(1)),
            without_owners("CONSUMED_BY_UNSEEN", queue_id=1),
            without_owners("BROADCASTING"),
            without_owners("NOT_SUBSCRIBED"),
            without_owners("NO_ROUTE_SNAPSHOT", status="UNOBSERVED"),
            without_owners(None, status="REPLAYED"),
        ],
        "verdict_is_known": [good(verdict="ODD"), good(verdict="ok")],
        "unknown_stays_unknown": [
            good(lag_quality="ODD"),
            good(lag_quality="NEVER_COMMITTED"),
            unknown("MEASURED"),
            unknown("UNFILTERED"),
            unknown("NEVER_COMMITTED", verdict="OK"),
            unknown("NEVER_COMMITTED", readings=0),
            unknown("BEYOND_END", readings=0),
            unknown("NO_READING"),
            good(readings=0),
        ],
        "messages_are_not_negative": [
            *(good(**{name: -1}) for name in ("produced", "consumed", "rewinds", "rewound", "lag_first", "age_ms")),
            good(lag_first=None, lag_last=-1, lag_max=-1),
        ],
        "greatest_lag_is_the_greatest": [good(lag_first=6), good(lag_last=6), good(lag_max=4)],
        "what_came_less_what_went_is_what_is_left": [
            after(lag_last=4),
            after(produced=11),
            after(consumed=9),
            after(rewound=1),
            after(rewinds=1, rewound=90, consumed=7, consumer_offset=98),
        ],
        "keys_are_unique": [good(row(), row()), good(row(), row(membership_view="b", verdict="WARN"))],
    },
    keeps=[
        good(),
        # From 95 back to 0, then unseen to 93, and 12 consumed: 10 came, and 93 + 12 - 95 = 10 went.
        after(rewinds=1, rewound=95, consumed=12, consumer_offset=105),
        good(lag_quality="UNFILTERED"),
        without_owners("CONSUMED_BY_UNSEEN"),
        without_owners("CONSUMED_THROUGH_PROXY"),
        without_owners("BROKER_REBALANCE"),
        without_owners("UNKNOWN_STRATEGY", status="NOT_REPLAYABLE"),
        # The interval lists readable queues only.
        without_owners("NO_READABLE_QUEUE", queue_id=1, status="NOT_REPLAYABLE"),
        good(lag_first=0, lag_last=0, lag_max=0, produced=0, consumed=0, rewinds=0, rewound=0, age_ms=0),
        good(produced=None, consumed=None, rewinds=None, age_ms=None, verdict=None),
        unknown("NEVER_COMMITTED"),
        unknown("NO_READING", readings=0, produced=None),
        after(),
        after(produced=20, consumed=10, rewound=5, lag_last=20, lag_max=20),
        # Where a lag is 0 the consumer may have been ahead of the broker's sample; unknown is no number.
        after(lag_last=0),
        after(produced=None, lag_last=4),
        # The offset was of the topic's former life at first.
        after(lag_first=None, lag_last=4),
        unknown("BEYOND_END"),
        good(row(lag_last=0), row(1800, lag_last=4)),
        {
            QUEUE_PROGRESS: [row(), row(queue_id=3)],
            ALLOCATIONS: [QUEUE | {"interval_start": at(0), "queue_id": number} for number in (0, 3)],
        },
    ],
)
