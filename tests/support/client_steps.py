"""Audited steps of recorded clients and hand-made intervals, in seconds after 10:00."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, AuditedStep, RebalanceInterval
from spark_jobs.domain.model.history import GroupHistory, Membership
from spark_jobs.domain.model.window import AuditSettings
from tests.support.builders import allocation, interval, members
from tests.support.kernel import SETTINGS, series_of
from tests.support.times import START, micros


def step_with(
    history: GroupHistory,
    intervals: Sequence[RebalanceInterval] = (),
    settings: AuditSettings = SETTINGS,
    *,
    listed_at: Iterable[float] = range(-260, 660, 20),
) -> AuditedStep:
    """The step of 10:00, in which no message moves and nobody rebalances; `listed_at`: when broker `b` was asked
    for the members.
    """
    listed = Membership((), frozenset(), frozenset(), None)
    history = replace(history, memberships={"b": series_of([(micros(second), listed) for second in listed_at])})
    return AuditedStep(history, settings.window(START), settings, intervals, progress=(), rebalances=())


def replayed(
    topic: str,
    start: float,
    end: float,
    owned: Mapping[str, Sequence[int]],
    queues: int,
    *,
    view: str = ALL_HOSTS,
    twins: bool = False,
    seen_at: float | None = None,
) -> RebalanceInterval:
    """Members (twins: each is there twice) own these queues of broker `b`; last seen at its end, if nothing is said."""
    ids = sorted([*owned] * 2 if twins else owned)
    owners = " ".join(
        "+".join(str(position) for position, client_id in enumerate(ids) if queue_id in owned[client_id]) or "-"
        for queue_id in range(queues)
    )
    listed = members(" ".join(ids))
    made = interval(0, 0, listed, allocation(listed, owners), topic=topic, view=view)
    return replace(made, start=micros(start), end=micros(end), seen_at=micros(end if seen_at is None else seen_at))
