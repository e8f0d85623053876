"""One call to the cluster: request, callee and outcome; texts in, texts out. `java_admin` is the real `Admin`."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from spark_jobs.ingest.recording import HAS_NO_CONSUMER

#: Who answers routes and lists of brokers.
NAME_SERVER = "name server"


class Request(StrEnum):
    """Kinds of calls; most are kinds of line in the recording, too."""

    BROKERS = "brokers"
    GROUPS = "groups"
    ROUTE = "route"
    CONNECTION = "connection"
    STATS = "stats"
    BROKER_VERSION = "broker_version"
    REQUEST_MODES = "request_modes"
    SERVER_ROUTE = "server_route"
    TOPIC_CONFIG = "topic_config"
    TOPIC_STATS = "topicstats"
    RUNNING = "running"
    STACKS = "stacks"

    @property
    def is_required(self) -> bool:
        """Return whether an audit needs the answer. The other requests never delay or prevent these."""
        return self in (Request.BROKERS, Request.GROUPS, Request.ROUTE, Request.CONNECTION, Request.STATS)

    @property
    def is_of_client(self) -> bool:
        """Return whether a client answers it, through the broker that is called."""
        return self in (Request.RUNNING, Request.STACKS)


class CallOutcome(StrEnum):
    """The outcome of a call. `NOT_ASKED`: it was skipped, because the callee did not answer such a call before."""

    ANSWERED = "ANSWERED"
    NOT_ONLINE = "NOT_ONLINE"
    NOT_IN_GROUP = "NOT_IN_GROUP"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED_OUT"
    REFUSED = "REFUSED"
    NOT_ASKED = "NOT_ASKED"

    @property
    def is_unanswered(self) -> bool:
        """Return whether no answer came: to retry at once is of no use."""
        return self in (CallOutcome.TIMED_OUT, CallOutcome.REFUSED)


@dataclass(frozen=True)
class Callee:
    """Who is asked: its name in the recording, and `host:port` (empty for the name server)."""

    name: str
    address: str = ""


@dataclass(frozen=True)
class Call:
    """One request about a group, a topic, both, or a client of a group."""

    request: Request
    called: Callee
    group: str = ""
    topic: str = ""
    client: str = ""

    @property
    def subject(self) -> str:
        """The subject of the call, in words that tell two calls of a moment apart."""
        return " ".join(filter(None, (self.group, self.topic, self.client))) or "*"


@dataclass(frozen=True)
class Answer:
    """RocketMQ's text, or an error, at `at` (ms UTC). `took_ms` is null if the call was skipped: the error is older."""

    outcome: CallOutcome
    at: int
    took_ms: int | None
    body: str = ""
    error: str = ""


#: Words of `org.apache.rocketmq.remoting.exception`, and ResponseCode.CONSUMER_NOT_ONLINE.
_OUTCOMES = (
    (CallOutcome.NOT_ONLINE, re.compile(r"\bcode:? 206\b", re.IGNORECASE)),
    (CallOutcome.NOT_IN_GROUP, HAS_NO_CONSUMER),
    (CallOutcome.TIMED_OUT, re.compile(r"^\w*TimeoutException\b|\bwait response on the channel\b")),
    (
        CallOutcome.REFUSED,
        re.compile(r"^Remoting(?:Connect|SendRequest|TooMuchRequest)Exception\b|\bconnect to \S+ failed"),
    ),
)


def outcome_of(error: str) -> CallOutcome:
    """The outcome of a call by the text of its exception, `<class> <message>`."""
    return next((outcome for outcome, words in _OUTCOMES if words.search(error)), CallOutcome.FAILED)


class CallError(Exception):
    """A call that brought no answer, or a refusal: `<simple name of Java's exception> <its message>`."""


class Admin(Protocol):
    """The admin client of one cluster; used by several threads at once."""

    def ask(self, call: Call) -> str:
        """RocketMQ's own text. Raises `CallError`. `GROUPS`: names, one a line · `SERVER_ROUTE`: the body that one name
        server answers · `REQUEST_MODES`: as in messageRequestMode.json · `STACKS`: the text of a client's threads · the
        others: toJson of the answer.
        """

    def version(self) -> str:
        """Version of the admin client, such as V5_4_0."""

    def close(self) -> None:
        """Ends it."""
