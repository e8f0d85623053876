"""What members say of themselves tells how fast they will drain what waits: the experiment of `capacity.py`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.live.capacity import GROUPS, OFF, Drain, Said, computed, experiment, measured, said

pytestmark = pytest.mark.live

#: Of the change after these no client has said how fast it can be.
COMPUTED = ("load 1.5", "one member", "two members", "changed")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Sequence[Drain], Sequence[Said]]:
    out: Path = tmp_path_factory.mktemp("capacity")
    experiment(out)
    return measured(out / "measured.json"), said(sorted((out / "recordings").glob("*.jsonl.gz")))


def test_capacity_is_known_before_the_drain(ran: tuple[Sequence[Drain], Sequence[Said]]) -> None:
    drains, told = ran
    found = {(one.group, one.change): (computed(told, one.group, one.begin), one.rate) for one in drains}
    assert {key for key in found if key[1] in COMPUTED} == {(one.name, change) for one in GROUPS for change in COMPUTED}
    off = {key: (known, rate) for key, (known, rate) in found.items() if key[1] in COMPUTED and not _close(known, rate)}
    assert off == {}


def _close(known: float | None, rate: float) -> bool:
    return known is not None and abs(known / rate - 1) <= OFF
