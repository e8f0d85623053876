"""Messages in flight when queues changed hands."""

from dataclasses import replace

import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep, Rebalance
from spark_jobs.domain.model.history import UNKNOWN, Place
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.rules.rebalancing import REDELIVERY_EXPOSURE as RULE
from spark_jobs.domain.rules.rebalancing import in_flight
from tests.support.builders import audited_step, rebalance, span, with_samples
from tests.support.kernel import SETTINGS
from tests.support.samples import QueueSample, offsets

#: consumer offset, pull offset, last timestamp | in flight
OFFSETS = [
    ((100, 130, 5), 30),
    ((100, 100, 5), 0),
    ((100, 99, 5), 0),  # read one after the other
    ((0, 7, 5), 7),
    ((0, 0, 5), 0),
    ((0, 7, 0), None),  # never committed
    ((0, 7, None), None),
    ((100, 0, 5), None),  # the broker forgot the pulls
    ((100, -1, 5), None),
    ((100, 1, 5), 0),
    ((1, 0, 5), None),
    ((100, None, 5), None),
    ((0, None, 5), None),
    ((None, 7, 5), None),
]
QUEUES = [("b", number) for number in range(6)]
#: Queues 0 and 1 hold 30 and 12 in flight, 2 is unknown, 4 is not in the snapshot, 5 holds 1.
SAID: list[QueueSample | None] = [
    (200, 100, 130, 5),
    (200, 100, 112, 5),
    (200, 0, 9, 0),
    (200, 50, 50, 5),
    None,
    (200, 50, 51, 5),
]


def moved(moment: float, *queues: int, topic: str = "t", seen: float | None = None) -> Rebalance:
    """Handed over; 5 s before, unless said otherwise, the allocation before was last seen."""
    places: list[Place] = [("b", queue) for queue in queues]
    return rebalance(moment, topic=topic, handed_over=places, seen_at=moment - 5 if seen is None else seen)


def step_with(*rebalances: Rebalance, sample: float | None = None, samples: tuple[float, ...] = ()) -> AuditedStep:
    read = offsets(QUEUES, dict.fromkeys((samples if sample is None else (sample,)), SAID))
    step = with_samples(audited_step(), {"t": read, "u": read})
    return replace(step, rebalances=sorted(rebalances, key=lambda change: change.moment))


def measured(step: AuditedStep) -> tuple[float | None, ...] | None:
    """Span; rebalances, greatest and total in flight, queues handed over, of which unknown."""
    names = ("rebalances", "in_flight_max", "in_flight_total", "queues_handed_over", "unknown_queues")
    found = list(RULE.hits(step))
    return tuple((found[0].measures or {})[name] for name in names) if found else None


def test_messages_between_pull_and_commit_are_in_flight() -> None:
    said = [(200, *known) for known, _ in OFFSETS]
    read = offsets([("b", number) for number in range(len(said))], {0: said})
    found = in_flight(read, 0, list(range(len(said)))).tolist()
    assert [None if count == UNKNOWN else count for count in found] == [expected for _, expected in OFFSETS]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        pytest.param(step_with(moved(100, 0, 1, 2), sample=90), (1, 42, 42, 3, 1), id="two queues and one unknown"),
        pytest.param(
            step_with(moved(100, 0), moved(100, 1, topic="u"), moved(300, 1), moved(500, 3), samples=(90, 290, 490)),
            (2, 42, 54, 3, 0),
            id="two topics and rebalances",
        ),
        pytest.param(
            step_with(moved(100, 0, 2), moved(100, 1, 2, topic="u"), sample=90),
            (1, 42, 42, 4, 2),
            id="unknown in two topics",
        ),
        pytest.param(step_with(moved(100, 3), sample=90), None, id="nothing in flight"),
        pytest.param(step_with(moved(100, 5), sample=90), (1, 1, 1, 1, 0), id="one message"),
        pytest.param(step_with(moved(100, 2), sample=90), None, id="unknown"),
        pytest.param(step_with(moved(100, 0), sample=34), None, id="too old"),
        pytest.param(step_with(moved(100, 0), sample=35), (1, 30, 30, 1, 0), id="just not too old"),
        pytest.param(step_with(moved(100, 0)), None, id="no sample"),
        pytest.param(step_with(moved(100, 0), sample=95), (1, 30, 30, 1, 0), id="read when it was seen"),
        pytest.param(step_with(moved(100, 0), sample=96), None, id="read after it was seen"),
        pytest.param(step_with(moved(100, 0, 4), sample=90), (1, 30, 30, 2, 1), id="not in the snapshot"),
        pytest.param(step_with(moved(100, 0, 9), sample=90), (1, 30, 30, 2, 1), id="in no snapshot"),
        pytest.param(step_with(moved(100, 0, topic="v"), sample=90), None, id="a topic without offsets"),
        pytest.param(step_with(moved(100), sample=90), None, id="nothing handed over"),
        pytest.param(step_with(moved(-1, 0), sample=-10), None, id="in the warm-up"),
        pytest.param(step_with(moved(0, 0), sample=-10), (1, 30, 30, 1, 0), id="as the step begins"),
        pytest.param(step_with(moved(5, 0, seen=-361), sample=-421), None, id="read before the window"),
    ],
)
def test_rebalances_with_messages_in_flight_are_exposed(step: AuditedStep, expected: tuple[float, ...] | None) -> None:
    assert measured(step) == expected


def test_it_stands_from_the_first_to_the_last_until_clients_agree() -> None:
    (hit,) = RULE.hits(step_with(moved(100, 0), moved(300, 1), moved(500, 3), samples=(90, 290, 490)))
    assert span(hit) == "100-320"
    assert (hit.cause, hit.minimum_seconds, hit.severity) == ("QUEUES_MOVED", 0, "INFO")
    (hit,) = RULE.hits(step_with(moved(3590, 0), sample=3580))
    assert span(hit) == "3590-3600"


def test_many_messages_are_a_warning() -> None:
    def severity(messages: int) -> str | None:
        settings = replace(SETTINGS, thresholds=Thresholds(redelivery_messages=messages))
        (hit,) = RULE.hits(replace(step_with(moved(100, 0), sample=90), settings=settings))
        return hit.severity

    assert [severity(30), severity(31)] == ["WARN", "INFO"]
