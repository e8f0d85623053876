"""Which groups and topics are captured, and where the proxies are."""

from __future__ import annotations

import re
from collections.abc import Iterable

from spark_jobs.capture.calls import Callee
from spark_jobs.domain.kernel.unseen import PROXIES_GROUP, PROXY
from spark_jobs.domain.model.history import RETRY

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
        if name == PROXIES_GROUP or (_is_of_users(name) and (pattern is None or pattern.fullmatch(name)))
    )


def _is_of_users(group: str) -> bool:
    return bool(group) and group not in _SYSTEM_GROUPS and not group.startswith(_SYSTEM_GROUP)


def is_topic_of(topic: str, group: str) -> bool:
    """Return whether the group's members share the topic's queues: of retry topics only its own, and no system topic.

    POP keeps a retry topic per topic, `%RETRY%<group>_<topic>`, which nobody subscribes.
    """
    if topic.startswith(RETRY):
        return topic == RETRY + group
    return topic not in _SYSTEM_TOPICS and not topic.startswith(_SYSTEM_TOPIC)


def is_light_queue(topic: str) -> bool:
    """Return whether it is no topic but a light message queue, such as that of a lite topic: a group may have very
    many.
    """
    return topic.startswith(_LIGHT_QUEUE)


def proxies(addresses: Iterable[str], given: Iterable[str] = ()) -> tuple[Callee, ...]:
    """The proxies that the user named, or those behind the connections of `PROXIES_GROUP`, by their hosts."""
    hosts = list(given) or [f"{address.rpartition(':')[0]}:{PROXY_PORT}" for address in addresses]
    return tuple(Callee(PROXY + host, host) for host in sorted(set(hosts)))
