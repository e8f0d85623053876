"""The table by which Burrow tests its rules: `tests/data/other_projects/README.md` names the two differences."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.domain.kernel.progress import topic_progress
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import SECOND, AuditSettings
from tests.support.builders import replayed
from tests.support.kernel import SETTINGS, WINDOW
from tests.support.samples import offsets

TABLE = Path(__file__).parents[1] / "data" / "other_projects" / "burrow.json"
CASES: list[dict[str, Any]] = json.loads(TABLE.read_text(encoding="utf-8"))["cases"]
#: Nothing was left at some sample of the window, so a queue that stands now may not have had anything to consume.
SAID_LATER = {2: "OK", 9: "OK"}


def verdict(case: dict[str, Any], thresholds: Thresholds, more: Iterable[int] = ()) -> str | None:
    """Each commit is a sample, and so is the present one; `more`: seconds after it, at which nothing has changed."""
    began = case["commits"][0][0]
    samples = {
        (at - began) / 1000: "?/?" if lag is None else f"{offset + lag}/{offset}" for at, offset, lag in case["commits"]
    }
    last = case["commits"][-1][1]
    for seconds in (0, *more):
        samples[(case["now"] - began) / 1000 + seconds] = f"{last + case['current_lag']}/{last}"
    settings = AuditSettings(SETTINGS.step, SETTINGS.cadence, max_gap=1000 * SECOND, thresholds=thresholds)
    interval = replayed(0, 3600, {("b", 0): (0,)})
    (found,) = topic_progress(
        [interval], offsets([("b", 0)], {at: [text] for at, text in samples.items()}), WINDOW, settings
    )
    return found.verdicts[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["number"]))
def test_a_case_of_burrow_in_one_window_has_its_status(case: dict[str, Any]) -> None:
    too_short_for_a_window = Thresholds(allowed_lag=case["allowed_lag"], verdict_window_readings=100)
    assert verdict(case, too_short_for_a_window) == SAID_LATER.get(case["number"], case["status"])


@pytest.mark.parametrize("number", SAID_LATER)
def test_a_queue_that_still_stands_has_stopped(number: int) -> None:
    """A STOP as soon as a window of 300 s has no sample at which nothing was left."""
    window = Thresholds(verdict_window_seconds=300, verdict_window_readings=3)
    assert verdict(CASES[number], window, more=range(100, 500, 100)) == CASES[number]["status"] == "STOP"


def test_all_cases_are_read() -> None:
    assert [case["number"] for case in CASES] == list(range(16))
