"""State of the cluster: groups and topics to ask for, proxies, and whom to ask. It changes during the capture."""

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter
from typing import TypeVar

from spark_jobs.capture import bodies
from spark_jobs.capture.asking import CallRunner
from spark_jobs.capture.calls import NAME_SERVER, Answer, Call, Callee, CallOutcome, Request
from spark_jobs.capture.standing import StandingQueues
from spark_jobs.capture.versions import BrokerVersions
from spark_jobs.domain.kernel.unseen import PROXIES_GROUP, PROXY
from spark_jobs.domain.rocketmq.system_names import is_of_users
from spark_jobs.errors import CaptureError
from spark_jobs.ingest.fastjson import FastjsonError
from spark_jobs.ingest.files import RejectedError

_LOG = logging.getLogger(__name__)
#: So many discoveries in a row say that a group is deleted: one is enough, unless its line is lost.
_DELETED_TIMES = 3
Found = TypeVar("Found")
#: What brokers with ACL 1 or 2 answer to a wrong key, a wrong signature, or one without the right.
_NOT_ALLOWED = re.compile(r"\bcode:? 16\b|\bacl|permission|authenti|authori|signature|access ?key", re.IGNORECASE)

#: Source: org.apache.rocketmq.common.MixAll.LMQ_PREFIX.
_LIGHT_QUEUE = "%LMQ%"
#: Where a proxy listens for remoting clients unless configured otherwise.
#: Source: org.apache.rocketmq.proxy.config.ProxyConfig.remotingListenPort.
PROXY_PORT = 8080


@dataclass
class Cluster:
    """The last answers. Entries are replaced whole, so that several threads may read and write them.

    `hosts`: brokers of a topic's route · `last_hosts`: of its last route with brokers · `groups`: brokers that list
    the group · `members`: of the group, by who listed them · `consumed`: topics of the group · `modes`: broker → group
    → request modes · `attributes`: of a topic (None: its brokers do not report them) · `routes`: this round's answers
    by topic · `name_servers`: by address, if there are several · `server_routes`: of a topic, as recorded ·
    `is_deleted`: no broker of a topic's last route has it · `listed`: brokers that listed the group last, and how often
    its deletion is still to be recorded · `missed`: why a group's members or offsets are missing in this round ·
    `standing`: queues of groups that do not move.
    """

    groups_pattern: re.Pattern[str] | None = None
    given_proxies: tuple[str, ...] = ()
    name_servers: tuple[Callee, ...] = ()
    brokers: dict[str, Callee] = field(default_factory=dict)
    clusters: dict[str, str] = field(default_factory=dict)
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    hosts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    last_hosts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    members: dict[str, Mapping[str, bodies.ConnectionAnswer]] = field(default_factory=lambda: defaultdict(dict))
    consumed: dict[str, frozenset[str]] = field(default_factory=dict)
    modes: dict[str, Mapping[str, str]] = field(default_factory=dict)
    attributes: dict[str, str | None] = field(default_factory=dict)
    routes: dict[str, Answer] = field(default_factory=dict)
    server_routes: dict[str, str] = field(default_factory=dict)
    is_deleted: dict[str, bool] = field(default_factory=dict)
    missed: dict[str, str] = field(default_factory=dict)
    versions: BrokerVersions = field(default_factory=BrokerVersions)
    standing: StandingQueues = field(default_factory=StandingQueues)
    listed: dict[str, tuple[tuple[str, ...], int]] = field(default_factory=dict)

    def discover(self, asking: CallRunner) -> list[Answer]:
        """Ask all name servers for brokers, and these for groups; the answers, in order. Unanswered parts stay."""
        answers = [asking.ask(Call(Request.BROKERS, each)) for each in self.name_servers or (Callee(NAME_SERVER),)]
        named = [understood(answer, bodies.addresses) for answer in answers]
        if any(named):
            if all(named):
                self.brokers, self.clusters = {}, {}
            for name, (cluster, address) in chain.from_iterable((each or {}).items() for each in named):
                self.brokers[name], self.clusters[name] = Callee(name, address), cluster
        known = {(group, name) for group, names in self.groups.items() for name in names if name in self.brokers}
        for name, broker in self.brokers.items():
            answers.append(asking.ask(Call(Request.GROUPS, broker)))
            if answers[-1].outcome is CallOutcome.ANSWERED:
                groups = groups_to_ask(answers[-1].body.split("\n"), self.groups_pattern)
                known = {pair for pair in known if pair[1] != name} | {(group, name) for group in groups}
        by_group = groupby(sorted(known), key=itemgetter(0))
        self.groups = {group: tuple(name for _, name in pairs) for group, pairs in by_group}
        self.listed |= {group: (names, _DELETED_TIMES) for group, names in self.groups.items()}
        return answers

    def deleted(self, discovery: Sequence[Answer]) -> dict[str, tuple[str, ...]]:
        """Groups that no broker lists any more, with their last brokers; all must have answered `discover`."""
        if any(answer.outcome is not CallOutcome.ANSWERED for answer in discovery):
            return {}
        deleted = {
            group: names
            for group, (names, _) in self.listed.items()
            if group not in self.groups and self.brokers.keys() >= set(names)
        }
        for group, names in deleted.items():
            _, times = self.listed.pop(group)
            if times > 1:
                self.listed[group] = names, times - 1
        return deleted

    def brokers_of(self, group: str) -> list[Callee]:
        """The brokers that get the group's heartbeats: the hosts of its topics, else those that list the group."""
        hosts = {host for topic in self.consumed.get(group, ()) for host in self.hosts.get(topic, ())}
        return [self.brokers[name] for name in sorted(hosts or self.groups.get(group, ())) if name in self.brokers]

    def hosts_of(self, topic: str) -> list[Callee]:
        """The brokers of the topic's route."""
        return [self.brokers[name] for name in self.hosts.get(topic, ()) if name in self.brokers]

    def proxies(self) -> tuple[Callee, ...]:
        """Those that were named, or that the brokers list."""
        listed = [address for members in self.members[PROXIES_GROUP].values() for address in members.addresses]
        return proxies(listed, self.given_proxies)

    def topics(self) -> list[str]:
        """Of all groups that are captured."""
        return sorted({topic for group in self.groups for topic in self.consumed.get(group, ())})


def name_servers(namesrv: str) -> tuple[Callee, ...]:
    """The name servers of `host:port;host:port`, if there are several: one alone answers for all."""
    addresses = [address.strip() for address in namesrv.split(";") if address.strip()]
    return tuple(Callee(address, address) for address in addresses) if len(addresses) > 1 else ()


def understood(answer: Answer, read: Callable[[str], Found]) -> Found | None:
    """The content of the answer; None if there is none, or RocketMQ's text is not as expected."""
    if answer.outcome is not CallOutcome.ANSWERED:
        return None
    try:
        return read(answer.body)
    except (FastjsonError, RejectedError, KeyError, TypeError, ValueError) as error:
        _LOG.warning("an answer does not have the expected form: %s", error)
        return None


def check_reached(answers: Sequence[Answer], namesrv: str) -> None:
    """Raise `CaptureError` if these first answers show that the cluster is unreachable, or rejects the keys."""
    if any(_NOT_ALLOWED.search(answer.error) for answer in answers):
        raise CaptureError(
            "the cluster does not accept the access key and secret key: check them and their permissions"
        )
    if all(answer.outcome is not CallOutcome.ANSWERED for answer in answers):
        reason = answers[0].error.partition("\n")[0]
        raise CaptureError(f"{namesrv} does not answer ({reason}): check --namesrv, TLS and the network")


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
