"""The samples that charts draw: of the recording that ships, and what is left of many."""

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from schemas import OFFSET_SNAPSHOTS
from spark_jobs.api.warehouse import open_warehouse
from spark_jobs.domain.model.intervals import EPOCH, Interval
from spark_jobs.show.measured import SampledBacklog, SampledTopic, last_samples, measured, thinned
from spark_jobs.store.read.delta import delta_tables
from tests.support.recordings import HOUR
from tests.support.snapshots import offsets
from tests.support.stored import write
from tests.support.times import HOUR as TEN
from tests.support.times import at as utc
from tests.support.times import ms
from tests.unit.report.test_charts import figures

PAYMENT = ("demo", "payment-service")


def at(measured: SampledTopic, moment: str) -> int:
    """The place of the first sample since then."""
    time = (datetime.fromisoformat(f"2026-11-21T{moment}+00:00") - EPOCH) / timedelta(milliseconds=1)
    return int(np.searchsorted(measured.times, time))


def test_a_backlog_that_drains_in_20_seconds_is_not_spread(example_warehouse: str) -> None:
    """By hand, from the lines of the recording: the twins end at 02:17:25, and queues 4 to 7 are consumed again."""
    samples = measured(delta_tables(example_warehouse), [PAYMENT], HOUR)[PAYMENT]["payments"]
    start = at(samples, "02:17:15")
    assert samples.total[start : start + 5].tolist() == [6123, 5584, 3123, 4, 4]
    assert (np.diff(samples.times[start : start + 5]) < 10_200).all()
    # In 10 s 3,119 messages less than before, and 200 that came, are 332 a second.
    assert samples.consumed[start + 3] == pytest.approx(332, abs=1)
    assert samples.consumed[start + 4 :].max() < 25
    assert not samples.breaks[1:].any()


def test_explain_shows_the_sample_of_the_moment(example_warehouse: str) -> None:
    """Between the samples with 5,584 and 3,123 messages of the test above."""
    moment = datetime.fromisoformat("2026-11-21T02:17:33+00:00")
    (topic,) = open_warehouse(example_warehouse).explain("payment-service", at=moment).facts.topics
    assert topic.sampled is not None
    assert topic.sampled.messages == 5584
    assert timedelta(0) <= moment - topic.sampled.sampled_at < timedelta(seconds=11)


def test_the_report_draws_them(example_warehouse: str) -> None:
    html = open_warehouse(example_warehouse).report("payment-service", since=HOUR.start, until=HOUR.end).html
    lines = {
        (chart.name, drawn.name): drawn.data_source.data
        for chart in reversed(figures(html))
        for drawn in chart.renderers
    }
    backlog = [*lines["Backlog", "total"]["y"]]
    place = backlog.index(6123)
    assert backlog[place : place + 4] == [6123, 5584, 3123, 4]
    consumed = lines["Rates", "consumed"]
    high = [x for x, y in zip(consumed["x"], consumed["y"], strict=True) if y > 50]
    assert max(high) - min(high) < 31_000


def test_what_a_topic_is_measured_by(tmp_path: Path) -> None:
    rows = [
        offsets(0, (100, 90, 1), (50, 0, 0)),
        offsets(20, (140, 130, 1), (50, 50, 1)),
        offsets(40, (140, 120, 1), (60, 60, 1)),
        offsets(60, (150, 150, 1)),
        offsets(600, (150, 150, 1)),
    ]
    write(tmp_path, OFFSET_SNAPSHOTS, [*rows, offsets(0, (9, 9, 1), topic="u"), offsets(0, (9, 9, 1), group="h")])
    stored = delta_tables(str(tmp_path))
    last = last_samples(stored, ("c", "g"), utc(50), timedelta(seconds=30))
    assert last == {"t": SampledBacklog(utc(40), 20, 20, "b:0")}
    assert last_samples(stored, ("c", "g"), utc(599), timedelta(seconds=30)) == {}
    found = measured(stored, [("c", "g"), ("c", "gone")], TEN)
    assert {group: sorted(topics) for group, topics in found.items()} == {("c", "g"): ["t", "u"], ("c", "gone"): []}
    samples = found["c", "g"]["t"]
    assert samples.times.tolist() == [ms(second) for second in (0, 20, 40, 60, 600)]
    assert samples.queues == [("b", 0), ("b", 1)]
    # Queue 1 had never committed at first, and is not in the last two snapshots.
    np.testing.assert_equal(samples.lags, [[10, np.nan], [10, 0], [20, 0], [0, np.nan], [0, np.nan]])
    assert samples.total.tolist() == [10, 10, 20, 0, 0]
    # Of two queues 40 came in 20 s, then 10, then 10 of one; an offset that goes back consumes nothing.
    np.testing.assert_equal(samples.produced, [np.nan, 2, 0.5, 0.5, np.nan])
    np.testing.assert_equal(samples.consumed, [np.nan, 2, 0.5, 1.5, np.nan])
    assert samples.breaks.tolist() == [True, False, False, False, True]
    later = measured(stored, [("c", "g")], Interval(TEN.end, TEN.end + timedelta(hours=1)))
    assert later == {("c", "g"): {}}


def test_of_many_values_the_extremes_stay() -> None:
    times = np.arange(10_000.0)
    values = np.zeros(10_000)
    values[[1234, 5678]] = 9, -9
    values[7777] = np.nan
    kept = thinned(times, values, 10)
    assert {0, 1234, 5678, 7777, 9_999} <= set(kept.tolist())
    assert len(kept) <= 41
    assert thinned(times[:40], values[:40], 10).tolist() == [*range(40)]
