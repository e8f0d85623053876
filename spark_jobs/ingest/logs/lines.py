"""Lines of RocketMQ's logs → events, whichever process wrote them; they are the same from 4.3.0 to 5.4.0.

Sources, of 5.4.0: `ConsumerGroupInfo`, `ConsumerManager` (broker and proxy), `ClientManageProcessor`,
`TopicConfigManager`, `RebalanceLockManager`, `BrokerStartup`, `RouteInfoManager` (name server), `RebalanceImpl`,
`RemoteBrokerOffsetStore`, `MQClientInstance` (Java clients).
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Final

from spark_jobs.ingest.logs import readers
from spark_jobs.ingest.logs.events import Booted, Empty, Event, Expired, Stopped

_EMPTY = readers.fields_of(Empty, "group")
_REFUSED, _GOT = partial(readers.lock_asked, got=False), partial(readers.lock_asked, got=True)
_COMMITTED = (
    rf"(?P<group>\S+) ClientId: \S+ updateConsumeOffsetToBroker {readers.QUEUE} (?P<offset>\d+)(?![\w.])",
    readers.committed,
)
#: Words that only one kind of line has → the form of what follows, and its reader.
_LINES: Final[dict[str, tuple[str, readers.Reader]]] = {
    "new consumer connected": (
        r", group: (?P<group>\S+) (?P<consume_type>\w+) (?P<model>\w+) channel: " + readers.CHANNEL,
        readers.connected,
    ),
    "new producer connected": ("(?!)", readers.connected),  # its time says the zone: `FileClock`
    "remove not active channel": (r"\[" + readers.CHANNEL + r".*consumer group: (?P<group>\S+)", readers.disconnected),
    "unregister a consumer": (r"\[(?P<group>[^]]+)\] from consumerGroupInfo " + readers.CHANNEL, readers.disconnected),
    "SCAN: remove expired channel from ConsumerManager consumerTable. channel=": (
        rf"(?:\S*R:)?/?{readers.ADDRESS}\]?, consumerGroup=(?P<group>\S+)",
        readers.fields_of(Expired, "group", "address"),
    ),
    "consumerTable, all clear, consumerGroup=": (r"(?P<group>\S+)", _EMPTY),
    "no any connection, and remove consumer group": (r", (?P<group>\S+)", _EMPTY),
    "getConsumerGroupInfo failed": (r", (?P<group>\S+)", _EMPTY),
    "the consumer's group info not exist": (r", group: (?P<group>\S+)", _EMPTY),
    "subscription changed, add new topic": (r", group: (?P<group>\S+) ", partial(readers.subscribed, is_new=True)),
    "subscription changed, group": (
        r": (?P<group>\S+) (?:OLD:|remove topic (?P<topic>\S+))",
        readers.subscription_changed,
    ),
    "registerConsumer info changed": (
        r".*ConsumerData \[groupName=(?P<group>[^,]+),.*?consumeFromWhere=(?P<where>\w+)",
        readers.registered,
    ),
    "create new topic": ("", readers.created),
    "Create new topic": ("", readers.created),
    "update topic config": ("", readers.created),
    "load exist local topic": ("", readers.loaded),
    "delete topic config OK": ("", readers.deleted),
    "new topic registered": (r", (?P<topic>\S+) ", readers.route),
    "topic changed": (r", (?P<topic>\S+) OLD:", readers.route),
    "topicQueueTable Topic": (r": (?P<topic>\S+) ", readers.route),
    "the topic[": (r"(?P<topic>[^]]+)\] route info changed", readers.route),
    "remove one broker's topic": (r".* (?P<topic>\S+) (?=QueueData)", readers.removed),
    "remove topic[": (r"(?P<topic>\S+) (?=QueueData)", readers.removed),
    "wipe write perm of broker[": (r"(?P<broker>[^]]+)\]", partial(readers.write_permission, writable=False)),
    "add write perm of broker[": (r"(?P<broker>[^]]+)\]", partial(readers.write_permission, writable=True)),
    "rebalanced result changed": (
        r"\. allocateMessageQueueStrategyName=(?P<strategy>[^,]+), group=(?P<group>[^,]+), topic=(?P<topic>[^,]+), "
        r"clientId=(?P<client>[^,]+), mqAllSize=\d+, cidAllSize=\d+",
        readers.rebalanced,
    ),
    "persist] Group: ": _COMMITTED,
    "persistAll] Group: ": _COMMITTED,
    # Locks: two lines of 4.x, then three of 5.x.
    "message queue locked by other client. Group: ": (
        rf"(?P<group>\S+) OtherClientId: \S+ NewClientId: (?P<client>\S+) {readers.QUEUE}",
        _REFUSED,
    ),
    "I got it. Group: ": (rf"(?P<group>\S+) (?:OldClientId: \S+ )?NewClientId: (?P<client>\S+) {readers.QUEUE}", _GOT),
    "message queue has been locked by other client, group=": (
        rf"(?P<group>[^,]+), mq={readers.QUEUE}, locked client id=.+?, current client id=(?P<client>\S+)",
        _REFUSED,
    ),
    "has not been locked yet, group=": (rf"(?P<group>[^,]+), clientId=(?P<client>.+?), mq={readers.QUEUE}", _GOT),
    "try to lock a expired message queue, group=": (
        rf"(?P<group>[^,]+), mq={readers.QUEUE}, old client id=.+?, new client id=(?P<client>\S+)",
        _GOT,
    ),
    # The first properties that a process writes when it starts: of 5.x, of all.
    "- brokerConfigPath=": ("", readers.fields_of(Stopped)),
    "- rocketmqHome=": ("", readers.fields_of(Stopped)),
    "The broker[": (
        r"(?P<broker>[^,]+), (?P<address>[^]]+)\] boot success",
        readers.fields_of(Booted, "broker", "address"),
    ),
}
#: Names end where a text in JSON does, too.
_BY_WORDS: Final = {
    words: (re.compile(re.escape(words) + form.replace(r"\S", r"[^\s\"]")), read)
    for words, (form, read) in _LINES.items()
}
#: Words of these lines, to pass over all others: what may stand before them makes the search three times as fast.
WORDS: Final = re.compile(rf"[ \[\]\"':#(>|\t]({'|'.join(map(re.escape, _BY_WORDS))})")


def events(text: str) -> Iterator[Event]:
    """Events that the entry reports; most report none."""
    words = WORDS.search(text)
    if words:
        pattern, read = _BY_WORDS[words[1]]
        match = pattern.match(text, words.start(1))
        if match:
            yield from read(match)
