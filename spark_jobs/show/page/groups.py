"""One group's part of the page: charts, tables and notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from bokeh.models import Range1d

from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import RETRY
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.severities import WORST_FIRST
from spark_jobs.domain.model.statuses import Status
from spark_jobs.domain.phrases import number_text
from spark_jobs.show.measured import Minutes, Topics
from spark_jobs.show.page.backlog import backlog_chart, is_known, rates_chart, without_samples
from spark_jobs.show.page.style import clock, milliseconds, packed, time_range
from spark_jobs.show.page.timelines import ROWS, Numbers, members_timeline, numbers_of, ownership_timeline
from spark_jobs.show.rows import Row

#: Topics of a group that have charts, at most: those with most problems first.
TOPICS = 12


@dataclass(frozen=True)
class GroupRows:
    """The published rows of one group, folded for the page: its row of the fleet, and the rows of each section. By
    topic the `minutes` of its backlog, and the `samples` that the source still has.
    """

    fleet: Row
    members: Sequence[Row]
    ownership: Sequence[Row]
    states: Sequence[Row]
    backlog: Sequence[Row]
    findings: Sequence[Row]
    status: Sequence[Row]
    notes: Sequence[str]
    samples: Topics = field(default_factory=dict)
    minutes: Mapping[str, Minutes] = field(default_factory=dict)


def group_page(rows: GroupRows, interval: Interval, requested: Interval, id: str) -> dict[str, Any]:
    """The content of the template `group.html`."""
    time, numbers = time_range(interval, requested), numbers_of(rows.members)
    members = members_timeline(rows.members, numbers, interval, time)
    names, quiet = _topics(rows)
    topics = [_topic(name, rows, numbers, interval, time) for name in names[:TOPICS]]
    charts = [topic[chart] for topic in topics for chart in _CHARTS if topic[chart]]
    notes = list(rows.notes)
    if len(numbers) > ROWS:
        notes.append(f"{len(numbers) - ROWS} of {len(numbers)} members are left out of the chart.")
    if quiet:
        notes.append(f"Not drawn, as no message is known to have been there: {', '.join(quiet)}.")
    if names[TOPICS:]:
        notes.append(f"More topics, without charts: {', '.join(names[TOPICS:])}.")
    return {
        "id": id,
        "notes": notes,
        "findings": conditions(rows.findings),
        "status": rows.status,
        "growth": [(step["step_start"], part) for step in rows.status for part in step["attribution"] or ()],
        "topics": topics,
        "members": members,
        "charts": packed([members, *charts]),
    }


def conditions(findings: Iterable[Row]) -> list[Row]:
    """Conditions: consecutive steps' findings joined, with the values of the peak backlog's; worst first."""
    in_order = sorted(findings, key=itemgetter("started_at", "finding_id"))
    runs: list[list[Row]] = []
    for rows in by_key(in_order, itemgetter("rule", "topic", "subject", "cause")).values():
        covered_until = None
        for row in rows:
            if row["started_at"] == covered_until:
                runs[-1].append(row)
            else:
                runs.append([row])
            covered_until = row["ended_at"]
    joined_runs = map(_joined_run, runs)
    return sorted(joined_runs, key=lambda row: (WORST_FIRST.index(row["severity"]), row["started_at"], row["rule"]))


def _joined_run(run: Sequence[Row]) -> Row:
    shown = max(run, key=lambda row: row["evidence"]["backlog_max"] or 0)
    severity = min((row["severity"] for row in run), key=WORST_FIRST.index)
    span = {
        "started_at": run[0]["started_at"],
        "ended_at": run[-1]["ended_at"],
        "of": (shown["started_at"], shown["ended_at"]),
    }
    ids = [row["finding_id"] for row in run]
    return {**shown, **span, "severity": severity, "steps": len(run), "ids": ids}


def _topics(rows: GroupRows) -> tuple[list[str], list[str]]:
    """Topics to show, most problems first, retry topics last; and quiet retry topics, into which no message came. One
    with wrong owners is quiet only if its backlog is known.
    """
    problem_counts = {state["topic"]: 0 for state in rows.states}
    used = {row["topic"] for row in rows.backlog if row["lag_max"] or row["produced"]}
    unknown = problem_counts.keys() - {row["topic"] for row in rows.backlog}
    unknown |= {row["topic"] for row in rows.backlog if row["lag_max"] is None}
    for span in rows.ownership:
        problem_counts[span["topic"]] += len(span["owners"]) != 1
    quiet = {
        name
        for name in problem_counts
        if name.startswith(RETRY) and name not in used and not (problem_counts[name] and name in unknown)
    }
    names = sorted(
        problem_counts.keys() - quiet, key=lambda name: (name.startswith(RETRY), -problem_counts[name], name)
    )
    return names, sorted(quiet)


_CHARTS = ("ownership", "backlog", "rates")


def _topic(name: str, rows: GroupRows, numbers: Numbers, interval: Interval, time: Range1d) -> dict[str, Any]:
    spans, states, backlog = (
        [row for row in section if row["topic"] == name] for section in (rows.ownership, rows.states, rows.backlog)
    )
    topic: dict[str, Any] = dict.fromkeys(_CHARTS)
    topic |= {"name": name, "notes": _unreplayed(states, drawn=bool(spans)), "rebalances": []}
    if spans:
        chart, left_out = ownership_timeline(spans, states, numbers, interval, time)
        topic |= {"ownership": chart, "rebalances": _rebalances(states)}
        if left_out:
            topic["notes"].append(f"{left_out} queues are left out of the chart; queues with problems come first.")
    samples, minutes = rows.samples.get(name), rows.minutes.get(name)
    if is_known(backlog) or (minutes is not None and minutes.is_known):
        chart = backlog_chart(backlog, samples, minutes, time)
        topic |= {"backlog": chart, "rates": rates_chart(backlog, samples, time)}
        if without_samples(backlog, samples):
            topic["notes"].append(
                "Dots of the backlog are the first and last sample of an interval, of which rates are the mean: the "
                "samples between them are not stored any more."
            )
        if any(row["lag_first"] is None or row["lag_last"] is None for row in backlog):
            topic["notes"].append(
                "Where a line of the backlog is broken, it is unknown: the group had not committed an offset, or no "
                "offset was read."
            )
    elif backlog:
        topic["notes"].append("The backlog is unknown: the group has not committed an offset, or no offset was read.")
    return topic


def _unreplayed(states: Sequence[Row], *, drawn: bool) -> list[str]:
    """Sentences: what was not replayed, and why. Unobserved time is left out where a chart shows it."""
    return [
        f"{state['status'].replace('_', ' ').capitalize()} ({state['reason']}): {clock(state['start'])} – "
        f"{clock(state['end'])} UTC."
        for state in states
        if state["status"] != Status.REPLAYED and not (drawn and state["status"] == Status.UNOBSERVED)
    ]


def _rebalances(states: Sequence[Row]) -> list[tuple[float, str]]:
    """(moment in ms, text) of each rebalance, and the last moment that was replayed."""
    replayed = sorted((row for row in states if row["status"] == Status.REPLAYED), key=lambda row: row["start"])
    rebalances = [
        (
            milliseconds(row["start"]),
            f"{clock(row['start'])} {row['trigger_type']} {row['trigger_subject'] or ''}"
            + (f", {number_text(row['queues_moved'])} queues moved" if row["queues_moved"] is not None else ""),
        )
        for row in replayed
        if row["trigger_type"]
    ]
    end = max(row["end"] for row in replayed)
    return [(milliseconds(end), f"{clock(end)} end of the replay"), *rebalances]
