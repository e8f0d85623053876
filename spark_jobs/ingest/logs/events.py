"""Events of a cluster that a line of a log, or a file of a broker's state, reports."""

from typing import NamedTuple

from spark_jobs.domain.model.message_queue import MessageQueue


class LoggedConnection(NamedTuple):
    """A consumer's connection; its address tells it from others."""

    address: str
    client_id: str
    language: str | None
    version: int | None


class QueueCounts(NamedTuple):
    """How many queues of a topic a broker has, and who may read and write them (`PermName`: 4 read, 2 write)."""

    read_queue_nums: int
    write_queue_nums: int
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


class Stopped(NamedTuple):
    """A broker, or another process, wrote its last line before it started again."""


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
    """A consumer's report of itself: where a new group begins, its topics, and its connection's `address`, or None."""

    group: str
    consume_from_where: str
    address: str | None
    subscriptions: tuple[Subscription, ...]


class GroupState(NamedTuple):
    """A broker's knowledge of a group: its connections, and what consumers reported of the group."""

    members: tuple[LoggedConnection, ...] = ()
    consume_type: str | None = None
    message_model: str | None = None
    consume_from_where: str | None = None
    subscriptions: tuple[Subscription, ...] = ()


class Listed(NamedTuple):
    """A broker's answer to a recorder or to mqadmin: all that it knew of a group. No log has it."""

    group: str
    state: GroupState


class TopicListed(NamedTuple):
    """A topic's queues at a broker (None: that of the log), as from now; those before are unknown."""

    broker: str | None
    topic: str
    queues: QueueCounts


class TopicChanged(NamedTuple):
    """A topic's queues at a broker (None: that of the log), as from now and before; None: it has none."""

    broker: str | None
    topic: str
    queues: QueueCounts | None
    before: QueueCounts | None


class WritePermission(NamedTuple):
    """A change at a name server: whether producers may write to a broker."""

    broker: str
    writable: bool


class Rebalanced(NamedTuple):
    """The queues of a topic that a Java client took for its own."""

    group: str
    topic: str
    client_id: str
    strategy: str
    queues: tuple[MessageQueue, ...]


class Committed(NamedTuple):
    """A client has committed the next offset to consume of a queue."""

    group: str
    queue: MessageQueue
    offset: int


class LockAsked(NamedTuple):
    """An orderly client has asked a broker for the lock of a queue, and `got` it, or another client has it."""

    group: str
    client_id: str
    queue: MessageQueue
    got: bool


Event = (
    Booted | Stopped | Connected | Disconnected | Expired | Empty | Born | Subscribed | Unsubscribed | Registered
    | Listed | TopicListed | TopicChanged | WritePermission | Rebalanced | Committed | LockAsked
)  # fmt: skip
