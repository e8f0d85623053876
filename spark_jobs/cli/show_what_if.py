"""What a person, or a program, sees of a history played otherwise."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from datetime import timedelta
from math import isinf, isnan
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from spark_jobs.cli.terminal import Heading, print_line, printable, show_rows, table
from spark_jobs.domain.kernel.progress import LagQuality
from spark_jobs.domain.model.intervals import duration_text, format_utc
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import UNKNOWN, count, number_text, rate_text
from spark_jobs.domain.what_if.outcome import CaseOutcome, Comparison, Scaled
from spark_jobs.domain.what_if.pace import MemberPace
from spark_jobs.domain.what_if.plan import Plan, PlannedMember, PlannedSize
from spark_jobs.show.what_if import GroupSteps

_HEADINGS = (
    Heading("case", fold=True),
    *(
        Heading(text, right=True)
        for text in (
            "queues\nwithout owner",
            "queues\nowned twice",
            "idle\nmembers",
            "busiest\nmember",
            "moves per\nrebalance",
            "highest\nbacklog",
            "last\nbacklog",
            "drained\nafter",
            "consumed\ntwice",
        )
    ),
)
#: Members whose pace is told in words.
_NAMED = 8
#: Clients measure whole milliseconds: a shorter average tells only that the listener does next to nothing.
_NO_TIME_MS = 0.1
_BOUND = "members with a backlog do not tell how fast they are, and were never seen at their limit"
_NOTE = "Queues and members are averages over time. docs/what-if.md describes the model and its limits."


def show_comparison(console: Console, found: GroupSteps, compared: Comparison) -> None:
    """What really happened first, then the cases; below it how far the model can be trusted here."""
    outcomes = [compared.recorded, *compared.cases]
    title = f"{found.consumer_group} in {found.interval} (UTC)"
    show_rows(console, outcomes, lambda some: _table(title, some), _line, _summary(compared))
    for one in compared.cases:
        if one.unknown:
            print_line(console, f"{one.label}: the backlog is unknown: {one.unknown}.")
        elif one.at_most:
            print_line(console, f"{one.label}: ≤ is an upper bound: {_BOUND}.")
        if one.scaled:
            print_line(console, f"{one.label}: {_scaled(one.scaled)}.")
    for member in compared.members[:_NAMED]:
        print_line(console, _pace(member))
    if more := compared.members[_NAMED:]:
        print_line(console, f"{count(len(more), 'further member')}: see --json.")


def _scaled(one: Scaled) -> str:
    members = f"{one.fewest:,} to {count(one.most, 'member')}"
    return f"{members}, changed {count(one.changes, 'time')}, {one.member_hours:,.1f} member hours"


def _pace(one: MemberPace) -> str:
    seen = "" if one.seen is None else f"; seen {'at its limit' if one.reached else 'to do'}: {rate_text(one.seen)}"
    if one.listener is None:
        return f"{one.client_id}: its running info does not tell how fast it is{seen}"
    by = f"{count(one.threads or 0, 'thread')}, {one.response_ms:.3g} ms, {count(one.samples, 'sample')}"
    listener = "no limit" if (one.response_ms or 0) < _NO_TIME_MS else f"{rate_text(one.listener)} messages/s"
    pulls = f"{rate_text(one.per_queue)} a queue by its pulls"
    return f"{one.client_id}: {listener} by its listener ({by}), {pulls}{seen}"


def _table(title: str, outcomes: Iterable[CaseOutcome]) -> Table:
    return table(title, _HEADINGS, (_cells(one) for one in outcomes))


def _cells(one: CaseOutcome) -> Sequence[str]:
    return (
        one.label,
        *(f"{number:.1f}" for number in (one.unowned, one.owned_twice, one.idle)),
        count(one.busiest, "queue"),
        f"{one.moves / one.rebalances:.1f}" if one.rebalances else "-",
        *(_messages(one, number) for number in (one.highest, one.last)),
        _drained(one),
        number_text(one.consumed_twice),
    )


def _line(one: CaseOutcome) -> str:
    names = ("unowned", "owned_twice", "idle", "busiest", "moves_per_rebalance", "highest", "last", "drained_after")
    label, *cells = _cells(one)
    told = (f"{name}={cell}" for name, cell in zip((*names, "consumed_twice"), cells, strict=True))
    return " ".join((f"{label}:", *told))


def _messages(one: CaseOutcome, number: int | None) -> str:
    return f"{'≤ ' if one.at_most else ''}{number_text(number)}"


def _drained(one: CaseOutcome) -> str:
    if one.highest is None:
        return UNKNOWN
    return "not by the end" if one.drained_after is None else duration_text(timedelta(seconds=one.drained_after))


def _summary(compared: Comparison) -> str:
    if compared.error is None:
        return f"How well the model reproduces the recorded backlog is unknown. {_NOTE}"
    messages = count(round(compared.error), "message")
    return f"Without any change, the model differs from the recorded backlog by {messages} on average. {_NOTE}"


def comparison_document(found: GroupSteps, compared: Comparison) -> dict[str, Any]:
    """A comparison for `as_json`; curves are messages at each of the times, null is unknown."""
    return _of_group(found) | {
        "error": compared.error,
        "times": [from_micros(moment) for moment in compared.times],
        "recorded": _outcome(compared.recorded),
        "cases": [_outcome(one) for one in compared.cases],
        "members": [_member_document(one) for one in compared.members],
    }


def _member_document(one: MemberPace) -> dict[str, Any]:
    """JSON knows no infinity: a listener that takes no time has no limit, null, and a response time of 0."""
    return one._asdict() | {"listener": None if one.listener is None or isinf(one.listener) else one.listener}


def _outcome(one: CaseOutcome) -> dict[str, Any]:
    fields = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
    curve = None if one.curve is None else [None if isnan(value) else round(value, 1) for value in one.curve.tolist()]
    return fields | {"curve": curve, "scaled": one.scaled and one.scaled._asdict()}


def _of_group(found: GroupSteps) -> dict[str, Any]:
    named = {"cluster": found.cluster, "consumer_group": found.consumer_group, "interval": str(found.interval)}
    return named | {"lag_quality": LagQuality.UNFILTERED if found.is_filtered else LagQuality.MEASURED}


_PLAN_HEADINGS = (
    *(Heading(text, right=True) for text in ("change", "members", "idle", "without\nowner", "owned\ntwice")),
    Heading("queues of each member: in/s of known pace/s", fold=True),
)


def show_plan(console: Console, found: GroupSteps, plan: Plan) -> None:
    """One row per size of the group."""
    title = f"{found.consumer_group} as it was at {format_utc(from_micros(plan.at))}, with fewer and more members"
    summary = "≥: the member was never seen at its limit; !: more than the member can consume. See docs/what-if.md."
    show_rows(console, plan.sizes, lambda some: _plan_table(title, some), _plan_line, summary)


def _plan_table(title: str, sizes: Iterable[PlannedSize]) -> Table:
    return table(title, _PLAN_HEADINGS, map(_plan_cells, sizes), ruled=True)


def _plan_cells(one: PlannedSize) -> list[Text | str]:
    return [*_plan_counts(one), Text("\n".join(map(printable, _plan_members(one))))]


def _plan_counts(one: PlannedSize) -> Sequence[str]:
    return (f"{one.change:+}", *map(str, (len(one.members), one.idle, one.unowned, one.owned_twice)))


def _plan_members(one: PlannedSize) -> Sequence[str]:
    return [*map(_member, one.members)]


def _plan_line(one: PlannedSize) -> str:
    names = ("change", "members", "idle", "unowned", "owned_twice")
    cells = zip(names, _plan_counts(one), strict=True)
    return " ".join((*(f"{name}={cell}" for name, cell in cells), "; ".join(_plan_members(one))))


def _member(one: PlannedMember) -> str:
    if not one.queues:
        return f"{one.client_id}: idle"
    pace = UNKNOWN if one.pace is None else f"{'' if one.reached else '≥ '}{rate_text(one.pace)}"
    too_much = {False: " !", None: " ?", True: ""}[one.keeps_up]
    return f"{one.client_id}: {count(one.queues, 'queue')}, {rate_text(one.in_rate)} of {pace}{too_much}"


def plan_document(found: GroupSteps, plan: Plan) -> dict[str, Any]:
    """A plan for `as_json`."""
    sizes = [
        {
            "change": one.change,
            "idle": one.idle,
            "unowned": one.unowned,
            "owned_twice": one.owned_twice,
            "members": [member._asdict() for member in one.members],
        }
        for one in plan.sizes
    ]
    return _of_group(found) | {"at": from_micros(plan.at), "sizes": sizes}
