"""Stacks of consume threads, which the recorder asks a client for while one of its queues stands with a backlog."""

from schemas.common import CLUSTER, CONSUMER_GROUP, recorded
from schemas.types import INTEGER, STRING, Array, Field, array_of, required

CLIENT_STACKS = recorded(
    "client_stacks",
    "One row per answer of a Java client about its consume threads, while one of its queues stood",
    (
        CLUSTER,
        CONSUMER_GROUP,
        required("client_id", STRING, "client id"),
    ),
    required("threads", INTEGER, "consume threads of the group"),
    Field(
        "stacks",
        array_of(Field("state", STRING), Field("threads", INTEGER), Field("frames", Array(STRING))),
        "distinct stacks, most threads first (at most 20): Thread.State, threads, up to 60 frames, innermost first",
        nullable=False,
    ),
)
