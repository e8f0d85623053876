"""Entries of RocketMQ's logs → what happened: one event per line that says one, whichever process wrote it.

The lines are the same from 4.3.0 to 5.4.0 but for words that the patterns leave open. Sources, of 5.4.0:
`ConsumerGroupInfo`, `ConsumerManager`, `ClientManageProcessor`, `TopicConfigManager`, `RebalanceLockManager`,
`BrokerStartup` of the broker (a proxy has the first two, too), `RouteInfoManager` of the name server, `RebalanceImpl`,
`RemoteBrokerOffsetStore` and `MQClientInstance` of Java clients.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from spark_jobs.domain.model.message_queue import MessageQueue


class LoggedConnection(NamedTuple):
    """A consumer's connection; its address tells it from others."""

    address: str
    client_id: str
    language: str | None
    version: int | None


class QueueCounts(NamedTuple):
    """How many queues of a topic a broker has, and who may read and write them (`PermName`: 4 read, 2 write)."""

    read: int
    write: int
    perm: int


class Subscription(NamedTuple):
    """A topic to which a group subscribes, and its filter."""

    topic: str
    expression_type: str | None
    sub_string: str | None
    sub_version: int | None


class Booted(NamedTuple):
    """A broker has started: no consumer is connected to it."""

    broker: str
    address: str


class Connected(NamedTuple):
    """A consumer has connected. `local`: to which address of the broker or proxy."""

    group: str
    consume_type: str
    message_model: str
    connection: LoggedConnection
    local: str | None = None


class Disconnected(NamedTuple):
    """A consumer has left, or its connection was closed."""

    group: str
    connection: LoggedConnection


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
    """The group subscribes to the topic no more."""

    group: str
    topic: str


class Registered(NamedTuple):
    """A consumer's report of itself when it connected or changed: where a new group is to begin, and all topics that it
    subscribes. `address`: of its connection; None where the line has none.
    """

    group: str
    consume_from_where: str
    address: str | None
    subscriptions: tuple[Subscription, ...]


class Listed(NamedTuple):
    """A broker's answer to a recorder: all that it knew of a group. No log has it."""

    group: str
    consume_type: str | None
    message_model: str | None
    consume_from_where: str | None
    members: tuple[LoggedConnection, ...]
    subscriptions: tuple[Subscription, ...]


class TopicChanged(NamedTuple):
    """A topic's queues at a broker (None: that of the log), as from now and before; None: it has none."""

    broker: str | None
    topic: str
    queues: QueueCounts | None
    before: QueueCounts | None


class WritePermission(NamedTuple):
    """A name server was told that nobody may write to a broker, or that producers may again."""

    broker: str
    writable: bool


class Rebalanced(NamedTuple):
    """The queues of a topic that a Java client took for its own."""

    group: str
    topic: str
    client_id: str
    strategy: str
    queues: tuple[tuple[str, int], ...]


class Committed(NamedTuple):
    """A client has committed the next offset to consume of a queue."""

    group: str
    topic: str
    broker: str
    queue_id: int
    offset: int


class LockAsked(NamedTuple):
    """An orderly client has asked a broker for the lock of a queue, and `got` it, or another client has it."""

    group: str
    client_id: str
    queue: MessageQueue
    got: bool


Event = (
    Booted | Connected | Disconnected | Expired | Empty | Born | Subscribed | Unsubscribed | Registered | Listed
    | TopicChanged | WritePermission | Rebalanced | Committed | LockAsked
)  # fmt: skip

_CHANNEL = (
    r"ClientChannelInfo \[channel=.*?(?:R:|remoteAddress=)/?(?P<address>[^],} ]+).*?, clientId=(?P<client>.*?), "
    r"language=(?P<language>\w+), version=(?P<version>-?\d+)"
)
_LOCAL = re.compile(r"(?:L:|localAddress=)/?([^],} ]+)")
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
_A_QUEUE: Final = r"MessageQueue \[topic=(?P<topic>[^ ]+), brokerName=(?P<broker>[^,]+), queueId=(?P<queue>\d+)\]"
_MESSAGE_QUEUE = re.compile(r"MessageQueue \[topic=[^ ]+, brokerName=([^,]+), queueId=(\d+)\]")
#: What `TopicConfig` prints of each right.
_RIGHTS: Final = {"R": 4, "W": 2, "X": 1, "-": 0}


def events(text: str) -> Iterator[Event]:
    """Return what the entry says; nothing, where it says none of it."""
    words = WORDS.search(text)
    if words:
        pattern, read = _BY_WORDS[words[0]]
        match = pattern.match(text, words.start())
        if match:
            yield from read(match)


def _connection(match: re.Match[str]) -> LoggedConnection:
    return LoggedConnection(match["address"], match["client"], match["language"], int(match["version"]))


