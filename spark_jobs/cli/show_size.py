"""The size that a group needs, and that of every group: tables, and documents for `as_json`."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from rich.console import Console

from spark_jobs.cli.show_what_if import SEE, drained_text
from spark_jobs.cli.tables import Column, measure, show_table
from spark_jobs.cli.terminal import print_line
from spark_jobs.domain.model.intervals import Interval, duration_text
from spark_jobs.domain.phrases import UNKNOWN, backlog_bound, count, number_text, percent_text, rate_text
from spark_jobs.show.what_if import GroupSize
from spark_jobs.what_if.size import FleetNeed, GoalSize, SizeOutcome, SizeVerdict

_SIZE_NOTE = (
    "The fewest members for each goal, none of them spare, with client ids and subscriptions in order. Busiest member: "
    "what came into its queues over five minutes, of what it can consume. More queues than today help if their "
    f"messages can be spread. {SEE}"
)


def show_size(console: Console, answer: GroupSize) -> None:
    """The group as it was first, then the smallest one for each goal."""
    group, needed = answer.group, answer.size
    peak = f"a peak of {rate_text(needed.peak)} messages/s over five minutes"
    had = f"{count(needed.members, 'member')}, {count(needed.queues, 'queue')}, {peak}"
    observed = _observed(group.interval, needed.observed_share)
    title = f"{group.consumer_group}: {had}. {observed} (UTC)"
    rows = [("as it is", needed.today), *((_wanted(goal), goal.group) for goal in needed.needs)]
    show_table(console, title, _SIZE_COLUMNS, rows, f"{observed}. {_SIZE_NOTE}")
    if needed.reason:
        print_line(console, f"This is no recommendation: {needed.reason}.")


def size_document(answer: GroupSize) -> dict[str, Any]:
    """For `as_json`; a goal that no group reaches has null as its group."""
    group, needed = answer.group, answer.size
    return {
        "cluster": group.cluster,
        "consumer_group": group.consumer_group,
        "interval": group.interval,
        "members": needed.members,
        "queues": needed.queues,
        "peak_per_second": needed.peak,
        "observed_share": needed.observed_share,
        "reason": needed.reason,
        "today": needed.today,
        "needs": needed.needs,
    }


def _observed(interval: Interval, share: float | None, bound: str = "") -> str:
    """How long, and for which share of the interval, snapshots cover a group."""
    length = UNKNOWN if share is None else duration_text(share * (interval.end - interval.start))
    return f"Observed: {bound}{length} ({percent_text(share)}) of {interval}"


def _wanted(goal: GoalSize) -> str:
    if goal.goal == "utilization":
        return f"busiest member at {100 * goal.wanted:.0f} % or less"
    if goal.goal == "backlog":
        return f"never more than {count(round(goal.wanted), 'message')} behind"
    return f"drained within {duration_text(timedelta(seconds=goal.wanted))}"


#: What is wanted, and the group that does it; None: none does.
_SizeRow = tuple[str, SizeOutcome | None]


def _of_size(heading: str, name: str, text: Callable[[SizeOutcome], str], none: str = "") -> Column[_SizeRow]:
    return measure(heading, name, lambda row: none if row[1] is None else text(row[1]))


def _queues(outcome: SizeOutcome) -> str:
    return (
        f"{outcome.queues} ({outcome.unassigned_queues} without owner)"
        if outcome.unassigned_queues
        else str(outcome.queues)
    )


def _busiest(outcome: SizeOutcome) -> str:
    by = "" if outcome.utilization is None else (" (pulls)" if outcome.by_pulls else " (listener)")
    return percent_text(outcome.utilization) + by


_SIZE_COLUMNS = (
    Column[_SizeRow]("wanted", lambda row: row[0], "{}:", fold=True),
    _of_size("members", "members", lambda outcome: str(outcome.members), "No number of members is enough"),
    _of_size("queues", "queues", _queues),
    _of_size("busiest\nmember", "busiest_member", _busiest),
    _of_size("highest\nbacklog", "highest", lambda outcome: backlog_bound(outcome.backlog, at_most=outcome.at_most)),
    _of_size("drained\nafter", "drained_after", lambda outcome: drained_text(outcome.drained, outcome.backlog)),
)


#: Of one group: its cluster, its name, what it needs.
FleetRow = tuple[str, str, FleetNeed]
_FLEET_NOTE = (
    "How busy members were in the busiest step, by their listeners and pulls. UNEVEN: enough members, of which one is "
    f"slower or has more to do. NOT_BY_MEMBERS: one queue is the limit, or there are too few. UNKNOWN: an incident is "
    f"open, or less than half of the time was observed. {SEE}"
)


def show_fleet(console: Console, interval: Interval, needs: Sequence[FleetRow], top: int | None = None) -> None:
    """One row per group, or for the first `top` ones; below them how many have each verdict."""
    counts = Counter(need.verdict for _, _, need in needs)
    verdicts = ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in SizeVerdict if counts[verdict])
    observed = _observed(interval, max((need.observed_share or 0.0 for _, _, need in needs), default=None), "up to ")
    shown = needs[:top]
    fewer = f", {len(shown):,} shown" if len(shown) < len(needs) else ""
    summary = f"{count(len(needs), 'group')}{fewer}: {verdicts}. {observed}. {_FLEET_NOTE}"
    several_clusters = len({cluster for cluster, *_ in needs}) > 1
    columns = [column for column in _FLEET_COLUMNS if several_clusters or column is not _CLUSTER]
    show_table(console, f"{observed} (UTC)", columns, shown, summary)


def fleet_document(interval: Interval, needs: Sequence[FleetRow]) -> dict[str, Any]:
    """For `as_json`: one object per group; null is unknown, `needed` also where no number of members is enough."""
    groups = [{"cluster": cluster, "consumer_group": group} | need._asdict() for cluster, group, need in needs]
    return {"interval": interval, "groups": groups}


def _bottleneck(row: FleetRow) -> str:
    return (row[2].bottleneck or "").lower()


def _needed(row: FleetRow) -> str:
    return "-" if row[2].needed is None else f"{row[2].needed:,}"


def _in_brackets(text: str | None) -> str:
    return f"({text})" if text else ""


_CLUSTER = Column[FleetRow]("cluster", lambda row: row[0], "cluster={}", fold=True)
#: A line per group: a narrow terminal leaves out the reason first. It is there only if each stays on its line.
_FLEET_COLUMNS: tuple[Column[FleetRow], ...] = (
    _CLUSTER,
    Column("group", lambda row: row[1], "group={}", fold=True, enough=40),
    Column("verdict", lambda row: row[2].verdict.value, "verdict={}", fixed=True),
    measure("members", "members", lambda row: number_text(row[2].members), fixed=True),
    measure("queues", "queues", lambda row: number_text(row[2].queues), fixed=True, drop=2),
    measure("all\nmembers", "all_members", lambda row: percent_text(row[2].utilization), fixed=True, drop=3),
    measure("busiest\nmember", "busiest_member", lambda row: percent_text(row[2].busiest), fixed=True),
    Column("bottleneck", _bottleneck, lambda row: _in_brackets(_bottleneck(row)), fixed=True, drop=1),
    measure("members\nneeded", "needed", _needed, fixed=True),
    Column("no verdict because", lambda row: row[2].reason or "", lambda row: _in_brackets(row[2].reason), drop=4),
)
