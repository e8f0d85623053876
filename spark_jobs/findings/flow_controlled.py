"""FLOW_CONTROLLED: a client holds as much of a queue as it may, and stops pulling until it has consumed some."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from schemas import CLIENT_SNAPSHOTS
from spark_jobs.domain.clients import ThrottleCause
from spark_jobs.findings.looks import symptoms
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import measures, queue, touches

NAME = "FLOW_CONTROLLED"
THROTTLED = "THROTTLED"


def flow_controlled(audited: Audited) -> DataFrame:
    """One touch per (client, span, queue at a limit); one condition per client, topic and limit.

    The measures are those of the queue that is furthest beyond its limit.
    """
    thresholds = audited.configuration.thresholds
    beyond = (
        F.when(
            F.col("cause") == ThrottleCause.CACHED_MESSAGES.value, F.col("cached_count") / thresholds.cached_messages
        )
        .when(F.col("cause") == ThrottleCause.CACHED_SIZE.value, F.col("cached_mib") / thresholds.cached_mib)
        .otherwise(F.col("cached_span") / thresholds.cached_span)
    )
    cached = {name: F.col(name) for name in ("cached_count", "cached_mib", "cached_span")}
    return touches(
        symptoms(audited.looks, "throttled"),
        NAME,
        queue=queue(THROTTLED),
        severity=F.lit("WARN"),
        weight=beyond,
        measures=measures(**cached),
        blamed=F.col("client_id"),
    )


_SLOWER = "The consumer is slow, not the broker: make the listener faster or give it more threads."

RULE = Rule(
    name=NAME,
    meaning="A client has cached so much of a queue that it does not pull: it is throttling itself, so the consumer is "
    "slow, not the broker. One finding per client, topic and limit. Measures of the worst queue: `cached_count` "
    "(messages), `cached_mib` (MiB), `cached_span` (offsets from the oldest to the newest).",
    decided_by="two successive looks at the client show the queue beyond a limit: `cached_messages` (1000), "
    "`cached_mib` (100) or, for concurrent consumers, `cached_span` (2000). They are the client's defaults; configure "
    "them if yours set `pullThresholdForQueue`, `pullThresholdSizeForQueue` or `consumeConcurrentlyMaxSpan`. WARN.",
    causes={
        ThrottleCause.CACHED_MESSAGES: Cause("more messages than `cached_messages`", _SLOWER),
        ThrottleCause.CACHED_SIZE: Cause(
            "more MiB than `cached_mib`", f"{_SLOWER} If single messages are large, raise pullThresholdSizeForQueue."
        ),
        ThrottleCause.CACHED_SPAN: Cause(
            "the oldest cached message is more than `cached_span` behind the newest",
            "One old message is not done while newer ones are: look for a call of the listener that hangs.",
        ),
    },
    example="`legacy-import`: the slow consumer `10.31.83.1@…` holds more than 200 messages of each of its two queues "
    "from 02:06:16 on (the recorded clients set `pullThresholdForQueue` to 200, and so does `examples/demo.yaml`).",
    touches=flow_controlled,
    needs=(CLIENT_SNAPSHOTS,),
)
