"""What a person, or a program, sees of the size that a group needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from spark_jobs.cli.terminal import Heading, show_rows, stacked, table
from spark_jobs.domain.model.intervals import Interval, duration_text
from spark_jobs.domain.phrases import UNKNOWN, count, number_text, rate_text
from spark_jobs.domain.what_if.size import FleetNeed, GoalSize, Size, SizeOutcome, SizeVerdict
from spark_jobs.show.what_if import GroupSteps

_HEADINGS = (
    Heading("wanted", fold=True),
    *(
        Heading(text, right=True)
        for text in ("members", "queues", "busiest\nmember", "highest\nbacklog", "drained\nafter")
    ),
)
_NAMES = ("members", "queues", "busiest_member", "highest", "drained_after")
_NOTE = (
    "Sized with client ids and subscriptions in order. Busiest member: what came into its queues over five minutes, of "
    "what it can consume. More queues than today help if their messages can be spread. See docs/what-if.md."
)
_NONE = "No number of members is enough"


def show_size(console: Console, found: GroupSteps, needed: Size) -> None:
    """The group as it was first, then the smallest one for each goal."""
    peak = f"a peak of {rate_text(needed.peak)} messages/s over five minutes"
    had = f"{count(needed.members, 'member')}, {count(needed.queues, 'queue')}, {peak}"
    title = f"{found.consumer_group} in {found.interval} (UTC): {had}"
    rows = [("as it is", needed.today), *((_wanted(one), one.group) for one in needed.needs)]
    show_rows(console, rows, lambda some: _table(title, some), _line, _NOTE)


def _wanted(one: GoalSize) -> str:
    if one.goal == "utilisation":
        return f"busiest member at {100 * one.wanted:.0f} % or less"
    if one.goal == "backlog":
        return f"never more than {count(round(one.wanted), 'message')} behind"
    return f"drained within {duration_text(timedelta(seconds=one.wanted))}"


def _table(title: str, rows: Iterable[tuple[str, SizeOutcome | None]]) -> Table:
    return table(title, _HEADINGS, ((wanted, *_cells(one)) for wanted, one in rows))


def _line(row: tuple[str, SizeOutcome | None]) -> str:
    wanted, one = row
    return f"{wanted}: " + " ".join(f"{name}={cell}" for name, cell in zip(_NAMES, _cells(one), strict=True))


def _cells(one: SizeOutcome | None) -> Sequence[str]:
    if one is None:
        return (_NONE, "", "", "", "")
    unowned = f" ({one.unowned} without owner)" if one.unowned else ""
    busiest = _percent(one.utilisation)
    by = "" if one.utilisation is None else (" (pulls)" if one.by_pulls else " (listener)")
    drained = UNKNOWN if one.backlog is None else "not by the end"
    return (
        str(one.members),
        f"{one.queues}{unowned}",
        busiest + by,
        f"{'≤ ' if one.at_most else ''}{number_text(one.backlog)}",
        drained if one.drained is None else duration_text(timedelta(seconds=one.drained)),
    )


def size_document(found: GroupSteps, needed: Size) -> dict[str, Any]:
    """For `as_json`; a goal that no group reaches has null as its group."""
    return {
        "cluster": found.cluster,
        "consumer_group": found.consumer_group,
        "interval": str(found.interval),
        "members": needed.members,
        "queues": needed.queues,
        "peak_per_second": needed.peak,
        "today": needed.today._asdict(),
        "needs": [
            {"goal": one.goal, "wanted": one.wanted, "group": one.group and one.group._asdict()} for one in needed.needs
        ],
    }


#: Of one group: its cluster, its name, what it needs.
_FleetRow = tuple[str, str, FleetNeed]
_FLEET_HEADINGS = (
    Heading("group\ncluster", fold=True),
    Heading("verdict", fixed=True),
    *(
        Heading(text, right=True)
        for text in ("members", "queues", "all\nmembers", "busiest\nmember", "members\nneeded")
    ),
)
_FLEET_NOTE = (
    "How busy members were in the busiest step, by their listeners and pulls. UNEVEN: enough members, of which one is "
    "slower or has more to do. NOT_BY_MEMBERS: one queue is the limit, or there are too few. See docs/what-if.md."
)


def show_fleet(console: Console, interval: Interval, found: Sequence[_FleetRow]) -> None:
    """One row per group; below them how many have each verdict."""
    counts = Counter(need.verdict for _, _, need in found)
    told = ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in SizeVerdict if counts[verdict])
    summary = f"{count(len(found), 'group')} in {interval}: {told}. {_FLEET_NOTE}"
    show_rows(
        console,
        found,
        lambda some: table(f"{interval} (UTC)", _FLEET_HEADINGS, map(_fleet_cells, some)),
        _fleet_line,
        summary,
    )


def _fleet_cells(row: _FleetRow) -> Sequence[Text | str]:
    cluster, group, need = row
    return (stacked(group, cluster), *_fleet_texts(need))


def _fleet_line(row: _FleetRow) -> str:
    names = ("verdict", "members", "queues", "all_members", "busiest_member", "needed")
    cluster, group, need = row
    told = (f"{name}={text}" for name, text in zip(names, _fleet_texts(need), strict=True))
    return " ".join((f"cluster={cluster} group={group}", *told))


def _fleet_texts(need: FleetNeed) -> Sequence[str]:
    limit = "" if need.limit is None else f" ({need.limit.lower()})"
    needed = "-" if need.needed is None else f"{need.needed:,}"
    counts = (number_text(need.members), number_text(need.queues))
    return (need.verdict.value, *counts, _percent(need.utilisation), _percent(need.busiest) + limit, needed)


def _percent(part: float | None) -> str:
    return UNKNOWN if part is None else f"{100 * part:.0f} %"


def fleet_document(interval: Interval, found: Sequence[_FleetRow]) -> dict[str, Any]:
    """For `as_json`: one object per group; null is unknown, `needed` also where no number of members is enough."""
    groups = [{"cluster": cluster, "consumer_group": group} | need._asdict() for cluster, group, need in found]
    return {"interval": str(interval), "groups": groups}
