"""What a person, or a program, sees of a history played otherwise."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from math import isinf, isnan
from typing import Any

from rich.console import Console
from rich.text import Text

from spark_jobs.cli.terminal import Column, measure, print_line, printable, show_table
from spark_jobs.domain.model.intervals import duration_text, format_utc
from spark_jobs.domain.model.statuses import LagQuality
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import UNKNOWN, count, number_text, rate_text
from spark_jobs.domain.what_if.outcome import CaseOutcome, Comparison, Scaled
from spark_jobs.domain.what_if.pace import MemberPace
from spark_jobs.domain.what_if.plan import Plan, PlannedMember, PlannedSize
from spark_jobs.show.what_if import GroupSteps

#: Members whose pace is told in words.
_NAMED = 8
#: Clients measure whole milliseconds: a shorter average tells only that the listener does next to nothing.
_NO_TIME_MS = 0.1
_BOUND = "members with a backlog do not tell how fast they are, and were never seen at their limit"
_NOTE = "Queues and members are averages over time. docs/what-if.md describes the model and its limits."


def show_comparison(console: Console, group: GroupSteps, compared: Comparison) -> None:
    """What really happened first, then the cases; below it how far the model can be trusted here."""
    outcomes = [compared.recorded, *compared.cases]
    title = f"{group.consumer_group} in {group.interval} (UTC)"
    show_table(console, title, _COLUMNS, outcomes, _summary(compared))
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
        print_line(console, f"{count(len(further), 'further member')}: see --json.")


def _scaled(scaled: Scaled) -> str:
    members = f"{scaled.fewest:,} to {count(scaled.most, 'member')}"
    return f"{members}, changed {count(scaled.changes, 'time')}, {scaled.member_hours:,.1f} member hours"


def _pace(pace: MemberPace) -> str:
    seen = "" if pace.seen is None else f"; seen {'at its limit' if pace.reached else 'to do'}: {rate_text(pace.seen)}"
    if pace.listener is None:
        return f"{pace.client_id}: its running info does not tell how fast it is{seen}"
    by = f"{count(pace.threads or 0, 'thread')}, {pace.response_ms:.3g} ms, {count(pace.samples, 'sample')}"
    listener = "no limit" if (pace.response_ms or 0) < _NO_TIME_MS else f"{rate_text(pace.listener)} messages/s"
    pulls = f"{rate_text(pace.per_queue)} a queue by its pulls"
    return f"{pace.client_id}: {listener} by its listener ({by}), {pulls}{seen}"


def backlog_text(messages: int | None, *, at_most: bool) -> str:
    """The number of messages, or its upper bound."""
    return f"{'≤ ' if at_most else ''}{number_text(messages)}"


def drained_text(seconds: float | None, backlog: int | None) -> str:
    """After what time the highest backlog was drained."""
    if backlog is None:
        return UNKNOWN
    return "not by the end" if seconds is None else duration_text(timedelta(seconds=seconds))


def _moves(outcome: CaseOutcome) -> str:
    return f"{outcome.moves / outcome.rebalances:.1f}" if outcome.rebalances else "-"


_COLUMNS: tuple[Column[CaseOutcome], ...] = (
    Column("case", lambda outcome: outcome.label, "{}:", fold=True),
    measure("queues\nwithout owner", "unowned", lambda outcome: f"{outcome.unowned:.1f}"),
    measure("queues\nowned twice", "owned_twice", lambda outcome: f"{outcome.owned_twice:.1f}"),
    measure("idle\nmembers", "idle", lambda outcome: f"{outcome.idle:.1f}"),
    measure("busiest\nmember", "busiest", lambda outcome: count(outcome.busiest, "queue")),
    measure("moves per\nrebalance", "moves_per_rebalance", _moves),
    measure("highest\nbacklog", "highest", lambda outcome: backlog_text(outcome.highest, at_most=outcome.at_most)),
    measure("last\nbacklog", "last", lambda outcome: backlog_text(outcome.last, at_most=outcome.at_most)),
    measure("drained\nafter", "drained_after", lambda outcome: drained_text(outcome.drained_after, outcome.highest)),
    measure("consumed\ntwice", "consumed_twice", lambda outcome: number_text(outcome.consumed_twice)),
)


def _summary(compared: Comparison) -> str:
    if compared.error is None:
        return f"How well the model reproduces the recorded backlog is unknown. {_NOTE}"
    messages = count(round(compared.error), "message")
    return f"Without any change, the model differs from the recorded backlog by {messages} on average. {_NOTE}"


def comparison_document(group: GroupSteps, compared: Comparison) -> dict[str, Any]:
    """A comparison for `as_json`; curves are messages at each of the times, null is unknown."""
    return _of_group(group) | {
        "error": compared.error,
        "times": [from_micros(moment) for moment in compared.times],
        "recorded": _outcome(compared.recorded),
        "cases": [_outcome(outcome) for outcome in compared.cases],
        "members": [_member_document(pace) for pace in compared.members],
    }


def _member_document(pace: MemberPace) -> dict[str, Any]:
    """JSON knows no infinity: a listener that takes no time has no limit, null, and a response time of 0."""
    return pace._asdict() | {"listener": None if pace.listener is None or isinf(pace.listener) else pace.listener}


def _outcome(outcome: CaseOutcome) -> dict[str, Any]:
    fields = {field.name: getattr(outcome, field.name) for field in dataclasses.fields(outcome)}
    values = None if outcome.curve is None else outcome.curve.tolist()
    curve = values and [None if isnan(value) else round(value, 1) for value in values]
    return fields | {"curve": curve, "scaled": outcome.scaled and outcome.scaled._asdict()}


def _of_group(group: GroupSteps) -> dict[str, Any]:
    named = {"cluster": group.cluster, "consumer_group": group.consumer_group, "interval": str(group.interval)}
    quality = LagQuality.UNFILTERED if group.is_filtered else LagQuality.MEASURED
    return named | {"lag_quality": quality, "new_room": group.configured.new_room}


def show_plan(console: Console, group: GroupSteps, plan: Plan) -> None:
    """One row per size of the group."""
    title = f"{group.consumer_group} as it was at {format_utc(from_micros(plan.at))}, with fewer and more members"
    summary = "≥: the member was never seen at its limit; !: more than the member can consume. See docs/what-if.md."
    show_table(console, title, _PLAN_COLUMNS, plan.sizes, summary, ruled=True)


def _member(member: PlannedMember) -> str:
    if not member.queues:
        return f"{member.client_id}: idle"
    pace = UNKNOWN if member.pace is None else f"{'' if member.reached else '≥ '}{rate_text(member.pace)}"
    too_much = {False: " !", None: " ?", True: ""}[member.keeps_up]
    return f"{member.client_id}: {count(member.queues, 'queue')}, {rate_text(member.in_rate)} of {pace}{too_much}"


_PLAN_COLUMNS: tuple[Column[PlannedSize], ...] = (
    measure("change", "change", lambda planned: f"{planned.change:+}"),
    measure("members", "members", lambda planned: str(len(planned.members))),
    measure("idle", "idle", lambda planned: str(planned.idle)),
    measure("without\nowner", "unowned", lambda planned: str(planned.unowned)),
    measure("owned\ntwice", "owned_twice", lambda planned: str(planned.owned_twice)),
    Column(
        "queues of each member: in/s of known pace/s",
        lambda planned: Text("\n".join(printable(_member(member)) for member in planned.members)),
        lambda planned: "; ".join(map(_member, planned.members)),
        fold=True,
    ),
)


def plan_document(group: GroupSteps, plan: Plan) -> dict[str, Any]:
    """A plan for `as_json`."""
    sizes = [
        {
            "change": planned.change,
            "idle": planned.idle,
            "unowned": planned.unowned,
            "owned_twice": planned.owned_twice,
            "members": [member._asdict() for member in planned.members],
        }
        for planned in plan.sizes
    ]
    return _of_group(group) | {"at": from_micros(plan.at), "sizes": sizes}
