"""Lines of each kind, from its words on, → events."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.ingest.logs import events

Match = re.Match[str]
Reader = Callable[[Match], Iterator[events.Event]]

#: Of a socket: the host of version 6 is in brackets.
ADDRESS: Final = r"(?P<address>\[[^]]+\]:\d+|[^],} ]+)"
CHANNEL: Final = (
    rf"ClientChannelInfo \[channel=.*?(?:R:|remoteAddress=)/?{ADDRESS}.*?, clientId=(?P<client>.*?), "
    r"language=(?P<language>\w+), version=(?P<version>-?\d+)"
)
_LOCAL = re.compile(rf"(?:L:|localAddress=)/?{ADDRESS}")
_SUBSCRIPTION = re.compile(
    r"SubscriptionData \[classFilterMode=\w+, topic=(?P<topic>[^ ]+), subString=(?P<string>.*?), tagsSet=.*?"
    r"subVersion=(?P<version>\d+)(?:, expressionType=(?P<type>\w+))?\]"
)
_COUNTS = r"readQueueNums=(?P<read>\d+), writeQueueNums=(?P<write>\d+), perm=(?P<perm>[RWX-]+|\d+)"
_TOPIC_CONFIG = re.compile(rf"TopicConfig ?\[topicName=(?P<topic>[^ ]+), {_COUNTS}")
_QUEUE_DATA = re.compile(rf"QueueData \[brokerName=(?P<broker>[^,]+), {_COUNTS}")
QUEUE: Final = r"MessageQueue \[topic=(?P<topic>[^ ]+), brokerName=(?P<broker>[^,]+), queueId=(?P<queue>\d+)\]"
_QUEUES = re.compile(QUEUE)
#: Where the new state begins in a line about a change.
_NEW = re.compile(r".*(?:NEW:|new ?\[)")
#: What `TopicConfig` prints of each right.
_RIGHTS: Final = {"R": 4, "W": 2, "X": 1, "-": 0}


def fields_of(kind: Callable[..., events.Event], *names: str) -> Reader:
    """A reader of an event whose fields are these groups of the pattern."""

    def read(match: Match) -> Iterator[events.Event]:
        yield kind(*(match[name] for name in names))

    return read


def _connection(match: Match) -> events.LoggedConnection:
    return events.LoggedConnection(match["address"], match["client"], match["language"], int(match["version"]))


def connected(match: Match) -> Iterator[events.Event]:
    """A consumer has connected."""
    local = _LOCAL.search(match[0])
    names = match["group"], match["consume_type"], match["model"]
    yield events.Connected(*names, _connection(match), local["address"] if local else None)


def disconnected(match: Match) -> Iterator[events.Event]:
    """A consumer has left."""
    yield events.Disconnected(match["group"], _connection(match))


def _subscriptions(match: Match) -> list[events.Subscription]:
    """Those after the words that matched, in order."""
    return [
        events.Subscription(data["topic"], data["type"] or "TAG", data["string"], int(data["version"]))
        for data in _SUBSCRIPTION.finditer(match.string, match.end())
    ]


def subscribed(match: Match, *, is_new: bool) -> Iterator[events.Event]:
    """A group subscribes to a topic: of a changed subscription the old one comes before the new one."""
    group, subscriptions = match["group"], _subscriptions(match)
    if is_new and subscriptions and subscriptions[-1].topic == f"%RETRY%{group}":
        yield events.Born(group)
    if subscriptions:
        yield events.Subscribed(group, subscriptions[-1], is_new)


def subscription_changed(match: Match) -> Iterator[events.Event]:
    """A group has changed a subscription, or dropped it."""
    if match["topic"]:
        yield events.Unsubscribed(match["group"], match["topic"])
    else:
        yield from subscribed(match, is_new=False)


def registered(match: Match) -> Iterator[events.Event]:
    """A consumer has reported itself: 5.x writes its address before that, 4.x after it."""
    address = re.search(r"SDK address=/?([^, ]+)", match[0]) or re.search(r"\] /?([\d.]+:\d+)$", match.string)
    subscriptions = tuple(sorted(_subscriptions(match)))
    yield events.Registered(match["group"], match["where"], address[1] if address else None, subscriptions)


def _counts(match: Match) -> events.QueueCounts:
    perm = match["perm"]
    rights = int(perm) if perm.isdigit() else sum(_RIGHTS[right] for right in perm)
    return events.QueueCounts(int(match["read"]), int(match["write"]), rights)


def created(match: Match) -> Iterator[events.TopicChanged]:
    """A broker has created or changed a topic: of a changed one the old configuration comes before the new one."""
    configs = [(config["topic"], _counts(config)) for config in _TOPIC_CONFIG.finditer(match.string, match.end())]
    if configs:
        topic, queues = configs[-1]
        yield events.TopicChanged(None, topic, queues, configs[0][1] if len(configs) > 1 else None)


def loaded(match: Match) -> Iterator[events.Event]:
    """A broker that starts has read a topic: the one that it had when it stopped."""
    for topic in created(match):
        yield topic._replace(before=topic.queues)


def deleted(match: Match) -> Iterator[events.Event]:
    """A broker has deleted a topic; unless it is a slave of 5.3.2 to 5.4.0, which deletes all when it copies its
    master's, and adds them again (`SlaveSynchronize.syncTopicConfig`): in a thread that deletes nothing else.
    """
    if "BrokerControllerScheduledThread" in match.string:
        return
    for topic in created(match):
        yield topic._replace(queues=None, before=topic.queues)


def route(match: Match) -> Iterator[events.Event]:
    """A topic's brokers as a name server or client reports them; without a former state, that is unknown."""
    new = _NEW.match(match.string, match.end())
    begins = new.end() if new else match.end()
    before = {data["broker"]: _counts(data) for data in _QUEUE_DATA.finditer(match.string, match.end(), begins)}
    for data in _QUEUE_DATA.finditer(match.string, begins):
        broker, queues = data["broker"], _counts(data)
        if before:
            yield events.TopicChanged(broker, match["topic"], queues, before.get(broker))
        else:
            yield events.TopicListed(broker, match["topic"], queues)


def removed(match: Match) -> Iterator[events.Event]:
    """A name server has removed a topic of a broker."""
    for data in _QUEUE_DATA.finditer(match.string, match.end()):
        yield events.TopicChanged(data["broker"], match["topic"], None, _counts(data))


def write_permission(match: Match, *, writable: bool) -> Iterator[events.Event]:
    """Nobody may write to a broker, or producers may again."""
    yield events.WritePermission(match["broker"], writable)


def _queue(match: Match) -> MessageQueue:
    return MessageQueue(match["topic"], match["broker"], int(match["queue"]))


def rebalanced(match: Match) -> Iterator[events.Event]:
    """A client has taken queues."""
    queues = map(_queue, _QUEUES.finditer(match.string, match.end()))
    yield events.Rebalanced(match["group"], match["topic"], match["client"], match["strategy"], tuple(sorted(queues)))


def committed(match: Match) -> Iterator[events.Event]:
    """An offset was committed."""
    yield events.Committed(match["group"], _queue(match), int(match["offset"]))


def lock_asked(match: Match, *, got: bool) -> Iterator[events.Event]:
    """A client has asked for a lock."""
    yield events.LockAsked(match["group"], match["client"], _queue(match), got)
