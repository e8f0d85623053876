"""Random groups: what a recorder saw of one, over a few short steps.

The recorder asks one broker after another, sometimes slowly; it misses rounds; brokers disagree, forget everybody and
come back; routes and clients change; clients answer late, not at all, or stop answering and expire; offsets go back,
are made anew, are unknown. Things change at rounds of whole cadences, which is where steps, intervals and gaps meet
exactly, and each source has a phase of its own, down to a microsecond beside.

The first option of every choice is the one without anything odd, so examples shrink to few changes of few things.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, NamedTuple

from hypothesis import strategies as st

from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rocketmq.strategies import ConfigQueues, StrategySettings
from tests.conformance.kernel_vs_oracle.choices import Choices, choices
from tests.conformance.kernel_vs_oracle.courses import (
    CADENCE,
    FIRST_ROUND,
    MAX_GAP,
    PERSISTENT_AFTER,
    STALLED_AFTER,
    STEP,
    VERDICT_SAMPLES,
    VERDICT_WINDOW,
    BacklogCourse,
    course,
    last,
    rounds,
)
from tests.conformance.kernel_vs_oracle.offsets import offsets_of
from tests.support.oracle.snapshots import (
    JAVA_5,
    ClientSnapshot,
    Group,
    MembershipSnapshot,
    RouteSnapshot,
    Software,
    StepWindow,
)
from tests.support.times import START

_TOPICS = ("T", "%RETRY%g", "S")
_BROKERS = ("a", "b", "room1@d", "c@1")
_CLIENTS = ("r1-a@1", "r1-a@2", "r2-\U0001f600", "r2-\uffff", "r3")
_SOFTWARE: tuple[tuple[Software, ...], ...] = (
    *((JAVA_5,),) * 3,
    *((("GO", 317),), (("JAVA", 355),), (("GO", 317), JAVA_5), (JAVA_5, ("JAVA", 355), ("GO", None), (None, None))),
)
_PACKAGE = "org.apache.rocketmq.client.consumer.rebalance."
_CLASSES = (
    *("AllocateMessageQueueAveragely", None, None, "AllocateMessageQueueAveragely"),
    *("AllocateMessageQueueAveragelyByCircle", "AllocateMessageQueueAveragelyByCircle"),
    *("AllocateMessageQueueConsistentHash", "AllocateMessageQueueByMachineRoom", "AllocateMachineRoomNearby"),
    *("AllocateMessageQueueByConfig", "OfSomebodysOwn"),
)
_FIRST, _PREFIX = "^(.)", "^([^-]+)-"
_LISTS = (ConfigQueues("r1.*", "T", "a", (0, 1)), ConfigQueues("r1-a@2|r3", "T", "a", (1,)))
CONFIGURED = (
    *(StrategySettings(),) * 6,
    *(StrategySettings(None, 2, frozenset({"room1", "a"}), _FIRST, _FIRST, _LISTS),) * 5,
    StrategySettings("AVG_BY_CIRCLE"),
    StrategySettings("CONSISTENT_HASH", virtual_node_cnt=3),
    StrategySettings("CONSISTENT_HASH", virtual_node_cnt=0),
    StrategySettings("MACHINE_ROOM", rooms=frozenset({"room1", "c"})),
    StrategySettings("MACHINE_ROOM", rooms=frozenset()),
    StrategySettings("MACHINE_ROOM_NEARBY-AVG", broker_room=_FIRST, client_room=_FIRST),
    StrategySettings("MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE", broker_room=_FIRST, client_room=_PREFIX),
    StrategySettings("MACHINE_ROOM_NEARBY-CONSISTENT_HASH", broker_room=_FIRST, client_room="(.)$"),
    StrategySettings("CONFIG", config_queues=_LISTS),
    StrategySettings("CONFIG"),
    StrategySettings("POP"),
)


@dataclass(frozen=True, repr=False)
class Recording:
    """A group, recorded over so many steps from `START` on."""

    group: Group
    steps: int

    def __repr__(self) -> str:
        """What every source said, in seconds of the first step, where it is not what it said before."""
        group = self.group
        named: list[tuple[str, int, object]] = [
            (one.broker_name, one.captured_at, one[2:]) for one in group.memberships
        ]
        named += [(f"proxies, {one.broker_name}", one.captured_at, one[2:]) for one in group.proxies]
        named += [(one.client_id, one.captured_at, one[2:]) for one in group.clients]
        by_topic: list[tuple[str, Any]] = [*group.routes.items(), *group.offsets.items()]
        named += [(topic, one.captured_at, one[1:]) for topic, snapshots in by_topic for one in snapshots]
        lines = [f"{self.steps} steps, {group.configured}, {dict(group.software)}"]
        for (name, said), same in groupby(named, key=itemgetter(0, 2)):
            lines.append(f"{name} at {' '.join(f'{(at - START) / SECOND:g}' for _, at, _ in same)}: {said}")
        return "\n    ".join(lines)

    @property
    def end(self) -> int:
        return START + self.steps * STEP

    def windows(self) -> list[StepWindow]:
        starts = (START + number * STEP for number in range(self.steps))
        lengths = (CADENCE, MAX_GAP, PERSISTENT_AFTER, VERDICT_WINDOW, VERDICT_SAMPLES, STALLED_AFTER)
        return [StepWindow(start, start + STEP, *lengths) for start in starts]


_TOPIC_SETS = (("T", "S", "%RETRY%g"), ("T", "S"), ("T", "%RETRY%g"), ("T",), ("S",), ())
#: What a broker lists: what is true, what another one thinks, nobody, or nothing at all.
_STRAYS = ("true", "true", "true", "other", "nobody", "silent")


class _Truth(NamedTuple):
    """What one broker after the other is asked for: the members, what a broker that strays thinks, and the rest."""

    members: BacklogCourse[tuple[str, ...]]
    other: BacklogCourse[tuple[str, ...]]
    topics: BacklogCourse[frozenset[str]]
    model: BacklogCourse[str | None]
    sweep: int


def _truth(choices: Choices, steps: int) -> _Truth:
    models = choices.of((("CLUSTERING",), ("CLUSTERING", None), ("CLUSTERING",) * 9 + ("BROADCASTING",)))
    return _Truth(
        course(choices, steps, lambda: _members(choices), (0, 1, 2, 3, 4)),
        course(choices, steps, lambda: _members(choices), (0, 1)),
        course(choices, steps, lambda: frozenset(choices.of(_TOPIC_SETS)), (0, 0, 1)),
        course(choices, steps, lambda: choices.of(models), (0, 1, 2)),
        choices.of((0, 1, 4, 5, 6)),
    )


def _members(choices: Choices) -> tuple[str, ...]:
    return tuple(choices.many(lambda: choices.of(_CLIENTS), (1, 2, 2, 3, 3, 4, 0)))


class _Crash(NamedTuple):
    """The rounds from which on the first client does not answer, and from which on no broker lists it."""

    falls_silent: int
    expires: int

    def listed(self, ids: tuple[str, ...], number: int) -> tuple[str, ...]:
        """Until then it is the only one of its id."""
        others = tuple(client_id for client_id in ids if client_id != _CLIENTS[0])
        return (_CLIENTS[0], *others) if number < self.expires else others


def _crash(choices: Choices) -> _Crash | None:
    """Brokers drop it 90 to 150 s after its last answer, and some a little outside that."""
    begins, lasts = choices.of((None, None, None, *range(-10, -5))), choices.of(range(8, 18))
    return None if begins is None else _Crash(begins, begins + lasts)


def _memberships(
    choices: Choices, steps: int, place: int, broker: str, truth: _Truth, crash: _Crash | None
) -> Iterator[MembershipSnapshot]:
    strays = course(choices, steps, lambda: choices.of(_STRAYS), (0, 0, 1, 2, 4))
    for number, at in rounds(choices, steps, place * truth.sweep).times():
        how = last(strays, number)
        ids = last(truth.members, number) if how == "true" else last(truth.other, number) if how == "other" else ()
        ids = crash.listed(ids, number) if crash and how == "true" else ids
        if how != "silent":
            yield MembershipSnapshot(broker, at, ids, last(truth.topics, number), last(truth.model, number))


_KNOWN_TOPICS = (*(("T", "S", "%RETRY%g"),) * 3, None, None, ("T", "S"), ("T",), ("S",), ())


_REPORTED_MODELS = (*(None,) * 4, *("CLUSTERING",) * 4, "BROADCASTING")


def _client(choices: Choices, steps: int, client_id: str, silent_from: int | None) -> Iterator[ClientSnapshot]:
    """It may be heard of late, and not answer from a round on."""
    classes = course(choices, steps, lambda: choices.of(_CLASSES), (0, 0, 1))
    topics = course(choices, steps, lambda: choices.of(_KNOWN_TOPICS), (0, 0, 1, 2))
    flags = choices.of(((None, True), (None,), (True,), *((True, None),) * 5, (True, True, True, False)))
    rebalances = course(choices, steps, lambda: choices.of(flags), (0, 1))
    models = course(choices, steps, lambda: choices.of(_REPORTED_MODELS), (0, 0, 1))
    in_vain = course(choices, steps, lambda: choices.of((False, True, False)), (0, 0, 1, 2))
    since, period = choices.of((FIRST_ROUND, FIRST_ROUND, -2, 1, 3, 5)), choices.of((1, 1, 2, 3))
    for number, at in rounds(choices, steps).times():
        name, known = last(classes, number), last(topics, number)
        if number < since or number % period:
            continue
        if number >= silent_from if silent_from is not None else last(in_vain, number):
            yield ClientSnapshot(client_id, at, answered=False)
        else:
            subscribed = None if known is None else frozenset(known)
            told = last(rebalances, number), subscribed, last(models, number)
            yield ClientSnapshot(client_id, at, True, name and _PACKAGE + name, *told)


def _routes(choices: Choices, steps: int, brokers: Sequence[str]) -> Iterator[RouteSnapshot]:
    """Per round the entries of some brokers; None: not recorded."""
    hosts = (*(brokers,) * 6, brokers[1:], brokers[:1], brokers[::-1], (), None)
    listed_hosts = course(choices, steps, lambda: choices.of(hosts), (0, 0, 1, 2))
    permissions, counts = (6, 6, 6, 6, 6, 7, 2), ((4, 4), (2, 4), (2, 2), (1, 2), (4, 2), (0, 2))
    entries = {
        broker: course(choices, steps, lambda: (choices.of(permissions), *choices.of(counts)), (0, 0, 0, 1, 2))
        for broker in brokers
    }
    for number, at in rounds(choices, steps).times():
        listed = last(listed_hosts, number)
        if listed is not None:
            yield RouteSnapshot(at, tuple(RouteEntry(host, *last(entries[host], number)) for host in listed))


def _proxies(choices: Choices, steps: int) -> Iterator[MembershipSnapshot]:
    """The cluster has none, or one that may come and go."""
    options = choices.of((((),), (("p",),), ((), ("p",)), ((), ("p",))))
    listed = course(choices, steps, lambda: choices.of(options), (0, 1, 2))
    for number, at in rounds(choices, steps).times():
        yield MembershipSnapshot("a", at, last(listed, number), message_model="BROADCASTING")


#: Choices of the frame, of what brokers are asked for, and of one broker, topic, client, topic's offsets.
_FRAME, _TRUTH, _BROKER, _ROUTE, _CLIENT, _OFFSETS, _PROXIES = 16, 48, 18, 40, 28, 90, 12
_SIZE = _FRAME + _TRUTH + 3 * (_BROKER + _ROUTE + _OFFSETS) + 5 * _CLIENT + _PROXIES


@st.composite
def recordings(draw: st.DrawFn) -> Recording:
    """A group over one to three steps, of one to three topics and as many brokers."""
    return _recording(draw(choices(_SIZE)))


def _recording(choices: Choices) -> Recording:
    frame = choices.part(_FRAME)
    steps, brokers = frame.of((1, 2, 1, 2, 3)), frame.of((_BROKERS[:1], _BROKERS[:2], _BROKERS[:2], _BROKERS[1:]))
    topics, heard = _TOPICS[: frame.of((1, 1, 2, 3))], _CLIENTS[: frame.of((0, 2, 3, 5))]
    configured, measured = frame.of(CONFIGURED), topics[: frame.of((1, 1, 2, 3, 0))]
    crash, kinds = _crash(frame), frame.of(_SOFTWARE)
    software = {client_id: frame.of(kinds) for client_id in _CLIENTS}
    truth = _truth(choices.part(_TRUTH), steps)
    listed = [_memberships(choices.part(_BROKER), steps, *broker, truth, crash) for broker in enumerate(brokers)]
    routes = {topic: tuple(_routes(choices.part(_ROUTE), steps, brokers)) for topic in topics}
    silent_from = {_CLIENTS[0]: crash.falls_silent} if crash else {}
    told = [_client(choices.part(_CLIENT), steps, client_id, silent_from.get(client_id)) for client_id in heard]
    offsets = {topic: tuple(offsets_of(choices.part(_OFFSETS), steps, brokers)) for topic in measured}
    proxies = tuple(_proxies(choices.part(_PROXIES), steps))
    members, states = tuple(chain(*listed)), tuple(chain(*told))
    return Recording(Group(members, routes, states, offsets, configured, proxies, software), steps)
