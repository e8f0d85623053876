"""Optional calls: versions, request modes, topic attributes, offsets of queues, and those of clients. They never delay
those of `rounds`.
"""

from dataclasses import replace
from functools import partial

from spark_jobs.capture import bodies, lines
from spark_jobs.capture.asking import CallRunner
from spark_jobs.capture.calls import Answer, Call, Callee, CallOutcome, Request
from spark_jobs.capture.cluster import Cluster, understood
from spark_jobs.capture.rounds import NO_TOPIC, route_call
from spark_jobs.domain.model.history import RETRY

#: A topic that brokers know or do not: both are answers. Source: org.apache.rocketmq.common.topic.TopicValidator.
_PROBED_TOPIC = "TBW102"


def ask_broker(cluster: Cluster, asking: CallRunner, broker: Callee) -> None:
    """Ask a broker for its version and request modes; probe it if the version does not show what it answers."""
    version = understood(asking.ask(Call(Request.BROKER_VERSION, broker)), bodies.broker_version)
    if version is not None:
        cluster.versions.learn(broker.name, version)
    if cluster.versions.answers(broker.name, Request.TOPIC_CONFIG) is None:
        _ask_if_known(cluster, asking, Call(Request.TOPIC_CONFIG, broker, topic=_PROBED_TOPIC))
    answer = _ask_if_known(cluster, asking, Call(Request.REQUEST_MODES, broker))
    modes = understood(answer, bodies.modes_per_group) if answer else None
    if modes is not None:
        cluster.modes[broker.name] = modes


def ask_topic(cluster: Cluster, asking: CallRunner, topic: str, *, offsets: bool, attributes: bool) -> None:
    """Ask for a topic: the route at each name server, whether it is deleted, its attributes, offsets of its queues."""
    _ask_name_servers(cluster, asking, topic)
    cluster.is_deleted[topic] = not cluster.hosts.get(topic) and _is_deleted(cluster, asking, topic)
    if (attributes or topic not in cluster.attributes) and not topic.startswith(RETRY):
        _ask_attributes(cluster, asking, topic)
    if not offsets:
        return
    answers = [asking.ask(Call(Request.TOPIC_STATS, broker, topic=topic)) for broker in cluster.hosts_of(topic)]
    queues = [queue for answer in answers for queue in understood(answer, bodies.topic_offsets) or ()]
    if queues:
        body = bodies.as_json(sorted(queues, key=str))
        asking.keep(lines.of_several(Request.TOPIC_STATS, answers[-1].at, topic=topic, body=body))


def ask_client(cluster: Cluster, asking: CallRunner, call: Call) -> None:
    """Ask a client for its running info; for stacks, too, if it is of Java and holds a queue that stands."""
    answer, standing = asking.ask(call), cluster.standing.queues(call.group)
    listed = cluster.members[call.group].get(call.called.name)
    if not standing or listed is None or listed.broadcasting or call.client not in listed.of_java:
        return
    owned = understood(answer, bodies.owned_queues)
    if owned and owned & standing and cluster.standing.take_turn(call.client):
        answer = asking.ask(replace(call, request=Request.STACKS))
        if stacks := understood(answer, partial(bodies.consume_stacks, group=call.group)):
            body = bodies.as_json(stacks)
            asking.keep(lines.of_several(Request.STACKS, answer.at, group=call.group, client=call.client, body=body))


def record_routes(cluster: Cluster, asking: CallRunner) -> None:
    """A line per route that was asked for in this round, with what is known of its topic by now."""
    answers, cluster.routes = cluster.routes, {}
    for topic, answer in answers.items():
        if answer.outcome is CallOutcome.NOT_ASKED:
            continue
        attributes = cluster.attributes.get(topic)
        extra = {} if attributes is None else {"attributes": attributes}
        is_deleted = NO_TOPIC in answer.error and cluster.is_deleted.get(topic, False)
        extra = {"listed": "false"} if is_deleted else extra
        servers = cluster.server_routes.pop(topic, None)
        asking.keep(
            lines.answered(route_call(topic), answer, **extra, **({"name_servers": servers} if servers else {}))
        )


def _ask_name_servers(cluster: Cluster, asking: CallRunner, topic: str) -> None:
    """Ask each name server for the topic: clients take their routes from any of them."""
    routes: dict[str, object] = {}
    for server in cluster.name_servers:
        answer = asking.ask(Call(Request.SERVER_ROUTE, server, topic=topic))
        if (queues := understood(answer, bodies.queues_of_route)) is not None:
            routes[server.name] = queues
            hosts = understood(answer, bodies.brokers_of_route) or ()
            cluster.hosts[topic] = tuple(sorted({*cluster.hosts.get(topic, ()), *hosts}))
        elif NO_TOPIC in answer.error:
            routes[server.name] = {}
    if routes:
        cluster.server_routes[topic] = bodies.as_json(routes)


def _ask_if_known(cluster: Cluster, asking: CallRunner, call: Call) -> Answer | None:
    """The answer to the call; None: the broker does not answer such a request."""
    if cluster.versions.answers(call.called.name, call.request) is False:
        return None
    answer = asking.ask(call)
    cluster.versions.hear(call.called, call.request, answer)
    return answer


def _is_deleted(cluster: Cluster, asking: CallRunner, topic: str) -> bool:
    """Return whether all brokers of its last route deny the topic. A name server just forgets brokers that are down."""
    hosts = cluster.last_hosts.get(topic, ())
    return bool(hosts) and all(
        name in cluster.brokers
        and (answer := _ask_if_known(cluster, asking, Call(Request.TOPIC_CONFIG, cluster.brokers[name], topic=topic)))
        and NO_TOPIC in answer.error
        for name in hosts
    )


def _ask_attributes(cluster: Cluster, asking: CallRunner, topic: str) -> None:
    """Of the first host that tells them. Brokers that refuse to are asked again as rarely as others."""
    for host in cluster.hosts_of(topic):
        answer = _ask_if_known(cluster, asking, Call(Request.TOPIC_CONFIG, host, topic=topic))
        attributes = understood(answer, bodies.topic_attributes) if answer else None
        if attributes is not None:
            cluster.attributes[topic] = attributes
            return
        if answer and answer.outcome is CallOutcome.FAILED:
            cluster.attributes.setdefault(topic, None)
