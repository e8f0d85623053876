"""Running info of one client → the columns alongside the key of `client_snapshots`."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from spark_jobs.ingest import fields
from spark_jobs.ingest.bodies import Columns, in_order, message_model, subscription
from spark_jobs.ingest.fields import Record
from spark_jobs.ingest.files import RejectedError, RejectReason

Reader = Callable[[object, str], object]
T = TypeVar("T")


def _subscriptions(value: object, path: str) -> list[Columns]:
    return in_order(subscription(data.required("topic", fields.name), data) for data in fields.records(value, path))


def _digits(read: Callable[[object, str], T], value: object, path: str) -> T:
    """The value that `read` makes of the integer in a text."""
    written = fields.text(value, path)
    digits = written.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        raise RejectedError(RejectReason.WRONG_TYPE, f"{path} is {written!a}, not an integer")
    return read(int(written), path)


def _long(value: object, path: str) -> int:
    """An integer, which C++ clients write as a text (rocketmq-client-cpp, `ProcessQueueInfo::toJson`)."""
    return _digits(fields.integer, value, path) if isinstance(value, str) else fields.integer(value, path)


#: Columns of an owned queue, the field of RocketMQ's, and how it is read.
PROCESS_QUEUE: Mapping[str, tuple[str, Reader]] = {
    "locked": ("locked", fields.boolean),
    "dropped": ("droped", fields.boolean),
    "cached_mib": ("cachedMsgSizeInMiB", fields.int32),
    "commit_offset": ("commitOffset", _long),
    "last_pull": ("lastPullTimestamp", _long),
    "last_consume": ("lastConsumeTimestamp", _long),
    "last_lock": ("lastLockTimestamp", _long),
}
#: The numbers that a client measures of a topic.
CONSUME_STATUS = {
    "consume_rt_ms": "consumeRT",
    "consume_ok_tps": "consumeOKTPS",
    "consume_failed_tps": "consumeFailedTPS",
    "pull_rt_ms": "pullRT",
    "pull_tps": "pullTPS",
}


def _owned_queues(value: object, path: str) -> list[Columns]:
    """Of equal queues the last counts."""
    queues: dict[tuple[str, str, int], Columns] = {}
    for key, queue in fields.keyed_records(value, path):
        topic, broker_name = key.required("topic", fields.name), key.required("brokerName", fields.name)
        queue_id = key.required("queueId", fields.count)
        queues[topic, broker_name, queue_id] = {
            "topic": topic,
            "broker_name": broker_name,
            "queue_id": queue_id,
            **{column: queue.optional(name, read) for column, (name, read) in PROCESS_QUEUE.items()},
            **_in_hand(queue),
        }
    return in_order(queues.values())


def _in_hand(queue: Record) -> Columns:
    """Number of messages of the queue that the client holds, and their first and last offset. An orderly consumer has
    those that its listener took, and that are not committed, in a map of their own (`ProcessQueue.takeMessages`).
    """
    count, taken = (queue.optional(f"{name}MsgCount", fields.int32) for name in ("cached", "transaction"))
    names = [name for name, messages in (("cached", count), ("transaction", taken)) if messages] or ["cached"]
    firsts, lasts = (
        [at for name in names if (at := queue.optional(f"{name}Msg{end}Offset", _long)) is not None]
        for end in ("Min", "Max")
    )
    return {
        "cached_count": None if count is None else count + (taken or 0),
        "cached_min_offset": min(firsts, default=None),
        "cached_max_offset": max(lasts, default=None),
    }


def _lock_refused(value: object, path: str) -> list[Columns]:
    return in_order(
        {
            "topic": queue.required("topic", fields.name),
            "broker_name": queue.required("brokerName", fields.name),
            "queue_id": queue.required("queueId", fields.count),
        }
        for queue in fields.records(value, path)
    )


def _consume_status(value: object, path: str) -> list[Columns]:
    return in_order(
        {"topic": topic} | {column: status.optional(name, fields.number) for column, name in CONSUME_STATUS.items()}
        for topic, status in fields.records_by_name(value, path)
    )


def _flag(value: object, path: str) -> bool:
    flag = fields.text(value, path)
    if flag not in ("true", "false"):
        raise RejectedError(RejectReason.WRONG_TYPE, f"{path} is {flag!a}, not 'true' or 'false'")
    return flag == "true"


_int32 = partial(_digits, fields.int32)


def _threads(value: object, path: str) -> object:
    """Go's clients have no pool of threads, and say -1 (rocketmq-client-go, `pushConsumer.GetConsumerRunningInfo`)."""
    return None if value == "-1" else _int32(value, path)


def _strategy(value: object, path: str) -> str:
    """The class of an object, which is printed with its hash."""
    return fields.text(value, path).partition("@")[0]


#: Column, the property of the client that says it, and how its text is read.
PROPERTIES: Mapping[str, tuple[str, Reader]] = {
    "strategy_class": ("allocateMessageQueueStrategy", _strategy),
    "message_model": ("messageModel", message_model),
    "consume_orderly": ("PROP_CONSUMEORDERLY", _flag),
    "client_rebalance": ("clientRebalance", _flag),
    "started_at": ("PROP_CONSUMER_START_TIMESTAMP", partial(_digits, fields.instant)),
    "consume_threads": ("PROP_THREADPOOL_CORE_SIZE", _threads),
    "consume_batch_size": ("consumeMessageBatchMaxSize", _int32),
    "pull_batch_size": ("pullBatchSize", _int32),
    "pull_interval_ms": ("pullInterval", _int32),
    "pull_threshold_for_queue": ("pullThresholdForQueue", _int32),
    "pull_threshold_size_for_queue": ("pullThresholdSizeForQueue", _int32),
    "consume_max_span": ("consumeConcurrentlyMaxSpan", _int32),
    "consume_timeout_minutes": ("consumeTimeout", partial(_digits, fields.integer)),
}
#: The same of the other fields.
_TABLES: Mapping[str, tuple[str, Reader]] = {
    "subscriptions": ("subscriptionSet", _subscriptions),
    "owned_queues": ("mqTable", _owned_queues),
    "lock_refused": ("lockRefused", _lock_refused),
    "consume_status": ("statusTable", _consume_status),
}
#: What is not known of a client that did not answer in time.
UNANSWERED: Columns = {"answered": False, "in_group": None, **dict.fromkeys((*PROPERTIES, *_TABLES))}
#: Of a client that answered that it has no consumer of the group.
NOT_IN_GROUP: Columns = UNANSWERED | {"answered": True, "in_group": False}


def running_info(body: object) -> Columns:
    """Columns of one `client_snapshots` row; unreported values are null, not empty. Properties are texts.
    Source: org.apache.rocketmq.remoting.protocol.body.ConsumerRunningInfo, ProcessQueueInfo, ConsumeStatus;
    DefaultMQPushConsumerImpl.consumerRunningInfo fills it.
    """
    record = Record(body, "body")
    properties = record.optional("properties", Record) or Record({}, "body.properties")
    return {
        "answered": True,
        "in_group": True,
        **{column: properties.optional(name, read) for column, (name, read) in PROPERTIES.items()},
        **{column: record.optional(name, read) for column, (name, read) in _TABLES.items()},
    }
