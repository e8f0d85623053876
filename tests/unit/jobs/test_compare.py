"""A group before and after a deploy, over what `test_what_if` has recorded of twins. No Spark."""

import pytest

from tests.support.commands import Typed
from tests.unit.jobs.test_what_if import warehouse

__all__ = ["warehouse"]

BEFORE, AFTER = "2026-03-01T10:01/2026-03-01T10:04", "2026-03-01T10:05/2026-03-01T10:09"


def test_two_times_of_a_group(warehouse: str, typed: Typed) -> None:
    """Of 20 messages a second both twins take those of four of eight queues: 10 a second wait."""
    out, err = typed(f"compare {BEFORE} {AFTER} --group g", warehouse=warehouse)
    both = "cluster=c group=g replayed_seconds={} min 00 s incidents=0 rebalances=0 queues_moved=0 members=2.0 "
    both += "idle_members=0.0 unassigned_queues=4.0 double_owned_queues=4.0 busiest_member=4 "
    both += "produced_messages_per_second=20.0 consumed_messages_per_second=10.0 "
    assert out.splitlines() == [
        "2026-03-01T10:01Z/2026-03-01T10:04Z "
        + both.format(3)
        + "highest_backlog=2,400 last_backlog=2,400 consumed_twice=1,800",
        "2026-03-01T10:05Z/2026-03-01T10:09Z "
        + both.format(4)
        + "highest_backlog=5,400 last_backlog=5,400 consumed_twice=2,400",
        "0 incidents began.",
    ]
    next_command = f"incidents --warehouse {warehouse} --interval 2026-03-01T10:05Z/2026-03-01T10:09Z"
    assert err.endswith(f"Next: rebalance-audit {next_command} --group g --cluster c\n")
    before, after = typed(f"compare {BEFORE} {AFTER} --group g --json", warehouse=warehouse).document["compared"]
    assert (before["start"], before["last_backlog"], after["last_backlog"]) == ("2026-03-01T10:01:00Z", 2400, 5400)


def test_what_is_not_known_of_one_of_them_is_reported(warehouse: str, typed: Typed) -> None:
    """The recording ends at 10:10, and a state holds for a minute."""
    later = "2026-03-01T10:30/2026-03-01T10:40"
    (_, line, _) = typed(f"compare {BEFORE} {later} --group g", warehouse=warehouse, code=2).lines
    assert "replayed_seconds=0 s incidents=0 rebalances=unknown" in line
    assert line.endswith("highest_backlog=unknown last_backlog=unknown consumed_twice=unknown")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (AFTER, BEFORE, "does not end before 2026-03-01T10:01Z/2026-03-01T10:04Z begins: give the earlier interval"),
        (BEFORE, "2026-03-01T10:03/2026-03-01T10:09", "give the earlier interval first"),
        ("2026-02-01/2026-02-02", AFTER, "g was not audited in 2026-02-01T00:00Z/2026-02-02T00:00Z"),
        (BEFORE, "10:05", "write START/END"),
    ],
)
def test_steps_that_cannot_be_compared_are_an_error(
    before: str, after: str, message: str, warehouse: str, typed: Typed
) -> None:
    assert message in typed(f"compare {before} {after} --group g", warehouse=warehouse, code=3).err
