"""A history played otherwise, and the size that a group needs, as tables."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta

from rich.console import Console
from rich.text import Text

from spark_jobs.cli.tables import Column, measure, show_table
from spark_jobs.cli.terminal import print_line, printable
from spark_jobs.domain.model.intervals import Interval, duration_text, format_utc
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import UNKNOWN, backlog_bound, count, number_text, percent_text, rate_text
from spark_jobs.domain.what_if.fleet_size import FleetNeed, SizeVerdict
from spark_jobs.domain.what_if.outcome import CaseOutcome, Comparison, Scaled
from spark_jobs.domain.what_if.pace import MemberPace
from spark_jobs.domain.what_if.plan import Plan, PlannedMember, PlannedSize
from spark_jobs.domain.what_if.size import GoalSize, Size, SizeOutcome
from spark_jobs.installation import documentation
from spark_jobs.show.what_if import GroupSteps

#: The most members whose pace is given in words.
_NAMED = 8
#: Clients measure whole milliseconds: a shorter average tells only that the listener does next to nothing.
_NO_TIME_MS = 0.1
_BOUND = "members with a backlog do not report how fast they are, and were never seen at their limit"
_SEE = f"See {documentation('what-if')}."
_NOTE = f"Queues and members are averages over time. The model and its limits: {documentation('what-if')}."


def show_comparison(console: Console, group: GroupSteps, compared: Comparison) -> None:
    """Show what really happened first, then the cases; below it how far the model can be trusted here."""
    outcomes = [compared.recorded, *compared.cases]
    title = f"{group.consumer_group} in {group.interval} (UTC)"
    show_table(console, title, _COLUMNS, outcomes, _summary(compared))
    if note := left_out(group, compared):
        print_line(console, note)
    for outcome in compared.cases:
        if outcome.unknown:
            print_line(console, f"{outcome.label}: the backlog is unknown: {outcome.unknown}.")
        elif outcome.at_most:
            print_line(console, f"{outcome.label}: ≤ is an upper bound: {_BOUND}.")
        if outcome.scaled:
            print_line(console, f"{outcome.label}: {_scaled(outcome.scaled)}.")
    for member in compared.members[:_NAMED]:
        print_line(console, _pace(member))
    if further := compared.members[_NAMED:]:
        print_line(console, f"{count(len(further), 'more member')}: see --json.")


def left_out(group: GroupSteps, compared: Comparison) -> str | None:
    """A sentence on the backlog that is not simulated; None: all of it is, or it is not known."""
    if group.backlog_max is None or group.backlog_max <= (compared.recorded.highest or 0):
        return None
    return (
        f"The peak backlog of the whole group was {group.backlog_max:,}: retry topics, and queues whose offset is "
        "not known, are not simulated."
    )


def _scaled(scaled: Scaled) -> str:
    members = f"{scaled.fewest:,} to {count(scaled.most, 'member')}"
    return f"{members}, changed {count(scaled.changes, 'time')}, {scaled.member_hours:,.1f} member hours"


def _pace(pace: MemberPace) -> str:
    seen = "" if pace.seen is None else f"; seen {'at its limit' if pace.reached else 'to do'}: {rate_text(pace.seen)}"
    if pace.listener is None:
        return f"{pace.client_id}: its running info does not show how fast it is{seen}"
    by = f"{count(pace.threads or 0, 'thread')}, {pace.response_ms:.3g} ms, {count(pace.samples, 'sample')}"
    listener = "no limit" if (pace.response_ms or 0) < _NO_TIME_MS else f"{rate_text(pace.listener)} messages/s"
    pulls = f"{rate_text(pace.per_queue)} a queue by its pulls"
    return f"{pace.client_id}: {listener} by its listener ({by}), {pulls}{seen}"


def drained_text(seconds: float | None, backlog: int | None) -> str:
    """After what time the highest backlog was drained."""
    if backlog is None:
        return UNKNOWN
    return "not by the end" if seconds is None else duration_text(timedelta(seconds=seconds))


def _moves(outcome: CaseOutcome) -> str:
    return f"{outcome.moves / outcome.rebalances:.1f}" if outcome.rebalances else "-"


_COLUMNS: tuple[Column[CaseOutcome], ...] = (
    Column("case", lambda outcome: outcome.label, "{}:", fold=True),
    measure("queues\nwithout owner", "unassigned_queues", lambda outcome: f"{outcome.unassigned_queues:.1f}"),
    measure("queues\nowned twice", "double_owned_queues", lambda outcome: f"{outcome.double_owned_queues:.1f}"),
    measure("idle\nmembers", "idle", lambda outcome: f"{outcome.idle:.1f}", drop=5),
    measure("busiest\nmember", "busiest", lambda outcome: count(outcome.busiest, "queue"), drop=4),
    measure("moves per\nrebalance", "moves_per_rebalance", _moves, drop=6),
    measure("highest\nbacklog", "highest", lambda outcome: backlog_bound(outcome.highest, at_most=outcome.at_most)),
    measure("last\nbacklog", "last", lambda outcome: backlog_bound(outcome.last, at_most=outcome.at_most)),
    measure(
        "drained\nafter", "drained_after", lambda outcome: drained_text(outcome.drained_after, outcome.highest), drop=3
    ),
    measure("consumed\ntwice", "consumed_twice", lambda outcome: number_text(outcome.consumed_twice), drop=2),
)


def _summary(compared: Comparison) -> str:
    if compared.error is None:
        return f"How well the model reproduces the recorded backlog is unknown. {_NOTE}"
    messages = count(round(compared.error), "message")
    return f"Without any change, the model differs from the recorded backlog by {messages} on average. {_NOTE}"


def show_plan(console: Console, group: GroupSteps, plan: Plan) -> None:
    """One row per size of the group."""
    title = f"{group.consumer_group} as it was at {format_utc(from_micros(plan.at))}, with fewer and more members"
    summary = f"≥: the member was never seen at its limit; !: more than the member can consume. {_SEE}"
    show_table(console, title, _PLAN_COLUMNS, plan.sizes, summary, ruled=True)


def _member(member: PlannedMember) -> str:
    if not member.queues:
        return f"{member.client_id}: idle"
    pace = UNKNOWN if member.pace is None else f"{'' if member.reached else '≥ '}{rate_text(member.pace)}"
    too_much = {False: " !", None: " ?", True: ""}[member.keeps_up]
    produced = rate_text(member.produced_messages_per_second)
    return f"{member.client_id}: {count(member.queues, 'queue')}, {produced} of {pace}{too_much}"


_PLAN_COLUMNS: tuple[Column[PlannedSize], ...] = (
    measure("change", "change", lambda planned: f"{planned.change:+}"),
    measure("members", "members", lambda planned: str(len(planned.members))),
    measure("idle", "idle", lambda planned: str(planned.idle)),
    measure("without\nowner", "unassigned_queues", lambda planned: str(planned.unassigned_queues)),
    measure("owned\ntwice", "double_owned_queues", lambda planned: str(planned.double_owned_queues)),
    Column(
        "queues of each member: in/s of known pace/s",
        lambda planned: Text("\n".join(printable(_member(member)) for member in planned.members)),
        lambda planned: "; ".join(map(_member, planned.members)),
        fold=True,
    ),
)


_SIZE_NOTE = (
    "The fewest members for each goal, none of them spare, with client ids and subscriptions in order. Busiest member: "
    "what came into its queues over five minutes, of what it can consume. More queues than today help if their "
    f"messages can be spread. {_SEE}"
)


def show_size(console: Console, group: GroupSteps, needed: Size) -> None:
    """The group as it was first, then the smallest one for each goal."""
    peak = f"a peak of {rate_text(needed.peak)} messages/s over five minutes"
    had = f"{count(needed.members, 'member')}, {count(needed.queues, 'queue')}, {peak}"
    observed = _observed(group.interval, needed.observed_share)
    title = f"{group.consumer_group}: {had}. {observed} (UTC)"
    rows = [("as it is", needed.today), *((_wanted(goal), goal.group) for goal in needed.needs)]
    show_table(console, title, _SIZE_COLUMNS, rows, f"{observed}. {_SIZE_NOTE}")
    if needed.reason:
        print_line(console, f"This is no recommendation: {needed.reason}.")


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
    f"open, or less than half of the time was observed. {_SEE}"
)


def show_fleet(console: Console, interval: Interval, needs: Sequence[FleetRow]) -> None:
    """One row per group; below them how many have each verdict."""
    counts = Counter(need.verdict for _, _, need in needs)
    verdicts = ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in SizeVerdict if counts[verdict])
    observed = _observed(interval, max((need.observed_share or 0.0 for _, _, need in needs), default=None), "up to ")
    summary = f"{count(len(needs), 'group')}: {verdicts}. {observed}. {_FLEET_NOTE}"
    show_table(console, f"{observed} (UTC)", _FLEET_COLUMNS, needs, summary)


def _busiest_of_fleet(row: FleetRow) -> str:
    need = row[2]
    return percent_text(need.busiest) + ("" if need.bottleneck is None else f" ({need.bottleneck.lower()})")


def _reason_word(row: FleetRow) -> str:
    return f"({row[2].reason})" if row[2].reason else ""


_FLEET_COLUMNS: tuple[Column[FleetRow], ...] = (
    Column("group\ncluster", lambda row: (row[1], row[0]), "cluster={1} group={0}", fold=True),
    Column("verdict", lambda row: row[2].verdict.value, "verdict={}", fixed=True),
    measure("members", "members", lambda row: number_text(row[2].members)),
    measure("queues", "queues", lambda row: number_text(row[2].queues)),
    measure("all\nmembers", "all_members", lambda row: percent_text(row[2].utilization)),
    measure("busiest\nmember", "busiest_member", _busiest_of_fleet),
    measure("members\nneeded", "needed", lambda row: "-" if row[2].needed is None else f"{row[2].needed:,}"),
    Column("no verdict because", lambda row: row[2].reason or "", _reason_word, drop=1),
)
