"""Running info tells how fast a group will drain what waits: as it is, with one more member, with twice the threads.

`tests/data/capacity.jsonl.gz` is cut from the experiment of `tests/end_to_end/live/capacity.py` (RocketMQ 5.4.0),
three minutes, every 5 s; `capacity.json` has what was done meanwhile, and what the listeners themselves counted. All
is predicted before the first of these drains.
"""

from pathlib import Path

import pytest

from spark_jobs.ingest.files import read_lines
from spark_jobs.ingest.recording import Meta, NoObservation, Row, outcomes
from tests.end_to_end.live.capacity import GROUPS, OFF, compared, measured, told

DATA = Path(__file__).parents[2] / "data"
RECORDING = DATA / "capacity.jsonl.gz"
DRAINS = {
    (one.group, one.change): (one, rate) for one, rate in compared(measured(DATA / "capacity.json"), told([RECORDING]))
}


def test_every_line_is_read() -> None:
    assert {type(one) for one in outcomes(read_lines(RECORDING))} <= {Row, Meta, NoObservation}


def test_each_group_drained_three_times() -> None:
    assert set(DRAINS) == {(one.name, change) for one in GROUPS for change in ("one member", "two members", "changed")}


@pytest.mark.parametrize(("group", "change"), sorted(DRAINS))
def test_capacity_is_known_before_the_change(group: str, change: str) -> None:
    drain, rate = DRAINS[group, change]
    assert rate == pytest.approx(drain.rate, rel=OFF)
