"""Audited steps of recorded clients and hand-made intervals, in seconds after 10:00."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from schemas import CLIENT_SNAPSHOTS, OFFSET_SNAPSHOTS
from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, AuditedStep, RebalanceInterval
from spark_jobs.domain.model.history import ClientHistory, GroupHistory, Membership
from spark_jobs.domain.model.window import AuditSettings
from tests.support.builders import allocation, interval, members
from tests.support.gathered import Row, Rows
from tests.support.kernel import SETTINGS, group_histories, series_of
from tests.support.times import START, at, micros


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


def recorded_step(
    clients: Sequence[Row],
    *intervals: RebalanceInterval,
    read: Sequence[Row] = (),
    more: Rows | None = None,
    settings: AuditSettings = SETTINGS,
    listed_at: Iterable[float] = range(-260, 660, 20),
) -> AuditedStep:
    """The step of `step_with`, of what clients reported, offsets that were read, and rows of more tables."""
    (history,) = group_histories({CLIENT_SNAPSHOTS: clients, OFFSET_SNAPSHOTS: read, **(more or {})})
    return step_with(history, intervals, settings, listed_at=listed_at)


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
    owners = [[place for place, client_id in enumerate(ids) if number in owned[client_id]] for number in range(queues)]
    listed, seen = members(" ".join(ids)), end if seen_at is None else seen_at
    return interval(start, end, listed, allocation(listed, owners), topic=topic, view=view, seen_at=seen)


def client_history(*snapshots: dict[str, Any]) -> ClientHistory:
    """Reports of client c1, once a second if the snapshots do not say when."""
    key = {"cluster": "c", "consumer_group": "g", "client_id": "c1", "answered": True}
    rows = [{**key, "captured_at": at(n), **snapshot} for n, snapshot in enumerate(snapshots)]
    return recorded_step(rows).history.clients["c1"]
