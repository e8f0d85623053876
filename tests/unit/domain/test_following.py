"""A change of the route: until when clients may have the queues of before, and which they have meanwhile."""

from collections.abc import Collection

import pytest

from spark_jobs.domain.evaluate import EvaluatedStep
from spark_jobs.domain.model.history import Place
from spark_jobs.pipeline.publish.rows import tables
from tests.support.reporting import Course, history, piece, step_of
from tests.support.times import at, micros, second_of

#: The topic grows at 300 s; c3 joins 20 s later, and c2 leaves at 400 s.
COURSE: Course = (
    (0, "c1 c2", {"b": 2}),
    (300, "c1 c2", {"b": 4}),
    (320, "c1 c2 c3", {"b": 4}),
    (400, "c1 c3", {"b": 4}),
)


def test_clients_must_have_followed_a_route_after_poll_and_rebalance() -> None:
    """30 s and 20 s. Members that come meanwhile change nothing of that, and of members clients hear at once."""
    step = step_of(history(COURSE, lambda client_id, at: None))
    assert [interval.settled_at for interval in step.step.replayed] == [None, micros(350), micros(350), None]
    rows = tables([step])["allocations"].to_pylist()
    assert {row["settled_at"] for row in rows if row["interval_start"] == at(320)} == {at(350)}
    assert {row["settled_at"] for row in rows if row["interval_start"] == at(400)} == {None}


#: AVG: c1 has queues 0 and 1, then 0 to 2; c2 has 2 and 3, then 3 to 5.
GROWS: Course = ((0, "c1 c2", {"b": 4}), (300, "c1 c2", {"b": 6}))
BEFORE = {"c1": "0 1", "c2": "2 3"}
AFTER = {"c1": "0 1 2", "c2": "3 4 5"}


def _listed(text: str) -> Collection[Place]:
    return [("b", int(number)) for number in text.split()]


def _pieces(step: EvaluatedStep) -> list[str]:
    """The intervals from the change on, as `300-320 c1 c1 c2 c2 - -`."""
    return [piece(interval) for interval in step.step.replayed if second_of(interval.start) >= 300]


@pytest.mark.parametrize(
    ("follow", "pieces"),
    [
        ({"c1": 300, "c2": 300}, ["300-620 c1 c1 c1 c2 c2 c2"]),
        ({"c1": 330, "c2": 320}, ["300-320 c1 c1 c2 c2 - -", "320-330 c1 c1 - c2 c2 c2", "330-620 c1 c1 c1 c2 c2 c2"]),
        (
            {"c1": 320, "c2": 330},
            ["300-320 c1 c1 c2 c2 - -", "320-330 c1 c1 c1+c2 c2 - -", "330-620 c1 c1 c1 c2 c2 c2"],
        ),
    ],
)
def test_until_then_those_own_a_queue_that_list_it(follow: dict[str, int], pieces: list[str]) -> None:
    """`follow`: when each client has heard of the new queues. That is no finding, and no rebalance."""
    made = history(GROWS, lambda client_id, at: _listed((AFTER if at >= follow[client_id] else BEFORE)[client_id]))
    step = step_of(made)
    assert _pieces(step) == pieces
    assert not [each.rule for each in step.findings if each.severity != "INFO"]
    triggers = [interval.moves.triggers for interval in step.step.replayed[1:] if interval.moves]
    assert [len(of) for of in triggers] == [1] + [0] * (len(pieces) - 1)
    (compared,) = {each.states for each in step.strategies}
    assert compared == 2


def test_why_a_queue_has_no_owner_or_two_until_then() -> None:
    made = history(
        GROWS, lambda client_id, at: _listed((AFTER if client_id == "c1" and at >= 320 else BEFORE)[client_id])
    )
    allocation = step_of(made).step.replayed[2].allocation
    assert allocation is not None
    assert allocation.unassigned_causes == [None, None, None, None, "ROUTE_OUTDATED", "ROUTE_OUTDATED"]
    assert allocation.unassigned_client_ids == [None, None, None, None, "c2", "c2"]
    assert allocation.double_owned_causes == [None, None, "ROUTE_OUTDATED", None, None, None]
    assert allocation.counts == (2, 1)


def test_a_client_that_never_follows_drifts_from_its_share() -> None:
    """It must have followed at 350 s, and a snapshot 20 s later still shows it."""
    made = history(
        GROWS,
        lambda client_id, at: _listed(
            (BEFORE if client_id == "c2" else AFTER)[client_id] if at >= 300 else BEFORE[client_id]
        ),
    )
    (drift,) = [each for each in step_of(made).findings if each.rule == "ALLOCATION_DRIFT"]
    assert (drift.cause, drift.evidence.client_ids, drift.started_at) == ("HOLDS_LESS", ["c2"], micros(350))


@pytest.mark.parametrize(
    "lists", [lambda _: None, lambda at: _listed("2 3") if at < 300 else ()], ids=["unknown", "none"]
)
def test_a_client_that_lists_nothing_has_its_share(lists: object) -> None:
    """It did not answer, or pulls by hand."""
    assert callable(lists)
    made = history(GROWS, lambda client_id, at: lists(at) if client_id == "c2" else _listed(AFTER["c1"]))
    assert _pieces(step_of(made))[0].endswith("c1 c1 c1 c2 c2 c2")
