"""The strategies that the queues which clients report show, where neither clients nor the configuration name them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, groupby

from spark_jobs.domain.kernel.holdings import Holding
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import Connection, Place
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.rocketmq.allocation import KeepsAllocation, machine_room, shares
from spark_jobs.domain.rocketmq.strategies import (
    AS_CONFIGURED,
    AVG,
    AVG_BY_CIRCLE,
    CONFIG,
    CONSISTENT_HASH,
    INNER_STRATEGIES,
    MACHINE_ROOM,
    MACHINE_ROOM_NEARBY,
    UNKNOWN_STRATEGY,
    Parameters,
    Resolved,
    StrategySettings,
    StrategySource,
    Variant,
    variant_of,
)

#: A client runs another strategy than its group if the queues that it reports are that unlikely by chance, in bits.
_CERTAIN = 10.0
Shares = Mapping[str, frozenset[Place]]


def strategies_observed(
    reports: Sequence[Holding],
    connections: Mapping[str, Connection],
    named: Sequence[str],
    settings: StrategySettings,
    only: str | None = None,
) -> Mapping[str | None, Resolved]:
    """The strategy of each client whose reports show it, by client id; that of the group's other clients by None.

    `reports`: of clients whose strategy, or one of its settings, is not known; `connections`: by client id; `named`:
    strategies that clients of the group report, the most frequent first; `only`: the one that these clients report.
    Empty where the reports show nothing, as those of clients that pull by hand and list no queue;
    `Resolved.is_not_recognized` where they contradict all strategies.

    The simplest candidate counts that explains all reports. If none does, a client is stuck (the others follow the
    strategy, and queues have several holders or none), runs another strategy (if its reports cannot be chance), or the
    strategy is none of the candidates. Clients that are no majority are measured by what the others report, unless all
    reports of one of them fit a candidate: one topic may fit by chance.
    """
    if not any(report.held_queues for report in reports):
        return {}
    trial = _Trial(reports, connections, settings)
    tried = candidates(reports, named, settings, only)
    best = trial.best(tried)
    fit = trial.fit(best) if best else Counter({False: len(reports)})
    if fit[False] and named and only is None and trial.is_minority and not (best and trial.fits_any_client(best)):
        return {None: Resolved(named[0], StrategySource.CLIENT)}
    if fit[False] and not (best and fit[True] and trial.is_drift_from(best)):
        return {None: Resolved(UNKNOWN_STRATEGY, StrategySource.OBSERVED)}
    if best is None or not fit[True]:
        return {}
    if fit[False]:
        return {None: best, **dict(trial.exceptions(best, tried))}
    alternatives = () if best.strategy in named else tuple(trial.alternatives(best, tried))
    return {None: best._replace(alternatives=alternatives)}


@dataclass(frozen=True)
class _Trial:
    reports: Sequence[Holding]
    connections: Mapping[str, Connection]
    settings: StrategySettings

    def best(self, tried: Sequence[Resolved]) -> Resolved | None:
        """The first candidate that explains all reports, else the one that fewest contradict; None: no candidate."""
        ranks: list[tuple[int, int]] = []
        for candidate in tried:
            fit = self.fit(candidate)
            if fit[True] == len(self.reports):
                return candidate
            ranks.append((fit[False], -fit[True]))
        return tried[ranks.index(min(ranks))] if ranks else None

    def fit(self, candidate: Resolved, client_id: str | None = None) -> Counter[bool | None]:
        """How many reports of a client, or of all, the candidate gives (True), and how many contradict it (False)."""
        reports = self._of_client[client_id] if client_id is not None else self.reports
        return Counter(self._explains(candidate, report) for report in reports)

    def is_drift_from(self, candidate: Resolved) -> bool:
        """Return whether most members show the candidate, and the other reports leave queues to no client or to
        several. A member that holds other queues for a while, and then those of the candidate again, shows it.
        """
        telling = [report for report in self.reports if len(report.client_ids) > 1]
        explained = [report for report in telling if self._explains(candidate, report)]
        contradicting = [report for report in telling if self._explains(candidate, report) is False]
        is_shown = any(report.held_queues for report in explained)
        return is_shown and len(_of_members(explained)) >= len(_of_members(contradicting)) and not self._is_shared_out

    def fits_any_client(self, candidate: Resolved) -> bool:
        """Return whether no report of one of the clients contradicts the candidate."""
        return any(not self.fit(candidate, client_id)[False] for client_id in self._of_client)

    @property
    def is_minority(self) -> bool:
        """Return whether these clients are at most half of the members, of which there are others, in every state."""
        states = {report.client_ids for report in self.reports if len(report.client_ids) > 1}
        is_small = (2 * len(self._of_client.keys() & {*client_ids}) <= len(client_ids) for client_ids in states)
        return bool(states) and all(is_small)

    def exceptions(self, best: Resolved, tried: Sequence[Resolved]) -> Iterator[tuple[str, Resolved]]:
        """(client id, candidate) of the clients that the best one does not explain, but another one for certain."""
        for client_id, reports in self._of_client.items():
            if not self.fit(best, client_id)[False]:
                continue
            own = next((candidate for candidate in tried if not self.fit(candidate, client_id)[False]), None)
            if own and sum(report.bits for report in reports if self._explains(own, report)) >= _CERTAIN:
                yield client_id, own

    def alternatives(self, best: Resolved, tried: Sequence[Resolved]) -> Iterator[str]:
        """The names of the others that explain as much, and would give other shares to other members or queues."""
        telling_first = sorted(self.reports, key=lambda report: -report.bits)
        explained = [report for report in telling_first if self._explains(best, report)]
        other_names = (each for each in tried if each.strategy != best.strategy)
        for name, same in groupby(other_names, key=lambda each: each.strategy):
            standing = (each for each in same if all(self._explains(each, report) for report in explained))
            if any(
                self._share(best, each) != self._share(other, each) for other in standing for each in self._imagined
            ):
                yield name

    @cached_property
    def _imagined(self) -> Sequence[Holding]:
        """The last report of each topic with plenty of queues, with the same members and with twice as many."""
        last = {report.topic: report for report in self.reports}
        return [
            report._replace(client_ids=client_ids, client_id=client_id, queues=_plenty(report.queues, len(client_ids)))
            for report in last.values()
            for client_ids in (report.client_ids, (*report.client_ids, *(f"~{each}" for each in report.client_ids)))
            for client_id in dict.fromkeys(client_ids)
        ]

    def _explains(self, candidate: Resolved, report: Holding) -> bool | None:
        """True if the candidate gives the report; None: not yet, as clients may still follow, or wait for locks."""
        share = self._share(candidate, report)
        if report.held_queues == share:
            return True
        may_follow = not report.lasted or (report.orderly and share is not None and report.held_queues < share)
        return None if may_follow else False

    def _share(self, candidate: Resolved, report: Holding) -> frozenset[Place] | None:
        """None: a client would keep what it had."""
        connection = self.connections.get(report.client_id, Connection(report.client_id))
        variant = variant_of(candidate.strategy, connection.language, connection.version, candidate.parameters)
        key = (candidate, variant, report.topic, report.client_ids, report.queues)
        if key not in self._shares:
            self._shares[key] = self._computed(candidate, variant, report)
        of_client = self._shares[key]
        return None if of_client is None else of_client.get(report.client_id, frozenset())

    def _computed(self, candidate: Resolved, variant: Variant, report: Holding) -> Shares | None:
        strategy = self.settings.named(candidate.strategy, variant, candidate.parameters)
        queues = [MessageQueue(report.topic, *place) for place in report.queues]
        of_position: dict[int, set[Place]] = defaultdict(set)
        try:
            for queue, position in shares(strategy, queues, report.client_ids):
                of_position[position].add(report.queues[queue])
        except KeepsAllocation:
            return None
        first = {client_id: place for place, client_id in reversed([*enumerate(report.client_ids)])}
        return {client_id: frozenset(of_position[position]) for client_id, position in first.items()}

    @cached_property
    def _shares(self) -> dict[object, Shares | None]:
        return {}

    @cached_property
    def _of_client(self) -> Mapping[str, Sequence[Holding]]:
        return by_key(self.reports, lambda report: report.client_id)

    @cached_property
    def _is_shared_out(self) -> bool:
        """Return whether, in every state that all members report, each queue has one holder all the time."""
        lasting = [report for report in self.reports if report.lasted and len(report.client_ids) > 1]
        states = by_key(lasting, lambda report: report.state).values()
        known = [state for state in states if {report.client_id for report in state} == {*state[0].client_ids}]
        return bool(known) and all(_is_partition(state) for state in known)


def _plenty(queues: Iterable[Place], member_count: int) -> tuple[Place, ...]:
    """More queues on each broker: several for each member."""
    counts = Counter(broker for broker, _ in queues)
    return tuple(
        (broker, number) for broker, count in sorted(counts.items()) for number in range(count + 4 * member_count)
    )


def _of_members(reports: Iterable[Holding]) -> set[tuple[str, int]]:
    """By whom the reports are, and in which state."""
    return {(report.client_id, report.state) for report in reports}


def _is_partition(state: Sequence[Holding]) -> bool:
    """Return whether each member reports one list, and they hold every queue once. A strategy gives a member no second
    list while members and queues stay the same.
    """
    lists = {(report.client_id, report.held_queues) for report in state}
    holders = Counter(place for _, held_queues in lists for place in held_queues)
    return len(lists) == len(_of_members(state)) and holders == Counter(state[0].queues)


#: RocketMQ's default.
_VIRTUAL_NODES = 10
#: Of more rooms only all of them together are tried.
_MOST_ROOMS = 4


def candidates(
    reports: Iterable[Holding], named: Sequence[str], settings: StrategySettings, only: str | None = None
) -> list[Resolved]:
    """The strategies that members may run: those that clients report, then the simplest; `only`: of this name."""
    reported = {(name, AS_CONFIGURED) for name in named}
    tried = [(AVG, AS_CONFIGURED), (AVG_BY_CIRCLE, AS_CONFIGURED), (CONSISTENT_HASH, AS_CONFIGURED)]
    if settings.virtual_node_cnt != _VIRTUAL_NODES:
        tried.append((CONSISTENT_HASH, Parameters(virtual_node_cnt=_VIRTUAL_NODES)))
    tried.append((CONSISTENT_HASH, Parameters(variant=Variant.GO)))
    nearby = (f"{MACHINE_ROOM_NEARBY}-{inner}" for inner in INNER_STRATEGIES)
    needing = (MACHINE_ROOM, *nearby, CONFIG)
    tried += ((name, AS_CONFIGURED) for name in needing if not settings.named(name).settings_missing)
    tried += ((MACHINE_ROOM, Parameters(rooms=rooms)) for rooms in _rooms(reports))
    of_name = (
        Resolved(name, StrategySource.CLIENT if (name, parameters) in reported else StrategySource.OBSERVED, parameters)
        for name, parameters in tried
        if only in (None, name)
    )
    return sorted(of_name, key=lambda candidate: candidate.strategy not in named)


def _rooms(reports: Iterable[Holding]) -> Iterator[frozenset[str]]:
    """The sets of rooms that MACHINE_ROOM may be configured with, the larger first."""
    named = {machine_room(broker) for report in reports for broker, _ in report.queues}
    rooms = sorted(room for room in named if room is not None)
    sizes = range(len(rooms), 0, -1) if len(rooms) <= _MOST_ROOMS else (len(rooms),)
    for size in sizes:
        yield from map(frozenset, combinations(rooms, size))
