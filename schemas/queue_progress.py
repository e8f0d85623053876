"""Messages into and out of each queue, interval by interval, and its consumer's progress."""

from schemas.common import OF_INTERVAL, OF_QUEUE, OF_TOPIC
from schemas.table import Table
from schemas.types import INTEGER, LONG, STRING, TIMESTAMP, Field, Struct, required

QUEUE_PROGRESS = Table(
    name="queue_progress",
    comment="One row per queue and rebalance interval with offsets, also if it is not replayed. If brokers' views "
    "differ, each moment belongs to the interval that began last, so that no sample counts twice",
    schema=Struct(
        *OF_INTERVAL,
        required("interval_end", TIMESTAMP, "end of the interval, or start of the next view's"),
        *OF_QUEUE,
        required("readings", INTEGER, "offset samples in the interval"),
        required(
            "lag_quality",
            STRING,
            "of the last sample: MEASURED, UNFILTERED (by tags or SQL the group skips messages that count here), "
            "NEVER_COMMITTED (no offset: lag unknown), BEYOND_END (offset beyond the queue's end), END_UNKNOWN (as in "
            "logs) or NO_READING",
        ),
        Field("last_reading_at", TIMESTAMP, "last sample; null: without consumer offset"),
        Field("consumer_offset", LONG, "at the last sample; null: unknown"),
        Field("produced", LONG, "messages between samples, in the interval of the later one; null: unknown"),
        Field("consumed", LONG, "messages by which the consumer offset advanced; null: unknown"),
        Field("rewinds", INTEGER, "times that the consumer offset went back; null: unknown"),
        Field("rewound", LONG, "messages by which it went back; null: it did not"),
        Field("rewound_max", LONG, "the most at once; null: it did not"),
        Field("rewound_at", TIMESTAMP, "sample of the greatest rewind"),
        Field("moved_at", TIMESTAMP, "last sample that differs from the one before"),
        Field("lag_first", LONG, "messages at the first sample; null: unknown"),
        Field("lag_last", LONG, "messages at the last sample; null: unknown"),
        Field("lag_max", LONG, "messages, the most of any sample"),
        Field("age_ms", LONG, "ms for which the oldest waiting message has waited, at most"),
        Field("verdict", STRING, "STOP, REWIND, STALL, WARN or OK: worst window of samples; null: unknown"),
    ),
    key=(*OF_TOPIC.names, "interval_start", *OF_QUEUE.names),
    partition_by=("step_start",),
    checks={
        "interval_not_empty": "interval_start < interval_end",
        "known_lag_quality": "lag_quality IN ('MEASURED', 'UNFILTERED', 'NEVER_COMMITTED', 'BEYOND_END', "
        "'END_UNKNOWN', 'NO_READING')",
        "known_verdict": "verdict IS NULL OR verdict IN ('STOP', 'REWIND', 'STALL', 'WARN', 'OK')",
        "unknown_stays_unknown": "lag_quality IN ('MEASURED', 'UNFILTERED') OR (lag_last IS NULL AND verdict IS NULL)",
    },
)
