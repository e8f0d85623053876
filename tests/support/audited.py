"""Audited steps and findings by hand: the hour from 10:00, of group `g` in cluster `c`; times: seconds after 10:00."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from schemas import CLIENT_SNAPSHOTS
from spark_jobs.domain.kernel.allocations import Allocation, Member
from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress, Moves, RebalanceInterval
from spark_jobs.domain.model.finding import ConflictingValue, Counts, Evidence, Finding, QueueEvidence
from spark_jobs.domain.model.history import (
    UNKNOWN,
    ClientHistory,
    GroupHistory,
    Matrix,
    OffsetReadings,
    Place,
    TopicReadings,
)
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import SECOND, AuditSettings
from tests.support.kernel import group_histories
from tests.support.times import DAY, START, micros

SETTINGS = AuditSettings(step=3600 * SECOND, cadence=30 * SECOND, max_gap=90 * SECOND, thresholds=Thresholds())
WINDOW = SETTINGS.window(START)


def audited_step(
    intervals: Sequence[RebalanceInterval] = (),
    progress: Sequence[IntervalProgress] = (),
    offsets: Mapping[str, OffsetReadings] | None = None,
    topics: Mapping[str, TopicReadings] | None = None,
) -> AuditedStep:
    history = GroupHistory("c", "g", offsets=offsets or {}, topics=topics or {})
    return AuditedStep(history, WINDOW, SETTINGS, intervals, progress, rebalances=())


def member(client_id: str) -> Member:
    return Member(client_id, None, None, None, "AVG", subscribes=True, known=True)


def replayed(
    begin: float,
    end: float,
    owners: Mapping[Place, Sequence[int]],
    members: str = "A B",
    topic: str = "t",
    view: str = "*",
    handed_over: Iterable[Place] = (),
) -> RebalanceInterval:
    """An interval in which the members, by their positions, own readable queues."""
    ids = members.split()
    counts = [len(of_queue) for of_queue in owners.values()]
    allocation = Allocation(
        queues=tuple(owners),
        readable_count=len(owners),
        owners=tuple(tuple(of_queue) for of_queue in owners.values()),
        owner_ids=tuple(tuple(sorted({ids[position] for position in of_queue})) for of_queue in owners.values()),
        unassigned_causes=(None,) * len(owners),
        unassigned_client_ids=(None,) * len(owners),
        double_owned_causes=(None,) * len(owners),
        queues_per_member=[sum(position in of_queue for of_queue in owners.values()) for position in range(len(ids))],
        counts=Counts(counts.count(0), sum(count > 1 for count in counts)),
    )
    return RebalanceInterval(
        topic=topic,
        view=view,
        start=micros(begin),
        end=micros(end),
        reason=None,
        strategy_source=None,
        members=tuple(map(member, ids)),
        queues=tuple(owners),
        seen_at=micros(end),
        allocation=allocation,
        moves=Moves((), handed_over=frozenset(handed_over)),
    )


def unobserved(begin: float, end: float, topic: str = "t") -> RebalanceInterval:
    return RebalanceInterval(
        topic, "*", micros(begin), micros(end), Reason.NO_ROUTE_SNAPSHOT, None, None, None, None, None
    )


def measured(
    interval: RebalanceInterval, verdicts: Sequence[str | None] | None = None, **numbers: Sequence[int | None]
) -> IntervalProgress:
    """Progress with these numbers per queue; the others are unknown. Unless it is said, a queue was read where any of
    its lags is known.
    """
    count = len(interval.measured)
    lags = [numbers.get(name, [None] * count) for name in ("lag_first", "lag_last", "lag_max")]
    numbers = {
        "readings": [int(any(lag is not None for lag in of_queue)) for of_queue in zip(*lags, strict=True)],
        **numbers,
    }
    names = set(IntervalProgress.__dataclass_fields__) - {
        "interval",
        "start",
        "end",
        "verdicts",
        "spans",
        "is_filtered",
    }
    arrays: dict[str, Any] = {
        name: _numbers(numbers.pop(name, [0 if name.startswith("stuck") else None] * count)) for name in names
    }
    assert not numbers
    return IntervalProgress(
        interval, max(interval.start, START), interval.end, verdicts=verdicts or ["OK"] * count, spans=[], **arrays
    )


def offsets(
    queues: Sequence[Place], rows: Mapping[float, Sequence[str]] | Mapping[int, Sequence[str]]
) -> OffsetReadings:
    """Readings of each time, a cell per queue: `next to write/next to consume`, `?` unknown, `-` not in it at all."""
    cells = [[cell.split("/") for cell in row] for row in rows.values()]
    end_offset = _matrix([[cell[0] for cell in row] for row in cells])
    consumer_offset = _matrix([[cell[-1] for cell in row] for row in cells])
    return OffsetReadings(
        times=np.array([micros(seconds) for seconds in rows], dtype=np.int64),
        queues=queues,
        end_offset=end_offset,
        consumer_offset=consumer_offset,
        pull_offset=consumer_offset,
        last_timestamp=np.where(consumer_offset == UNKNOWN, UNKNOWN, 1),
        present=np.array([[cell != ["-"] for cell in row] for row in cells]),
    )


def topic_offsets(queues: Sequence[Place], rows: Mapping[int, Sequence[str]]) -> TopicReadings:
    """Readings of each time, a cell per queue: `oldest/next to write`, as in `offsets`."""
    cells = [[cell.split("/") for cell in row] for row in rows.values()]
    return TopicReadings(
        times=np.array([micros(seconds) for seconds in rows], dtype=np.int64),
        queues=queues,
        min_offset=_matrix([[cell[0] for cell in row] for row in cells]),
        max_offset=_matrix([[cell[-1] for cell in row] for row in cells]),
        present=np.array([[cell != ["-"] for cell in row] for row in cells]),
    )


def finding(
    finding_id: str,
    rule: str,
    begin: float,
    end: float,
    cause: str | None = None,
    severity: str = "ERROR",
    topic: str | None = None,
    client_id: str | None = None,
    subject: str = "g",
    client_ids: Sequence[str] = (),
    queues: Sequence[tuple[str, str, int, str]] = (),
    conflicting_values: Sequence[tuple[str, tuple[str, ...] | None]] | None = None,
    backlog_max: int | None = None,
    **more: Any,
) -> Finding:
    """`queues`: topic, broker, id, role, each for the whole time; `subject`: unless it is about a client; what is not
    given is unknown.
    """
    unknown: dict[str, Any] = dict.fromkeys(Evidence._fields)
    own = {
        "client_ids": list(client_ids),
        "queues": [QueueEvidence(*queue, micros(begin), micros(end), *[None] * 5) for queue in queues],
        "conflicting_values": None
        if conflicting_values is None
        else [ConflictingValue(*value) for value in conflicting_values],
        "backlog_max": backlog_max,
    }
    evidence = Evidence(**{**unknown, **own})
    more["client_id"] = client_id
    about = client_id or subject
    return Finding(
        finding_id, rule, severity, topic, about, micros(begin), micros(end), cause, evidence, "Do it.", **more
    )


def client_history(*snapshots: dict[str, Any]) -> ClientHistory:
    """What client c1 reported, once a second if the snapshots do not say when."""
    key = {"cluster": "c", "consumer_group": "g", "client_id": "c1", "answered": True}
    rows = [{**key, "captured_at": DAY + timedelta(seconds=n), **snapshot} for n, snapshot in enumerate(snapshots)]
    (history,) = group_histories({CLIENT_SNAPSHOTS: rows})
    return history.clients["c1"]


def _matrix(rows: Sequence[Sequence[str]]) -> Matrix:
    return np.array([[UNKNOWN if text in "-?" else int(text) for text in row] for row in rows], dtype=np.int64)


def _numbers(values: Sequence[int | None]) -> Matrix:
    return np.array([UNKNOWN if value is None else value for value in values], dtype=np.int64)
