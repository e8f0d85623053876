"""What a person, or a program, sees of the size that a group needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from rich.console import Console

from spark_jobs.cli.show_what_if import backlog_text, drained_text
from spark_jobs.cli.terminal import Column, measure, show_table
from spark_jobs.domain.model.intervals import Interval, duration_text
from spark_jobs.domain.phrases import UNKNOWN, count, number_text, rate_text
from spark_jobs.domain.what_if.fleet_size import FleetNeed, SizeVerdict
from spark_jobs.domain.what_if.size import GoalSize, Size, SizeOutcome
from spark_jobs.show.what_if import GroupSteps

_NOTE = (
    "Sized with client ids and subscriptions in order. Busiest member: what came into its queues over five minutes, of "
    "what it can consume. More queues than today help if their messages can be spread. See docs/what-if.md."
)


def show_size(console: Console, group: GroupSteps, needed: Size) -> None:
    """The group as it was first, then the smallest one for each goal."""
    peak = f"a peak of {rate_text(needed.peak)} messages/s over five minutes"
    had = f"{count(needed.members, 'member')}, {count(needed.queues, 'queue')}, {peak}"
    title = f"{group.consumer_group} in {group.interval} (UTC): {had}"
    rows = [("as it is", needed.today), *((_wanted(goal), goal.group) for goal in needed.needs)]
    show_table(console, title, _COLUMNS, rows, _NOTE)


def _wanted(goal: GoalSize) -> str:
    if goal.goal == "utilisation":
        return f"busiest member at {100 * goal.wanted:.0f} % or less"
    if goal.goal == "backlog":
        return f"never more than {count(round(goal.wanted), 'message')} behind"
    return f"drained within {duration_text(timedelta(seconds=goal.wanted))}"


#: What is wanted, and the group that does it; None: none does.
_SizeRow = tuple[str, SizeOutcome | None]


def _of_size(heading: str, name: str, text: Callable[[SizeOutcome], str], none: str = "") -> Column[_SizeRow]:
    return measure(heading, name, lambda row: none if row[1] is None else text(row[1]))


def _queues(outcome: SizeOutcome) -> str:
    return f"{outcome.queues} ({outcome.unowned} without owner)" if outcome.unowned else str(outcome.queues)


def _busiest(outcome: SizeOutcome) -> str:
    by = "" if outcome.utilisation is None else (" (pulls)" if outcome.by_pulls else " (listener)")
    return _percent(outcome.utilisation) + by


_COLUMNS = (
    Column[_SizeRow]("wanted", lambda row: row[0], "{}:", fold=True),
    _of_size("members", "members", lambda outcome: str(outcome.members), "No number of members is enough"),
    _of_size("queues", "queues", _queues),
    _of_size("busiest\nmember", "busiest_member", _busiest),
    _of_size("highest\nbacklog", "highest", lambda outcome: backlog_text(outcome.backlog, at_most=outcome.at_most)),
    _of_size("drained\nafter", "drained_after", lambda outcome: drained_text(outcome.drained, outcome.backlog)),
)


def size_document(group: GroupSteps, needed: Size) -> dict[str, Any]:
    """For `as_json`; a goal that no group reaches has null as its group."""
    return {
        "cluster": group.cluster,
        "consumer_group": group.consumer_group,
        "interval": str(group.interval),
        "members": needed.members,
        "queues": needed.queues,
        "peak_per_second": needed.peak,
        "today": needed.today._asdict(),
        "needs": [
            {"goal": goal.goal, "wanted": goal.wanted, "group": goal.group and goal.group._asdict()}
            for goal in needed.needs
        ],
    }


#: Of one group: its cluster, its name, what it needs.
_FleetRow = tuple[str, str, FleetNeed]
_FLEET_NOTE = (
    "How busy members were in the busiest step, by their listeners and pulls. UNEVEN: enough members, of which one is "
    "slower or has more to do. NOT_BY_MEMBERS: one queue is the limit, or there are too few. See docs/what-if.md."
)


def show_fleet(console: Console, interval: Interval, needs: Sequence[_FleetRow]) -> None:
    """One row per group; below them how many have each verdict."""
    counts = Counter(need.verdict for _, _, need in needs)
    verdicts = ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in SizeVerdict if counts[verdict])
    summary = f"{count(len(needs), 'group')} in {interval}: {verdicts}. {_FLEET_NOTE}"
    show_table(console, f"{interval} (UTC)", _FLEET_COLUMNS, needs, summary)


def _busiest_of_fleet(row: _FleetRow) -> str:
    need = row[2]
    return _percent(need.busiest) + ("" if need.limit is None else f" ({need.limit.lower()})")


def _percent(part: float | None) -> str:
    return UNKNOWN if part is None else f"{100 * part:.0f} %"


_FLEET_COLUMNS: tuple[Column[_FleetRow], ...] = (
    Column("group\ncluster", lambda row: (row[1], row[0]), "cluster={1} group={0}", fold=True),
    Column("verdict", lambda row: row[2].verdict.value, "verdict={}", fixed=True),
    measure("members", "members", lambda row: number_text(row[2].members)),
    measure("queues", "queues", lambda row: number_text(row[2].queues)),
    measure("all\nmembers", "all_members", lambda row: _percent(row[2].utilisation)),
    measure("busiest\nmember", "busiest_member", _busiest_of_fleet),
    measure("members\nneeded", "needed", lambda row: "-" if row[2].needed is None else f"{row[2].needed:,}"),
)


def fleet_document(interval: Interval, needs: Sequence[_FleetRow]) -> dict[str, Any]:
    """For `as_json`: one object per group; null is unknown, `needed` also where no number of members is enough."""
    groups = [{"cluster": cluster, "consumer_group": group} | need._asdict() for cluster, group, need in needs]
    return {"interval": str(interval), "groups": groups}
