"""A change of the route: until when clients may have the queues of before."""

from __future__ import annotations

from spark_jobs.pipeline.gather.rows import tables
from tests.domain.reporting import Course, by_rule, history, micros, step_of
from tests.snapshots import at

#: The topic grows at 300 s; c3 joins 20 s later, and c2 leaves at 400 s.
COURSE: Course = (
    (0, "c1 c2", {"b": 2}),
    (300, "c1 c2", {"b": 4}),
    (320, "c1 c2 c3", {"b": 4}),
    (400, "c1 c3", {"b": 4}),
)


def test_clients_must_have_followed_a_route_after_poll_and_rebalance() -> None:
    """30 s and 20 s. Members that come meanwhile change nothing of that, and of members clients hear at once."""
    made = history(COURSE, by_rule(COURSE, lambda client_id, ids, queues: [queues[ids.index(client_id)]]))
    step = step_of(made)
    assert [interval.settled_at for interval in step.step.replayed] == [None, micros(350), micros(350), None]
    rows = tables([step])["allocations"].to_pylist()
    assert {row["settled_at"] for row in rows if row["interval_start"] == at(320)} == {at(350)}
    assert {row["settled_at"] for row in rows if row["interval_start"] == at(400)} == {None}
