"""The fleet: every group in one row, what needs attention first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.severities import ERROR, SEVERITIES
from spark_jobs.domain.rules.evidence import highest_backlog
from spark_jobs.show.rows import GROUP, TOPIC, Key, Row, by_key, part_of, values_of

#: Points that a small line of backlog is drawn with, at most.
PARTS = 48
_NEWEST = (
    *("backlog_end", "catches_up", "catch_up_seconds", "retention_left_seconds"),
    *("members", "queues", "owned_twice", "owned_never", "limit", "advice"),
)
_CONDITION = ("topic", "subject", "cause")
_INTERVAL = (*TOPIC, "interval_start", "interval_end")
_NOTHING_FOUND: Row = dict.fromkeys(("rank", "errors", "piled_up", "rules"))
#: The columns that `fleet` reads.
STATUS_COLUMNS = (*GROUP, "step_start", "backlog_start", "busiest_utilisation", *_NEWEST)
FINDING_COLUMNS = (*GROUP, "rule", "severity", *_CONDITION, "evidence", "muted")
PROGRESS_COLUMNS = (*_INTERVAL, "lag_first", "lag_last")


def fleet(status: Iterable[Row], findings: Iterable[Row], progress: Iterable[Key], interval: Interval) -> list[Row]:
    """One row per (cluster, group) that was audited in the interval, sorted by `attention`.

    Counts of members and queues are those of its newest step, `backlog_start` of its oldest, `piled_up` the highest
    backlog (messages) of any finding, `busiest` the utilisation of the busiest member in any step, `rules` how many
    conditions each rule found, `lines` the backlog over time.
    Muted findings do not count.
    `progress` are rows of `queue_progress` as tuples of `PROGRESS_COLUMNS`.
    """

    def group_key(row: Row) -> Key:
        return values_of(row, GROUP)

    unmuted = (row for row in findings if row["muted"] is None)
    summaries = {group: findings_summary(rows) for group, rows in by_key(unmuted, group_key).items()}
    lines = _lines(progress, interval)
    return sorted(
        (
            {**_status(steps), **summaries.get(group, _NOTHING_FOUND), "lines": lines.get(group)}
            for group, steps in by_key(status, group_key).items()
        ),
        key=attention,
    )


def attention(row: Row) -> tuple[object, ...]:
    """Sort key of a row with the columns of `findings_summary`: the worst severity first, then the most errors, then
    the highest backlog.
    """
    highest = (row["piled_up"] is None, -(row["piled_up"] or 0))
    return (-(row["rank"] or 0), row["errors"] is None, -(row["errors"] or 0), *highest, *values_of(row, GROUP))


def _status(steps: Sequence[Row]) -> Row:
    in_order = sorted(steps, key=lambda row: row["step_start"])
    newest = {name: in_order[-1][name] for name in (*GROUP, *_NEWEST)}
    utilisations = (row["busiest_utilisation"] for row in steps if row["busiest_utilisation"] is not None)
    return newest | {"backlog_start": in_order[0]["backlog_start"], "busiest": max(utilisations, default=None)}


def findings_summary(findings: Sequence[Row]) -> Row:
    """Worst severity, errors, highest backlog and conditions per rule of one group's findings; all null without any.

    A condition that lasts for several steps, and so is a finding in each, counts once.
    """
    if not findings:
        return _NOTHING_FOUND
    per_rule = by_key(findings, lambda row: (row["rule"],))
    rules = [
        (-max(map(_severity, rows)), rule, len({values_of(row, _CONDITION) for row in rows}))
        for (rule,), rows in per_rule.items()
    ]
    errors = {(row["rule"], *values_of(row, _CONDITION)) for row in findings if row["severity"] == ERROR}
    backlogs = [(row["evidence"]["backlog_max"], row["evidence"]["unknown_queues"]) for row in findings]
    return {
        "rank": max(map(_severity, findings)),
        "errors": len(errors),
        "piled_up": highest_backlog(backlogs),
        "rules": [{"rule": rule, "findings": count} for _, rule, count in sorted(rules)],
    }


def _severity(finding: Row) -> int:
    """1 for INFO, 2 for WARN, 3 for ERROR."""
    return 1 + SEVERITIES.index(finding["severity"])


def _lines(progress: Iterable[Key], interval: Interval) -> dict[Key, list[dict[str, Any]]]:
    """By group one entry per topic: `points`, the highest known backlog (messages) in each `part` of the interval.

    The backlog is known at the first and last reading of a rebalance interval; parts without one have no point.
    """
    sums: dict[Key, dict[bool, int]] = {}
    for *key, lag_first, lag_last in progress:
        backlogs = sums.setdefault(tuple(key), {})
        for is_end, lag in ((False, lag_first), (True, lag_last)):
            if lag is not None:
                backlogs[is_end] = backlogs.get(is_end, 0) + lag
    highest: dict[Key, dict[str, dict[int, int]]] = {}
    for (cluster, consumer_group, topic, *bounds), backlogs in sums.items():
        points = highest.setdefault((cluster, consumer_group), {}).setdefault(topic, {})
        for is_end, backlog in backlogs.items():
            part = part_of(bounds[is_end], interval, PARTS)
            points[part] = max(points.get(part, backlog), backlog)
    return {
        group: [
            {"topic": topic, "points": [{"part": part, "backlog": points[part]} for part in sorted(points)]}
            for topic, points in sorted(topics.items())
            if points
        ]
        for group, topics in highest.items()
        if any(topics.values())
    }
