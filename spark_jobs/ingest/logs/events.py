"""Entries of RocketMQ's logs → what happened: one event per line that says one, whichever process wrote it.

The lines are the same from 4.3.0 to 5.4.0 but for words that the patterns leave open. Sources, of 5.4.0:
`ConsumerGroupInfo`, `ConsumerManager`, `ClientManageProcessor`, `TopicConfigManager`, `BrokerStartup` of the broker (a
proxy has the first two, too), `RouteInfoManager` of the name server, `RebalanceImpl` and `MQClientInstance` of Java
clients.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple


class Connection(NamedTuple):
    """A consumer's connection; its address tells it from others."""

    address: str
    client_id: str
    language: str | None
    version: int | None


class Queues(NamedTuple):
    """How many queues of a topic a broker has, and who may read and write them (`PermName`: 4 read, 2 write)."""

    read: int
    write: int
    perm: int


class Subscription(NamedTuple):
    """What a group subscribes of a topic."""

    topic: str
    expression_type: str | None
    sub_string: str | None
    sub_version: int | None


class Booted(NamedTuple):
    """A broker has started: nobody is connected to it."""

    broker: str
    address: str


class Connected(NamedTuple):
    """A consumer has connected."""

    group: str
    consume_type: str
    message_model: str
    connection: Connection


class Disconnected(NamedTuple):
    """A consumer has left, or its connection was closed."""

    group: str
    connection: Connection


class Expired(NamedTuple):
    """A connection was removed, as no heartbeat came for two minutes; the line has no client id."""

    group: str
    address: str


class Empty(NamedTuple):
    """The broker knows no consumer of the group."""

    group: str


class Born(NamedTuple):
    """The first consumer of a group that had none: the broker knows nothing of the group's subscriptions yet."""

    group: str


class Subscribed(NamedTuple):
    """The group's subscription of a topic, as from now. `is_new`: it had none of that topic."""

    group: str
    subscription: Subscription
    is_new: bool


class Unsubscribed(NamedTuple):
    """The group subscribes the topic no more."""

    group: str
    topic: str


class Registered(NamedTuple):
    """What a consumer said of itself when it connected or changed: where a new group is to begin, and all topics that
    it subscribes. `address`: of its connection; None where the line has none.
    """

    group: str
    consume_from_where: str
    address: str | None
    subscriptions: tuple[Subscription, ...]


class Listed(NamedTuple):
    """What a broker answered to a recorder: all that it knew of a group. No log has it."""

    group: str
    consume_type: str | None
    message_model: str | None
    consume_from_where: str | None
    members: tuple[Connection, ...]
    subscriptions: tuple[Subscription, ...]


class TopicChanged(NamedTuple):
    """A topic's queues at a broker (None: that of the log), as from now and before; None: it has none."""

    broker: str | None
    topic: str
    queues: Queues | None
    before: Queues | None


class Rebalanced(NamedTuple):
    """The queues of a topic that a Java client took for its own."""

    group: str
    topic: str
    client_id: str
    strategy: str
    queues: tuple[tuple[str, int], ...]


Event = (
    Booted | Connected | Disconnected | Expired | Empty | Born | Subscribed | Unsubscribed | Registered | Listed
    | TopicChanged | Rebalanced
)  # fmt: skip

_CHANNEL = (
    r"ClientChannelInfo \[channel=.*?(?:R:|remoteAddress=)/?(?P<address>[^],} ]+).*?, clientId=(?P<client>.*?), "
    r"language=(?P<language>\w+), version=(?P<version>-?\d+)"
)
_SUBSCRIPTION = re.compile(
    r"SubscriptionData \[classFilterMode=\w+, topic=(?P<topic>[^ ]+), subString=(?P<string>.*?), tagsSet=.*?"
    r"subVersion=(?P<version>\d+)(?:, expressionType=(?P<type>\w+))?\]"
)
_TOPIC_CONFIG = re.compile(
    r"TopicConfig ?\[topicName=(?P<topic>[^ ]+), readQueueNums=(?P<read>\d+), writeQueueNums=(?P<write>\d+), "
    r"perm=(?P<perm>[RWX-]{3})"
)
_QUEUE_DATA = re.compile(
    r"QueueData \[brokerName=(?P<broker>[^,]+), readQueueNums=(?P<read>\d+), writeQueueNums=(?P<write>\d+), "
    r"perm=(?P<perm>\d+)"
)
_MESSAGE_QUEUE = re.compile(r"MessageQueue \[topic=[^ ]+, brokerName=([^,]+), queueId=(\d+)\]")
#: What `TopicConfig` prints of each right.
_RIGHTS: Final = {"R": 4, "W": 2, "X": 1, "-": 0}


def events(text: str) -> Iterator[Event]:
    """What the entry says; nothing, where it says none of it."""
    for pattern, read in _LINES:
        found = pattern.search(text)
        if found:
            yield from read(found)
            return


def _connection(found: re.Match[str]) -> Connection:
    return Connection(found["address"], found["client"], found["language"], int(found["version"]))


def _connected(found: re.Match[str]) -> Iterator[Event]:
    yield Connected(found["group"], found["consume_type"], found["model"], _connection(found))


def _disconnected(found: re.Match[str]) -> Iterator[Event]:
    yield Disconnected(found["group"], _connection(found))


def _subscription(found: re.Match[str]) -> Subscription:
    return Subscription(found["topic"], found["type"] or "TAG", found["string"], int(found["version"]))


def _subscribed(found: re.Match[str]) -> Iterator[Event]:
    """Of a changed subscription the old one comes before the new one."""
    group, is_new = found["group"], bool(found["new"])
    said = list(map(_subscription, _SUBSCRIPTION.finditer(found.string, found.end())))
    if said and is_new and said[-1].topic == f"%RETRY%{group}":
        yield Born(group)
    if said:
        yield Subscribed(group, said[-1], is_new)


