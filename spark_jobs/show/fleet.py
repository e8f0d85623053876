"""The fleet: every group in one row, what needs attention first."""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.severities import ERROR, SEVERITIES
from spark_jobs.show.rows import GROUP, Key, Row, group_of

#: Points that a small line of backlog is drawn with, at most.
PARTS = 48
_NEWEST = (
    *("backlog_end", "catches_up", "catch_up_seconds", "retention_left_seconds"),
    *("member_count", "queue_count", "double_owned_queues", "unassigned_queues", "bottleneck", "advice"),
)
_CONDITION = ("topic", "subject", "cause")
_condition_of = itemgetter("rule", *_CONDITION)
_NOTHING_FOUND: Row = dict.fromkeys(("rank", "errors", "rules"))
#: The columns that `fleet` reads.
STATUS_COLUMNS = (*GROUP, "step_start", "backlog_start", "backlog_max", "busiest_utilization", *_NEWEST)
FINDING_COLUMNS = (*GROUP, "rule", "severity", *_CONDITION, "evidence", "silenced_because", "root_finding_id")


def fleet(status: Iterable[Row], findings: Iterable[Row], lines: Mapping[Key, Mapping[int, int]]) -> list[Row]:
    """One row per (cluster, group) that was audited, sorted by `attention`, without silenced findings.

    Members and queues are of its newest step, `backlog_start` of its oldest; `backlog_max`, `busiest`: the most of any
    step; `rules`: conditions per rule; `line`: of these `lines`, the backlog (messages) by part of the time.
    """
    reported = (row for row in findings if row["silenced_because"] is None)
    summaries = {group: findings_summary(rows) for group, rows in by_key(reported, group_of).items()}
    return sorted(
        (
            {**_status(steps), **summaries.get(group, _NOTHING_FOUND), "line": lines.get(group)}
            for group, steps in by_key(status, group_of).items()
        ),
        key=attention,
    )


def attention(row: Row) -> tuple[object, ...]:
    """Sort key of a row with `findings_summary`: worst severity, most errors, peak backlog."""
    highest = (row["backlog_max"] is None, -(row["backlog_max"] or 0))
    return (-(row["rank"] or 0), row["errors"] is None, -(row["errors"] or 0), *highest, *group_of(row))


def _status(steps: Sequence[Row]) -> Row:
    in_order = sorted(steps, key=lambda row: row["step_start"])
    newest = {name: in_order[-1][name] for name in (*GROUP, *_NEWEST)}
    highest = {
        name: max((row[column] for row in steps if row[column] is not None), default=None)
        for name, column in (("backlog_max", "backlog_max"), ("busiest", "busiest_utilization"))
    }
    return newest | {"backlog_start": in_order[0]["backlog_start"]} | highest


def findings_summary(findings: Sequence[Row]) -> Row:
    """Worst severity, errors, and conditions per rule, root causes first; null without findings."""
    if not findings:
        return _NOTHING_FOUND
    rules = [
        (
            all(row["root_finding_id"] for row in rows),
            -max(map(_severity, rows)),
            rule,
            len({*map(_condition_of, rows)}),
        )
        for rule, rows in by_key(findings, itemgetter("rule")).items()
    ]
    errors = {_condition_of(row) for row in findings if row["severity"] == ERROR}
    return {
        "rank": max(map(_severity, findings)),
        "errors": len(errors),
        "rules": [{"rule": rule, "findings": count} for *_, rule, count in sorted(rules)],
    }


def _severity(finding: Row) -> int:
    """1 for INFO, 2 for WARN, 3 for ERROR."""
    return 1 + SEVERITIES.index(finding["severity"])
