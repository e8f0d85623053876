"""The kinds of states that a group's history is made of."""

from __future__ import annotations

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, TOPIC_SNAPSHOTS, Table

#: Kinds of states; the state of an offset or topic snapshot is the list of its queues.
MEMBERSHIP, ROUTE, CLIENT = "membership", "route", "client"
OFFSET_QUEUES, TOPIC_QUEUES = "offset_queues", "topic_queues"
KINDS = (MEMBERSHIP, ROUTE, CLIENT, OFFSET_QUEUES, TOPIC_QUEUES)
#: A membership of the cluster's proxies, handed to each of its groups; its state is in the column of memberships.
PROXY = "proxy"
#: When the group was captured; when it was deleted; when the route of a topic (the name) named a broker (the state) as
#: readable.
CAPTURED, DELETED, READABLE = "captured", "deleted", "readable"
#: A broker (the name) did not answer who the group's members are; its state, the error, is in the column `READABLE`.
UNANSWERED = "unanswered"

#: Each source's kind, and the column that names what was seen, beside cluster and group.
KIND_OF: dict[Table, str] = {
    MEMBERSHIP_SNAPSHOTS: MEMBERSHIP,
    ROUTE_SNAPSHOTS: ROUTE,
    TOPIC_SNAPSHOTS: TOPIC_QUEUES,
    OFFSET_SNAPSHOTS: OFFSET_QUEUES,
    CLIENT_SNAPSHOTS: CLIENT,
}
NAME_OF: dict[Table, str] = {
    MEMBERSHIP_SNAPSHOTS: "broker_name",
    ROUTE_SNAPSHOTS: "topic",
    TOPIC_SNAPSHOTS: "topic",
    OFFSET_SNAPSHOTS: "topic",
    CLIENT_SNAPSHOTS: "client_id",
}
#: The settings of a client: columns of its snapshots that are fields of its state, too.
SETTINGS = (
    "strategy_class",
    "message_model",
    "consume_orderly",
    "client_rebalance",
    "consume_threads",
    "consume_batch_size",
    "pull_batch_size",
    "pull_interval_ms",
    "pull_threshold_for_queue",
    "pull_threshold_size_for_queue",
    "consume_max_span",
    "consume_timeout_minutes",
)
#: Columns of readings that hold a number per queue; what each of them is depends on the kind of the reading.
VALUES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")
#: Which field of the source's array each of them is, in the same order.
MEASURED: dict[Table, tuple[str, tuple[str, ...]]] = {
    OFFSET_SNAPSHOTS: ("offsets", ("broker_offset", "consumer_offset", "pull_offset", "last_timestamp")),
    TOPIC_SNAPSHOTS: ("queues", ("min_offset", "max_offset")),
    CLIENT_SNAPSHOTS: (
        "owned_queues",
        (
            "cached_count",
            "cached_mib",
            "cached_min_offset",
            "cached_max_offset",
            "last_pull",
            "last_consume",
            "last_lock",
        ),
    ),
}
