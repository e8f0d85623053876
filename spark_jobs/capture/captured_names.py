"""Which groups and topics are captured, and where the proxies are."""

from __future__ import annotations

import re
from collections.abc import Iterable

from spark_jobs.capture.calls import Callee
from spark_jobs.domain.kernel.unseen import PROXIES_GROUP, PROXY
from spark_jobs.domain.rocketmq.system_names import is_of_users

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
        if name == PROXIES_GROUP or (is_of_users(name) and (pattern is None or pattern.fullmatch(name)))
    )


def is_light_queue(topic: str) -> bool:
    """Return whether the topic is a light message queue, of which a group may have very many."""
    return topic.startswith(_LIGHT_QUEUE)


def proxies(addresses: Iterable[str], given: Iterable[str] = ()) -> tuple[Callee, ...]:
    """The proxies that the user named, or those behind the connections of `PROXIES_GROUP`, by their hosts."""
    hosts = list(given) or [f"{address.rpartition(':')[0]}:{PROXY_PORT}" for address in addresses]
    return tuple(Callee(PROXY + host, host) for host in sorted(set(hosts)))
