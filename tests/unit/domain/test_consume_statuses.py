"""Busy threads, and listeners that got slower by themselves, as the tables say."""

from typing import Any

import pytest

from spark_jobs.domain.kernel.client_spans import client_reports, seen_twice
from spark_jobs.domain.kernel.consume_statuses import busy_threads, slowed_listeners, status_samples
from spark_jobs.domain.model.clients import BusyClient
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import to_micros
from tests.support.client_groups import held
from tests.support.client_steps import client_history
from tests.support.kernel import SETTINGS, WINDOW
from tests.support.tables import cells
from tests.support.times import DAY, at

#: 90 % of the threads; 3 times the usual response time, and 100 ms at least.
THRESHOLDS = Thresholds()
RATES = ("consume_rt_ms", "consume_ok_tps", "consume_failed_tps", "pull_tps")

#: Per topic: response time (ms), consumed well, not well, pulled (a second). Then threads; busy by hand; enough?
_STATUSES = """
400 2.5 0 2                   | 1       | 1.0  | yes
400 2 0 2.25                  | 1       | 0.9  | yes
400 2 0 2.2                   | 1       | 0.88 | no
20 4 0 4                      | 1       | 0.08 | no
100 5 3 0                     | 1       | 0.8  | no
100 5 4 0                     | 1       | 0.9  | yes
400 25 0 20                   | 20      | 10.0 | no
100 100 0 0, 100 79 0 0       | 20      | 17.9 | no
100 100 0 0, 100 80 0 0       | 20      | 18.0 | yes
400 2.5 0 2                   | -       | 1.0  | no
400 2.5 0 2                   | 0       | 1.0  | no
400 2.5 0 -                   | 1       | -    | no
400 2.5 - 9                   | 1       | -    | no
- 2.5 0 2                     | 1       | -    | no
400 2.5 0 2, - 0 0 0          | 1       | -    | no
"""

#: Threads are 20, and the listener takes 320 ms a call of 1,000 messages a second: of one each, 320 threads; of 32, 10.
#: Settings (`-`: unknown): batch, pull batch, orderly. Then busy threads; enough?
_BATCHES = """
1 32 no   | 320 | yes
- 32 no   | 320 | yes
16 32 no  | 20  | yes
32 32 no  | 10  | no
32 16 no  | 20  | yes
32 - no   | 10  | no
64 64 no  | 10  | no
64 64 yes | 5   | no
16 8 yes  | 20  | yes
64 32 -   | 5   | no
"""

