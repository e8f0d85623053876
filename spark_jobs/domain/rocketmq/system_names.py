"""RocketMQ's own groups and topics, which are not audited."""

from spark_jobs.domain.model.history import RETRY

#: Source: org.apache.rocketmq.common.MixAll.isSysConsumerGroup, PREDEFINE_GROUP_SET.
PREDEFINED_GROUPS = frozenset(
    (
        "DEFAULT_CONSUMER",
        "DEFAULT_PRODUCER",
        "TOOLS_CONSUMER",
        "SCHEDULE_CONSUMER",
        "FILTERSRV_CONSUMER",
        "__MONITOR_CONSUMER",
        "CLIENT_INNER_PRODUCER",
        "SELF_TEST_P_GROUP",
        "SELF_TEST_C_GROUP",
        "CID_ONS-HTTP-PROXY",
        "CID_ONSAPI_PERMISSION",
        "CID_ONSAPI_OWNER",
        "CID_ONSAPI_PULL",
    )
)
_SYSTEM_GROUP = "CID_RMQ_SYS_"
#: Source: org.apache.rocketmq.common.topic.TopicValidator, without those of the proxies, which are a group's topic.
_SYSTEM_TOPICS = frozenset(
    (
        "TBW102",
        "SCHEDULE_TOPIC_XXXX",
        "BenchmarkTest",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRACE_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "SELF_TEST_TOPIC",
        "OFFSET_MOVED_EVENT",
        "CHECKPOINT_TOPIC",
    )
)
SYSTEM_TOPIC = "rmq_sys_"


def is_of_users(group: str) -> bool:
    """Return whether the group is none of RocketMQ's own."""
    return bool(group) and group not in PREDEFINED_GROUPS and not group.startswith(_SYSTEM_GROUP)


def is_topic_of(topic: str, group: str) -> bool:
    """Return whether the group's members share the topic's queues: of retry topics only its own, and no system topic.

    POP keeps a retry topic per topic, `%RETRY%<group>_<topic>`, to which no client subscribes.
    """
    if topic.startswith(RETRY):
        return topic == RETRY + group
    return topic not in _SYSTEM_TOPICS and not topic.startswith(SYSTEM_TOPIC)