def _connected(match: re.Match[str]) -> Iterator[Event]:
    local = _LOCAL.search(match[0])
    names = match["group"], match["consume_type"], match["model"]
    yield Connected(*names, _connection(match), local[1] if local else None)


def _disconnected(match: re.Match[str]) -> Iterator[Event]:
    yield Disconnected(match["group"], _connection(match))


def _subscription(match: re.Match[str]) -> Subscription:
    return Subscription(match["topic"], match["type"] or "TAG", match["string"], int(match["version"]))


def _subscribed_anew(match: re.Match[str]) -> Iterator[Event]:
    group, subscription = match["group"], _SUBSCRIPTION.match(match.string, match.end())
    if subscription and subscription["topic"] == f"%RETRY%{group}":
        yield Born(group)
    if subscription:
        yield Subscribed(group, _subscription(subscription), is_new=True)


def _subscription_changed(match: re.Match[str]) -> Iterator[Event]:
    """Of a changed subscription the old one comes before the new one."""
    if match["topic"]:
        yield Unsubscribed(match["group"], match["topic"])
        return
    for subscription in deque(_SUBSCRIPTION.finditer(match.string, match.end()), maxlen=1):
        yield Subscribed(match["group"], _subscription(subscription), is_new=False)


def _registered(match: re.Match[str]) -> Iterator[Event]:
    """5.x writes the address before what the consumer said, 4.x after it."""
    address = re.search(r"SDK address=/?([^, ]+)", match[0]) or re.search(r"\] /?([\d.]+:\d+)$", match.string)
    subscriptions = sorted(map(_subscription, _SUBSCRIPTION.finditer(match.string, match.end())))
    yield Registered(match["group"], match["where"], address[1] if address else None, tuple(subscriptions))


def _topic_of_broker(match: re.Match[str]) -> Iterator[TopicChanged]:
    """Of a changed topic the old configuration comes before the new one; of a deleted one it is the last."""
    configs = [
        (
            config["topic"],
            QueueCounts(int(config["read"]), int(config["write"]), sum(_RIGHTS[x] for x in config["perm"])),
        )
        for config in _TOPIC_CONFIG.finditer(match.string, match.end())
    ]
    if configs:
        topic, newest = configs[-1]
        yield TopicChanged(None, topic, newest, configs[0][1] if len(configs) > 1 else None)


def _topic_deleted(match: re.Match[str]) -> Iterator[Event]:
    for changed in _topic_of_broker(match):
        yield TopicChanged(None, changed.topic, None, changed.queues)


def _topic_removed(match: re.Match[str]) -> Iterator[Event]:
    for changed in _topic_of_route(match):
        yield TopicChanged(changed.broker, changed.topic, None, changed.queues)


def _write_permission(match: re.Match[str], *, writable: bool) -> Iterator[Event]:
    yield WritePermission(match["broker"], writable)


def _topic_of_route(match: re.Match[str]) -> Iterator[TopicChanged]:
    """Return what a name server or a client says of all brokers of a topic; what it says of before is left out."""
    text = match.string
    newest = max(text.rfind("NEW:"), text.rfind("new["), text.rfind("new ["), match.end())
    for queue in _QUEUE_DATA.finditer(text, newest):
        queues = QueueCounts(int(queue["read"]), int(queue["write"]), int(queue["perm"]))
        yield TopicChanged(queue["broker"], match["topic"], queues, None)


def _rebalanced(match: re.Match[str]) -> Iterator[Event]:
    queues = sorted((broker, int(queue)) for broker, queue in _MESSAGE_QUEUE.findall(match.string, match.end()))
    yield Rebalanced(match["group"], match["topic"], match["client"], match["strategy"], tuple(queues))


def _committed(match: re.Match[str]) -> Iterator[Event]:
    queue = match["topic"], match["broker"], int(match["queue"])
    yield Committed(match["group"], *queue, int(match["offset"]))


def _lock_asked(match: re.Match[str], *, got: bool) -> Iterator[Event]:
    queue = MessageQueue(match["topic"], match["broker"], int(match["queue"]))
    yield LockAsked(match["group"], match["client"], queue, got)


_refused, _got = partial(_lock_asked, got=False), partial(_lock_asked, got=True)


def _fields_of(kind: Callable[..., Event], *names: str) -> Callable[[re.Match[str]], Iterator[Event]]:
    """Reads an event whose fields are these groups of the pattern."""

    def read(match: re.Match[str]) -> Iterator[Event]:
        yield kind(*(match[name] for name in names))

    return read


