"""What is wrong, since when, why, and what it cost."""

from pyspark.sql.types import (
    ArrayType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from schemas.common import CLUSTER, CONNECTION, CONSUMER_GROUP, STEP_START
from schemas.table import Table, array_of, column, required

_BACKLOG = [
    StructField("backlog_start", LongType(), True),
    StructField("backlog_end", LongType(), True),
    StructField("backlog_max", LongType(), True),
    StructField("produced", LongType(), True),
    StructField("consumed", LongType(), True),
]

_CURE = StructType(
    [
        StructField("unassigned_queues", IntegerType(), True),
        StructField("double_owned_queues", IntegerType(), True),
    ]
)

#: One queue of a finding: how long it was touched (`start`, `end`) and what its readings in that time say. Messages;
#: null is unknown (no reading, or the group never committed there).
FINDING_QUEUE = array_of(
    StructField("topic", StringType(), True),
    StructField("broker_name", StringType(), True),
    StructField("queue_id", IntegerType(), True),
    StructField("role", StringType(), True),
    StructField("start", TimestampType(), True),
    StructField("end", TimestampType(), True),
    *_BACKLOG,
)

#: Numbers by name; docs/findings.md says what each rule measures. Null is unknown.
MEASURES = array_of(StructField("name", StringType(), True), StructField("value", DoubleType(), True))

#: Who says what: the clients behind each answer, for example each strategy, topic list or broker's view.
PARTIES = array_of(
    StructField("name", StringType(), True),
    StructField("client_ids", ArrayType(StringType(), containsNull=True), True),
)

#: Totals are over the queues whose value is known; `unknown_queues` counts the queues without a known backlog.
EVIDENCE = StructType(
    [
        StructField("persistence", StringType(), True),
        StructField("connections", ArrayType(CONNECTION, containsNull=True), True),
        StructField("client_ids", ArrayType(StringType(), containsNull=True), True),
        StructField("member_count", IntegerType(), True),
        StructField("queue_count", IntegerType(), True),
        StructField("queues", FINDING_QUEUE, True),
        *_BACKLOG,
        StructField("unknown_queues", IntegerType(), True),
        StructField("if_deduplicated", _CURE, True),
        StructField("if_unique", _CURE, True),
        StructField("measures", MEASURES, True),
        StructField("parties", PARTIES, True),
    ]
)

FINDINGS = Table(
    name="findings",
    comment="One row per condition over its whole duration inside a step",
    schema=StructType(
        [
            required("finding_id", StringType(), "stable: the same condition has the same id in every run"),
            STEP_START,
            required("rule", StringType(), "which rule found it; docs/findings.md explains each"),
            required("severity", StringType(), "INFO, WARN or ERROR"),
            CLUSTER,
            CONSUMER_GROUP,
            column("topic", StringType(), "null where the condition is one of the whole group"),
            required("subject", StringType(), "what it is about: a client id, or queues as broker:0-3"),
            required("start", TimestampType(), "UTC; a condition that began before the step starts with the step"),
            required("end", TimestampType(), "UTC, exclusive"),
            column("cause", StringType(), "why, as an enum name"),
            required("evidence", EVIDENCE, "the facts: queues, connections, backlog, cures"),
            required("advice", StringType(), "what to do"),
        ]
    ),
    key=("finding_id",),
    partition_by=("step_start",),
    checks={
        "known_severity": "severity IN ('INFO', 'WARN', 'ERROR')",
        "span_not_empty": "start < end",
        "inside_its_step": "start >= step_start",
    },
)
