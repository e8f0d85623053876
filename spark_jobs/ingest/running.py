"""Running info of one client → the columns beside the key of `client_snapshots`."""

from __future__ import annotations

from datetime import datetime

from spark_jobs.ingest.bodies import Columns, in_order, message_model, subscription
from spark_jobs.ingest.fields import COUNT, INT32, Record, check_range, instant
from spark_jobs.ingest.reasons import RejectedError, RejectReason

_NO_PROPERTIES = Record({}, "body.properties")

_THREADS = "PROP_THREADPOOL_CORE_SIZE"
#: Columns that hold an integer, and the properties that say it.
_INTEGERS = {
    "consume_threads": _THREADS,
    "consume_batch_size": "consumeMessageBatchMaxSize",
    "pull_batch_size": "pullBatchSize",
    "pull_interval_ms": "pullInterval",
    "pull_threshold_for_queue": "pullThresholdForQueue",
    "pull_threshold_size_for_queue": "pullThresholdSizeForQueue",
    "consume_max_span": "consumeConcurrentlyMaxSpan",
}
#: What is not known of a client that did not answer in time.
UNANSWERED: Columns = {
    "answered": False,
    "in_group": None,
    "strategy_class": None,
    "message_model": None,
    "consume_orderly": None,
    "client_rebalance": None,
    "started_at": None,
    **dict.fromkeys(_INTEGERS),
    "subscriptions": None,
    "owned_queues": None,
    "consume_status": None,
}
#: Of a client that answered that it has no consumer of the group.
NOT_IN_GROUP: Columns = UNANSWERED | {"answered": True, "in_group": False}


def running_info(body: object) -> Columns:
    """Columns of one `client_snapshots` row; whatever the client did not say is null, not empty.

    Properties are texts: `true` or `false`, decimal integers, milliseconds.
    Source: org.apache.rocketmq.remoting.protocol.body.ConsumerRunningInfo, ProcessQueueInfo, ConsumeStatus;
    DefaultMQPushConsumerImpl.consumerRunningInfo fills it.
    """
    record = Record(body, "body")
    value = record.get("properties")
    properties = _NO_PROPERTIES if value is None else Record(value, "body.properties")
    strategy = properties.text_or_none("allocateMessageQueueStrategy")
    subscribed = record.records_or_none("subscriptionSet")
    return {
        "answered": True,
        "in_group": True,
        "strategy_class": None if strategy is None else strategy.partition("@")[0],
        "message_model": message_model(properties, "messageModel"),
        "consume_orderly": _flag(properties, "PROP_CONSUMEORDERLY"),
        "client_rebalance": _flag(properties, "clientRebalance"),
        "started_at": _moment(properties, "PROP_CONSUMER_START_TIMESTAMP"),
        **{column: _int32(properties, name) for column, name in _INTEGERS.items()},
        "subscriptions": None
        if subscribed is None
        else in_order(subscription(data.text("topic"), data) for data in subscribed),
        "owned_queues": _owned_queues(record),
        "consume_status": _consume_status(record),
    }


def _owned_queues(record: Record) -> list[Columns] | None:
    entries = record.keyed_records_or_none("mqTable")
    if entries is None:
        return None
    queues: dict[tuple[str, str, int], Columns] = {}
    for key, held in entries:
        queue = key.text("topic"), key.text("brokerName"), key.integer("queueId", COUNT)
        queues[queue] = dict(zip(("topic", "broker_name", "queue_id"), queue, strict=True)) | {
            "locked": held.boolean_or_none("locked"),
            "dropped": held.boolean_or_none("droped"),
            "cached_count": held.integer_or_none("cachedMsgCount", INT32),
            "cached_mib": held.integer_or_none("cachedMsgSizeInMiB", INT32),
            "cached_min_offset": held.integer_or_none("cachedMsgMinOffset"),
            "cached_max_offset": held.integer_or_none("cachedMsgMaxOffset"),
            "commit_offset": held.integer_or_none("commitOffset"),
            "last_pull": held.integer_or_none("lastPullTimestamp"),
            "last_consume": held.integer_or_none("lastConsumeTimestamp"),
        }
    return in_order(queues.values())


def _consume_status(record: Record) -> list[Columns] | None:
    entries = record.named_records_or_none("statusTable")
    if entries is None:
        return None
    return in_order(
        {
            "topic": topic,
            "consume_rt_ms": status.number_or_none("consumeRT"),
            "consume_ok_tps": status.number_or_none("consumeOKTPS"),
            "consume_failed_tps": status.number_or_none("consumeFailedTPS"),
            "pull_rt_ms": status.number_or_none("pullRT"),
            "pull_tps": status.number_or_none("pullTPS"),
        }
        for topic, status in entries
    )


def _flag(properties: Record, name: str) -> bool | None:
    text = properties.text_or_none(name)
    if text in (None, "true", "false"):
        return None if text is None else text == "true"
    raise RejectedError(RejectReason.WRONG_TYPE, f"{properties.path}.{name} is {text!a}, not 'true' or 'false'")


def _integer(properties: Record, name: str) -> int | None:
    text = properties.text_or_none(name)
    if text is None:
        return None
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        raise RejectedError(RejectReason.WRONG_TYPE, f"{properties.path}.{name} is {text!a}, not an integer")
    return int(text)


def _int32(properties: Record, name: str) -> int | None:
    """Go's clients have no pool of threads, and say -1 (rocketmq-client-go, `pushConsumer.GetConsumerRunningInfo`)."""
    number = _integer(properties, name)
    if number is None or (name == _THREADS and number == -1):
        return None
    return check_range(number, INT32, f"{properties.path}.{name}")


def _moment(properties: Record, name: str) -> datetime | None:
    number = _integer(properties, name)
    return None if number is None else instant(number, f"{properties.path}.{name}")
