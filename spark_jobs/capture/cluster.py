"""What is known of the cluster: who is to be asked what. Found anew while capture goes on."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from spark_jobs.capture import bodies
from spark_jobs.capture.asking import Asking
from spark_jobs.capture.calls import NAME_SERVER, Answer, Call, Called, Fate, Request
from spark_jobs.capture.discovery import groups_to_ask, proxies
from spark_jobs.domain.unseen import PROXIES_GROUP
from spark_jobs.errors import CaptureError
from spark_jobs.ingest.fastjson import FastjsonError
from spark_jobs.ingest.reasons import RejectedError

_LOG = logging.getLogger(__name__)
Found = TypeVar("Found")
#: What brokers with ACL 1 or 2 answer to a wrong key, a wrong signature, or one without the right.
_NOT_ALLOWED = re.compile(r"\bcode:? 16\b|\bacl|permission|authenti|authori|signature|access ?key", re.IGNORECASE)


@dataclass
class Cluster:
    """What the last answers told. Each entry is replaced whole, so several threads may read and write it.

    `hosts`: brokers of a topic's route · `groups`: brokers that know the group · `members`: of the group, by who
    listed them · `consumed`: topics of the group · `modes`: broker → group → its request modes · `attributes`: of
    a topic (None: its brokers do not tell them).
    """

    groups_pattern: re.Pattern[str] | None = None
    given_proxies: tuple[str, ...] = ()
    brokers: dict[str, Called] = field(default_factory=dict)
    clusters: dict[str, str] = field(default_factory=dict)
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    hosts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    members: dict[str, dict[str, bodies.ConnectionAnswer]] = field(default_factory=lambda: defaultdict(dict))
    consumed: dict[str, frozenset[str]] = field(default_factory=dict)
    modes: dict[str, Mapping[str, str]] = field(default_factory=dict)
    attributes: dict[str, str | None] = field(default_factory=dict)

    def discover(self, asking: Asking) -> list[Answer]:
        """Asks the name server for the brokers, and each of them for its groups and request modes; the answers, the
        name server's first. What does not answer stays as it was.
        """
        answer = asking.ask(Call(Request.BROKERS, Called(NAME_SERVER)))
        if found := understood(answer, bodies.addresses):
            self.brokers = {name: Called(name, address) for name, (_, address) in found.items()}
            self.clusters = {name: cluster for name, (cluster, _) in found.items()}
        knows: dict[str, set[str]] = defaultdict(set)
        for group, names in self.groups.items():
            knows[group] = set(names) & self.brokers.keys()
        answers = [answer]
        for name, broker in self.brokers.items():
            answers.append(asking.ask(Call(Request.GROUPS, broker)))
            if answers[-1].fate is Fate.ANSWERED:
                self._knows(knows, name, groups_to_ask(answers[-1].body.split("\n"), self.groups_pattern))
            modes = understood(asking.ask(Call(Request.REQUEST_MODES, broker)), bodies.modes_per_group)
            self.modes |= {} if modes is None else {name: modes}
        self.groups = {group: tuple(sorted(names)) for group, names in sorted(knows.items()) if names}
        return answers

    def brokers_of(self, group: str) -> list[Called]:
        """Whom the group's members tell of themselves: the hosts of its topics, or where no route is known those that
        know the group.
        """
        hosts = {host for topic in self.consumed.get(group, ()) for host in self.hosts.get(topic, ())}
        return [self.brokers[name] for name in sorted(hosts or self.groups.get(group, ())) if name in self.brokers]

    def hosts_of(self, topic: str) -> list[Called]:
        """The brokers of the topic's route."""
        return [self.brokers[name] for name in self.hosts.get(topic, ()) if name in self.brokers]

    def proxies(self) -> tuple[Called, ...]:
        """Those that were named, or that the brokers list."""
        listed = [address for members in self.members[PROXIES_GROUP].values() for address in members.addresses]
        return proxies(listed, self.given_proxies)

    def topics(self) -> list[str]:
        """Of all groups that are captured."""
        return sorted({topic for group in self.groups for topic in self.consumed.get(group, ())})

    @staticmethod
    def _knows(knows: dict[str, set[str]], broker: str, groups: Iterable[str]) -> None:
        for names in knows.values():
            names.discard(broker)
        for group in groups:
            knows[group].add(broker)


def understood(answer: Answer, read: Callable[[str], Found]) -> Found | None:
    """What the answer says; None where there is none, or RocketMQ's text is not as expected."""
    if answer.fate is not Fate.ANSWERED:
        return None
    try:
        return read(answer.body)
    except (FastjsonError, RejectedError, KeyError, TypeError, ValueError) as error:
        _LOG.warning("an answer does not have the expected form: %s", error)
        return None


def check_reached(answers: Sequence[Answer], namesrv: str) -> None:
    """Raises `CaptureError` where the cluster, of which these are the first answers, cannot be asked at all, or not
    with these keys.
    """
    if any(_NOT_ALLOWED.search(answer.error) for answer in answers):
        raise CaptureError(
            "the cluster does not accept the access key and secret key: check them and their permissions"
        )
    if answers[0].fate is not Fate.ANSWERED:
        reason = answers[0].error.partition("\n")[0]
        raise CaptureError(f"{namesrv} does not answer ({reason}): check --namesrv, TLS and the network")
