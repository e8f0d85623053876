"""Sizes that the simulation of what really happened refutes."""

from collections.abc import Sequence

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.what_if.cases import Case, Change
from spark_jobs.domain.what_if.outcome import CaseOutcome, compare
from spark_jobs.domain.what_if.size import Size

#: The model may be wrong by this part of the highest backlog, or by so many messages.
_ERROR, _ERROR_MESSAGES = 0.1, 20


def refuted(steps: Sequence[AuditedStep], needed: Size, load: float, configured: StrategySettings) -> str | None:
    """The reason not to size the group so: with the recorded pauses, ids and subscriptions a size falls behind, and the
    present one does not. None: none does.
    """
    groups = [need.group for need in needed.needs if need.group]
    cases = [_with_faults(needed.members, 1, load)]
    cases += [_with_faults(group.members, group.queues // max(needed.queues, 1), load) for group in groups]
    compared = compare(steps, cases, configured)
    if compared is None:
        return None
    today, *outcomes = compared.cases
    sizes = [str(group.members) for group, outcome in zip(groups, outcomes, strict=True) if _is_worse(outcome, today)]
    if not sizes:
        return None
    return f"with that time's pauses, ids and subscriptions, a group of {', '.join(dict.fromkeys(sizes))} falls behind"


def _with_faults(members: int, times: int, load: float) -> Case:
    queues = Change("x", times) if times > 1 else None
    return Case(f"{members}", members=Change("=", members), queues=queues, load=load)


def _is_worse(outcome: CaseOutcome, today: CaseOutcome) -> bool:
    """Return whether more queues have no owner, or a backlog is left that is greater than the model's error."""
    if outcome.unassigned_queues > today.unassigned_queues:
        return True
    if outcome.last is None or today.last is None or today.highest is None or outcome.at_most:
        return False
    return outcome.drained_after is None and outcome.last > today.last + max(_ERROR * today.highest, _ERROR_MESSAGES)
