"""Rows of `group_status` as people and programs may read them: what too little was seen of is unknown."""

from collections.abc import Iterable
from typing import Any

from spark_jobs.domain.coverage import share_text
from spark_jobs.domain.model.window import to_micros
from spark_jobs.domain.status.capacity import Limit
from spark_jobs.show.coverage import coverage_rows
from spark_jobs.show.rows import Row, group_of
from spark_jobs.store.read.published import PublishedTables

#: Null in a step of which too little was seen.
_UNKNOWN = frozenset(
    (
        *("queue_count", "queues_with_one_owner", "double_owned_queues", "unassigned_queues", "member_count"),
        *("idle_members", "backlog_start", "backlog_end", "oldest_message_ms", "catches_up", "catch_up_seconds"),
        *("utilization", "busiest_utilization", "busiest_member", "busiest_bottleneck", "more_members_help"),
        *("headroom_messages_per_second", "retention_left_seconds", "stranded"),
    )
)

#: Null there unless the first is above 0.
_SEEN = {
    "backlog_max": ("backlog_max", "backlog_max_at", "peak_backlog_messages"),
    "unassigned_queue_seconds": ("unassigned_queue_seconds",),
}


def with_share(row: Row, share: float | None, complete_share: float) -> dict[str, Any]:
    """The row with its `observed_share` (None: unknown); below the complete share owners, backlog and bottleneck are
    unknown. The most messages and the time without owners that were seen are facts; that none were seen is not.
    """
    if share is None or share >= complete_share:
        return {**row, "observed_share": share}
    unknown = {name: None for name in row if name in _UNKNOWN}
    for measure, columns in _SEEN.items():
        if not row.get(measure):
            unknown |= {name: None for name in row if name in columns}
    texts = {
        "bottleneck": Limit.UNKNOWN_MEMBERS.value,
        "advice": f"Unknown: {share_text(share)} of the step was observed.",
    }
    return {**row, **unknown, **texts, "observed_share": share}


def with_shares(
    tables: PublishedTables, statuses: Iterable[Row], cluster: str | None, complete_share: float
) -> list[dict[str, Any]]:
    """`with_share` of each row, by how much of its step was observed. `cluster`: of all rows; None: of any."""
    steps = [*statuses]
    covered = coverage_rows(tables, {to_micros(row["step_start"]) for row in steps}, cluster)
    shares = {
        (row.cluster, row.consumer_group, row.step_start): row.observed_seconds / row.expected_seconds
        for row in covered
        if row.expected_seconds
    }
    return [
        with_share(row, shares.get((*group_of(row), to_micros(row["step_start"]))), complete_share) for row in steps
    ]
