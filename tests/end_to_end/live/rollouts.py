"""Groups of Java, Go and Node.js whose members are replaced while they are recorded, and the cost by their logs."""

import signal
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests.end_to_end.live import mixed
from tests.end_to_end.live.cluster import Cluster, cluster
from tests.end_to_end.live.scenario import Clock, start_capture, stop_capture

CADENCE = 1
#: Without it, brokers refuse POP, and with it clients behind a proxy.
_TIMERS = "timerWheelEnable=true\n"
MEMBERS, _QUEUES = 4, 4
#: By language the program, and what each member is started with.
_PROGRAMS = {
    "java": ("java 5.4.0", "{group},{group},10.9.1.{number},1,avg,*,0"),
    "go": ("go 2.1.2", "{group} {group} AVG {number}"),
    "node": ("node", "{group} {group} *"),
}
ORDERS = ("one-by-one", "one-wave")
#: Seconds of the recording: when members stop and others start, of the first language; the next ones follow.
_ONE_BY_ONE, _WAVE, _RESTART, _FOLLOWS, END = 30, 165, 15, 3, 230
#: A JVM is there so many seconds before its member starts: several at once need longer on one host.
_EARLY = 20


class Group(NamedTuple):
    """A group of one language whose members are replaced in an order."""

    language: str
    order: str

    @property
    def name(self) -> str:
        return f"{self.language}-{self.order}"

    def client(self, number: int) -> mixed.Client:
        """A member; numbers above those of the first members are of those that replace them."""
        program, arguments = _PROGRAMS[self.language]
        told = arguments.format(group=self.name, number=number).split()
        return mixed.Client(f"{self.name}-{number}", program, told)

    def events(self) -> Iterator[tuple[float, str, mixed.Client]]:
        """When which member stops, is prepared or starts."""
        late = _FOLLOWS * [*_PROGRAMS].index(self.language)
        for number in range(1, MEMBERS + 1):
            stops = (_ONE_BY_ONE + 2 * _RESTART * (number - 1) if self.order == "one-by-one" else _WAVE) + late
            yield stops, "stop", self.client(number)
            other = self.client(number + MEMBERS)
            if self.language == "java":
                yield stops + _RESTART - _EARLY, "prepare", other
            yield stops + _RESTART, "start", other


GROUPS = [Group(language, order) for language in _PROGRAMS for order in ORDERS]


class Cost(NamedTuple):
    """What replacing the members of a group cost: by queue the longest time in seconds from a message of one member to
    that of another, less the `usual` one between two; and how many messages came again.
    """

    pauses: Sequence[float]
    usual: float
    again: int


def run(folder: Path) -> mixed.Scenario:
    """Starts the cluster and the groups, and records them while their members are replaced."""
    with cluster(folder, _TIMERS, program="OldClients.java") as made:
        made.start_proxy()
        made.admin("topics", *(f"{group.name}:{_QUEUES}:{_QUEUES}" for group in GROUPS))
        made.clients("producer", "produce", ["20", *(group.name for group in GROUPS)])
        for client in (group.client(number) for group in GROUPS for number in range(1, MEMBERS + 1)):
            mixed.start(made, client)
            made.wait_started(client.process)
        time.sleep(30)
        capture = start_capture(made, folder / "recordings", CADENCE)
        clock, recorded = Clock(), mixed.Scenario(folder, time.time(), [])
        for second, what, client in sorted(event for group in GROUPS for event in group.events()):
            clock.wait(second)
            _replace(made, what, client)
        clock.wait(END)
        stop_capture(capture)
    recorded.save()
    return recorded


def _replace(made: Cluster, what: str, client: mixed.Client) -> None:
    hold = made.folder / client.process / "hold"
    match what:
        case "stop":
            made.running[client.process].send_signal(signal.SIGTERM)
        case "prepare":
            hold.parent.mkdir()
            hold.touch()
            mixed.start(made, client)
        case "start" if hold.exists():
            hold.unlink()
        case "start":
            mixed.start(made, client)


def cost(recorded: mixed.Scenario, group: Group) -> Cost:
    """By the messages that listeners wrote down since the recording began."""
    of_queue: dict[str, list[tuple[float, int]]] = defaultdict(list)
    got: Counter[tuple[str, int]] = Counter()
    for number in range(1, 2 * MEMBERS + 1):
        delivered = mixed.delivered(recorded.folder, group.client(number).process)
        for each in (each for each in delivered if each.at > recorded.begin):
            of_queue[each.queue].append((each.at, number))
            got[each.queue, each.offset] += 1
    gaps = {queue: list(_gaps(sorted(deliveries))) for queue, deliveries in of_queue.items()}
    usual = median(gap for of_one in gaps.values() for gap, _ in of_one)
    pauses = [max(gap for gap, is_handed_over in gaps[queue] if is_handed_over) - usual for queue in sorted(gaps)]
    return Cost(pauses, usual, sum(times > 1 for times in got.values()))


def _gaps(deliveries: Sequence[tuple[float, int]]) -> Iterator[tuple[float, bool]]:
    """The seconds between each two, and whether different members got them."""
    return ((after - before, one != other) for (before, one), (after, other) in pairwise(deliveries))
