"""The capacity answer in a number: a step's greatest backlog, had been done what the answer says."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.history import UNKNOWN, OffsetSamples
from spark_jobs.domain.model.window import StepWindow
from spark_jobs.domain.phrases import count
from spark_jobs.domain.rocketmq.strategies import AVG, StrategySettings
from spark_jobs.domain.status.capacity import GroupInStep, HeldBack, Limit, more_members, more_members_help, worst
from spark_jobs.domain.status.throughput import Changes, throughputs
from spark_jobs.errors import StrategyError
from spark_jobs.what_if.cases import EVERYBODY, Case, Change, with_new_room
from spark_jobs.what_if.outcome import CaseOutcome, Comparison, compare, model_error

#: What would have helped, by what held the group back, where members would not.
_COUNTERFACTUALS = {
    Limit.DUPLICATE_IDS: Case("unique ids", unique_ids=True),
    Limit.SUBSCRIPTIONS: Case("the same subscriptions", same_subscriptions=True),
    Limit.ALLOCATION: Case("AVG for all members", strategy=AVG),
    Limit.LISTENER_AND_QUEUES: Case("twice the consume threads", changes={EVERYBODY: Changes(threads_times=2)}),
    Limit.QUEUES: Case("twice the queues and members", members=Change("x", 2), queues=Change("x", 2)),
}
#: A case does not help if this part of the highest backlog is left; a queue is hot with this part of the messages,
#: and twice an even one.
_NO_HELP, _HOT = 0.9, 0.5
#: The answer is about the backlog that was held back if this part of it, at least, was played.
_PLAYED = 0.5
_MATRICES = ("end_offset", "consumer_offset", "pull_offset", "last_timestamp", "present")


def advice_in_numbers(step: AuditedStep, configured: StrategySettings, group: GroupInStep) -> str | None:
    """In words, or why it is unknown, if the advice does not say yet that something is; None where nothing is known to
    have piled up, or nothing that can be simulated would have helped.

    It goes by the snapshots of the step's own window, whatever else the history holds.
    """
    held_back = worst(group.held_back) if group.held_back else None
    cases = _cases(held_back) if held_back and held_back.queues else []
    if held_back is None or not cases:
        return None
    own = replace(step, history=replace(step.history, offsets=_own_samples(step)))
    compared = _compared(own, held_back, cases, configured)
    if isinstance(compared, str):
        says_so = group.unknown_queues or group.unknown_at_first
        return None if says_so else f"How large the backlog would have been otherwise is unknown: {compared}."
    highest, first, last = compared.recorded.highest or 0, _about(compared.cases[0]), _about(compared.cases[-1])
    answer = f"With {cases[0].label} the highest backlog would have been {first} instead of {highest:,}."
    if last != first:
        answer += f" With {cases[-1].label} it would have been {last}."
    did_not_help = (compared.cases[0].highest or 0) >= _NO_HELP * highest
    return answer + (_hot_queue(own) if did_not_help else "")


def _cases(held_back: HeldBack) -> Sequence[Case]:
    """Cases of the answer; where more members help, the fewest that do, and one for each queue."""
    if not more_members_help(held_back.limit):
        case = _COUNTERFACTUALS.get(held_back.limit)
        return [case] if case else []
    fewest, unit = more_members(held_back), "more member" if held_back.members else "member"
    numbers = sorted({fewest, max(held_back.readable - held_back.members, fewest)})
    return [Case(count(more, unit), members=Change("+", more)) for more in numbers]


def _own_samples(step: AuditedStep) -> dict[str, OffsetSamples]:
    """By topic, what the step's window has of them: its snapshots, and the queues that are in any of these."""
    own = {}
    for topic, samples in step.history.offsets.items():
        rows = samples.inside(step.window.read_from, step.window.end)
        columns = np.flatnonzero(samples.present[rows].any(axis=0))
        if len(columns):
            queues = [samples.queues[column] for column in columns.tolist()]
            matrices = {name: getattr(samples, name)[rows][:, columns] for name in _MATRICES}
            own[topic] = replace(samples, times=samples.times[rows], queues=queues, **matrices)
    return own


def _compared(
    step: AuditedStep, held_back: HeldBack, cases: Sequence[Case], configured: StrategySettings
) -> Comparison | str:
    """The recorded outcome alongside those of the cases, or the reason why nothing can be said."""
    if any(interval.has_popping_members for interval in step.intervals):
        return "the simulation does not cover POP"
    if any(member.parameters.holders is not None for interval in step.replayed for member in interval.members or ()):
        return "the strategy is not known"
    if any(case.changes for case in cases) and not throughputs(
        step.history.clients, step.window.read_from, step.window.end
    ):
        return "the members do not report how fast they are"
    try:
        compared = compare([step], cases, with_new_room(configured, [step]))
    except StrategyError:
        return "the pattern for rooms does not find that of a member with another id"
    if compared is None:
        return "the owners of the queues were never known"
    return _why_unknown(compared, held_back) or compared


def _why_unknown(compared: Comparison, held_back: HeldBack) -> str | None:
    """None: something can be said."""
    highest, error = compared.recorded.highest, compared.error
    if highest is None or highest < held_back.messages * _PLAYED:
        return "most of it was in queues with an unknown offset or owner, or in retry topics"
    if any(case.highest is None for case in compared.cases):
        return "no member was seen to consume, or reports how fast it is"
    if error is None or error > model_error(highest):
        return "the simulation does not reproduce the recorded backlog either"
    if all(case.at_most and (case.highest or 0) >= highest for case in compared.cases):
        return "the members do not report how fast they are, and were never seen at their limit"
    return None


def _about(case: CaseOutcome) -> str:
    """Two digits of it; a bound is rounded up."""
    messages = case.highest or 0
    unit = 10 ** max(len(str(messages)) - 2, 0)
    rounded = -(-messages // unit) * unit if case.at_most else (messages + unit // 2) // unit * unit
    return f"{'at most' if case.at_most else 'about'} {rounded:,}"


def _hot_queue(step: AuditedStep) -> str:
    """An additional sentence, if most of the messages were produced to one of the queues."""
    produced = [messages for samples in step.history.offsets.values() for messages in _produced(samples, step.window)]
    most, total = max(produced, default=0), sum(produced)
    is_hot = total and most >= max(_HOT, 2 / len(produced)) * total
    return f" One queue received {round(100 * most / total)} % of the messages." if is_hot else ""


def _produced(samples: OffsetSamples, window: StepWindow) -> list[int]:
    """Messages that were produced to each queue between the step's first and last sample of it."""
    ends = samples.end_offset[samples.inside(window.start, window.end)]
    first = np.where(ends == UNKNOWN, np.iinfo(np.int64).max, ends).min(axis=0, initial=np.iinfo(np.int64).max)
    last = ends.max(axis=0, initial=UNKNOWN)
    return [max(0, after - before) for before, after in zip(first.tolist(), last.tolist(), strict=True)]
