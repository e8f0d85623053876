"""A group whose members are added and removed by its backlog, as an autoscaler would."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.rocketmq.strategies import NEW
from spark_jobs.domain.what_if.assignments import Assignment, assignment_of
from spark_jobs.domain.what_if.cases import Autoscaler, Case, Change
from spark_jobs.domain.what_if.fluid import inflow
from spark_jobs.domain.what_if.recorded import Recorded, ReplayedSpan, spans_of
from spark_jobs.domain.what_if.simulation import KnownMembers, Run, Simulation

#: Nothing is changed within this part of what is wanted (`--horizontal-pod-autoscaler-tolerance`).
_TOLERANCE = 0.1


@dataclass
class _Scaled:
    """`members` that are there, and how many were `asked` for; `starting`: when more of them are there, and how many
    then; `wanted`: when how many were wanted.
    """

    scaler: Autoscaler
    case: Case
    recorded: Recorded
    replays: Replays
    run: Run
    members: int
    asked: int
    starting: list[tuple[int, int]] = field(default_factory=list)
    wanted: list[tuple[int, int]] = field(default_factory=list)
    owned: dict[str, list[Assignment]] = field(default_factory=dict)

    def spans(self) -> Iterator[tuple[int, int, list[Assignment]]]:
        """Who owns what until the autoscaler looks again, or members are there that it has asked for."""
        look_at = 0
        for start, end, replayed in spans_of(self.recorded.replayed):
            now = start
            while now < end:
                while self.starting and self.starting[0][0] <= now:
                    self.members = self.starting.pop(0)[1]
                if now >= look_at:
                    self._look(now, replayed)
                    look_at = now + self.scaler.every
                until = min(end, look_at, *(ready for ready, _ in self.starting[:1]))
                yield now, until, self._owned(replayed, now, until)
                now = until

    def _look(self, now: int, replayed: Sequence[ReplayedSpan]) -> None:
        lag, scaler = float(self.run.waits.sum()), self.scaler
        most = min(scaler.most, max((len(one.interval.queues or ()) for one in replayed), default=scaler.most))
        wanted = self.asked
        if abs(lag / scaler.lag / self.asked - 1) > _TOLERANCE:
            wanted = -int(-lag // scaler.lag)
        wanted = max(min(wanted, most), scaler.least)
        self.wanted = [one for one in self.wanted if one[0] > now - scaler.down_after] + [(now, wanted)]
        asked = max(wanted, min(self.asked, max(number for _, number in self.wanted)))
        if asked < self.asked:
            self.starting = []
            self.members = min(self.members, asked)
        elif asked > self.asked:
            self.starting.append((now + scaler.start, asked))
        self.asked = asked

    def _owned(self, replayed: Sequence[ReplayedSpan], start: int, end: int) -> list[Assignment]:
        case = replace(self.case, members=Change("=", self.members))
        found = []
        for one in replayed:
            owned = assignment_of(case, one._replace(start=start, end=end), self.replays)
            self.owned.setdefault(owned.topic, []).append(owned)
            found.append(owned)
        return found


def autoscaled(case: Case, recorded: Recorded, known: KnownMembers, replays: Replays) -> Simulation | None:
    """The case with the members that its autoscaler asks for, from those that were there at first; None: it has none,
    or nothing tells how fast some of them could be. Raises `StrategyError`.
    """
    run = Run(case, inflow(case, recorded), known)
    intervals = [replayed.interval for of_topic in recorded.replayed.values() for replayed in of_topic]
    ids = {member.client_id for interval in intervals for member in interval.members or ()}
    if case.scaler is None or any(run.rates_of(client_id) is None for client_id in (*ids, f"{NEW}0000")):
        return None
    first = min((of_topic[0] for of_topic in recorded.replayed.values()), key=lambda replayed: replayed.start).interval
    members = max(len(first.members or ()), case.scaler.least, 1)
    scaled = _Scaled(case.scaler, case, recorded, replays, run, members, members)
    return run.played(scaled.spans(), scaled.owned)
