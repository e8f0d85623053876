"""The kinds of made groups that are in health."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from tests.support.made_groups.lives import ALWAYS, ON_TWO_BROKERS, Course, Hosts, Life, Standing, Time, routes_of

#: A life of so many hours.
Kind = Callable[[Random, int], Life]


def push(random: Random, hours: int) -> Life:
    """Push consumers on one or two brokers: up to one for two queues, on hosts of their own; half of them are asked
    for their running info. Something happens in most hours.
    """
    queues, brokers = random.choice((4, 6, 8)), random.choice((("broker-a",), ("broker-a", "broker-b")))
    hosts = {broker: queues // len(brokers) for broker in brokers}
    members = _members(random, _ids(random, random.randint(1, queues // 2)), hours)
    is_alone = max(len(ids) for _, ids in members) == 1
    routes = routes_of(hosts)
    if is_alone:
        routes["topic"] = _route(random, hosts, hours)
    return replace(
        Life(routes, members),
        answers=random.random() < 0.5,
        rate=random.choice((0, 1, 5, 20)),
        bursts=_bursts(random, hours) if is_alone else (),
        bystander=random.random() < 0.2,
        hours=hours,
    )


def _ids(random: Random, count: int) -> tuple[str, ...]:
    net = random.randrange(200)
    return tuple(f"10.31.{net}.{host}@{random.randrange(1, 9999)}#{random.randrange(10**15)}" for host in range(count))


def _route(random: Random, hosts: Hosts, hours: int) -> Course[Hosts]:
    """Now and then every broker gets two queues more."""
    more = {broker: count + 2 for broker, count in hosts.items()}
    second = random.randrange(300, 3600 * hours - 600)
    return [(ALWAYS, hosts), *([(second, more)] if random.random() < 0.1 else [])]


def _members(random: Random, ids: tuple[str, ...], hours: int) -> Course[tuple[str, ...]]:
    """Every hour they stay, or one goes or comes back, or reconnects and is listed twice for 100 s; or all are
    restarted, one after the other, ten minutes apart and away for 30 s.
    """
    found, now, gone = [(ALWAYS, ids)], ids, tuple[str, ...]()
    for hour in range(hours):
        what = random.choice(("stay", "stay", "moves", "reconnects", "deploy"))
        second = 3600 * hour + random.randrange(200, 900)
        if what == "moves" and (gone or len(now) > 1):
            now, gone = ((*now, *gone), ()) if gone else (now[1:], now[:1])
            found.append((second, now))
        elif what == "reconnects":
            found += [(second, (*now, now[0])), (second + 100, now)]
        elif what == "deploy":
            for place, one in enumerate(now):
                away = tuple(other for other in now if other != one)
                now = (*away, f"{one.partition('@')[0]}@1#{random.randrange(10**15)}")
                found += [(second + 600 * place, away), (second + 600 * place + 30, now)]
    return found


def _bursts(random: Random, hours: int) -> Sequence[Time]:
    """Of three minutes, in a third of the hours."""
    starts = [3600 * hour + random.randrange(0, 3000) for hour in range(hours) if random.random() < 0.3]
    return [Time(start, start + 180) for start in starts]


def one_alone(random: Random, hours: int) -> Life:
    """The only member is restarted once an hour, and away for 30 s."""
    (first,) = _ids(random, 1)
    members: list[tuple[int, tuple[str, ...]]] = [(ALWAYS, (first,))]
    for hour in range(hours):
        second = 3600 * hour + random.randrange(200, 3400)
        again = f"{first.partition('@')[0]}@1#{random.randrange(10**15)}"
        members += [(second, ()), (second + 30, (again,))]
    return replace(push(random, hours), members=members)


def one_broker_keeps_a_stale_connection(random: Random, hours: int) -> Life:
    """Once an hour a member reconnects to one of two brokers, which lists it twice for 130 s."""
    ids = _ids(random, 2)
    return _misled(random, hours, ids, (ids[0], *ids), 130)


def _misled(random: Random, hours: int, ids: tuple[str, ...], briefly: tuple[str, ...], seconds: int) -> Life:
    """Once an hour one of two brokers lists others for so many seconds."""
    listed: list[tuple[int, tuple[str, ...]]] = [(ALWAYS, ids)]
    for hour in range(hours):
        second = 3600 * hour + random.randrange(200, 3400)
        listed += [(second, briefly), (second + seconds, ids)]
    return Life(ON_TWO_BROKERS, [(ALWAYS, ids)], listed={"broker-b": listed}, hours=hours)


def much_in_flight(random: Random, hours: int) -> Life:
    """Messages take their time: as many wait all the time, a few more or less. A rebalance moves fewer than 10,000."""
    life = replace(push(random, hours), rate=random.choice((1, 5, 20)))
    queues = max(sum(hosts.values()) for route in life.routes.values() for _, hosts in route)
    return replace(life, waiting=min(random.choice((100, 1000)), 9000 // queues), bursts=())


def circle(random: Random, hours: int) -> Life:
    return replace(push(random, hours), strategy="AVG_BY_CIRCLE", answers=True)


def hash_ring(random: Random, hours: int) -> Life:
    """16 queues and two members: the ring leaves nobody out."""
    route, members = [(ALWAYS, {"broker-a": 16})], [(ALWAYS, _ids(random, 2))]
    return Life({"topic": route}, members, strategy="CONSISTENT_HASH", rate=random.choice((0, 5)), hours=hours)


def orderly(random: Random, hours: int) -> Life:
    return replace(push(random, hours), orderly=True, answers=True)


def in_go(random: Random, hours: int) -> Life:
    """Go clients call themselves ip@pid, and say nothing of their strategy."""
    life = push(random, hours)
    short = {one: one.partition("#")[0] for one in life.ids}
    members = [(since, tuple(short[one] for one in ids)) for since, ids in life.members]
    return replace(life, members=members, language="GO", answers=False)


def in_two_languages(random: Random, hours: int) -> Life:
    """Go and Java share queues by AVG, which is the same in both."""
    life = push(random, hours)
    return replace(life, languages={life.ids[0]: "GO"}, answers=False)


def two_topics(random: Random, hours: int) -> Life:
    """Each topic on a broker of its own, which knows nothing of the other one."""
    retry: Course[Hosts] = [(ALWAYS, {"broker-a": 1, "broker-b": 1})]
    routes = {
        "orders": _route(random, {"broker-a": 4}, hours),
        "returns": _route(random, {"broker-b": 8}, hours),
        "%RETRY%group": retry,
    }
    members = _members(random, _ids(random, random.randint(1, 4)), hours)
    return Life(routes, members, answers=random.random() < 0.5, hours=hours)


def pull(random: Random, hours: int) -> Life:
    """DefaultLitePullConsumer: rebalances as others do, and is pulled when the application likes."""
    return replace(push(random, hours), consume_type="CONSUME_ACTIVELY", answers=True)


def pull_by_hand(random: Random, hours: int) -> Life:
    """DefaultMQPullConsumer: it lists no queue, whatever it pulls (`DefaultMQPullConsumerImpl.consumerRunningInfo`)."""
    return replace(push(random, hours), consume_type="CONSUME_ACTIVELY", answers=True, owns=False)


def pop(random: Random, hours: int) -> Life:
    """The broker deals out the queues, and may know of no offset."""
    life = push(random, hours)
    return replace(life, client_rebalance=False, answers=True, owns=False, commits=random.random() < 0.5)


def grpc_on_a_broker(random: Random, hours: int) -> Life:
    """A proxy inside the broker; ids as org.apache.rocketmq.client.java.misc.ClientId makes them."""
    ids = tuple(f"host-{place}@{random.randrange(1, 9999)}@{place}@{_base36(random)}" for place in range(3))
    return replace(push(random, hours), members=[(ALWAYS, ids)], answers=False, commits=random.random() < 0.5)


def _base36(random: Random) -> str:
    return "".join(random.choice("0123456789abcdefghijklmnopqrstuvwxyz") for _ in range(10))


def behind_a_proxy(random: Random, hours: int) -> Life:
    """Nobody is connected; offsets advance, were never committed, or nothing is produced."""
    commits = random.random() < 0.7
    return replace(push(random, hours), connects=False, has_proxy=True, answers=False, commits=commits)


def broadcasting(random: Random, hours: int) -> Life:
    return replace(push(random, hours), model="BROADCASTING", answers=random.random() < 0.5)


def topic_made_again(random: Random, hours: int) -> Life:
    """The topic is deleted and created again: all offsets begin with 0, at once or after three rounds."""
    second, former = random.randrange(300, 3600 * hours - 300), random.choice((0, 180))
    life = replace(push(random, hours), made_again=second, bursts=(), rate=random.choice((1, 5, 20)))
    return replace(life, former=former)


def topic_gone_for_a_moment(random: Random, hours: int) -> Life:
    """The topic is created again in the second round after it was deleted."""
    life = topic_made_again(random, hours)
    hosts, back = life.routes["topic"][0][1], life.made_again or 0
    return replace(life, routes={**life.routes, "topic": [(ALWAYS, hosts), (back - 100, {}), (back, hosts)]})


def other_tags(random: Random, hours: int) -> Life:
    """Go clients that subscribe to one tag, of which no message comes: no offset moves."""
    life = in_go(random, hours)
    members = [(ALWAYS, life.members[0][1])]
    standing = [Standing("topic", range(sum(life.routes["topic"][0][1].values())), Time(ALWAYS, -ALWAYS))]
    routes = {name: course[:1] for name, course in life.routes.items()}
    return replace(
        life, routes=routes, members=members, answers=True, expression="rare", standing=standing, rate=5, bursts=()
    )


def clocks_behind(random: Random, hours: int) -> Life:
    """The clocks of the clients are some minutes behind."""
    return replace(push(random, hours), answers=True, clocks_behind=random.randrange(100, 1000))


def quiet(random: Random, hours: int) -> Life:
    """Nobody is there, and nothing is missed."""
    life = push(random, hours)
    return replace(life, members=[(ALWAYS, tuple(life.ids[:1])), (random.randrange(3000), ())], rate=0, bursts=())


def born(random: Random, hours: int) -> Life:
    """A new group, which has committed nothing, of topics to which nothing is sent."""
    return replace(push(random, hours), rate=0, bursts=(), commits=False)


def trickle(random: Random, hours: int) -> Life:
    """A message in 100 s comes to one queue, and is consumed at once."""
    return replace(push(random, hours), rates={0: 0.01}, bursts=())


def slow_start(random: Random, hours: int) -> Life:
    """A member is replaced once an hour; its queues, 4 to 7 of 8, stand for 60 s, until it has warmed up."""
    first, second = _ids(random, 2)
    members, standing = [(ALWAYS, (first, second))], []
    for hour in range(hours):
        since = 3600 * hour + random.randrange(200, 3400)
        again = f"{second.partition('@')[0]}@8#{random.randrange(10**15)}"
        members.append((since, (first, again)))
        standing.append(Standing("topic", range(4, 8), Time(since, since + 60)))
    return Life(routes_of({"broker-a": 8}), members, rate=5, standing=standing, hours=hours)


def broker_reconnects(random: Random, hours: int) -> Life:
    """Once an hour one of two brokers lists nobody for 50 s."""
    return _misled(random, hours, _ids(random, 2), (), 50)


def fewer_queues(random: Random, hours: int) -> Life:
    """Half of the queues are removed after they were drained."""
    life = push(random, hours)
    hosts = [(ALWAYS, {"broker-a": 8}), (random.randrange(600, 3000), {"broker-a": 4})]
    return replace(life, routes={**routes_of({"broker-a": 8}), "topic": hosts}, bursts=())


def broker_drops_a_connection(random: Random, hours: int) -> Life:
    """Twice an hour one of two brokers does not list one of three members for up to 40 s, until its heartbeat."""
    ids = _ids(random, 3)
    listed: list[tuple[int, tuple[str, ...]]] = [(ALWAYS, ids)]
    for hour in range(hours):
        first = 3600 * hour + random.randrange(200, 3000)
        for second in (first, first + random.randrange(100, 400)):
            gone = random.choice(ids)
            listed += [(second, tuple(one for one in ids if one != gone)), (second + random.randrange(5, 40), ids)]
    return Life(ON_TWO_BROKERS, [(ALWAYS, ids)], listed={"broker-b": listed}, hours=hours)


def of_a_framework(random: Random, hours: int) -> Life:
    """Containers with one IP whose framework builds the id from the name server and the process id, which differ."""
    ids = tuple(f"172.17.0.1@10.20.0.9:9876@{number}" for number in random.sample(range(1, 99), 2))
    return replace(push(random, hours), members=[(ALWAYS, ids)], answers=False, version=395)


def few_fail(random: Random, hours: int) -> Life:
    """In one of the hours one message of fifty is sent back, and consumed then."""
    start = 3600 * random.randrange(hours) + random.randrange(600, 1800)
    life = replace(push(random, hours), rate=5, bursts=())
    return replace(life, sends_back=Time(start, start + 1200), returned=0.02)


def a_queue_is_taken_late(random: Random, hours: int) -> Life:
    """Once an hour one of two members takes one of its queues 25 s after the others: no longer than a rebalance."""
    first, second = _ids(random, 2)
    changes: list[tuple[int, tuple[str, ...]]] = [(ALWAYS, (first,))]
    for hour in range(hours):
        since = 3600 * hour + random.randrange(200, 3000)
        changes += [(since, (first, second)), (since + 300, (first,))]
    return Life(routes_of({"broker-a": 8}), changes, orderly=random.random() < 0.5, hours=hours)


def slave_serves(random: Random, hours: int) -> Life:
    """The master of broker-b is away for some minutes: whoever does not consume in order reads from its slave. Or for a
    moment in which locks are still good.
    """
    orderly, second = random.random() < 0.5, random.randrange(300, 3600 * hours - 900)
    away = Time(second, second + (20 if orderly else 600))
    life = Life(ON_TWO_BROKERS, [(ALWAYS, _ids(random, 2))], hours=hours, orderly=orderly, slave_only=away)
    return replace(life, standing=[Standing("topic", range(4, 8), Time(second, second + 40))] if orderly else [])


def new_group(random: Random, hours: int) -> Life:
    """It begins at the end of topics that are old, or with all messages of topics that are as young."""
    life = replace(push(random, hours), bursts=(), answers=True, consume_from_where="CONSUME_FROM_LAST_OFFSET")
    members = [(ALWAYS, life.members[0][1])]
    return replace(life, members=members, begins=(random.randrange(60, 3000), -1), base=random.choice((0, 20_000)))


def batch(random: Random, hours: int) -> Life:
    """A backlog is there at the beginning, and only falls."""
    members = [(ALWAYS, _ids(random, 2))]
    return Life(routes_of({"broker-a": 8}), members, rate=0, batch=9000, hours=hours)


def pops_after_a_pause(random: Random, hours: int) -> Life:
    """For a minute nobody pops the queues of one of two brokers."""
    second = random.randrange(600, 3600 * hours - 600)
    pause = [Standing("topic", range(4, 8), Time(second, second + 60))]
    life = Life(ON_TWO_BROKERS, [(ALWAYS, _ids(random, 3))], client_rebalance=False, owns=False, hours=hours)
    return replace(life, standing=pause)


HEALTHY: tuple[Kind, ...] = (
    *(push, push, push, one_alone, one_broker_keeps_a_stale_connection, much_in_flight, circle, hash_ring, orderly),
    *(in_go, in_two_languages, two_topics, pull, pull_by_hand, pop, grpc_on_a_broker, behind_a_proxy, broadcasting),
    *(quiet, topic_made_again, topic_gone_for_a_moment, other_tags, clocks_behind),
    *(born, trickle, broker_reconnects, broker_drops_a_connection, slow_start, new_group, fewer_queues),
    *(of_a_framework, few_fail, a_queue_is_taken_late, slave_serves, batch, pops_after_a_pause),
)
