"""Which groups and topics are worth asking for, and where the proxies are."""

from __future__ import annotations

import re
from collections.abc import Iterable

from spark_jobs.capture.calls import Called
from spark_jobs.domain.unseen import PROXIES_GROUP, PROXY

#: RocketMQ's own groups. Source: org.apache.rocketmq.common.MixAll.isSysConsumerGroup, PREDEFINE_GROUP_SET.
_SYSTEM_GROUPS = frozenset(
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
_SYSTEM_TOPIC = "rmq_sys_"
_RETRY = "%RETRY%"
#: Source: org.apache.rocketmq.common.MixAll.LMQ_PREFIX.
_LIGHT_QUEUE = "%LMQ%"

#: Where a proxy listens for remoting clients unless it is told otherwise.
#: Source: org.apache.rocketmq.proxy.config.ProxyConfig.remotingListenPort.
PROXY_PORT = 8080


def groups_to_ask(names: Iterable[str], pattern: re.Pattern[str] | None) -> frozenset[str]:
    """Consumer groups of users whose whole name matches, and always the group of the proxies."""
    return frozenset(
        name
        for name in names
        if name == PROXIES_GROUP or (is_users_group(name) and (pattern is None or pattern.fullmatch(name)))
    )


def is_users_group(name: str) -> bool:
    """Not one that RocketMQ makes for itself."""
    return bool(name) and name not in _SYSTEM_GROUPS and not name.startswith(_SYSTEM_GROUP)


def is_topic_of(topic: str, group: str) -> bool:
    """Whether the group's members share the topic's queues: of retry topics only its own, and no system topic.

    POP keeps a retry topic per topic, `%RETRY%<group>_<topic>`, which nobody subscribes.
    """
    if is_retry_topic(topic):
        return topic == retry_topic(group)
    return topic not in _SYSTEM_TOPICS and not topic.startswith(_SYSTEM_TOPIC)


def is_retry_topic(topic: str) -> bool:
    """Whether it holds what some group is to get again."""
    return topic.startswith(_RETRY)


def is_light_queue(topic: str) -> bool:
    """Whether it is no topic but a light message queue, such as that of a lite topic: a group may have very many."""
    return topic.startswith(_LIGHT_QUEUE)


def retry_topic(group: str) -> str:
    """The topic of the messages that the group is to get again."""
    return _RETRY + group


def proxies(addresses: Iterable[str], given: Iterable[str] = ()) -> tuple[Called, ...]:
    """The proxies that the user named, or those behind the connections of `PROXIES_GROUP`, by their hosts."""
    hosts = list(given) or [f"{address.rpartition(':')[0]}:{PROXY_PORT}" for address in addresses]
    return tuple(Called(PROXY + host, host) for host in sorted(set(hosts)))
