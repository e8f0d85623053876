"""Columns and structs that several tables share."""

from __future__ import annotations

from schemas.types import DATE, INTEGER, LONG, STRING, TIMESTAMP, Field, Struct, array_of, required

CLUSTER = required("cluster", STRING, "the fleet, as the recorder names it; part of every key")
CONSUMER_GROUP = required("consumer_group", STRING, "consumer group")
TOPIC = required("topic", STRING, "topic; %RETRY%<group> is a topic like any other")
BROKER_NAME = required("broker_name", STRING, "broker name (a master and its replicas share it)")
QUEUE_ID = required("queue_id", INTEGER, "number of the queue on its broker, from 0")
CAPTURED_AT = required("captured_at", TIMESTAMP, "when the answer came, UTC")
CAPTURED_DATE = Field("captured_date", DATE, "UTC day of captured_at, generated")
GENERATED_DATE = {"captured_date": "CAST(captured_at AS DATE)"}

STEP_START = required("step_start", TIMESTAMP, "start of the audit step, UTC; a publish replaces whole steps")
MEMBERSHIP_VIEW = required(
    "membership_view",
    STRING,
    "'*' where all brokers that host the topic list the same members, else the broker whose list this is",
)
INTERVAL_START = required("interval_start", TIMESTAMP, "start of the rebalance interval, UTC, inclusive")
INTERVAL_END = required("interval_end", TIMESTAMP, "end of the rebalance interval, UTC, exclusive")

CLIENT_ID = Field("client_id", STRING)
CLIENT_ADDR = Field("client_addr", STRING)
LANGUAGE = Field("language", STRING)
VERSION = Field("version", INTEGER)

#: One connection of a group: twins share `client_id` and differ in `client_addr` (host:port as the broker sees it);
#: `version` is RocketMQ's version ordinal (493 is 5.4.0).
CONNECTION = Struct(CLIENT_ID, CLIENT_ADDR, LANGUAGE, VERSION)

#: One topic a group or client subscribes; `sub_version` is the client's clock (ms) when it subscribed.
SUBSCRIPTION = array_of(
    Field("topic", STRING), Field("expression_type", STRING), Field("sub_string", STRING), Field("sub_version", LONG)
)
