"""A group whose members are added and removed by its backlog, as an autoscaler would."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.rocketmq.strategies import NEW
from spark_jobs.what_if.cases import Autoscaler, Case, Change
from spark_jobs.what_if.fluid import inflow
from spark_jobs.what_if.pace import Members
from spark_jobs.what_if.recorded import Assignment, Recorded, spans_of
from spark_jobs.what_if.simulation import Run, Simulation, assignment_of

#: Nothing is changed within this part of what is wanted (`--horizontal-pod-autoscaler-tolerance`).
_TOLERANCE = 0.1


@dataclass
class _Scaling:
    """`members` that are there, and how many were `requested`; `starting`: when more of them are there, and how many
    then; `wanted`: when how many were wanted; `owned`: who owned what until now, by topic.
    """

    scaler: Autoscaler
    case: Case
    recorded: Recorded
    replays: Replays
    run: Run
    members: int
    requested: int
    starting: list[tuple[int, int]] = field(default_factory=list)
    wanted: list[tuple[int, int]] = field(default_factory=list)
    owned: dict[str, list[Assignment]] = field(default_factory=lambda: defaultdict(list))

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
                case = replace(self.case, members=Change("=", self.members))
                spans = [span._replace(start=now, end=until) for span in replayed]
                assignments = [assignment_of(case, span, self.replays) for span in spans]
                for assignment in assignments:
                    self.owned[assignment.topic].append(assignment)
                yield now, until, assignments
                now = until

    def _look(self, now: int, replayed: Sequence[Assignment]) -> None:
        lag, scaler = float(self.run.waits.sum()), self.scaler
        most = min(scaler.most, max((len(span.interval.queues or ()) for span in replayed), default=scaler.most))
        wanted = self.requested
        if abs(lag / scaler.lag / self.requested - 1) > _TOLERANCE:
            wanted = -int(-lag // scaler.lag)
        wanted = max(min(wanted, most), scaler.least)
        recent = [(then, number) for then, number in self.wanted if then > now - scaler.down_after]
        self.wanted = [*recent, (now, wanted)]
        requested = max(wanted, min(self.requested, max(number for _, number in self.wanted)))
        if requested < self.requested:
            self.starting = []
            self.members = min(self.members, requested)
        elif requested > self.requested:
            self.starting.append((now + scaler.start, requested))
        self.requested = requested


def autoscaled(case: Case, recorded: Recorded, members: Members, replays: Replays) -> Simulation | None:
    """The case with the members of its autoscaler; None: it has none, or a pace is unknown. Raises `StrategyError`."""
    run = Run(case, inflow(case, recorded), members)
    if case.scaler is None or any(
        run.rates_of(client_id) is None for client_id in (*recorded.client_ids, f"{NEW}0000")
    ):
        return None
    first = min((spans[0] for spans in recorded.replayed.values()), key=lambda span: span.start).interval
    count = max(len(first.members or ()), case.scaler.least, 1)
    scaling = _Scaling(case.scaler, case, recorded, replays, run, count, count)
    return run.played(scaling.spans(), scaling.owned)
