"""The reports of members predict how fast they drain a backlog: the experiment of `capacity.py`."""

from collections.abc import Sequence

import pytest

from tests.end_to_end.live.capacity import GROUPS, OFF, Drain, compared, experiment, measured, told

pytestmark = pytest.mark.live

DRAINS = ("load 1.5", "one member", "two members", "changed")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Sequence[tuple[Drain, float]]:
    out = tmp_path_factory.mktemp("capacity")
    experiment(out)
    said = told(sorted((out / "recordings").glob("*.jsonl.gz")))
    return [*compared(measured(out / "measured.json"), said)]


def test_capacity_is_known_before_the_change(found: Sequence[tuple[Drain, float]]) -> None:
    assert {(one.group, one.change) for one, _ in found} == {(one.name, change) for one in GROUPS for change in DRAINS}
    off = {(one.group, one.change): (rate, one.rate) for one, rate in found if not abs(rate / one.rate - 1) <= OFF}
    assert off == {}
