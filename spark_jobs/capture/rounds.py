"""What is asked about one group or one topic in a round, in order; what came is kept by `CallRunner`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from spark_jobs.capture import bodies, lines
from spark_jobs.capture.asking import CallRunner
from spark_jobs.capture.calls import NAME_SERVER, Answer, Call, Callee, CallOutcome, Request
from spark_jobs.capture.cluster import Cluster, is_light_queue, is_topic_of, understood
from spark_jobs.domain.model.history import RETRY
from spark_jobs.domain.rocketmq.pop import REVIVE_GROUP, is_redelivery

#: ResponseCode.TOPIC_NOT_EXIST, as the name server says of a topic that no broker hosts, and a broker of one that it
#: does not have. Source of the latter: AdminBrokerProcessor.getTopicConfig.
_NO_TOPIC = "CODE: 17 "


def discover(cluster: Cluster, asking: CallRunner) -> None:
    """Discovers brokers and groups again; a line per broker of each group that is deleted."""
    answers = cluster.discover(asking)
    for group, brokers in cluster.deleted(answers).items():
        for broker in brokers:
            asking.keep(lines.not_listed(answers[-1].at, group, broker))


def ask_group(cluster: Cluster, asking: CallRunner, group: str) -> None:
    """Who is connected, broker after broker without delay, then the offsets. What comes tells the next round, too."""
    brokers = cluster.brokers_of(group)
    for broker in brokers:
        _ask_members(cluster, asking, group, broker)
    if cluster.members[group].keys().isdisjoint(broker.name for broker in brokers):
        for proxy in cluster.proxies():
            _ask_members(cluster, asking, group, proxy)
    listed = cluster.members[group].values()
    subscribed = frozenset(topic for members in listed for topic in members.topics)
    broadcasting = any(members.broadcasting for members in listed)
    committed = _ask_offsets(cluster, asking, group, brokers, frozenset() if broadcasting else subscribed)
    topics = subscribed | committed | {RETRY + group}
    cluster.consumed[group] = frozenset(topic for topic in topics if is_topic_of(topic, group))


def ask_topic(cluster: Cluster, asking: CallRunner, topic: str, *, offsets: bool, attributes: bool) -> None:
    """Asks for the topic's route and, where wanted, its attributes and the offsets of its queues."""

    def beside(answer: Answer) -> dict[str, str]:
        hosts = understood(answer, bodies.brokers_of_route)
        if hosts is not None or _NO_TOPIC in answer.error:
            cluster.hosts[topic] = hosts or ()
        if hosts:
            cluster.last_hosts[topic] = hosts
        if _NO_TOPIC in answer.error and _is_deleted(cluster, asking, topic):
            return {"listed": "false"}
        if (attributes or topic not in cluster.attributes) and not topic.startswith(RETRY):
            _ask_attributes(cluster, asking, topic)
        known = cluster.attributes.get(topic)
        return {} if known is None else {"attributes": known}

    asking.ask(Call(Request.ROUTE, Callee(NAME_SERVER), topic=topic), beside)
    if not offsets:
        return
    answers = [asking.ask(Call(Request.TOPIC_STATS, broker, topic=topic)) for broker in cluster.hosts_of(topic)]
    queues = [queue for answer in answers for queue in understood(answer, bodies.topic_offsets) or ()]
    if queues:
        asking.keep(lines.topic_stats(answers[-1].at, topic, bodies.as_json(sorted(queues, key=str))))


def _is_deleted(cluster: Cluster, asking: CallRunner, topic: str) -> bool:
    """Whether all brokers of the topic's last route are there, and say that they do not have it. A name server that has
    no route proves nothing: it forgets brokers that are down.
    """
    hosts = cluster.last_hosts.get(topic, ())
    return bool(hosts) and all(
        name in cluster.brokers
        and _NO_TOPIC in asking.ask(Call(Request.TOPIC_CONFIG, cluster.brokers[name], topic=topic)).error
        for name in hosts
    )


def _ask_attributes(cluster: Cluster, asking: CallRunner, topic: str) -> None:
    """Of the first host that tells them. Brokers before 5.0 do not: they are asked again as rarely as others."""
    for host in cluster.hosts_of(topic):
        answer = asking.ask(Call(Request.TOPIC_CONFIG, host, topic=topic))
        attributes = understood(answer, bodies.topic_attributes)
        if attributes is not None:
            cluster.attributes[topic] = attributes
            return
        if answer.outcome is CallOutcome.FAILED:
            cluster.attributes.setdefault(topic, None)


def ask_revive(cluster: Cluster, asking: CallRunner) -> None:
    """How far each broker is with what was popped and not acknowledged: offsets of its own group, which has no members
    and is in no list. A broker that never had to tells nothing.
    """
    _ask_offsets(cluster, asking, REVIVE_GROUP, list(cluster.brokers.values()), frozenset())


def client_calls(cluster: Cluster, group: str) -> list[Call]:
    """For every client id of the group one call, to a broker that lists it: only that one can reach it. What the client
    itself says costs it a call.
    """
    reached_by: dict[str, Callee] = {}
    for name, members in cluster.members[group].items():
        for client in members.clients if name in cluster.brokers else ():
            reached_by.setdefault(client, cluster.brokers[name])
    return [Call(Request.RUNNING, broker, group=group, client=client) for client, broker in sorted(reached_by.items())]


def _ask_members(cluster: Cluster, asking: CallRunner, group: str, called: Callee) -> None:
    modes = cluster.modes.get(called.name)
    beside = {} if modes is None else {"request_modes": modes.get(group, bodies.NO_MODES)}
    answer = asking.ask(Call(Request.CONNECTION, called, group=group), lambda _: beside)
    members = understood(answer, bodies.members)
    known = cluster.members[group]
    if members is not None:
        cluster.members[group] = {**known, called.name: members}
    elif answer.outcome is CallOutcome.NOT_ONLINE:
        cluster.members[group] = {name: listed for name, listed in known.items() if name != called.name}


def _ask_offsets(
    cluster: Cluster, asking: CallRunner, group: str, brokers: Iterable[Callee], subscribed: frozenset[str]
) -> frozenset[str]:
    """One call per broker brings all topics that the group has committed there; topics that it has not are asked for
    by name. A line per topic. The topics that came.
    """
    queues_of: dict[str, list[str]] = defaultdict(list)
    calls = [Call(Request.STATS, broker, group=group) for broker in brokers]
    at = _add_offsets(asking, calls, queues_of)
    uncommitted = sorted(topic for topic in subscribed - queues_of.keys() if is_topic_of(topic, group))
    by_name = [(host, topic) for topic in uncommitted for host in cluster.hosts_of(topic)]
    calls = [Call(Request.STATS, host, group=group, topic=topic) for host, topic in by_name]
    at = max(at, _add_offsets(asking, calls, queues_of))
    for topic, queues in queues_of.items():
        if is_topic_of(topic, group) or is_redelivery(topic, group):
            asking.keep(lines.stats(at, group, topic, bodies.offsets_of(queues)))
    return frozenset(queues_of)


def _add_offsets(asking: CallRunner, calls: Iterable[Call], queues_of: dict[str, list[str]]) -> int:
    """Adds what is answered of topics that have a route; when the last answer came."""
    at = 0
    for call in calls:
        answer = asking.ask(call)
        for topic, queues in (understood(answer, bodies.offsets_per_topic) or {}).items():
            if not is_light_queue(topic):
                queues_of[topic] += queues
                at = answer.at
    return at
