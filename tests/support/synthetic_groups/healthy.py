"""The kinds of synthetic groups that are healthy, by name."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from tests.support.synthetic_groups.lives import (
    ALWAYS,
    END,
    EVER,
    ON_TWO_BROKERS,
    Course,
    Hosts,
    Ids,
    Life,
    Standing,
    Time,
    routes_of,
)

Kind = Callable[[Random], Life]


def push(random: Random, **differs: Any) -> Life:
    """Push consumers on one or two brokers, at most one for two queues, each on its own host; half of the groups are
    asked for their running info.
    """
    queues, brokers = random.choice((4, 6, 8)), random.choice((("broker-a",), ("broker-a", "broker-b")))
    hosts = {broker: queues // len(brokers) for broker in brokers}
    members = _members(random, _ids(random, random.randint(1, queues // 2)))
    is_alone = max(len(ids) for _, ids in members) == 1
    burst = random.randrange(0, 3000)
    life = Life(
        routes_of(hosts) | ({"topic": _route(random, hosts)} if is_alone else {}),
        members,
        answers=random.random() < 0.5,
        rate=random.choice((0, 1, 5, 20)),
        bursts=[Time(burst, burst + 180)] if is_alone and random.random() < 0.3 else (),
        bystander=random.random() < 0.2,
    )
    return replace(life, **differs)


def _ids(random: Random, count: int) -> Ids:
    net = random.randrange(200)
    return tuple(f"10.31.{net}.{host}@{random.randrange(1, 9999)}#{random.randrange(10**15)}" for host in range(count))


def _again(random: Random, client_id: str) -> str:
    """The id of the process that replaces a client on its host."""
    return f"{client_id.partition('@')[0]}@8#{random.randrange(10**15)}"


def _route(random: Random, hosts: Hosts) -> Course[Hosts]:
    """Now and then every broker gets two more queues."""
    more = {broker: count + 2 for broker, count in hosts.items()}
    return [(ALWAYS, hosts), *([(random.randrange(300, 3000), more)] if random.random() < 0.1 else [])]


def _members(random: Random, ids: Ids) -> Course[Ids]:
    """They stay, or one leaves, or reconnects and is listed twice for 100 s; or all are restarted, one after the other,
    ten minutes apart and away for 30 s.
    """
    what, second, now = random.choice(("stay", "stay", "leave", "reconnect", "deploy")), random.randrange(200, 900), ids
    if what == "leave" and len(ids) > 1:
        return [(ALWAYS, ids), (second, ids[1:])]
    if what == "reconnect":
        return [(ALWAYS, ids), (second, (*ids, ids[0])), (second + 100, ids)]
    changes = [(ALWAYS, ids)]
    for number, one in enumerate(ids if what == "deploy" else ()):
        away = tuple(other for other in now if other != one)
        now = (*away, _again(random, one))
        changes += [(second + 600 * number, away), (second + 600 * number + 30, now)]
    return changes


def one_alone(random: Random) -> Life:
    """The only member is restarted, and away for 30 s."""
    (first,), second = _ids(random, 1), random.randrange(200, 3400)
    return push(random, members=[(ALWAYS, (first,)), (second, ()), (second + 30, (_again(random, first),))])


def _misled(random: Random, ids: Ids, listed: Ids, seconds: int) -> Life:
    """One of two brokers lists other ids for so many seconds."""
    second = random.randrange(200, 3400)
    course = [(ALWAYS, ids), (second, listed), (second + seconds, ids)]
    return Life(ON_TWO_BROKERS, [(ALWAYS, ids)], listed={"broker-b": course})


def one_broker_keeps_a_stale_connection(random: Random) -> Life:
    """A member reconnects to one of two brokers, which lists it twice for 130 s."""
    ids = _ids(random, 2)
    return _misled(random, ids, (ids[0], *ids), 130)


def broker_reconnects(random: Random) -> Life:
    """One of two brokers lists no member for 50 s."""
    return _misled(random, _ids(random, 2), (), 50)


def broker_drops_a_connection(random: Random) -> Life:
    """Twice one of two brokers does not list one of three members for up to 40 s, until its heartbeat."""
    ids, first = _ids(random, 3), random.randrange(200, 3000)
    listed = [(ALWAYS, ids)]
    for second in (first, first + random.randrange(100, 400)):
        gone = random.choice(ids)
        listed += [(second, tuple(one for one in ids if one != gone)), (second + random.randrange(5, 40), ids)]
    return Life(ON_TWO_BROKERS, [(ALWAYS, ids)], listed={"broker-b": listed})


def much_in_flight(random: Random) -> Life:
    """Messages take their time: as many wait all the time, a few more or less. A rebalance moves fewer than 10,000."""
    life = push(random, rate=random.choice((1, 5, 20)), bursts=())
    queues = max(sum(hosts.values()) for route in life.routes.values() for _, hosts in route)
    return replace(life, waiting=min(random.choice((100, 1000)), 9000 // queues))


def hash_ring(random: Random) -> Life:
    """16 queues and two members: the ring gives both of them queues."""
    members = [(ALWAYS, _ids(random, 2))]
    return Life(
        {"topic": [(ALWAYS, {"broker-a": 16})]}, members, strategy="CONSISTENT_HASH", rate=random.choice((0, 5))
    )


def in_go(random: Random) -> Life:
    """Go clients call themselves ip@pid, and do not report their strategy."""
    life = push(random, language="GO", answers=False)
    members = [(since, tuple(one.partition("#")[0] for one in ids)) for since, ids in life.members]
    return replace(life, members=members)


def in_two_languages(random: Random) -> Life:
    """Go and Java share queues by AVG, which is the same in both."""
    life = push(random, answers=False)
    return replace(life, languages={life.ids[0]: "GO"})


def two_topics(random: Random) -> Life:
    """Each topic is on its own broker, which does not know the other topic."""
    routes = {
        "orders": _route(random, {"broker-a": 4}),
        "returns": _route(random, {"broker-b": 8}),
        "%RETRY%group": [(ALWAYS, {"broker-a": 1, "broker-b": 1})],
    }
    members = _members(random, _ids(random, random.randint(1, 4)))
    return Life(routes, members, answers=random.random() < 0.5)


def pop(random: Random) -> Life:
    """The broker assigns the queues, and may know of no offset."""
    return push(random, client_rebalance=False, answers=True, owns=False, commits=random.random() < 0.5)


def grpc_on_a_broker(random: Random) -> Life:
    """A proxy inside the broker; ids as org.apache.rocketmq.client.java.misc.ClientId makes them."""
    base36 = "0123456789abcdefghijklmnopqrstuvwxyz"
    ids = tuple(
        f"host-{number}@{random.randrange(1, 9999)}@{number}@{''.join(random.choices(base36, k=10))}"
        for number in range(3)
    )
    return push(random, members=[(ALWAYS, ids)], answers=False, commits=random.random() < 0.5)


def behind_a_proxy(random: Random) -> Life:
    """No member is connected; offsets advance, were never committed, or no message is produced."""
    return push(random, is_behind_proxy=True, answers=False, commits=random.random() < 0.7)


def topic_created_again(random: Random) -> Life:
    """The topic is deleted and created again: all offsets begin with 0, at once or after three rounds."""
    life = push(random, bursts=(), rate=random.choice((1, 5, 20)))
    return replace(life, created_again=random.randrange(300, 3300), former=random.choice((0, 180)))


def topic_gone_for_a_moment(random: Random) -> Life:
    """The topic is created again in the second round after it was deleted."""
    life = topic_created_again(random)
    hosts, back = life.routes["topic"][0][1], life.created_again or 0
    return replace(life, routes={**life.routes, "topic": [(ALWAYS, hosts), (back - 100, {}), (back, hosts)]})


def other_tags(random: Random) -> Life:
    """Go clients subscribe to one tag, of which no message comes: no offset moves."""
    life = in_go(random)
    return replace(
        life,
        routes={name: course[:1] for name, course in life.routes.items()},
        members=life.members[:1],
        answers=True,
        expression="rare",
        standing=[Standing("topic", range(sum(life.routes["topic"][0][1].values())), EVER)],
        rate=5,
        bursts=(),
    )


def clocks_behind(random: Random) -> Life:
    """The clocks of the clients are some minutes behind."""
    return push(random, answers=True, clocks_behind=random.randrange(100, 1000))


def quiet(random: Random) -> Life:
    """The only member leaves, and no message is missed."""
    life = push(random, rate=0, bursts=())
    return replace(life, members=[(ALWAYS, tuple(life.ids[:1])), (random.randrange(3000), ())])


def slow_start(random: Random) -> Life:
    """A member is replaced; its queues, 4 to 7 of 8, stand for 60 s, until it has warmed up."""
    (first, second), since = _ids(random, 2), random.randrange(200, 3400)
    members = [(ALWAYS, (first, second)), (since, (first, _again(random, second)))]
    standing = [Standing("topic", range(4, 8), Time(since, since + 60))]
    return Life(routes_of({"broker-a": 8}), members, standing=standing)


def fewer_queues(random: Random) -> Life:
    """Half of the queues are removed after they were drained."""
    hosts = [(ALWAYS, {"broker-a": 8}), (random.randrange(600, 3000), {"broker-a": 4})]
    return push(random, routes={**routes_of({"broker-a": 8}), "topic": hosts}, bursts=())


def of_a_framework(random: Random) -> Life:
    """Containers with one IP whose framework builds the id from the name server and the process id, which differ."""
    ids = tuple(f"172.17.0.1@10.20.0.9:9876@{number}" for number in random.sample(range(1, 99), 2))
    return push(random, members=[(ALWAYS, ids)], answers=False, version=395)


def few_fail(random: Random) -> Life:
    """For 20 minutes one message of fifty is sent back, and consumed then."""
    start = random.randrange(600, 1800)
    return push(random, rate=5, bursts=(), sends_back=Time(start, start + 1200), returned=0.02)


def a_queue_is_taken_late(random: Random) -> Life:
    """A member joins for five minutes."""
    (first, second), since = _ids(random, 2), random.randrange(200, 3000)
    members = [(ALWAYS, (first,)), (since, (first, second)), (since + 300, (first,))]
    return Life(routes_of({"broker-a": 8}), members, orderly=random.random() < 0.5)


def slave_serves(random: Random) -> Life:
    """The master of broker-b is away for some minutes, and its slave serves all who do not consume in order. Or for a
    moment in which locks are still good.
    """
    orderly, second = random.random() < 0.5, random.randrange(300, 2700)
    away = Time(second, second + (20 if orderly else 600))
    standing = [Standing("topic", range(4, 8), Time(second, second + 40))] if orderly else []
    return Life(ON_TWO_BROKERS, [(ALWAYS, _ids(random, 2))], orderly=orderly, slave_only=away, standing=standing)


def new_group(random: Random) -> Life:
    """It begins at the end of topics that are old, or with all messages of topics that are as young."""
    begins, base = (random.randrange(60, 3000), -1), random.choice((0, 20_000))
    life = push(random, bursts=(), answers=True, consume_from_where="CONSUME_FROM_LAST_OFFSET")
    return replace(life, members=life.members[:1], begins=begins, base=base)


def batch(random: Random) -> Life:
    """A backlog is there at the beginning, and only falls."""
    return Life(routes_of({"broker-a": 8}), [(ALWAYS, _ids(random, 2))], rate=0, batch=9000)


def pops_after_a_pause(random: Random) -> Life:
    """For a minute no client pops the queues of one of two brokers."""
    second = random.randrange(600, END - 600)
    pause = [Standing("topic", range(4, 8), Time(second, second + 60))]
    members = [(ALWAYS, _ids(random, 3))]
    return Life(ON_TWO_BROKERS, members, client_rebalance=False, owns=False, standing=pause)


HEALTHY: dict[str, Kind] = {
    "push": push,
    "circle": partial(push, strategy="AVG_BY_CIRCLE", answers=True),
    "orderly": partial(push, orderly=True, answers=True),
    # DefaultLitePullConsumer rebalances as others do, and is pulled when the application likes.
    "pull": partial(push, consume_type="CONSUME_ACTIVELY", answers=True),
    # DefaultMQPullConsumer lists no queue, whatever it pulls (`DefaultMQPullConsumerImpl.consumerRunningInfo`).
    "pull_by_hand": partial(push, consume_type="CONSUME_ACTIVELY", answers=True, owns=False),
    "broadcasting": partial(push, model="BROADCASTING"),
    # A new group has committed nothing, of topics to which nothing is sent.
    "born": partial(push, rate=0, bursts=(), commits=False),
    # A message in 100 s comes to one queue, and is consumed at once.
    "trickle": partial(push, rates={0: 0.01}, bursts=()),
}
HEALTHY |= {
    kind.__name__: kind
    for kind in (
        *(one_alone, one_broker_keeps_a_stale_connection, broker_reconnects, broker_drops_a_connection, much_in_flight),
        *(hash_ring, in_go, in_two_languages, two_topics, pop, grpc_on_a_broker, behind_a_proxy, topic_created_again),
        *(topic_gone_for_a_moment, other_tags, clocks_behind, quiet, slow_start, fewer_queues, of_a_framework),
        *(few_fail, a_queue_is_taken_late, slave_serves, new_group, batch, pops_after_a_pause),
    )
}
