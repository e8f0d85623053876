"""A history played otherwise, and a group with fewer and more members: tables, and documents for `as_json`."""

from datetime import datetime, timedelta
from math import inf, isnan
from typing import Any, TypedDict

from rich.console import Console
from rich.text import Text

from spark_jobs.cli.tables import Column, measure, show_table
from spark_jobs.cli.terminal import print_line, printable
from spark_jobs.domain.model.intervals import Interval, duration_text, format_utc
from spark_jobs.domain.model.statuses import LagQuality
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import UNKNOWN, backlog_bound, count, number_text, rate_text
from spark_jobs.installation import documentation
from spark_jobs.show.what_if import GroupPlan, GroupRollout, GroupSteps, WhatIf
from spark_jobs.what_if.outcome import CaseOutcome, Comparison, Scaled
from spark_jobs.what_if.pace import MemberPace
from spark_jobs.what_if.plan import PlannedMember, PlannedSize
from spark_jobs.what_if.rollout import RolloutOutcome

#: The most members whose pace is given in words.
_NAMED = 8
#: Clients measure whole milliseconds: a shorter average tells only that the listener does next to nothing.
_NO_TIME_MS = 0.1
_BOUND = "members with a backlog do not report how fast they are, and were never seen at their limit"
SEE = f"See {documentation('what-if')}."
_NOTE = f"Queues and members are averages over time. The model and its limits: {documentation('what-if')}."


def show_comparison(console: Console, answer: WhatIf) -> None:
    """Show what really happened first, then the cases; below it how far the model can be trusted here."""
    group, compared = answer.group, answer.comparison
    outcomes = [compared.recorded, *compared.cases]
    title = f"{group.consumer_group} in {group.interval} (UTC)"
    show_table(console, title, _COLUMNS, outcomes, _summary(compared))
    if note := _left_out(group, compared):
        print_line(console, note)
    for outcome in compared.cases:
        if outcome.unknown:
            print_line(console, f"{outcome.label}: the backlog is unknown: {outcome.unknown}.")
        elif outcome.at_most:
            print_line(console, f"{outcome.label}: ≤ is an upper bound: {_BOUND}.")
        if outcome.scaled:
            print_line(console, f"{outcome.label}: {_scaled(outcome.scaled)}.")
    if group.advice:
        print_line(console, f"Would more consumers have helped? {group.advice}")
    for member in compared.members[:_NAMED]:
        print_line(console, pace_text(member))
    if further := compared.members[_NAMED:]:
        print_line(console, f"{count(len(further), 'more member')}: see --json.")


class _GroupDocument(TypedDict):
    cluster: str
    consumer_group: str
    interval: Interval
    lag_quality: str
    new_room: str | None


class ComparisonDocument(_GroupDocument):
    """A group's history, as recorded and played otherwise; docs/json-keys.txt says what its keys mean."""

    error: float | None
    backlog_max: int | None
    advice: str | None
    times: list[datetime]
    recorded: CaseOutcome
    cases: list[CaseOutcome]
    members: list[MemberPace]


def comparison_document(answer: WhatIf) -> ComparisonDocument:
    """A comparison for `as_json`; curves are messages at each of the times. JSON knows no infinity: the listener of a
    member that has no limit is null, with a response time of 0.
    """
    group, compared = answer.group, answer.comparison
    members = [pace._replace(listener=None) if pace.listener == inf else pace for pace in compared.members]
    return {
        **_of_group(group),
        "error": compared.error,
        "backlog_max": group.backlog_max,
        "advice": group.advice,
        "times": [from_micros(moment) for moment in compared.times],
        "recorded": _with_curve(compared.recorded),
        "cases": [_with_curve(outcome) for outcome in compared.cases],
        "members": members,
    }


def _with_curve(outcome: CaseOutcome) -> Any:
    values = None if outcome.curve is None else outcome.curve.tolist()
    return vars(outcome) | {"curve": values and [None if isnan(value) else round(value, 1) for value in values]}


