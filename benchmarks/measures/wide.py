"""One very large group against many ordinary ones, whatever strategy they run."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from benchmarks.bench import Bench
from benchmarks.fleet import START_MS, Fleet
from benchmarks.measure import CallResults

_ROOMS = 4
#: No client says what it runs: the configuration does, so that one fleet serves every strategy.
_SHARED = Fleet(hours=1, brokers=8, rooms=_ROOMS, churn=0.0, duplicates=0.0, says_strategy=False)
#: 2,000 members and 4,096 queues in one group; 2,000 and 4,000 in 500. One broker lists the members of each.
WIDE = replace(_SHARED, groups=1, fewest_members=2000, most_members=2000, queues=4096)
ORDINARY = replace(_SHARED, groups=500, fewest_members=4, most_members=4, queues=8)
STRATEGIES = (
    *("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "MACHINE_ROOM", "CONFIG"),
    *("MACHINE_ROOM_NEARBY-AVG", "MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE", "MACHINE_ROOM_NEARBY-CONSISTENT_HASH"),
)


def worst_strategy(bench: Bench) -> CallResults:
    """A run over an hour of the one ÷ of the others, strategy by strategy; the strategy with the largest ratio."""
    bench.make({"wide": WIDE, "ordinary": ORDINARY})
    bench.say(f"auditing one group of 2,000 members and 500 ordinary ones under {len(STRATEGIES)} strategies")
    pairs = [
        bench.target(name, configuration=configuration(strategy, fleet))
        for strategy in STRATEGIES
        for name, fleet in (("wide", WIDE), ("ordinary", ORDINARY))
    ]
    took = bench.times("audit", pairs)
    ratios = {name: (took[2 * i] / took[2 * i + 1], i) for i, name in enumerate(STRATEGIES)}
    worst = max(ratios, key=lambda name: ratios[name][0])
    _, at = ratios[worst]
    return CallResults.ratio(took[2 * at], took[2 * at + 1], f"under {worst}, the worst of {len(STRATEGIES)}")


def configuration(strategy: str, fleet: Fleet) -> dict[str, Any]:
    """Under which every group of the fleet runs the strategy: keys and values of a configuration file."""
    group: dict[str, Any] = {
        "strategy": strategy,
        "rooms": [f"room{number}" for number in range(_ROOMS)],
        "broker_room": "^room([0-9])@",
        # The last digit of a client's address, so that the clients of the upper rooms find no queues near them.
        "client_room": "([0-9])@",
    }
    if strategy == "CONFIG":
        group["config_queues"] = list(_lists(fleet))
    return {"groups": [group]}


def _lists(fleet: Fleet) -> Iterator[dict[str, Any]]:
    """Every queue in one client's list, in turns: a list per client, or per broker of a client."""
    for number in range(fleet.groups):
        first = number % (fleet.brokers // fleet.hosts) * fleet.hosts
        for member in range(fleet.most_members):
            for host in range(fleet.hosts):
                broker = first + host
                queues = range(member, fleet.queues_per_host, fleet.most_members)
                if queues:
                    yield {
                        "client": f".*#{START_MS + member}",
                        "topic": f"topic-{number:04}",
                        "broker": f"room{broker % fleet.rooms}@broker-{broker:02}",
                        "queues": list(queues),
                    }
