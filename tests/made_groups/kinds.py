"""The kinds of made groups that are in health."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from tests.made_groups.lives import ALWAYS, BacklogCourse, Hosts, Life, Time

LineKind = Callable[[Random], Life]


def push(random: Random) -> Life:
    """Push consumers on one or two brokers: up to one for two queues, on hosts of their own; half of them are asked
    for their running info. Something happens in most hours.
    """
    queues, brokers = random.choice((4, 6, 8)), random.choice((("broker-a",), ("broker-a", "broker-b")))
    hosts = {broker: queues // len(brokers) for broker in brokers}
    ids = _ids(random, random.randint(1, queues // 2))
    retry: BacklogCourse[Hosts] = [(ALWAYS, dict.fromkeys(brokers, 1))]
    members = _members(random, ids)
    route = _route(random, hosts) if len(members) == 1 else [(ALWAYS, hosts)]
    return replace(
        Life({"topic": route, "%RETRY%group": retry}, members),
        told=random.random() < 0.5,
        rate=random.choice((0, 1, 5, 20)),
        burst=_burst(random) if len(members) == 1 else None,
        bystander=random.random() < 0.2,
    )


def _ids(random: Random, count: int) -> tuple[str, ...]:
    net = random.randrange(200)
    return tuple(f"10.31.{net}.{host}@{random.randrange(1, 9999)}#{random.randrange(10**15)}" for host in range(count))


def _route(random: Random, hosts: Hosts) -> BacklogCourse[Hosts]:
    """Now and then every broker gets two queues more."""
    more = {broker: count + 2 for broker, count in hosts.items()}
    return [(ALWAYS, hosts), *([(random.randrange(300, 3000), more)] if random.random() < 0.1 else [])]


def _members(random: Random, ids: tuple[str, ...]) -> BacklogCourse[tuple[str, ...]]:
    """They stay, or one comes, goes, or reconnects and is listed twice for 100 s; or all are restarted, one after the
    other, ten minutes apart and away for 30 s.
    """
    what, second = random.choice(("stay", "stay", "comes", "goes", "reconnects", "deploy")), random.randrange(200, 900)
    others = ids[1:]
    if what == "stay" or not others:
        return [(ALWAYS, ids)]
    if what in ("comes", "goes"):
        return [(ALWAYS, ids if what == "goes" else others), (second, others if what == "goes" else ids)]
    if what == "reconnects":
        return [(ALWAYS, ids), (second, (*ids, ids[0])), (second + 100, ids)]
    found, now = [(ALWAYS, ids)], ids
    for place, one in enumerate(ids):
        away = tuple(other for other in now if other != one)
        now = (*away, f"{one.partition('@')[0]}@1#{random.randrange(10**15)}")
        found += [(second + 600 * place, away), (second + 600 * place + 30, now)]
    return found


def _burst(random: Random) -> Time | None:
    """Of three minutes, in a third of the hours."""
    start = random.randrange(0, 3000)
    return Time(start, start + 180) if random.random() < 0.3 else None


def circle(random: Random) -> Life:
    return replace(push(random), strategy="AVG_BY_CIRCLE", told=True)


def hash_ring(random: Random) -> Life:
    """16 queues and two members: the ring leaves nobody out."""
    route = [(ALWAYS, {"broker-a": 16})]
    return Life({"topic": route}, [(ALWAYS, _ids(random, 2))], strategy="CONSISTENT_HASH", rate=random.choice((0, 5)))


def orderly(random: Random) -> Life:
    return replace(push(random), orderly=True, told=True)


def in_go(random: Random) -> Life:
    """Go clients call themselves ip@pid, and say nothing of their strategy."""
    life = push(random)
    short = {one: one.partition("#")[0] for one in life.ids}
    members = [(since, tuple(short[one] for one in ids)) for since, ids in life.members]
    return replace(life, members=members, language="GO", told=False)


def two_topics(random: Random) -> Life:
    """Each topic on a broker of its own, which knows nothing of the other one."""
    retry: BacklogCourse[Hosts] = [(ALWAYS, {"broker-a": 1, "broker-b": 1})]
    routes = {
        "orders": _route(random, {"broker-a": 4}),
        "returns": _route(random, {"broker-b": 8}),
        "%RETRY%group": retry,
    }
    return Life(routes, _members(random, _ids(random, random.randint(1, 4))), told=random.random() < 0.5)


def pull(random: Random) -> Life:
    """DefaultLitePullConsumer: rebalances as others do, and is pulled when the application likes."""
    return replace(push(random), consume_type="CONSUME_ACTIVELY", told=True)


def pull_by_hand(random: Random) -> Life:
    """DefaultMQPullConsumer: it lists no queue, whatever it pulls (`DefaultMQPullConsumerImpl.consumerRunningInfo`)."""
    return replace(push(random), consume_type="CONSUME_ACTIVELY", told=True, owns=False)


def pop(random: Random) -> Life:
    """The broker deals out the queues, and may know of no offset."""
    life = push(random)
    return replace(life, client_rebalance=False, told=True, owns=False, commits=random.random() < 0.5)


def grpc_on_a_broker(random: Random) -> Life:
    """A proxy inside the broker; ids as org.apache.rocketmq.client.java.misc.ClientId makes them."""
    ids = tuple(f"host-{place}@{random.randrange(1, 9999)}@{place}@{_base36(random)}" for place in range(3))
    return replace(push(random), members=[(ALWAYS, ids)], told=False, commits=random.random() < 0.5)


def _base36(random: Random) -> str:
    return "".join(random.choice("0123456789abcdefghijklmnopqrstuvwxyz") for _ in range(10))


def behind_a_proxy(random: Random) -> Life:
    """Nobody is connected; offsets advance, were never committed, or nothing is produced."""
    commits = random.random() < 0.7
    return replace(push(random), connects=False, has_proxy=True, told=False, commits=commits)


def broadcasting(random: Random) -> Life:
    return replace(push(random), model="BROADCASTING", told=random.random() < 0.5)


def quiet(random: Random) -> Life:
    """Nobody is there, and nothing is missed."""
    life = push(random)
    return replace(life, members=[(ALWAYS, tuple(life.ids[:1])), (random.randrange(3000), ())], rate=0, burst=None)


HEALTHY: tuple[LineKind, ...] = (
    *(push, push, push, circle, hash_ring, orderly, in_go, two_topics),
    *(pull, pull_by_hand, pop, grpc_on_a_broker, behind_a_proxy, broadcasting, quiet),
)
