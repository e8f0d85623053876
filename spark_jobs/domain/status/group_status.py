"""The state of a group in a step, in one row, which shows whether it needs attention."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.backlog import TopicBacklog, peak
from spark_jobs.domain.kernel.members import connections_of, queues_per_connection
from spark_jobs.domain.kernel.unseen import by_proxies, is_handed_out, may_be_behind_proxies
from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.domain.model.statuses import LagQuality, Reason
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.status import capacity
from spark_jobs.domain.status.attribution import TopicGrowth, attribution
from spark_jobs.domain.status.backlog import Backlog, QueueIntervals, queue_intervals
from spark_jobs.domain.status.limits import held_back
from spark_jobs.domain.status.time_left import TimeLeft, time_left
from spark_jobs.domain.status.utilization import utilization

#: Of intervals in which the group broadcasts, assigns queues to itself, or is connected to proxies.
_WITHOUT_OWNERS = (Reason.BROADCASTING, Reason.ASSIGNED_BY_HAND, Reason.CONSUMED_THROUGH_PROXY)


class DeletedTopic(NamedTuple):
    """A topic that is deleted at the end of a step, and since when, microseconds."""

    topic: str
    deleted_at: int


class GroupStatus(NamedTuple):
    """One row per (group, step): severity, members, ownership, backlog, utilization and capacity advice.

    None is unknown; `schemas/group_status.py` explains each field.
    """

    worst_severity: str | None
    finding_count: int
    member_count: int | None
    distinct_members: int | None
    idle_members: int | None
    queue_count: int | None
    queues_with_one_owner: int | None
    double_owned_queues: int | None
    unassigned_queues: int | None
    backlog_start: int | None
    backlog_end: int | None
    lag_quality: str | None
    unknown_queues: int
    oldest_message_ms: int | None
    produced_messages_per_second: float | None
    consumed_messages_per_second: float | None
    utilization: float | None
    busiest_utilization: float | None
    busiest_member: str | None
    busiest_bottleneck: str | None
    headroom_messages_per_second: float | None
    catches_up: bool | None
    catch_up_seconds: float | None
    retention_left_seconds: float | None
    attribution: list[TopicGrowth] | None
    bottleneck: str
    more_members_help: bool | None
    busiest_member_queues: int | None
    busiest_member_queues_with_one_more: int | None
    advice: str
    deleted_at: int | None
    deleted_topics: list[DeletedTopic] | None
    backlog_is_minimum: bool | None = None
    backlog_max: int | None = None
    backlog_max_at: int | None = None
    unassigned_queue_seconds: float | None = None


def group_status(
    step: AuditedStep,
    findings: Sequence[Finding],
    backlogs: Sequence[TopicBacklog],
    advice_in_numbers: Callable[[capacity.GroupInStep], str | None],
) -> GroupStatus | None:
    """The row of a group; None: it has no interval inside the step, and no broker was called in vain for its members.

    `advice_in_numbers`: a sentence, after the advice, on the simulated backlog with other members.
    """
    if not step.unanswered(step.window.start) and not any(True for _ in step.inside()):
        return None
    last_ownerless = max((each.end for each, _, _ in step.inside() if each.reason in _WITHOUT_OWNERS), default=0)
    ends = [each for each in _ends(step) if each.end >= last_ownerless]
    listed_at = [] if may_be_behind_proxies(step) else [(interval.end, interval.client_ids) for interval in ends]
    connected = _last_listed(listed_at)
    listed = connected
    if listed is None:
        listed = _last_listed((*_listed_by_brokers(step), *_listed_by_proxies(step)))
    ordinary = [interval for interval in ends if interval.is_ordinary]
    queues = queue_intervals(step.progress)
    backlog, highest = queues.backlog(backlogs), peak(backlogs)
    quality = LagQuality.UNFILTERED if any(row.is_filtered for row in step.progress) else LagQuality.MEASURED
    reported = _reported(findings)
    group = _in_step(step, ordinary, connected, queues, backlog, findings)
    limit = capacity.limit(group)
    # Between seldom commits, rates say nothing about when a backlog is gone.
    is_timed = group.backlog_is_known and limit is not capacity.Limit.COMMITS_SELDOM
    return GroupStatus(
        worst_severity=reported[0].severity if reported else None,
        finding_count=len(findings),
        member_count=None if listed is None else len(listed),
        distinct_members=None if listed is None else len(set(listed)),
        **_ownership(ordinary, connected),
        **backlog._asdict(),
        lag_quality=None if backlog.backlog_end is None else quality,
        **utilization(step, backlog.produced_messages_per_second)._asdict(),
        **(time_left(step) if is_timed else TimeLeft())._asdict(),
        attribution=attribution(queues, step.history.offsets, step.window, backlogs) or None,
        bottleneck=limit.value,
        more_members_help=capacity.more_members_help(limit),
        busiest_member_queues=capacity.busiest_member_queues(group.queues, group.members),
        busiest_member_queues_with_one_more=capacity.busiest_member_queues(group.queues, group.members, more=1),
        advice=" ".join(filter(None, (capacity.advice(group), advice_in_numbers(group)))),
        deleted_at=step.deleted_at(),
        deleted_topics=[
            DeletedTopic(topic, at)
            for topic in sorted(step.deleted_topics)
            if (at := step.deleted_at(topic)) is not None
        ]
        or None,
        backlog_is_minimum=any(is_handed_out(step, interval) for interval, _, _ in step.inside()) or None,
        backlog_max=highest and highest.messages,
        backlog_max_at=highest and highest.at,
        unassigned_queue_seconds=_unassigned_queue_seconds(step),
    )


def _reported(findings: Sequence[Finding]) -> list[Finding]:
    """The findings that are not silenced, the worst first."""
    reported = [finding for finding in findings if finding.silenced_because is None]
    return sorted(reported, key=lambda finding: SEVERITIES.index(finding.severity), reverse=True)


def _in_step(
    step: AuditedStep,
    ordinary: Sequence[RebalanceInterval],
    connected: Sequence[str] | None,
    queues: QueueIntervals,
    backlog: Backlog,
    findings: Sequence[Finding],
) -> capacity.GroupInStep:
    unknown = queues.unknown()
    bad = [finding for finding in _reported(findings) if finding.severity != SEVERITIES[0]]
    broadcast = (each.end for each, _, _ in step.inside() if each.reason is Reason.BROADCASTING)
    broadcast_until = max(broadcast, default=0)
    # Root causes first: a symptom alone says less.
    wrong = [finding.rule for finding in sorted(bad, key=lambda finding: finding.root_finding_id is not None)]
    return capacity.GroupInStep(
        members=None if connected is None else len(connected),
        queues=max((each.allocation.readable_count for each in ordinary if each.allocation), default=0),
        # That nothing comes back to the group says nothing about its topics.
        backlog_is_known=backlog.backlog_end is not None and any(row.interval.is_ordinary for row in step.progress),
        unknown_queues=len(unknown),
        held_back=held_back(step, queues, unknown, findings),
        unknown_at_first=queues.unknown_at_first,
        wrong=list(dict.fromkeys(wrong)),
        began_at_end={each.cause for each in bad if each.rule == "MESSAGES_SKIPPED"} <= {"BEGAN_AT_END", "SET_IN_PART"},
        broadcasts=broadcast_until > max((row.end for row in step.progress), default=0),
    )


def _ends(step: AuditedStep) -> list[RebalanceInterval]:
    """The last replayed interval of each topic in the step; of several views the one with the most client ids."""
    intervals = sorted((interval for interval, _, _ in step.inside()), key=lambda interval: interval.view, reverse=True)
    intervals.sort(key=lambda interval: (interval.end, len(set(interval.client_ids))))
    return [*{interval.topic: interval for interval in intervals if interval.allocation is not None}.values()]


def _unassigned_queue_seconds(step: AuditedStep) -> float | None:
    replayed = [row for row in step.progress if row.interval.is_ordinary and row.interval.allocation is not None]
    without_owner = ((row.end - row.start) * int((~row.is_owned).sum()) for row in replayed)
    return sum(without_owner) / SECOND if replayed else None


def _last_listed(lists: Iterable[tuple[int, Sequence[str]]]) -> Sequence[str] | None:
    """The client ids that were listed last; of several lists the one with the most connections, then ids."""
    return max(lists, key=lambda each: (each[0], len(each[1]), len(set(each[1])), each[1]), default=(0, None))[1]


def _listed_by_brokers(step: AuditedStep) -> Iterator[tuple[int, Sequence[str]]]:
    """The ends and client ids of intervals with members; those that proxies connect are known from proxies only."""
    for each, _, _ in step.inside():
        if each.client_ids and each.reason is not Reason.CONSUMED_THROUGH_PROXY:
            yield each.end, each.client_ids


def _listed_by_proxies(step: AuditedStep) -> Sequence[tuple[int, Sequence[str]]]:
    """The last end of a span in the step in which proxies listed the same connections, and the client ids that any of
    them lists then: they mostly list the same.
    """
    spans = [span for of_proxy in by_proxies(step.memberships).values() for span in of_proxy]
    end = max((span.end for span in spans if span.end > step.window.start), default=0)
    listed = Counter[str]()
    for span in spans:
        if span.end == end:
            listed |= Counter(span.state.client_ids)
    return [(end, sorted(listed.elements()))] if end else []


def _ownership(ordinary: Sequence[RebalanceInterval], connected: Sequence[str] | None) -> dict[str, Any]:
    """Idle members and owned queues of the ordinary topics, at the end of their last interval; None: there is none."""
    names = ("idle_members", "queue_count", "queues_with_one_owner", "double_owned_queues", "unassigned_queues")
    if not ordinary or connected is None:
        return dict.fromkeys(names)
    allocations = [(interval.client_ids, interval.allocation) for interval in ordinary if interval.allocation]
    queues = sum(allocation.readable_count for _, allocation in allocations)
    double_owned_queues = sum(allocation.counts.double_owned_queues for _, allocation in allocations)
    unassigned_queues = sum(allocation.counts.unassigned_queues for _, allocation in allocations)
    of_connections = queues_per_connection(allocations)
    # Not those that left before the topic that was replayed last.
    idle_members = sum(of_connections.get(connection) == 0 for connection in connections_of(connected))
    one_owner = queues - double_owned_queues - unassigned_queues
    return dict(zip(names, (idle_members, queues, one_owner, double_owned_queues, unassigned_queues), strict=True))
