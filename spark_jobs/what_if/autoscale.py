"""A group whose members are added and removed by its backlog, as an autoscaler would."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.what_if.cases import Autoscaler, Case, Change, assignment_of
from spark_jobs.what_if.recorded import Assignment, Recorded, spans_of

#: Nothing is changed within this part of what is wanted (`--horizontal-pod-autoscaler-tolerance`).
_TOLERANCE = 0.1


def scaled_spans(
    case: Case,
    scaler: Autoscaler,
    recorded: Recorded,
    replays: Replays,
    lag: Callable[[], float],
    owned: dict[str, list[Assignment]],
) -> Iterator[tuple[int, int, list[Assignment]]]:
    """Who owns what, also in `owned`, until the autoscaler looks again, or members are there that it has asked for.
    `lag`: messages that wait once the spans before are played. Raises `StrategyError` as `assignment_of`.
    """
    first = min((spans[0] for spans in recorded.replayed.values()), key=lambda span: span.start).interval
    count = max(len(first.members or ()), scaler.least, 1)
    scaling, look_at = _Scaling(scaler, count, count), 0
    for start, end, replayed in spans_of(recorded.replayed):
        most = max((len(span.interval.queues or ()) for span in replayed), default=scaler.most)
        now = start
        while now < end:
            scaling.start(now)
            if now >= look_at:
                scaling.look(now, lag(), most)
                look_at = now + scaler.every
            until = min(end, look_at, *(ready for ready, _ in scaling.starting[:1]))
            resized = replace(case, members=Change("=", scaling.members))
            spans = [span._replace(start=now, end=until) for span in replayed]
            assignments = [assignment_of(resized, span, replays) for span in spans]
            for assignment in assignments:
                owned[assignment.topic].append(assignment)
            yield now, until, assignments
            now = until


@dataclass
class _Scaling:
    """`members` that are there, and how many were `requested`; `starting`: when more of them are there, and how many
    then; `wanted`: when how many were wanted.
    """

    scaler: Autoscaler
    members: int
    requested: int
    starting: list[tuple[int, int]] = field(default_factory=list)
    wanted: list[tuple[int, int]] = field(default_factory=list)

    def start(self, now: int) -> None:
        """Members that were requested are there."""
        while self.starting and self.starting[0][0] <= now:
            self.members = self.starting.pop(0)[1]

    def look(self, now: int, lag: float, most: int) -> None:
        """Decide, with so many messages of lag, how many members to request: up to `most`."""
        scaler, wanted = self.scaler, self.requested
        if abs(lag / scaler.lag / self.requested - 1) > _TOLERANCE:
            wanted = -int(-lag // scaler.lag)
        wanted = max(min(wanted, scaler.most, most), scaler.least)
        recent = [(then, number) for then, number in self.wanted if then > now - scaler.down_after]
        self.wanted = [*recent, (now, wanted)]
        requested = max(wanted, min(self.requested, max(number for _, number in self.wanted)))
        if requested < self.requested:
            self.starting = []
            self.members = min(self.members, requested)
        elif requested > self.requested:
            self.starting.append((now + scaler.start, requested))
        self.requested = requested
