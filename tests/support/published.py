"""Hours of the group G as runs publish them, one run after the other: in some nobody was connected. No Spark."""

from collections.abc import Collection
from datetime import datetime
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from schemas import AUDIT_RUNS, FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS
from spark_jobs.domain.model.intervals import Interval
from tests.support.rows import finding, interval
from tests.support.stored import audit_run, write
from tests.support.times import at

STATUS = {"finding_count": 1, "unknown_queues": 0, "bottleneck": "NO_BACKLOG", "advice": "No."}


def key(group: str, hour: float = 0, cluster: str = "c") -> dict[str, Any]:
    """Of a row of the group in the step that begins so many hours after 10:00."""
    return {"cluster": cluster, "consumer_group": group, "step_start": at(3600 * hour)}


def publish_hours(
    warehouse: Path,
    hours: Collection[int],
    offline: Collection[int] = (),
    group: str = "G",
    cluster: str = "c",
    deleted_at: int | None = None,
    topic: str | None = None,
    finished_at: datetime | None = None,
    backlog_max: int | None = None,
    *,
    alone: bool = False,
    backlog_end: int | None = None,
    **of_findings: Any,
) -> None:
    """A run over these hours after 10:00; by default runs finish one after the other, soon after 10:00. Findings are
    about the topic; `deleted_at`: the second in which that, or else the group, was deleted; `alone`: the run was about
    the group and no other; `of_findings`: columns of theirs.
    """
    key = {"cluster": cluster, "consumer_group": group}
    found = [
        finding(**key, **_offline(group, topic, hour, deleted_at), finding_id=f"{cluster}/{group}{hour}", **of_findings)
        for hour in hours
        if hour in offline
    ]
    write(warehouse, FINDINGS, found)
    gone: dict[int, dict[str, Any]] = {}
    if deleted_at is not None:
        of_topic = {"deleted_topics": [{"topic": topic, "deleted_at": at(deleted_at)}]}
        gone[deleted_at // 3600] = {"deleted_at": at(deleted_at)} if topic is None else of_topic
    common = key | STATUS | {"backlog_max": backlog_max, "backlog_end": backlog_end}
    status = [common | {"step_start": at(3600 * hour)} | gone.get(hour, {}) for hour in hours]
    write(warehouse, GROUP_STATUS, status)
    times = [(3600 * hour, 3600 * (hour + 1)) for hour in hours]
    write(warehouse, REBALANCE_INTERVALS, [interval(*time) | key | {"step_start": at(time[0])} for time in times])
    number = DeltaTable(warehouse / GROUP_STATUS.name).version()
    tables = (FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS)
    versions = {table.name: DeltaTable(warehouse / table.name).version() for table in tables}
    of_run = dict.fromkeys(("run_id", "configuration_hash", "code_version"), f"r{number}")
    audited = Interval(at(3600 * min(hours, default=0)), at(3600 * (max(hours, default=0) + 1)))
    named = key if alone else {}
    run = audit_run(audited, versions, finished_at=finished_at or at(number), **of_run, **named)
    write(warehouse, AUDIT_RUNS, [run])


def _offline(group: str, topic: str | None, hour: int, deleted_at: int | None) -> dict[str, Any]:
    end = min(3600 * (hour + 1), deleted_at or 3600 * (hour + 1))
    time = {"started_at": at(3600 * hour), "ended_at": at(end), "step_start": at(3600 * hour)}
    return time | {"topic": topic, "subject": group}
