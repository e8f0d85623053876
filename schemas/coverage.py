"""How much of each consumer group, and of each cluster, was observed in a step, and why the rest is missing."""

from schemas.common import CLUSTER, STEP_START
from schemas.table import Table
from schemas.types import DOUBLE, STRING, TIMESTAMP, Field, Struct, array_of, required

COVERAGE = Table(
    name="coverage",
    comment="One row per consumer group and step: how much of it was observed. The row without a group is the "
    "cluster's; it is there where all groups of the cluster were audited",
    schema=Struct(
        STEP_START,
        CLUSTER,
        Field("consumer_group", STRING, "consumer group; null: any group of the cluster"),
        required(
            "expected_seconds", DOUBLE, "seconds of the step from its first snapshot on, if there was none before"
        ),
        required("observed_seconds", DOUBLE, "seconds of these in which nothing is missing; of a cluster, members"),
        required("members_seconds", DOUBLE, "seconds of the step in which the members were known"),
        required("routes_seconds", DOUBLE, "the same of the route of any topic"),
        required("offsets_seconds", DOUBLE, "the same of the offsets of any topic"),
        required("clients_seconds", DOUBLE, "the same of what clients said about themselves"),
        Field("first_snapshot_at", TIMESTAMP, "first snapshot in the step; null: none"),
        Field("last_snapshot_at", TIMESTAMP, "last snapshot in the step; null: none"),
        Field(
            "missing",
            array_of(
                Field("started_at", TIMESTAMP),
                Field("ended_at", TIMESTAMP),
                Field("source", STRING),
                Field("reason", STRING),
            ),
            "times without snapshots of a source: NO_SNAPSHOTS, NOT_ANSWERED (by the brokers) or REJECTED (they are in "
            "quarantine)",
        ),
    ),
    key=("step_start", "cluster", "consumer_group"),
    partition_by=("step_start",),
    checks={
        "seconds_not_negative": "least(expected_seconds, observed_seconds, members_seconds, routes_seconds, "
        "offsets_seconds, clients_seconds) >= 0",
        "observed_is_expected": "observed_seconds <= expected_seconds",
        "first_is_not_after_last": "(first_snapshot_at IS NULL) = (last_snapshot_at IS NULL) "
        "AND (first_snapshot_at IS NULL OR first_snapshot_at <= last_snapshot_at)",
    },
)
