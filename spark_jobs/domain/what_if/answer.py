"""The capacity answer in numbers: a step's greatest backlog with more members, or without what held them back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.history import UNKNOWN, OffsetReadings
from spark_jobs.domain.model.window import StepWindow
from spark_jobs.domain.phrases import count
from spark_jobs.domain.rocketmq.strategies import StrategySettings, is_popped
from spark_jobs.domain.status.capacity import GroupInStep, HeldBack, Limit, enough_members, worst
from spark_jobs.domain.status.throughput import Changes, throughputs
from spark_jobs.domain.what_if.cases import EVERYBODY, Case, Change
from spark_jobs.domain.what_if.outcome import CaseOutcome, Comparison, compare
from spark_jobs.errors import StrategyError

#: What else would have helped, by what held the group back.
_CURES = {
    Limit.DUPLICATE_IDS: Case("unique ids", unique_ids=True),
    Limit.SUBSCRIPTIONS: Case("the same subscriptions", same_subscriptions=True),
}
#: What else would have helped, where members tell how fast they are.
_FASTER = dict.fromkeys(
    (Limit.LISTENER, Limit.LISTENER_AND_QUEUES),
    Case("twice the consume threads", changes={EVERYBODY: Changes(threads_times=2)}),
)
#: Their advice says already that it is unknown.
_SAID = (Limit.UNKNOWN_MEMBERS, Limit.UNKNOWN_OWNERS)
#: The model explains a backlog if, on average, it is no further from it than this part of the highest, or so many
#: messages.
_ERROR, _ERROR_MESSAGES = 0.1, 20
#: A case does not help if this part of the highest backlog is left; a queue is hot with this part of the messages,
#: and twice an even one.
_NO_HELP, _HOT = 0.9, 0.5
#: The answer is about the backlog that was held back if this part of it, at least, was played.
_PLAYED = 0.5


def in_numbers(step: AuditedStep, group: GroupInStep, configured: StrategySettings) -> str | None:
    """In words, or why it is unknown; None where nothing is known to have piled up, or the advice says enough.

    It goes by the snapshots of the step's own window, whatever else the history holds.
    """
    held = worst(group.held_back) if group.held_back else None
    if held is None or not held.queues or held.limit in _SAID:
        return None
    own = replace(step, history=replace(step.history, offsets=_own_readings(step)))
    compared = _compared(own, held, configured)
    if isinstance(compared, str):
        return f"How large the backlog would have been otherwise is unknown: {compared}."
    lowest = min(one.highest or 0 for one in compared.cases)
    did_not_help = lowest >= _NO_HELP * (compared.recorded.highest or 0)
    return " ".join([_sentence(compared), *(_hot_queue(own) if did_not_help else ())])


def _own_readings(step: AuditedStep) -> dict[str, OffsetReadings]:
    """By topic, what the step's window has of them: its snapshots, and the queues that are in any of these."""
    found = {}
    for topic, one in step.history.offsets.items():
        rows = one.inside(step.window.read_from, step.window.end)
        columns = np.flatnonzero(one.present[rows].any(axis=0))
        if len(columns):
            found[topic] = replace(
                one,
                times=one.times[rows],
                queues=[one.queues[column] for column in columns.tolist()],
                end_offset=one.end_offset[rows][:, columns],
                consumer_offset=one.consumer_offset[rows][:, columns],
                pull_offset=one.pull_offset[rows][:, columns],
                last_timestamp=one.last_timestamp[rows][:, columns],
                present=one.present[rows][:, columns],
            )
    return found


def _compared(step: AuditedStep, held: HeldBack, configured: StrategySettings) -> Comparison | str:
    """What really happened, beside more members and what else would have helped; or why nothing can be said."""
    if any(is_popped(member.strategy) for one in step.intervals for member in one.members or ()):
        return "the simulation does not cover POP"
    told = throughputs(step.history.clients, step.window.read_from, step.window.end)
    cure = (_CURES | _FASTER if told else _CURES).get(held.limit)
    try:
        compared = compare([step], [_more_members(held), *([cure] if cure else [])], configured)
    except StrategyError:
        return "the room of one more member is unknown"
    if compared is None:
        return "the owners of the queues were never known"
    return _why_unknown(compared, held) or compared


def _more_members(held: HeldBack) -> Case:
    """As many as it takes to give the busiest one less, where shares are the limit; else one."""
    more = max(enough_members(held) - held.members, 1) if held.limit in (Limit.MEMBERS, Limit.LISTENER) else 1
    return Case(count(more, "more member" if held.members else "member"), members=Change("+", more))


def _why_unknown(compared: Comparison, held: HeldBack) -> str | None:
    """None: something can be said."""
    highest, error = compared.recorded.highest, compared.error
    if highest is None or highest < held.messages * _PLAYED:
        return "most of it was in queues with an unknown offset or owner, or in retry topics"
    if any(one.highest is None for one in compared.cases):
        return "no member was seen to consume, or tells how fast it is"
    if error is None or error > max(_ERROR * highest, _ERROR_MESSAGES):
        return "the simulation does not reproduce the recorded backlog either"
    if not any(_tells(one, highest) for one in compared.cases):
        return "the members do not tell how fast they are, and were never seen at their limit"
    return None


def _tells(case: CaseOutcome, highest: int) -> bool:
    """A bound above what really happened tells nothing."""
    return not case.at_most or (case.highest or 0) < highest


def _sentence(compared: Comparison) -> str:
    """What can be told first, and what cannot behind it."""
    highest = compared.recorded.highest or 0
    told = [one for one in compared.cases if _tells(one, highest)]
    untold = [f"; with {one.label} it is unknown" for one in compared.cases if one not in told]
    first, *others = [(one.label, _about(one)) for one in told]
    further = [f", with {label} {messages}" for label, messages in others]
    start = f"With {first[0]} the highest backlog would have been {first[1]} instead of {highest:,}"
    return "".join([start, *further, *untold, "."])


def _about(case: CaseOutcome) -> str:
    """Two digits of it; a bound is rounded up."""
    messages = case.highest or 0
    unit = 10 ** max(len(str(messages)) - 2, 0)
    rounded = -(-messages // unit) * unit if case.at_most else (messages + unit // 2) // unit * unit
    return f"{'at most' if case.at_most else 'about'} {rounded:,}"


def _hot_queue(step: AuditedStep) -> Iterator[str]:
    """Says so, if most of the messages came into one of the queues."""
    came = [messages for one in step.history.offsets.values() for messages in _came(one, step.window)]
    most, total = max(came, default=0), sum(came)
    if total and most >= max(_HOT, 2 / len(came)) * total:
        yield f"One queue received {round(100 * most / total)} % of the messages."


def _came(readings: OffsetReadings, window: StepWindow) -> list[int]:
    """Messages that came into each queue between the step's first and last reading of it."""
    ends = readings.end_offset[readings.inside(window.start, window.end)]
    first = np.where(ends == UNKNOWN, np.iinfo(np.int64).max, ends).min(axis=0, initial=np.iinfo(np.int64).max)
    last = ends.max(axis=0, initial=UNKNOWN)
    return [max(0, after - before) for before, after in zip(first.tolist(), last.tolist(), strict=True)]
