"""The calls about one group or one topic in a round, in order; what came is kept by `CallRunner`."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain

from spark_jobs.capture import bodies, lines
from spark_jobs.capture.asking import CallRunner
from spark_jobs.capture.calls import NAME_SERVER, Answer, Call, Callee, CallOutcome, Request
from spark_jobs.capture.cluster import Cluster, is_light_queue, understood
from spark_jobs.domain.model.history import RETRY
from spark_jobs.domain.rocketmq.pop import REVIVE_GROUP, is_redelivery
from spark_jobs.domain.rocketmq.system_names import is_topic_of
from spark_jobs.ingest.recording import NOT_LISTED

#: ResponseCode.TOPIC_NOT_EXIST, of the name server, and of brokers (AdminBrokerProcessor.getTopicConfig).
NO_TOPIC = "CODE: 17 "


def discover(cluster: Cluster, asking: CallRunner) -> None:
    """Discovers brokers and groups again; a line per broker of each group that is deleted."""
    answers = cluster.discover(asking)
    for group, brokers in cluster.deleted(answers).items():
        for broker in brokers:
            not_listed = {"group": group, "broker": broker, "error": NOT_LISTED}
            asking.keep(lines.of_several(Request.CONNECTION, answers[-1].at, **not_listed))


def ask_group(cluster: Cluster, asking: CallRunner, group: str) -> list[Call]:
    """Who is connected, broker after broker without delay, then the offsets. What comes tells the next round, too.
    Return a call per client id, to a broker that has just listed it: no other broker can reach the client.
    """
    brokers = cluster.brokers_of(group)
    answers = [_ask_members(cluster, asking, group, broker) for broker in brokers]
    if cluster.members[group].keys().isdisjoint(broker.name for broker in brokers):
        for proxy in cluster.proxies():
            _ask_members(cluster, asking, group, proxy)
    listed = cluster.members[group].values()
    subscribed = frozenset(topic for members in listed for topic in members.topics)
    broadcasting = any(members.broadcasting for members in listed)
    offsets = [asking.ask(Call(Request.STATS, broker, group=group)) for broker in brokers]
    committed = _keep_offsets(cluster, asking, group, offsets, frozenset() if broadcasting else subscribed)
    topics = subscribed | committed | {RETRY + group}
    cluster.consumed[group] = frozenset(topic for topic in topics if is_topic_of(topic, group))
    cluster.missed[group] = _missed("members", brokers, answers) or _missed("offsets", brokers, offsets)
    outcomes = zip(brokers, (answer.outcome for answer in answers), strict=True)
    answered = [broker for broker, outcome in outcomes if outcome is CallOutcome.ANSWERED]
    return _client_calls(cluster, group, answered)


def _missed(what: str, brokers: Sequence[Callee], answers: Sequence[Answer]) -> str:
    """Why none of the answers, of these brokers in order, tells it; empty if one does."""
    if any(answer.outcome in (CallOutcome.ANSWERED, CallOutcome.NOT_ONLINE) for answer in answers):
        return ""
    errors = "; ".join(f"{broker.name}: {answer.error}" for broker, answer in zip(brokers, answers, strict=False))
    return f"{what} ({errors or 'no broker to ask'})"


def ask_route(cluster: Cluster, asking: CallRunner, topic: str) -> None:
    """Asks for the topic's route. Its line waits until the end of the round for what is learned alongside it."""
    answer = cluster.routes[topic] = asking.ask(route_call(topic))
    hosts = understood(answer, bodies.brokers_of_route)
    if hosts is not None or NO_TOPIC in answer.error:
        cluster.hosts[topic] = hosts or ()
    if hosts:
        cluster.last_hosts[topic] = hosts


def route_call(topic: str) -> Call:
    """A call to the name server."""
    return Call(Request.ROUTE, Callee(NAME_SERVER), topic=topic)


def ask_revive(cluster: Cluster, asking: CallRunner) -> None:
    """Record the offsets of POP's revive group at each broker: it has no members, and no broker lists it."""
    calls = [Call(Request.STATS, broker, group=REVIVE_GROUP) for broker in list(cluster.brokers.values())]
    _keep_offsets(cluster, asking, REVIVE_GROUP, [asking.ask(call) for call in calls], frozenset())


