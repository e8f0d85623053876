"""What a person, or a program, sees of the size that a group needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.table import Table

from spark_jobs.cli.tables import Heading, show_rows, table
from spark_jobs.domain.intervals import duration_text
from spark_jobs.domain.phrases import UNKNOWN, count, number_text, rate_text
from spark_jobs.domain.what_if.size import Need, Size, Tried
from spark_jobs.jobs.what_if import GroupSteps

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


def _wanted(one: Need) -> str:
    if one.goal == "utilisation":
        return f"busiest member at {100 * one.wanted:.0f} % or less"
    if one.goal == "backlog":
        return f"never more than {count(round(one.wanted), 'message')} behind"
    return f"drained within {duration_text(timedelta(seconds=one.wanted))}"


def _table(title: str, rows: Iterable[tuple[str, Tried | None]]) -> Table:
    return table(title, _HEADINGS, ((wanted, *_cells(one)) for wanted, one in rows))


def _line(row: tuple[str, Tried | None]) -> str:
    wanted, one = row
    return f"{wanted}: " + " ".join(f"{name}={cell}" for name, cell in zip(_NAMES, _cells(one), strict=True))


def _cells(one: Tried | None) -> Sequence[str]:
    if one is None:
        return (_NONE, "", "", "", "")
    unowned = f" ({one.unowned} without owner)" if one.unowned else ""
    busiest = UNKNOWN if one.utilisation is None else f"{100 * one.utilisation:.0f} %"
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
