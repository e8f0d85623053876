"""The rows of `rebalance_intervals`, `allocations`, `queue_progress` and `backlog`, of which there are many, or long
ones.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas import ALLOCATIONS, BACKLOG, QUEUE_PROGRESS, REBALANCE_INTERVALS
from schemas.common import OF_INTERVAL, OF_QUEUE
from spark_jobs.domain.kernel.allocations import Allocation, Member
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.backlog import TopicBacklog
from spark_jobs.domain.kernel.progress import lag_qualities
from spark_jobs.domain.kernel.queue_measures import COLUMNS
from spark_jobs.domain.model.history import Place
from spark_jobs.domain.model.series import coded
from spark_jobs.domain.model.statuses import Status
from spark_jobs.domain.rocketmq.strategies import UNKNOWN_STRATEGY
from spark_jobs.pipeline.exchange import TABLES_ARROW
from spark_jobs.store.arrow import columns_of, from_numbers, from_values, offsets_of, ranges

_INTERVALS, _ALLOCATIONS, _PROGRESS, _BACKLOG = (
    TABLES_ARROW[table.name] for table in (REBALANCE_INTERVALS, ALLOCATIONS, QUEUE_PROGRESS, BACKLOG)
)
#: What all queues of an interval share.
_SHARED = (*OF_INTERVAL.names, "interval_end", "settled_at")
_CONNECTION = ("client_id", "client_addr")
#: Columns of `queue_progress` that are measures by the same name.
_NUMBERS = [name for name in QUEUE_PROGRESS.columns if name in COLUMNS]
MIXED = "MIXED"
_Codes = NDArray[np.int64]


class IntervalSpan(NamedTuple):
    """An interval, and its span inside one step."""

    step: AuditedStep
    interval: RebalanceInterval
    start: int
    end: int

    def key(self) -> dict[str, Any]:
        """The columns of its rows that say which interval they are of."""
        return step_key(self.step) | {
            "topic": self.interval.topic,
            "membership_view": self.interval.view,
            "interval_start": self.start,
            "interval_end": self.end,
            "settled_at": self.interval.settled_at,
        }


def step_key(step: AuditedStep) -> dict[str, Any]:
    """The columns that all rows of a step share: `exchange.STEP_KEY`."""
    history = step.history
    return {"step_start": step.window.start, "cluster": history.cluster, "consumer_group": history.consumer_group}


def interval_rows(spans: Sequence[IntervalSpan]) -> pa.Table:
    """One row per interval. Members and queues, which many intervals share, are converted once."""
    columns = columns_of([span.key() | _about(span.interval) for span in spans], _INTERVALS)
    for name in ("members", "queues"):
        inputs = (
            None if interval.status == Status.UNOBSERVED else getattr(interval, name) for _, interval, _, _ in spans
        )
        codes, distinct = coded(inputs, key=id)
        columns[name] = from_values(distinct, _INTERVALS.field(name).type).take(pa.array(codes))
    return pa.Table.from_pydict(columns, _INTERVALS)


def allocation_rows(spans: Sequence[IntervalSpan]) -> pa.Table:
    """One row per (interval with an allocation, queue)."""
    replayed, owned = list[IntervalSpan](), list[tuple[Allocation, tuple[Member, ...]]]()
    for span in spans:
        if span.interval.allocation is not None:
            replayed.append(span)
            owned.append((span.interval.allocation, span.interval.members or ()))
    codes, distinct = coded(owned, key=lambda pair: (id(pair[0]), id(pair[1])))
    queues = [allocation.queues for allocation, _ in distinct]
    return pa.Table.from_pydict(_of_queues(_ALLOCATIONS, replayed, codes, queues, _owners(distinct)), _ALLOCATIONS)


def progress_rows(steps: Sequence[AuditedStep]) -> pa.Table:
    """One row per (interval with progress, queue that is measured)."""
    measured = [(step, progress) for step in steps for progress in step.progress]
    spans = [IntervalSpan(step, progress.interval, progress.start, progress.end) for step, progress in measured]
    codes, queues = coded((progress.queues for _, progress in measured), key=id)
    columns = _of_queues(_PROGRESS, spans, codes, queues, {}) | {
        "lag_quality": pa.array(lag_qualities([progress for _, progress in measured]), pa.string()),
        "verdict": _texts(progress.verdicts for _, progress in measured),
    }
    for name in _NUMBERS:
        numbers = np.concatenate([np.empty(0, np.int64), *(getattr(progress, name) for _, progress in measured)])
        columns[name] = from_numbers(numbers, _PROGRESS.field(name).type)
    return pa.Table.from_pydict(columns, _PROGRESS)


def backlog_rows(backlogs: Sequence[tuple[AuditedStep, TopicBacklog]]) -> pa.Table:
    """One row per (step, topic with a sample)."""
    minutes = [backlog.by_minute() for _, backlog in backlogs]
    fields = _BACKLOG.field("minutes").type.value_type
    columns = [
        from_numbers(np.concatenate([np.empty(0, np.int64), *(each[field.name] for each in minutes)]), field.type)
        for field in fields
    ]
    offsets = pa.array(offsets_of([len(each["at"]) for each in minutes]), pa.int32())
    rows = [step_key(step) | {"topic": backlog.topic, "lag_quality": backlog.quality} for step, backlog in backlogs]
    structs = pa.StructArray.from_arrays(columns, fields=list(fields))
    lists = {"minutes": pa.ListArray.from_arrays(offsets, structs)}
    own = columns_of(rows, (field for field in _BACKLOG if field.name != "minutes"))
    return pa.Table.from_pydict(own | lists, _BACKLOG)


def _of_queues(
    schema: pa.Schema,
    spans: Sequence[IntervalSpan],
    codes: _Codes,
    queues: Sequence[Sequence[Place]],
    columns: dict[str, pa.Array],
) -> dict[str, pa.Array]:
    """Columns that the queues of an interval share; broker and id of each, and further columns of it, from those of the
    distinct lists of queues, of which each interval has the one at the place of its code.
    """
    sizes = np.array([len(listed) for listed in queues], dtype=np.int64)
    intervals = pa.array(np.repeat(np.arange(len(spans)), sizes[codes]))
    shared = columns_of([span.key() for span in spans], (field for field in schema if field.name in _SHARED))
    places = {
        name: pa.array([place[number] for listed in queues for place in listed], schema.field(name).type)
        for number, name in enumerate(OF_QUEUE.names)
    }
    rows = pa.array(ranges(offsets_of(sizes)[codes], sizes[codes]))
    return {name: column.take(intervals) for name, column in shared.items()} | {
        name: column.take(rows) for name, column in (places | columns).items()
    }


def _owners(owned: Sequence[tuple[Allocation, tuple[Member, ...]]]) -> dict[str, pa.Array]:
    """Columns of `allocations` for every queue of these allocations."""
    readable = [place < allocation.readable_count for allocation, _ in owned for place in range(len(allocation.queues))]
    holders = [members[place] for allocation, members in owned for places in allocation.owners for place in places]
    connections = [_texts([[getattr(member, name) for member in holders]]) for name in _CONNECTION]
    offsets = offsets_of([len(places) for allocation, _ in owned for places in allocation.owners])
    structs = pa.StructArray.from_arrays(connections, names=list(_CONNECTION))
    return {
        "readable": pa.array(readable, type=pa.bool_()),
        "owners": pa.ListArray.from_arrays(pa.array(offsets, type=pa.int32()), structs),
        "unassigned_cause": _texts(allocation.unassigned_causes for allocation, _ in owned),
        "unassigned_client_id": _texts(allocation.unassigned_client_ids for allocation, _ in owned),
        "double_owned_cause": _texts(allocation.double_owned_causes for allocation, _ in owned),
    }


def _texts(parts: Iterable[Iterable[str | None]]) -> pa.Array:
    """All texts of all parts, one after the other."""
    return pa.array(chain.from_iterable(parts), type=pa.string())


def _about(interval: RebalanceInterval) -> dict[str, Any]:
    """The columns of its row alongside the key, members and queues."""
    row: dict[str, Any] = {"status": interval.status, "reason": interval.reason} | _moves(interval)
    if interval.status == Status.UNOBSERVED:
        return row
    members, queues = interval.members, interval.queues
    row |= {
        "members_seen_at": interval.seen_at,
        "member_count": None if members is None else len(members),
        "distinct_members": None if members is None else len({member.client_id for member in members}),
        "queue_count": None if queues is None else len(queues),
    }
    if interval.status == Status.REPLAYED:
        row |= _strategy(interval)
    return row if interval.allocation is None else row | _totals(interval.allocation)


def _strategy(interval: RebalanceInterval) -> dict[str, Any]:
    """The strategy that all members run: none without members, and where no strategy explains what they hold. The
    settings that were observed, where they are those of all members.
    """
    names = {member.strategy for member in interval.members or ()}
    name = MIXED if len(names) > 1 else next(iter(names), None)
    row: dict[str, Any] = {
        "strategy": None if name == UNKNOWN_STRATEGY else name,
        "strategy_source": interval.strategy_source,
        "strategy_alternatives": interval.strategy_alternatives or None,
    }
    observed = {member.parameters for member in interval.members or ()}
    if len(observed) == 1:
        (parameters,) = observed
        rooms = None if parameters.rooms is None else sorted(parameters.rooms)
        row |= {"observed_virtual_nodes": parameters.virtual_node_cnt, "observed_rooms": rooms}
    return row


def _totals(allocation: Allocation) -> dict[str, Any]:
    shares = allocation.queues_per_member
    return {
        "unassigned_queues": allocation.counts.unassigned_queues,
        "double_owned_queues": allocation.counts.double_owned_queues,
        "idle_members": sum(share == 0 for share in shares),
        "min_queues_per_member": min(shares, default=None),
        "max_queues_per_member": max(shares, default=None),
    }


def _moves(interval: RebalanceInterval) -> dict[str, Any]:
    moves = interval.moves
    if moves is None:
        return {}
    trigger, subject = moves.triggers[0] if moves.triggers else (None, None)
    return {
        "trigger_type": trigger,
        "trigger_subject": subject,
        "triggers": moves.triggers,
        "queues_moved": moves.moved,
        "queues_preserved": moves.preserved,
        "minimum_moves": moves.least,
    }