_EMPTY = _fields_of(Empty, "group")
#: The lines that say something: words that it has and others have not, its form, and how it is read.
_LINES: Final[Sequence[tuple[str, str, Callable[[re.Match[str]], Iterator[Event]]]]] = (
    (
        "new consumer connected",
        r", group: (?P<group>\S+) (?P<consume_type>\w+) (?P<model>\w+) channel: " + _CHANNEL,
        _connected,
    ),
    ("remove not active channel", r"\[" + _CHANNEL + r".*consumer group: (?P<group>\S+)", _disconnected),
    ("unregister a consumer", r"\[(?P<group>[^]]+)\] from consumerGroupInfo " + _CHANNEL, _disconnected),
    (
        "SCAN: remove expired channel from ConsumerManager",
        r" consumerTable\. channel=(?:\S*R:)?/?(?P<address>[^], ]+)\]?, consumerGroup=(?P<group>\S+)",
        _fields_of(Expired, "group", "address"),
    ),
    ("no any connection, and remove consumer group", r", (?P<group>\S+)", _EMPTY),
    ("getConsumerGroupInfo failed", r", (?P<group>\S+)", _EMPTY),
    ("the consumer's group info not exist", r", group: (?P<group>\S+)", _EMPTY),
    ("subscription changed, add new topic", r", group: (?P<group>\S+) ", _subscribed_anew),
    ("subscription changed, group", r": (?P<group>\S+) (?:OLD:|remove topic (?P<topic>\S+))", _subscription_changed),
    (
        "registerConsumer info changed",
        r".*ConsumerData \[groupName=(?P<group>[^,]+),.*?consumeFromWhere=(?P<where>\w+)",
        _registered,
    ),
    ("create new topic", "", _topic_of_broker),
    ("Create new topic", "", _topic_of_broker),
    ("load exist local topic", "", _topic_of_broker),
    ("update topic config", "", _topic_of_broker),
    ("delete topic config OK", "", _topic_deleted),
    ("new topic registered", r", (?P<topic>\S+) ", _topic_of_route),
    ("topic changed", r", (?P<topic>\S+) OLD:", _topic_of_route),
    ("topicQueueTable Topic", r": (?P<topic>\S+) ", _topic_of_route),
    ("remove one broker's topic", r".* (?P<topic>\S+) (?=QueueData)", _topic_removed),
    ("remove topic[", r"(?P<topic>\S+) (?=QueueData)", _topic_removed),
    ("wipe write perm of broker[", r"(?P<broker>[^]]+)\]", partial(_write_permission, writable=False)),
    ("add write perm of broker[", r"(?P<broker>[^]]+)\]", partial(_write_permission, writable=True)),
    ("the topic[", r"(?P<topic>[^]]+)\] route info changed", _topic_of_route),
    (
        "rebalanced result changed",
        r"\. allocateMessageQueueStrategyName=(?P<strategy>[^,]+), group=(?P<group>[^,]+), topic=(?P<topic>[^,]+), "
        r"clientId=(?P<client>[^,]+), mqAllSize=\d+, cidAllSize=\d+",
        _rebalanced,
    ),
    (
        "] Group: ",
        rf"(?P<group>\S+) ClientId: \S+ updateConsumeOffsetToBroker {_A_QUEUE} (?P<offset>\d+)$",
        _committed,
    ),
    # Locks: two lines of 4.x, then three of 5.x.
    (
        "message queue locked by other client. Group: ",
        rf"(?P<group>\S+) OtherClientId: \S+ NewClientId: (?P<client>\S+) {_A_QUEUE}",
        _refused,
    ),
    ("I got it. Group: ", rf"(?P<group>\S+) (?:OldClientId: \S+ )?NewClientId: (?P<client>\S+) {_A_QUEUE}", _got),
    (
        "message queue has been locked by other client, group=",
        rf"(?P<group>[^,]+), mq={_A_QUEUE}, locked client id=.+?, current client id=(?P<client>\S+)",
        _refused,
    ),
    ("has not been locked yet, group=", rf"(?P<group>[^,]+), clientId=(?P<client>.+?), mq={_A_QUEUE}", _got),
    (
        "try to lock a expired message queue, group=",
        rf"(?P<group>[^,]+), mq={_A_QUEUE}, old client id=.+?, new client id=(?P<client>\S+)",
        _got,
    ),
    (
        "The broker[",
        r"(?P<broker>[^,]+), (?P<address>[^]]+)\] boot success",
        _fields_of(Booted, "broker", "address"),
    ),
    ("new producer connected", "(?!)", _connected),  # says the zone only
)
_BY_WORDS: Final = {words: (re.compile(re.escape(words) + form), read) for words, form, read in _LINES}
#: Words of these lines, to pass over all others.
WORDS: Final = re.compile("|".join(map(re.escape, _BY_WORDS)))
