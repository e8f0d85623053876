"""Audited steps of recorded clients and hand-made intervals, in seconds after 10:00."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, Allocation, AuditedStep, Member, RebalanceInterval
from spark_jobs.domain.model.finding import Counts
from spark_jobs.domain.model.history import GroupHistory
from spark_jobs.domain.model.window import SECOND, AuditSettings, to_micros
from tests.kernel import SETTINGS
from tests.snapshots import DAY

START = to_micros(DAY)


def micros(second: float) -> int:
    """So many seconds after 10:00."""
    return START + round(second * SECOND)


def second_of(moment: int) -> int:
    """Whole seconds after 10:00."""
    return (moment - START) // SECOND


def step_with(
    history: GroupHistory, intervals: Sequence[RebalanceInterval] = (), settings: AuditSettings = SETTINGS
) -> AuditedStep:
    """The step of 10:00, in which no message moves and nobody rebalances."""
    return AuditedStep(history, settings.window(START), settings, intervals, progress=(), rebalances=())


def replayed(
    topic: str,
    start: float,
    end: float,
    owned: Mapping[str, Sequence[int]],
    queues: int,
    *,
    view: str = ALL_HOSTS,
    twins: bool = False,
    seen_at: float | None = None,
) -> RebalanceInterval:
    """Members (twins: each is there twice) own these queues of broker `b`; last seen at its end, if nothing is said."""
    ids = sorted([*owned] * 2 if twins else owned)
    members = tuple(Member(client_id, None, "JAVA", 493, "AVG", True, True) for client_id in ids)
    places = tuple(("b", queue_id) for queue_id in range(queues))
    owner_ids = [tuple(one for one in sorted(owned) if queue_id in owned[one]) for queue_id in range(queues)]
    allocation = Allocation(
        queues=places,
        readable_count=queues,
        owners=[tuple(place for place, one in enumerate(ids) if one in of_queue) for of_queue in owner_ids],
        owner_ids=owner_ids,
        unassigned_causes=[None] * queues,
        unassigned_client_ids=[None] * queues,
        double_owned_causes=[None] * queues,
        queues_per_member=[len(owned[one]) for one in ids],
        counts=Counts(sum(not one for one in owner_ids), queues if twins else 0),
    )
    last = micros(end if seen_at is None else seen_at)
    inputs = (members, places, last, allocation)
    return RebalanceInterval(topic, view, micros(start), micros(end), None, "DEFAULT", *inputs)
