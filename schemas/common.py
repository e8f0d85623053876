"""Columns and structs that several tables share."""

from collections.abc import Mapping

from schemas.table import Table
from schemas.types import DATE, INTEGER, LONG, STRING, TIMESTAMP, Field, Struct, array_of, fields, required

CLUSTER = required("cluster", STRING, "the cluster, as the recorder names it")
CONSUMER_GROUP = required("consumer_group", STRING, "consumer group")
TOPIC = required("topic", STRING, "topic, also %RETRY%<group>")
BROKER_NAME = required("broker_name", STRING, "broker name, shared by a master and its replicas")
QUEUE_ID = required("queue_id", INTEGER, "queue on its broker, from 0")

STEP_START = required("step_start", TIMESTAMP, "start of the audit step")
MEMBERSHIP_VIEW = required(
    "membership_view", STRING, "'*' if all brokers of the topic list the same members, else the broker with this list"
)
INTERVAL_START = required("interval_start", TIMESTAMP, "start of the rebalance interval")
INTERVAL_END = required("interval_end", TIMESTAMP, "end of the rebalance interval, exclusive")

#: What the rows of a group, of a topic and of an interval in a step begin with, and what those of a queue have further.
OF_GROUP = Struct(STEP_START, CLUSTER, CONSUMER_GROUP)
OF_TOPIC = Struct(*OF_GROUP, TOPIC)
OF_INTERVAL = Struct(*OF_TOPIC, MEMBERSHIP_VIEW, INTERVAL_START)
OF_QUEUE = Struct(BROKER_NAME, QUEUE_ID)

#: One connection; duplicates share `client_id`, not `client_addr` (host:port). `version`: RocketMQ's ordinal.
CONNECTION = Struct(*fields(STRING, "client_id", "client_addr", "language"), Field("version", INTEGER))

#: One topic a group or client subscribes; `sub_version` is the client's clock (ms) when it subscribed.
SUBSCRIPTION = array_of(*fields(STRING, "topic", "expression_type", "sub_string"), Field("sub_version", LONG))


def recorded(
    name: str,
    comment: str,
    key: tuple[Field, ...],
    *columns: Field,
    checks: Mapping[str, str] | None = None,
) -> Table:
    """A table of answers, each with its time, which ends the key; laid out by time."""
    captured_at = required("captured_at", TIMESTAMP, "time of the answer")
    captured_date = Field("captured_date", DATE, "day of captured_at, generated")
    return Table(
        name,
        comment,
        Struct(*key, captured_at, captured_date, *columns),
        key=Struct(*key, captured_at).names,
        cluster_by=("captured_at",),
        checks=checks or {},
        generated={"captured_date": "CAST(captured_at AS DATE)"},
    )
