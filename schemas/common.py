"""Columns and structs that several tables share."""

from __future__ import annotations

from pyspark.sql.types import (
    DateType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from schemas.table import array_of, column, required

CLUSTER = required("cluster", StringType(), "the fleet, as the recorder names it; part of every key")
CONSUMER_GROUP = required("consumer_group", StringType(), "consumer group")
TOPIC = required("topic", StringType(), "topic; %RETRY%<group> is a topic like any other")
BROKER_NAME = required("broker_name", StringType(), "broker name (a master and its replicas share it)")
QUEUE_ID = required("queue_id", IntegerType(), "number of the queue on its broker, from 0")
CAPTURED_AT = required("captured_at", TimestampType(), "when the answer came, UTC")
CAPTURED_DATE = column("captured_date", DateType(), "UTC day of captured_at, generated")
GENERATED_DATE = {"captured_date": "CAST(captured_at AS DATE)"}

STEP_START = required("step_start", TimestampType(), "start of the audit step, UTC; a publish replaces whole steps")
MEMBERSHIP_VIEW = required(
    "membership_view",
    StringType(),
    "'*' where all brokers that host the topic list the same members, else the broker whose list this is",
)
INTERVAL_START = required("interval_start", TimestampType(), "start of the rebalance interval, UTC, inclusive")
INTERVAL_END = required("interval_end", TimestampType(), "end of the rebalance interval, UTC, exclusive")

CLIENT_ID = StructField("client_id", StringType(), True)
CLIENT_ADDR = StructField("client_addr", StringType(), True)
LANGUAGE = StructField("language", StringType(), True)
VERSION = StructField("version", IntegerType(), True)

#: One connection of a group: twins share `client_id` and differ in `client_addr` (host:port as the broker sees it);
#: `version` is RocketMQ's version ordinal (493 is 5.4.0).
CONNECTION = StructType([CLIENT_ID, CLIENT_ADDR, LANGUAGE, VERSION])

#: One topic a group or client subscribes; `sub_version` is the client's clock (ms) when it subscribed.
SUBSCRIPTION = array_of(
    StructField("topic", StringType(), True),
    StructField("expression_type", StringType(), True),
    StructField("sub_string", StringType(), True),
    StructField("sub_version", LongType(), True),
)