def _of_group(group: GroupSteps) -> _GroupDocument:
    return {
        "cluster": group.cluster,
        "consumer_group": group.consumer_group,
        "interval": group.interval,
        "lag_quality": LagQuality.UNFILTERED if group.is_filtered else LagQuality.MEASURED,
        "new_room": group.configured.new_room,
    }


def _left_out(group: GroupSteps, compared: Comparison) -> str | None:
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


def pace_text(pace: MemberPace) -> str:
    """How fast a member can consume, and was seen to."""
    limit = ", its limit" if pace.reached else ""
    seen = "" if pace.seen is None else f"; it was seen to consume {rate_text(pace.seen)} messages/s{limit}"
    if pace.listener is None:
        return f"{pace.client_id}: its running info does not show how fast it is{seen}"
    threads, samples = count(pace.threads or 0, "thread"), count(pace.samples, "sample")
    listener = f"its listener can consume {rate_text(pace.listener)} messages/s"
    measured = f"{threads}, {pace.response_ms:.3g} ms a call, {samples}"
    if (pace.response_ms or 0) < _NO_TIME_MS:
        listener, measured = "its listener takes next to no time", f"{threads}, {samples}"
    pulls = f"its pulls can bring {rate_text(pace.per_queue)} messages/s of each queue"
    return f"{pace.client_id}: {listener} ({measured}); {pulls}{seen}"


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


def show_plan(console: Console, answer: GroupPlan) -> None:
    """One row per size of the group."""
    at = format_utc(from_micros(answer.plan.at))
    title = f"{answer.group.consumer_group} as it was at {at}, with fewer and more members"
    summary = f"≥: the member was never seen at its limit; !: more than the member can consume. {SEE}"
    show_table(console, title, _PLAN_COLUMNS, answer.plan.sizes, summary, ruled=True)


def plan_document(answer: GroupPlan) -> dict[str, Any]:
    """A plan for `as_json`."""
    sizes = [planned._asdict() | {"idle": planned.idle} for planned in answer.plan.sizes]
    return {**_of_group(answer.group), "at": from_micros(answer.plan.at), "sizes": sizes}


def show_rollout(console: Console, answer: GroupRollout) -> None:
    """Show what really happened first, then the other orders."""
    compared = answer.comparison
    start, end = (format_utc(from_micros(moment)) for moment in (compared.rollout.start, compared.rollout.end))
    members = count(compared.rollout.replaced, "member")
    summary = f"Pauses are by samples, which may hide {_seconds(compared.pause_resolution_seconds)} of each. {SEE}"
    title = f"{answer.group.consumer_group}: the rollout of {members} from {start} to {end}"
    show_table(console, title, _ROLLOUT_COLUMNS, compared.outcomes, summary)


def rollout_document(answer: GroupRollout) -> dict[str, Any]:
    """A rollout in other orders for `as_json`."""
    compared, rollout = answer.comparison, answer.comparison.rollout
    times = {"start": from_micros(rollout.start), "end": from_micros(rollout.end)}
    numbers = {"replaced": rollout.replaced, "pause_resolution_seconds": compared.pause_resolution_seconds}
    return _of_group(answer.group) | times | numbers | {"outcomes": compared.outcomes}


def _seconds(seconds: float | None) -> str:
    return UNKNOWN if seconds is None else duration_text(timedelta(seconds=seconds))


_ROLLOUT_COLUMNS: tuple[Column[RolloutOutcome], ...] = (
    Column("order", lambda outcome: outcome.order, "{}:"),
    measure("rebalances", "rebalances", lambda outcome: f"{outcome.rebalances:,}"),
    measure("queues\nmoved", "queues_moved", lambda outcome: f"{outcome.queues_moved:,}"),
    measure("longest\npause", "longest_pause", lambda outcome: _seconds(outcome.longest_pause_seconds)),
    measure("in flight", "in_flight", lambda outcome: number_text(outcome.in_flight)),
    measure("twice\nat most", "consumed_again_max", lambda outcome: number_text(outcome.consumed_again_max)),
)


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
