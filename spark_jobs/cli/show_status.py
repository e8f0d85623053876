"""What a person sees of all groups: a table of their newest steps, or plain lines where nobody watches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from spark_jobs.cli.tables import Heading, show_rows, stacked, table
from spark_jobs.cli.terminal import SEVERITY_STYLES
from spark_jobs.domain.intervals import duration_text, format_utc
from spark_jobs.domain.phrases import UNKNOWN, count, number_text, rate_text
from spark_jobs.jobs.status import Statuses

#: A row of `group_status`.
Group = Mapping[str, Any]


_HEADINGS = (
    *(Heading(text, fold=True) for text in ("worst\nfindings", "group\ncluster\nstep")),
    *(
        Heading(text, right=True)
        for text in (
            "members\nidle",
            "queues owned\nonce/twice/never",
            "backlog\nunknown queues",
            "in/s\nout/s",
            "oldest\nmessage",
        )
    ),
    Heading("limit\nwould more consumers have helped?", fold=True),
)


def show_statuses(console: Console, found: Statuses) -> None:
    """One row per group in the order given; whose newest step is not the newest of all is marked as old."""
    newest = f"the newest step began at {format_utc(found.newest_step)}" if found.newest_step else "nothing was audited"
    summary = f"{count(len(found.groups), 'group')}; {newest}."
    show_rows(console, found.groups, lambda _: _table(found), lambda group: _line(group, found.newest_step), summary)


def _table(found: Statuses) -> Table:
    rows = (_cells(group, found.newest_step) for group in found.groups)
    return table("Newest step of every group (UTC)", _HEADINGS, rows, ruled=True)


def _cells(group: Group, newest: datetime | None) -> Iterable[Text]:
    severity = group["worst_severity"]
    step = f"{format_utc(group['step_start'])}{_age(group, newest)}"
    yield Text.assemble((severity or "-", SEVERITY_STYLES.get(severity, "dim")), (f"\n{group['finding_count']}", "dim"))
    yield stacked(group["consumer_group"], group["cluster"], step)
    yield stacked(number_text(group["members"]), number_text(group["idle_members"]))
    yield Text(_owned(group))
    yield stacked(_backlog(group), f"{group['unknown_queues']:,}" if group["unknown_queues"] else None)
    yield stacked(rate_text(group["in_rate"]), rate_text(group["out_rate"]))
    yield Text(_oldest(group))
    yield stacked(group["limit"], group["advice"])


def _line(group: Group, newest: datetime | None) -> str:
    return " ".join(
        (
            group["worst_severity"] or "-",
            f"cluster={group['cluster']}",
            f"group={group['consumer_group']}",
            f"step={format_utc(group['step_start'])}{_age(group, newest)}",
            f"findings={group['finding_count']}",
            f"members={number_text(group['members'])}",
            f"queues={_owned(group)}",
            f"backlog={_backlog(group)}",
            f"unknown_queues={group['unknown_queues']}",
            f"oldest={_oldest(group)}",
            f"in={rate_text(group['in_rate'])}/s",
            f"out={rate_text(group['out_rate'])}/s",
            f"limit={group['limit']}",
            f"advice: {group['advice']}",
        )
    )


def _age(group: Group, newest: datetime | None) -> str:
    return "" if group["step_start"] == newest else " (old)"


def _owned(group: Group) -> str:
    """Queues with one owner, with several, with none."""
    if group["queues"] is None:
        return UNKNOWN
    return "/".join(f"{group[name]:,}" for name in ("owned_once", "owned_twice", "owned_never"))


def _backlog(group: Group) -> str:
    start, end = group["backlog_start"], group["backlog_end"]
    return UNKNOWN if start is None and end is None else f"{number_text(start)} → {number_text(end)}"


def _oldest(group: Group) -> str:
    """Age of the oldest message not consumed, at its highest; null where nothing waited, or nothing is known."""
    age = group["oldest_message_ms"]
    if age is None:
        return UNKNOWN if group["backlog_end"] is None else "-"
    return duration_text(timedelta(milliseconds=age))