def _registered(found: re.Match[str]) -> Iterator[Event]:
    """5.x writes the address before what the consumer said, 4.x after it."""
    address = re.search(r"SDK address=/?([^, ]+)", found[0]) or re.search(r"\] /?([\d.]+:\d+)$", found.string)
    said = sorted(map(_subscription, _SUBSCRIPTION.finditer(found.string, found.end())))
    yield Registered(found["group"], found["where"], address[1] if address else None, tuple(said))


def _topic_of_broker(found: re.Match[str]) -> Iterator[Event]:
    """Of a changed topic the old configuration comes before the new one; of a deleted one it is the last."""
    configs = [
        (config["topic"], Queues(int(config["read"]), int(config["write"]), sum(_RIGHTS[x] for x in config["perm"])))
        for config in _TOPIC_CONFIG.finditer(found.string, found.end())
    ]
    if configs:
        topic, newest = configs[-1]
        before = configs[0][1] if len(configs) > 1 else None
        is_deleted = found[0].startswith("delete")
        yield TopicChanged(None, topic, None if is_deleted else newest, newest if is_deleted else before)


def _topic_of_route(found: re.Match[str]) -> Iterator[Event]:
    """What a name server or a client says of all brokers of a topic; what it says of before is left out."""
    text = found.string
    newest = max(text.rfind("NEW:"), text.rfind("new["), text.rfind("new ["), found.end())
    for queue in _QUEUE_DATA.finditer(text, newest):
        queues = Queues(int(queue["read"]), int(queue["write"]), int(queue["perm"]))
        yield TopicChanged(queue["broker"], found["topic"], queues, None)


def _rebalanced(found: re.Match[str]) -> Iterator[Event]:
    queues = sorted((broker, int(queue)) for broker, queue in _MESSAGE_QUEUE.findall(found.string, found.end()))
    yield Rebalanced(found["group"], found["topic"], found["client"], found["strategy"], tuple(queues))


def _one(kind: Callable[..., Event], *names: str) -> Callable[[re.Match[str]], Iterator[Event]]:
    """Reads an event whose fields are these groups of the pattern."""

    def read(found: re.Match[str]) -> Iterator[Event]:
        yield kind(*(found[name] for name in names))

    return read


#: The lines that say something, and how each is read.
_LINES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Iterator[Event]]], ...]] = (
    (
        re.compile(
            r"new consumer connected, group: (?P<group>\S+) (?P<consume_type>\w+) (?P<model>\w+) channel: " + _CHANNEL
        ),
        _connected,
    ),
    (
        re.compile(r"NETTY EVENT: remove not active channel\[" + _CHANNEL + r".*consumer group: (?P<group>\S+)"),
        _disconnected,
    ),
    (re.compile(r"unregister a consumer\[(?P<group>[^]]+)\] from consumerGroupInfo " + _CHANNEL), _disconnected),
    (
        re.compile(
            r"SCAN: remove expired channel from ConsumerManager consumerTable\. "
            r"channel=(?:\S*R:)?/?(?P<address>[^], ]+)\]?, consumerGroup=(?P<group>\S+)"
        ),
        _one(Expired, "group", "address"),
    ),
    (re.compile(r"no any connection, and remove consumer group, (?P<group>\S+)"), _one(Empty, "group")),
    (re.compile(r"getConsumerGroupInfo failed, (?P<group>\S+)"), _one(Empty, "group")),
    (re.compile(r"the consumer's group info not exist, group: (?P<group>\S+)"), _one(Empty, "group")),
    (
        re.compile(
            r"subscription changed, (?P<new>add new topic, |)group: (?P<group>\S+) (?:OLD: )?(?=SubscriptionData)"
        ),
        _subscribed,
    ),
    (
        re.compile(r"subscription changed, group: (?P<group>\S+) remove topic (?P<topic>\S+)"),
        _one(Unsubscribed, "group", "topic"),
    ),
    (
        re.compile(
            r"registerConsumer info changed.*ConsumerData \[groupName=(?P<group>[^,]+),.*?"
            r"consumeFromWhere=(?P<where>\w+)"
        ),
        _registered,
    ),
    (
        re.compile(r"(?:create new topic|update topic config|delete topic config OK)(?=.*TopicConfig)"),
        _topic_of_broker,
    ),
    (re.compile(r"new topic registered, (?P<topic>\S+) "), _topic_of_route),
    (re.compile(r"topic changed, (?P<topic>\S+) OLD:"), _topic_of_route),
    (re.compile(r"the topic\[(?P<topic>[^]]+)\] route info changed"), _topic_of_route),
    (
        re.compile(
            r"rebalanced result changed\. allocateMessageQueueStrategyName=(?P<strategy>[^,]+), "
            r"group=(?P<group>[^,]+), topic=(?P<topic>[^,]+), clientId=(?P<client>[^,]+), mqAllSize=\d+, cidAllSize=\d+"
        ),
        _rebalanced,
    ),
    (
        re.compile(r"The broker\[(?P<broker>[^,]+), (?P<address>[^]]+)\] boot success"),
        _one(Booted, "broker", "address"),
    ),
)
#: Words of these lines, to pass over all others.
WORDS: Final = re.compile(
    "new consumer connected|remove not active|unregister a consumer|SCAN: remove|no any connection|"
    "getConsumerGroupInfo failed|group info not exist|subscription changed|registerConsumer info|create new topic|"
    "update topic config|delete topic config|new topic registered|topic changed|route info changed|"
    "rebalanced result changed|boot success"
)
