"""The fleet: every group in one row, what needs attention first."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from operator import itemgetter

from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.severities import ERROR, SEVERITIES
from spark_jobs.domain.rules.evidence import highest_backlog
from spark_jobs.show.rows import GROUP, TOPIC, Key, Row, group_of, part_of

#: Points that a small line of backlog is drawn with, at most.
PARTS = 48
_NEWEST = (
    *("backlog_end", "catches_up", "catch_up_seconds", "retention_left_seconds"),
    *("member_count", "queue_count", "double_owned_queues", "unassigned_queues", "bottleneck", "advice"),
)
_CONDITION = ("topic", "subject", "cause")
_condition_of = itemgetter("rule", *_CONDITION)
_INTERVAL = (*TOPIC, "interval_start", "interval_end")
_NOTHING_FOUND: Row = dict.fromkeys(("rank", "errors", "peak_backlog_messages", "rules"))
#: The columns that `fleet` reads.
STATUS_COLUMNS = (*GROUP, "step_start", "backlog_start", "busiest_utilization", *_NEWEST)
FINDING_COLUMNS = (*GROUP, "rule", "severity", *_CONDITION, "evidence", "silenced_because", "root_finding_id")
PROGRESS_COLUMNS = (*_INTERVAL, "lag_first", "lag_last")


def fleet(status: Iterable[Row], findings: Iterable[Row], progress: Iterable[Key], interval: Interval) -> list[Row]:
    """One row per (cluster, group) that was audited in the interval, sorted by `attention`, without silenced findings.

    Members and queues are of its newest step, `backlog_start` of its oldest; `peak_backlog_messages`: of any finding;
    `busiest`: utilization in any step; `rules`: conditions per rule; `lines`: backlog over time. `progress`: tuples of
    `PROGRESS_COLUMNS`.
    """
    reported = (row for row in findings if row["silenced_because"] is None)
    summaries = {group: findings_summary(rows) for group, rows in by_key(reported, group_of).items()}
    lines = _lines(progress, interval)
    return sorted(
        (
            {**_status(steps), **summaries.get(group, _NOTHING_FOUND), "lines": lines.get(group)}
            for group, steps in by_key(status, group_of).items()
        ),
        key=attention,
    )


def attention(row: Row) -> tuple[object, ...]:
    """Sort key of a row with `findings_summary`: worst severity, most errors, highest backlog."""
    highest = (row["peak_backlog_messages"] is None, -(row["peak_backlog_messages"] or 0))
    return (-(row["rank"] or 0), row["errors"] is None, -(row["errors"] or 0), *highest, *group_of(row))


def _status(steps: Sequence[Row]) -> Row:
    in_order = sorted(steps, key=lambda row: row["step_start"])
    newest = {name: in_order[-1][name] for name in (*GROUP, *_NEWEST)}
    utilizations = (row["busiest_utilization"] for row in steps if row["busiest_utilization"] is not None)
    return newest | {"backlog_start": in_order[0]["backlog_start"], "busiest": max(utilizations, default=None)}


def findings_summary(findings: Sequence[Row]) -> Row:
    """Worst severity, errors, peak backlog, and conditions per rule, root causes first; null without findings."""
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
    backlogs = [(row["evidence"]["backlog_max"], row["evidence"]["unknown_queues"]) for row in findings]
    return {
        "rank": max(map(_severity, findings)),
        "errors": len(errors),
        "peak_backlog_messages": highest_backlog(backlogs),
        "rules": [{"rule": rule, "findings": count} for *_, rule, count in sorted(rules)],
    }


def _severity(finding: Row) -> int:
    """1 for INFO, 2 for WARN, 3 for ERROR."""
    return 1 + SEVERITIES.index(finding["severity"])


def _lines(progress: Iterable[Key], interval: Interval) -> dict[Key, list[dict[int, int]]]:
    """Per group a line per topic: the highest known backlog (messages) per part of the interval, by index."""
    backlogs = Counter[Key]()
    for *key, lag_first, lag_last in progress:
        for is_end, lag in enumerate((lag_first, lag_last)):
            if lag is not None:
                backlogs[(*key, is_end)] += lag
    lines: dict[Key, dict[str, dict[int, int]]] = defaultdict(dict)
    for (*group, topic, start, end, is_end), backlog in backlogs.items():
        points = lines[tuple(group)].setdefault(topic, {})
        part = part_of(end if is_end else start, interval, PARTS)
        points[part] = max(points.get(part, backlog), backlog)
    return {group: [dict(sorted(topics[topic].items())) for topic in sorted(topics)] for group, topics in lines.items()}