#: Snapshots before the step, and the same one twice in it: consume RT / pull RT (ms, `-`: unknown) / consumed a second.
_SNAPSHOTS = """
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


def numbers(text: str, separator: str | None = None) -> list[float | None]:
    return [None if word == "-" else float(word) for word in text.split(separator)]


def status(topic: str = "t", **said: float | None) -> dict[str, Any]:
    return {"topic": topic, "pull_rt_ms": 1.0} | dict.fromkeys(RATES, 0.0) | said


@pytest.mark.parametrize(("topics", "threads", "expected", "enough"), cells(_STATUSES))
def test_threads_are_busy_by_the_time_of_their_messages(topics: str, threads: str, expected: str, enough: str) -> None:
    each = [dict(zip(RATES, numbers(topic), strict=True)) for topic in topics.split(",")]
    told = [status(f"t{place}", **rates) for place, rates in enumerate(each)]
    client = client_history({"consume_status": told, "consume_threads": None if threads == "-" else int(threads)})
    (busy,) = busy_threads(status_samples(client), 1).tolist()
    assert ("-" if busy != busy else f"{busy:.6g}") == (expected if expected == "-" else f"{float(expected):.6g}")
    shown = client_reports(client, THRESHOLDS, 0).states[-1].busy
    assert (shown is not None) is (enough == "yes")
    # Long calls that end in one minute count for more threads than there are.
    assert shown is None or f"{shown.busy_threads:.6g}" == f"{min(float(expected), float(threads)):.6g}"


@pytest.mark.parametrize(("settings", "expected", "enough"), cells(_BATCHES))
def test_a_call_of_many_messages_counts_once(settings: str, expected: str, enough: str) -> None:
    batch, pull_batch, orderly = (None if word == "-" else word for word in settings.split())
    reported = {
        "consume_batch_size": batch and int(batch),
        "pull_batch_size": pull_batch and int(pull_batch),
        "consume_orderly": orderly and orderly == "yes",
        "consume_threads": 20,
        "consume_status": [status(consume_rt_ms=320.0, consume_ok_tps=1000.0)],
    }
    client = client_history(reported)
    assert busy_threads(status_samples(client), 1).tolist() == [float(expected)]
    shown = client_reports(client, THRESHOLDS, 0).states[-1].busy
    assert (shown is not None) is (enough == "yes")


@pytest.mark.parametrize(("orderly", "queues", "enough"), [(True, 3, False), (True, 18, True), (False, 3, True)])
def test_in_order_no_more_threads_are_busy_than_the_client_has_queues(orderly: bool, queues: int, enough: bool) -> None:
    """20 threads, and messages for more of them; a queue that it dropped needs none."""
    owned = [held("t", number, 0, {}) for number in range(queues)] + [held("t", 90, 0, {"dropped": True})]
    reported = {"consume_status": [status(consume_rt_ms=9000.0, pull_tps=9.0)], "owned_queues": owned}
    client = client_history(reported | {"consume_threads": 20, "consume_orderly": orderly})
    assert (client_reports(client, THRESHOLDS, 0).states[-1].busy is not None) is enough


def test_each_snapshot_has_its_own_busy_threads_and_the_times_of_its_busiest_topic() -> None:
    """Of equals the slowest; a pull RT that is unknown is less than any."""
    short = status("a", consume_rt_ms=100.0, consume_ok_tps=5.0, pull_rt_ms=9.0)
    long = status("b", consume_rt_ms=500.0, consume_ok_tps=1.0, pull_rt_ms=None)
    longer = status("c", consume_rt_ms=500.0, consume_ok_tps=1.0, pull_rt_ms=7.0)
    reported = [[short, long], None, [], [long], [longer, long], [status("d", consume_rt_ms=1.0)]]
    client = client_history(*({"consume_status": statuses, "consume_threads": 1} for statuses in reported))
    found = client_reports(client, Thresholds(busy_percent=50), 0)
    assert [found.states[code].busy for code in found.codes] == [
        BusyClient(1.0, 1, 500.0, None),
        None,
        None,
        BusyClient(0.5, 1, 500.0, None),
        BusyClient(1.0, 1, 500.0, 7.0),
        None,
    ]


def test_threads_are_always_enough_for_a_limit_of_nothing_if_it_says_what_it_measured() -> None:
    reported: tuple[list[Any] | None, ...] = ([], None)
    client = client_history(*({"consume_status": statuses, "consume_threads": 4} for statuses in reported))
    found = client_reports(client, Thresholds(busy_percent=0), 0)
    assert [found.states[code].busy for code in found.codes] == [BusyClient(0.0, 4, None, None), None]


def measured(second: int, times: str | None, topic: str = "t") -> dict[str, Any]:
    """A snapshot in which the client measured this of a topic, or (None) did not answer."""
    if times is None:
        return {"captured_at": at(second), "answered": False}
    consume, pull, consumed = numbers(times, "/")
    told = status(topic, consume_rt_ms=consume, pull_rt_ms=pull, consume_ok_tps=consumed, pull_tps=1.0)
    return {"captured_at": at(second), "consume_status": [told]}


def slower(*snapshots: dict[str, Any]) -> list[tuple[str, int, int]]:
    """Topic, first and last second of what two successive snapshots show."""
    found = slowed_listeners(client_history(*snapshots), WINDOW, SETTINGS)
    return [
        (topic, (span.start - to_micros(DAY)) // 10**6, (span.end - to_micros(DAY)) // 10**6)
        for topic, spans in found
        for span in seen_twice(spans)
    ]


@pytest.mark.parametrize(("before", "now", "expected"), cells(_SNAPSHOTS))
def test_slower_than_before(before: str, now: str, expected: str) -> None:
    usual = [measured(-20 * place, times) for place, times in enumerate(before.split(), start=1)]
    found = slower(*usual, *(measured(second, now) for second in (100, 120)))
    assert found == ([("t", 100, 120), ("t", 120, 180)] if expected == "yes" else [])


@pytest.mark.parametrize(
    ("batch", "now", "is_slower"),
    [(32, 640, False), (32, 1919, False), (32, 1920, True), (1, 60, False), (1, 100, True)],
)
def test_calls_that_fill_up_are_not_slower(batch: int, now: int, is_slower: bool) -> None:
    """A call of one message took 20 ms; three times as long per message are 1,920 ms of a call of 32."""
    snapshots = [measured(-20, USUAL), *(measured(second, f"{now}/50/9") for second in (100, 120))]
    settings = {"consume_batch_size": batch, "pull_batch_size": 32, "consume_orderly": False}
    found = slower(*(snapshot | settings for snapshot in snapshots))
    assert found == ([("t", 100, 120), ("t", 120, 180)] if is_slower else [])


def test_a_client_that_consumed_nothing_in_the_window_shows_nothing() -> None:
    """Its one slow snapshot with messages is of another hour."""
    assert slower(measured(-7200, "500/50/9"), measured(100, "500/50/0")) == []


USUAL, SLOW = "20/50/9", "200/50/9"
_LONG_AGO = [(second, USUAL) for second in (-420, -410, -400, -390)]


IN_TIME: dict[str, tuple[list[tuple[int, str | None]], list[tuple[int, int]]]] = {
    "once": ([(-20, USUAL), (0, SLOW), (20, USUAL)], []),
    "not in succession": ([(-20, USUAL), (0, SLOW), (20, None), (40, SLOW)], []),
    "until it does not answer": ([(-20, USUAL), (0, SLOW), (20, SLOW), (40, None)], [(0, 20), (20, 40)]),
    "until nobody asks": ([(-20, USUAL), (0, SLOW), (20, SLOW), (600, USUAL)], [(0, 20), (20, 80)]),
    "since before": ([*[(s, USUAL) for s in (-80, -60, -40)], (-20, SLOW), (0, SLOW)], [(-20, 0), (0, 60)]),
    "since the warm-up": (
        [*_LONG_AGO, (-380, SLOW), (-330, SLOW), (0, USUAL)],
        [(-360, -330), (-330, -270)],
    ),
    "at the edge of the warm-up": ([*_LONG_AGO, (-380, SLOW), (-360, SLOW), (-340, USUAL)], []),
    "known too long ago": ([(-421, USUAL), (0, SLOW), (20, SLOW)], []),
    "in the first step": ([(0, USUAL), (299, USUAL), (300, SLOW), (320, SLOW)], [(300, 320), (320, 380)]),
    "usual is what its first five minutes show": (
        [(0, SLOW), (300, USUAL), (320, USUAL), (340, SLOW), (360, SLOW)],
        [],
    ),
    "until the step ends": (
        [(-20, USUAL), (3560, SLOW), (3580, SLOW), (3610, SLOW)],
        [(3560, 3580), (3580, 3600)],
    ),
}


@pytest.mark.parametrize(("snapshots", "expected"), IN_TIME.values(), ids=IN_TIME)
def test_slower_in_time(snapshots: list[tuple[int, str | None]], expected: list[tuple[int, int]]) -> None:
    assert slower(*(measured(*snapshot) for snapshot in snapshots)) == [("t", *span) for span in expected]


def test_each_topic_has_its_own_usual_time() -> None:
    """`u` is always slow; `v` has another usual time and was not measured in the first snapshot."""
    snapshots = [measured(second, USUAL if second < 0 else SLOW) for second in (-20, 0, 20)]
    for snapshot in snapshots:
        snapshot["consume_status"] += measured(0, SLOW, "u")["consume_status"]
    for snapshot, times in zip(snapshots[1:], ("900/50/9", "900/50/9"), strict=True):
        snapshot["consume_status"] += measured(0, times, "v")["consume_status"]
    assert slower(*snapshots) == [("t", 0, 20), ("t", 20, 80)]
    snapshots[0]["consume_status"] += measured(0, "300/50/9", "v")["consume_status"]
    assert slower(*snapshots) == [("t", 0, 20), ("t", 20, 80), ("v", 0, 20), ("v", 20, 80)]
