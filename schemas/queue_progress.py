"""Messages into and out of each queue, interval by interval, and its consumer's progress."""

from schemas.common import OF_INTERVAL, OF_QUEUE, OF_TOPIC
from schemas.table import Table
from schemas.types import INTEGER, LONG, STRING, TIMESTAMP, Field, Struct, required

QUEUE_PROGRESS = Table(
    name="queue_progress",
    comment="One row per (rebalance interval, queue) with offsets: intervals of unobserved time, of BROADCASTING (the "
    "broker keeps no offsets) and of topics that nobody subscribes to have none. The owners are in "
    "`allocations`; where an interval is not replayed (POP, behind a proxy, rooms not configured), the owners "
    "are unknown, but the backlog is known. Where the brokers' views differ, their intervals overlap: each "
    "moment then belongs to the interval that began last, of those that began together to a replayed one, of "
    "those to the first view, so that no reading counts twice; to none, once that one is over",
    schema=Struct(
        *OF_INTERVAL,
        required("interval_end", TIMESTAMP, "end of the interval, or where the next view's interval begins"),
        *OF_QUEUE,
        required("readings", INTEGER, "offset readings inside the interval"),
        required(
            "lag_quality",
            STRING,
            "of the last reading: MEASURED, UNFILTERED (the group subscribes to some messages of the topic only, "
            "by tags or SQL: lag, produced and consumed count the others too), NEVER_COMMITTED (the group has no "
            "offset there: its lag is unknown), BEYOND_END (the offset is beyond the end of the queue: of the topic's "
            "former life), END_UNKNOWN (no sample has the end of the queue, as logs do not) or NO_READING",
        ),
        Field("last_reading_at", TIMESTAMP, "UTC; last reading; null: it knows no consumer offset"),
        Field("consumer_offset", LONG, "next offset to consume at the last reading; null: unknown"),
        Field(
            "produced",
            LONG,
            "messages, from reading to reading; a step between two readings belongs to the interval of the later "
            "one. Where the broker's offset shrank (topic created again) that pair is left out; null: no pair "
            "known",
        ),
        Field(
            "consumed", LONG, "messages by which the consumer offset went forward, in the same way; null: no pair known"
        ),
        Field("rewinds", INTEGER, "how often the consumer offset went back; null: unknown"),
        Field("rewound", LONG, "messages by which it went back, together; null: it did not"),
        Field("rewound_max", LONG, "messages by which it went back at most; null: it did not"),
        Field("rewound_at", TIMESTAMP, "UTC; the reading that showed the greatest rewind"),
        Field("moved_at", TIMESTAMP, "UTC; last reading that differs from the interval's one before it"),
        Field("lag_first", LONG, "messages at the first reading; never below 0; null: unknown then"),
        Field("lag_last", LONG, "messages at the last reading; never below 0; null: unknown then"),
        Field("lag_max", LONG, "messages, the most of any reading"),
        Field(
            "age_ms",
            LONG,
            "ms from the storing of the last consumed message to the last reading, where a lag is left: the "
            "oldest unconsumed message is no older",
        ),
        Field(
            "verdict",
            STRING,
            "STOP, REWIND, STALL, WARN or OK: the worst of the windows of readings that end inside the interval; "
            "null: fewer than two known readings, or the last one is not known",
        ),
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