def _client_calls(cluster: Cluster, group: str, brokers: Iterable[Callee]) -> list[Call]:
    reached_by: dict[str, Callee] = {}
    for broker in brokers:
        listed = cluster.members[group].get(broker.name)
        for client in listed.clients if listed else ():
            reached_by.setdefault(client, broker)
    return [Call(Request.RUNNING, broker, group=group, client=client) for client, broker in sorted(reached_by.items())]


def _ask_members(cluster: Cluster, asking: CallRunner, group: str, called: Callee) -> Answer:
    modes = cluster.modes.get(called.name)
    extra = {} if modes is None else {"request_modes": modes.get(group, bodies.NO_MODES)}
    answer = asking.ask(Call(Request.CONNECTION, called, group=group), **extra)
    members = understood(answer, bodies.members)
    known = cluster.members[group]
    if members is not None:
        cluster.members[group] = {**known, called.name: members}
    elif answer.outcome is CallOutcome.NOT_ONLINE:
        cluster.members[group] = {name: listed for name, listed in known.items() if name != called.name}
    return answer


def _keep_offsets(
    cluster: Cluster, asking: CallRunner, group: str, answers: Sequence[Answer], subscribed: frozenset[str]
) -> frozenset[str]:
    """Keep a line per topic of the brokers' answers; ask for uncommitted topics by name. The topics that came."""
    queues_of: dict[str, list[bodies.QueueEntry]] = defaultdict(list)
    at = _add_offsets(answers, queues_of)
    uncommitted = sorted(topic for topic in subscribed - queues_of.keys() if is_topic_of(topic, group))
    by_name = [(host, topic) for topic in uncommitted for host in cluster.hosts_of(topic)]
    calls = [Call(Request.STATS, host, group=group, topic=topic) for host, topic in by_name]
    at = max(at, _add_offsets([asking.ask(call) for call in calls], queues_of))
    for topic, queues in queues_of.items():
        if is_topic_of(topic, group) or is_redelivery(topic, group):
            body = bodies.offsets_of(queues)
            asking.keep(lines.of_several(Request.STATS, at, group=group, topic=topic, body=body))
    cluster.standing.see(group, bodies.consumer_offsets(chain.from_iterable(queues_of.values())))
    return frozenset(queues_of)


def _add_offsets(answers: Iterable[Answer], queues_of: dict[str, list[bodies.QueueEntry]]) -> int:
    """Adds what is answered of topics that have a route; when the last answer came."""
    at = 0
    for answer in answers:
        for topic, queues in (understood(answer, bodies.offsets_per_topic) or {}).items():
            if not is_light_queue(topic):
                queues_of[topic] += queues
                at = answer.at
    return at


#: How many groups a line names.
_NAMED = 5


def round_line(cluster: Cluster, outcomes: Counter[CallOutcome], late: float, *, written: bool) -> str:
    """Return the counts of groups and calls, the seconds that the round began late, and the groups it missed."""
    lost = "" if written else "; NOT WRITTEN"
    return f"{len(cluster.groups)} groups, {_summary(outcomes)}, {late:.1f} s behind{lost}{_missed_groups(cluster)}"


def _summary(outcomes: Counter[CallOutcome]) -> str:
    """How many calls were made, and how many were not answered, by outcome."""
    unanswered = ", ".join(
        f"{count} {outcome.lower().replace('_', ' ')}"
        for outcome, count in sorted(outcomes.items())
        if outcome is not CallOutcome.ANSWERED
    )
    return f"{outcomes.total()} calls ({unanswered or 'all answered'})"


def _missed_groups(cluster: Cluster) -> str:
    """The groups of whose members, or offsets, no broker answered in this round, and why."""
    missed = [f"{group}: {why}" for group in sorted(cluster.groups) if (why := cluster.missed.get(group))]
    more = f", and {len(missed) - _NAMED} more groups" if len(missed) > _NAMED else ""
    return f"; MISSED {', '.join(missed[:_NAMED])}{more}" if missed else ""
