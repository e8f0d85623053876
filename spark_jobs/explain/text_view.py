"""One view of one topic as lines of plain English."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from spark_jobs.domain.causes import DoubleOwnedCause
from spark_jobs.domain.intervals import duration_text, format_utc
from spark_jobs.domain.phrases import count
from spark_jobs.explain.backlog import backlog_text
from spark_jobs.explain.phrases import REASONS, joined, positions_text
from spark_jobs.explain.story import Began, Known, MemberStory, OddQueues, ViewStory

_SOURCES = {
    "CLIENT": "as the clients say",
    "CONFIGURATION": "as configured",
    "DEFAULT": "assumed, as nothing tells what the clients run",
}


class TextLine(NamedTuple):
    """One line, how deep it is indented, and its part: title, heading, advice, a severity, or empty."""

    text: str
    indent: int
    part: str = ""


def view_lines(view: ViewStory) -> Iterator[TextLine]:
    """What the view says of the interval that holds the moment."""
    if view.status == "UNOBSERVED":
        yield from _gap(view)
        return
    yield TextLine(_span(view), 1)
    if view.status == "REPLAYED":
        yield TextLine(_began(view.began), 1)
    else:
        yield TextLine(REASONS[view.reason or ""], 1)
    yield from _members(view)
    if view.queue_count is not None:
        yield TextLine(f"{count(view.queue_count, 'queue')}, sorted likewise: {view.queues or 'none'}", 1)
    if view.status == "REPLAYED":
        yield from _cut(view)
        yield from _owned(view)


def _span(view: ViewStory) -> str:
    start, end = _bounds(view)
    return f"Unchanged from {start} to {end} ({duration_text(view.end - view.start)})."


def _bounds(view: ViewStory) -> tuple[str, str]:
    earlier = " or earlier (the step begins there)" if view.or_earlier else ""
    later = " or later (the step ends there)" if view.or_later else ""
    return f"{format_utc(view.start)}{earlier}", f"{format_utc(view.end)}{later}"


def _began(began: Began) -> str:
    if began.trigger == "FIRST_OBSERVATION":
        return "It is the first that was recorded, so what began it is not known."
    if not began.known:
        return "What began it is not known: it held before the step already."
    if not began.triggers:
        return "Nothing differs from what held before it."
    return f"It began because {joined(began.triggers)}. {_moved(began)}".strip()


def _moved(began: Began) -> str:
    if began.queues_moved is None or began.queues_preserved is None:
        return ""
    if not began.queues_moved:
        return "No queue changed hands."
    told = f"{began.queues_moved:,} of {count(began.queues_moved + began.queues_preserved, 'queue')} changed hands"
    if began.least_moves == began.queues_moved:
        return f"{told}: the fewest possible with these shares."
    return f"{told}; {began.least_moves or 0:,} would have been enough with these shares."


def _members(view: ViewStory) -> Iterator[TextLine]:
    members = view.members
    if not members:
        yield TextLine("No member was connected.", 1)
        return
    ids = len({member.client_id for member in members})
    twins = f" with {count(ids, 'client id')}" if ids < len(members) else ""
    yield TextLine(f"{count(len(members), 'member')}{twins}, in the order in which every client sorts them:", 1)
    mixed = len({member.strategy for member in members}) > 1
    for member in members:
        yield TextLine(_member(member, mixed), 2)
    if view.missing:
        yield TextLine(f"Not listed here, but elsewhere: {', '.join(view.missing)}", 1)


def _member(member: MemberStory, mixed: bool) -> str:
    marks = [
        *(["twin"] if member.twin else []),
        *(["does not subscribe this topic"] if member.subscribes is False else []),
        *([f"runs {member.strategy}"] if mixed else []),
    ]
    told = f" ({', '.join(marks)})" if marks else ""
    return f"{member.position}  {member.client_id}  {member.client_addr or 'address unknown'}{told}"


def _cut(view: ViewStory) -> Iterator[TextLine]:
    if not view.members:
        return
    name = "Different strategies" if view.strategy == "MIXED" else f"Strategy {view.strategy}"
    yield TextLine(f"{name}, {_SOURCES.get(view.strategy_source or '', 'of unknown source')}:", 1)
    for sentence in view.arithmetic:
        yield TextLine(sentence, 2)


def _owned(view: ViewStory) -> Iterator[TextLine]:
    yield TextLine("Who owned what, with its backlog in messages from the first reading of this time to the last:", 1)
    for member in view.members:
        if member.queues:
            held = f"Position {member.position} owned {member.queues} ({member.queue_count:,})."
            yield TextLine(f"{held} {backlog_text(member.backlog)}", 2)
        else:
            yield TextLine(f"Position {member.position} owned nothing.", 2)
    for odd in view.unassigned:
        held = f"Nobody owned {odd.queues} ({odd.queue_count:,}): {odd.why}."
        yield TextLine(f"{held} {backlog_text(odd.backlog, owned=False)}", 2, "odd")
    for odd in view.double_owned:
        yield TextLine(_shared(odd), 2, "" if odd.cause == DoubleOwnedCause.POP_SHARED else "odd")


def _shared(odd: OddQueues) -> str:
    if odd.cause == DoubleOwnedCause.POP_SHARED:
        return f"{odd.queues} ({odd.queue_count:,}) were popped by {positions_text(odd.owners)}: {odd.why}."
    return (
        f"{odd.queues} ({odd.queue_count:,}) had {len(odd.owners)} owners, {positions_text(odd.owners)}, and every "
        f"message is consumed by each: {odd.why}."
    )


def _gap(view: ViewStory) -> Iterator[TextLine]:
    start, end = _bounds(view)
    what = REASONS[view.reason or ""]
    yield TextLine(f"Nothing was recorded from {start} to {end}: at this moment {what} is known.", 1)
    before, after = view.last_known, view.first_known
    yield TextLine(f"Last known, until {_known(before)}" if before else "Nothing is known before it in this step.", 1)
    yield TextLine(
        f"First known again, from {_known(after)}" if after else "Nothing is known after it in this step.", 1
    )


def _known(known: Known) -> str:
    at = format_utc(known.at)
    members, queues = count(known.member_count or 0, "member"), count(known.queue_count or 0, "queue")
    if known.status != "REPLAYED":
        return f"{at}: {members}, {queues}. {REASONS[known.reason or '']}"
    by = f" by {known.strategy}" if known.strategy else ""
    odd = f"{known.unassigned_queues or 0:,} owned by nobody, {known.double_owned_queues or 0:,} by several"
    told = f"{at}: {members}, {queues}{by}; {odd}."
    return f"{told} {backlog_text(known.backlog, owned=False)}" if known.backlog else told
