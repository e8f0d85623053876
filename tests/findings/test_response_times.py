"""Whether a listener got slower by itself: Spark says what plain Python says, and both what the table says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from schemas import CLIENT_SNAPSHOTS
from spark_jobs.config.model import Thresholds
from spark_jobs.domain.clients import ResponseTimes, listener_slowed
from spark_jobs.domain.intervals import Interval
from spark_jobs.findings.response_times import slowed_listeners
from spark_jobs.replay.steps import StepWindow
from tests.snapshots import DAY, at

#: 3 times the usual response time, and 100 ms at least.
THRESHOLDS = Thresholds()
#: The step of 10:00, which looks back to 9:55:30, and to 9:56:30 for the age of what it finds.
WINDOW = StepWindow(
    Interval(DAY, DAY + timedelta(hours=1)), timedelta(hours=1), timedelta(seconds=210), timedelta(seconds=270)
)
MAX_GAP = timedelta(seconds=60)

#: Looks before the step, and the same look twice in it: consume RT / pull RT (ms, `-`: unknown) / consumed a second.
_LOOKS = """
    before                      | now        | slower
    20/50/9                     | 200/50/9   | yes
    40/50/9                     | 120/50/9   | yes
    41/50/9                     | 120/50/9   | no
    1/50/9                      | 100/50/9   | yes
    1/50/9                      | 99.9/50/9  | no
    20/50/9                     | 200/149/9  | yes
    20/50/9                     | 200/150/9  | no
    20/1/9                      | 200/99.9/9 | yes
    20/50/9 20/50/9 900/900/9   | 200/50/9   | yes
    20/50/9 900/900/9 900/900/9 | 900/50/9   | no
    20/50/9 60/50/9             | 120/50/9   | yes
    20/50/9 61/50/9             | 120/50/9   | no
                                | 200/50/9   | no
    -/50/9                      | 200/50/9   | no
    20/50/9 -/50/9              | 200/50/9   | yes
    20/-/9                      | 200/50/9   | yes
    20/-/9                      | 200/150/9  | no
    20/50/9                     | 200/-/9    | no
    20/50/9                     | -/50/9     | no
    20/50/0                     | 200/50/9   | no
    20/50/-                     | 200/50/9   | no
    20/50/9 300/50/0 300/50/0   | 200/50/9   | yes
    20/50/9                     | 200/50/0   | no
    20/50/9                     | 200/50/-   | no
"""


def _times(text: str) -> list[ResponseTimes]:
    looks = (look.split("/") for look in text.split())
    return [ResponseTimes(*(None if word == "-" else float(word) for word in look)) for look in looks]


def _cases() -> list[tuple[list[ResponseTimes], ResponseTimes, bool]]:
    _, *lines = _LOOKS.strip("\n").splitlines()
    cells = (line.split("|") for line in lines)
    return [(_times(before), _times(now)[0], slower.strip() == "yes") for before, now, slower in cells]


def test_plain_python() -> None:
    for before, now, slower in _cases():
        assert listener_slowed(before, now, THRESHOLDS.rt_rise_ratio, THRESHOLDS.slow_rt_ms) is slower, (before, now)


def _snapshot(client_id: str, second: int, times: ResponseTimes | None) -> dict[str, Any]:
    """A look in which the client measured this of topic `t`, or (None) did not answer."""
    key = {"cluster": "c", "consumer_group": "g", "client_id": client_id, "captured_at": at(second)}
    said = {"answered": times is not None, "consume_status": None if times is None else [_status(times)]}
    return dict.fromkeys(CLIENT_SNAPSHOTS.columns) | key | said


def _status(times: ResponseTimes) -> dict[str, Any]:
    consumed = {"consume_ok_tps": times.consumed_tps, "consume_failed_tps": 0.0}
    return {"topic": "t", "pull_tps": 1.0} | consumed | {name: getattr(times, name) for name in _NAMES}


_NAMES = ("consume_rt_ms", "pull_rt_ms")
_USUAL, _SLOW = ResponseTimes(20.0, 50.0, 9.0), ResponseTimes(200.0, 50.0, 9.0)
#: Looks (second, of what) of other clients, and seconds from and to at which they must be slower.
_IN_TIME: dict[str, tuple[list[tuple[int, ResponseTimes | None]], list[tuple[int, int]]]] = {
    "once": ([(-20, _USUAL), (0, _SLOW), (20, _USUAL)], []),
    "not in succession": ([(-20, _USUAL), (0, _SLOW), (20, None), (40, _SLOW)], []),
    "until it does not answer": ([(-20, _USUAL), (0, _SLOW), (20, _SLOW), (40, None)], [(0, 20), (20, 40)]),
    "until nobody looks": ([(-20, _USUAL), (0, _SLOW), (20, _SLOW), (600, _USUAL)], [(0, 20), (20, 80)]),
    "since before": ([*[(s, _USUAL) for s in (-80, -60, -40)], (-20, _SLOW), (0, _SLOW)], [(-20, 0), (0, 60)]),
    "since the warm-up": (
        [*[(s, _USUAL) for s in (-270, -260, -250, -240)], (-230, _SLOW), (-180, _SLOW), (0, _USUAL)],
        [(-210, -180), (-180, -120)],
    ),
    "at the edge of the warm-up": (
        [*[(s, _USUAL) for s in (-270, -260, -250, -240)], (-230, _SLOW), (-210, _SLOW), (-190, _USUAL)],
        [],
    ),
    "known too long ago": ([(-271, _USUAL), (0, _SLOW), (20, _SLOW)], []),
    "until the step ends": ([(-20, _USUAL), (3560, _SLOW), (3580, _SLOW)], [(3560, 3580), (3580, 3600)]),
}


def _made() -> Iterator[dict[str, Any]]:
    for number, (before, now, _) in enumerate(_cases()):
        for place, times in enumerate(before, start=1):
            yield _snapshot(str(number), -20 * place, times)
        yield from (_snapshot(str(number), second, now) for second in (100, 120))
    for name, (looks, _) in _IN_TIME.items():
        yield from (_snapshot(name, second, times) for second, times in looks)


def test_spark(spark: SparkSession) -> None:
    schema = StructType([field for field in CLIENT_SNAPSHOTS.schema if field.name in CLIENT_SNAPSHOTS.columns])
    found = slowed_listeners(spark.createDataFrame(list(_made()), schema), WINDOW, MAX_GAP, THRESHOLDS)
    spans: dict[str, list[tuple[int, int]]] = {}
    for row in found.orderBy("start").collect():
        seconds = [int((moment - DAY.replace(tzinfo=None)).total_seconds()) for moment in (row.start, row.end)]
        spans.setdefault(row.client_id, []).append((seconds[0], seconds[1]))
    by_hand = {str(number): [(100, 120), (120, 180)] for number, case in enumerate(_cases()) if case[2]}
    by_hand |= {name: expected for name, (_, expected) in _IN_TIME.items() if expected}
    assert spans == by_hand
