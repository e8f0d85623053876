"""What a person sees of all groups: a table of their newest steps, or plain lines where nobody watches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from spark_jobs.cli.terminal import SEVERITY_STYLES, Heading, print_line, show_rows, stacked, table, zone_name
from spark_jobs.domain.kernel.progress import LagQuality
from spark_jobs.domain.model.intervals import duration_text, format_utc
from spark_jobs.domain.phrases import (
    UNKNOWN,
    catch_up_text,
    count,
    number_text,
    percent_text,
    rate_text,
    retention_text,
)
from spark_jobs.show.status import Statuses

#: A row of `group_status`.
Group = Mapping[str, Any]


#: Rules named in a cell; the others are counted.
_RULES = 3
#: A terminal narrower than this has no room for limits, rates and ages.
_WIDE = 110
_HEADINGS = (
    Heading("worst", fixed=True),
    Heading("group\nrules", fold=True),
    Heading("members\nidle", right=True),
    Heading("queues owned\n1 / 2+ / 0", right=True),
    Heading("backlog", right=True),
)
_MORE = (
    Heading("limit"),
    Heading("in/s\nout/s", right=True),
    Heading("busiest\nheadroom", right=True),
    Heading("oldest message\ncaught up in\ndeleted in", right=True),
)


def show_statuses(console: Console, found: Statuses) -> None:
    """One row per group in the order given; whose newest step is not the newest of all is marked as old. Of one group
    alone its advice, too.
    """
    newest = f"the newest step began at {format_utc(found.newest_step)}" if found.newest_step else "nothing was audited"
    summary = f"{count(len(found.groups), 'group')}; {newest}."
    wide = console.width >= _WIDE
    show_rows(
        console, found.groups, lambda _: _table(found, wide), lambda group: _line(group, found.newest_step), summary
    )
    if console.is_terminal:
        for group in found.groups if len(found.groups) == 1 else ():
            print_line(console, f"Would more consumers have helped? {group['advice']}")


def _table(found: Statuses, wide: bool) -> Table:
    clusters = {group["cluster"] for group in found.groups}
    rows = (_cells(group, found.newest_step, wide, len(clusters) > 1) for group in found.groups)
    headings = (*_HEADINGS, *(_MORE if wide else ()))
    return table(f"Newest step of every group ({zone_name()})", headings, rows, ruled=True)


def _cells(group: Group, newest: datetime | None, wide: bool, with_cluster: bool) -> Iterable[Text]:
    severity = group["worst_severity"]
    old = None if group["step_start"] == newest else f"{format_utc(group['step_start'])} (old)"
    yield Text(severity or "-", SEVERITY_STYLES.get(severity, "dim"))
    yield stacked(group["consumer_group"], group["cluster"] if with_cluster else None, old, *_rules(group))
    yield stacked(number_text(group["members"]), number_text(group["idle_members"]))
    yield Text(_owned(group))
    yield stacked(_backlog(group), *_beside(group))
    if wide:
        yield Text(group["limit"].replace("_", " ").lower())
        yield stacked(rate_text(group["in_rate"]), rate_text(group["out_rate"]))
        yield stacked(percent_text(group["busiest_utilisation"]), rate_text(group["headroom"]))
        yield stacked(_oldest(group), _catch_up(group), _retention(group))


def _rules(group: Group) -> list[str]:
    """The worst first."""
    found = group["rules"] or ()
    rules = [f"{one['rule']} × {one['findings']}" if one["findings"] > 1 else one["rule"] for one in found]
    return [*rules[:_RULES], *([f"and {len(rules) - _RULES} more"] if rules[_RULES:] else [])]


def _beside(group: Group) -> Iterable[str]:
    """What the numbers of the backlog do not count, or count too much."""
    if group["lag_quality"] == LagQuality.UNFILTERED:
        yield "unfiltered"
    if group["stranded"]:
        yield f"{group['stranded']:,} stranded"
    if group["unknown_queues"]:
        yield f"{count(group['unknown_queues'], 'queue')} unknown"


def _line(group: Group, newest: datetime | None) -> str:
    return " ".join(
        (
            group["worst_severity"] or "-",
            f"cluster={group['cluster']}",
            f"group={group['consumer_group']}",
            f"step={format_utc(group['step_start'])}{'' if group['step_start'] == newest else ' (old)'}",
            f"findings={group['finding_count']}",
            f"rules={','.join(one['rule'] for one in group['rules'] or ()) or '-'}",
            f"members={number_text(group['members'])}",
            f"queues={_owned(group)}",
            f"backlog={_backlog(group)}",
            *(["unfiltered"] if group["lag_quality"] == LagQuality.UNFILTERED else []),
            f"caught_up_in={_catch_up(group)}",
            f"deleted_in={_retention(group)}",
            f"unknown_queues={group['unknown_queues']}",
            *([f"stranded={group['stranded']}"] if group["stranded"] else []),
            f"oldest={_oldest(group)}",
            f"in={rate_text(group['in_rate'])}/s",
            f"out={rate_text(group['out_rate'])}/s",
            f"utilisation={_utilisation(group)}",
            f"limit={group['limit']}",
            f"advice: {group['advice']}",
        )
    )


def _owned(group: Group) -> str:
    """Queues with one owner, with several, with none."""
    if group["queues"] is None:
        return UNKNOWN
    return "/".join(f"{group[name]:,}" for name in ("owned_once", "owned_twice", "owned_never"))


def _utilisation(group: Group) -> str:
    """Of all members, and of the one that is nearest to its limit; how many more messages a second that leaves."""
    if group["utilisation"] is None:
        return UNKNOWN
    busiest = f"busiest {percent_text(group['busiest_utilisation'])} of its {group['busiest_limit']}"
    return f"{percent_text(group['utilisation'])} ({busiest}) headroom={rate_text(group['headroom'])}/s"


def _backlog(group: Group) -> str:
    start, end = group["backlog_start"], group["backlog_end"]
    return UNKNOWN if start is None and end is None else f"{number_text(start)} → {number_text(end)}"


def _catch_up(group: Group) -> str:
    return catch_up_text(group["catch_up_seconds"], group["catches_up"])


def _retention(group: Group) -> str:
    return retention_text(group["retention_left_seconds"], group["catch_up_seconds"])


def _oldest(group: Group) -> str:
    """Age of the oldest message not consumed, at its highest; null where nothing waited, or nothing is known."""
    age = group["oldest_message_ms"]
    if age is None:
        return UNKNOWN if group["backlog_end"] is None else "-"
    return duration_text(timedelta(milliseconds=age))
