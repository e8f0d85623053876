"""Messages a second that clients can consume, on paper."""

from typing import Any

import numpy as np
import pytest

from spark_jobs.domain.model.history import ClientHistory
from spark_jobs.domain.status.throughput import Changes, throughput, throughputs
from tests.support.client_steps import client_history
from tests.support.times import START
from tests.support.what_if import DEFAULTS, client_row, status

MINUTE = 60_000_000


def reporting(*minutes: str, **settings: Any) -> ClientHistory:
    """A client that says so once a minute."""
    return client_history(
        *(client_row(60 * number, "c1", [status(minute)], **settings) for number, minute in enumerate(minutes))
    )


#: Settings; minutes; what is changed; messages a second of the listener, and of a queue.
@pytest.mark.parametrize(
    ("settings", "minutes", "changes", "listener", "queue"),
    [
        # One thread takes 400 ms. Of a pull of 2.25 ms 0.25 are the wait for 4 queues with 16,000 messages a second.
        ({}, ["400/2.5/2.25/16000"], {}, 2.5, 16_000),
        ({"consume_threads": 20}, ["400/2.5/2.25/16000"], {}, 50, 16_000),
        ({}, ["400/2.5/2.25/16000"], {"threads": 4}, 10, 16_000),
        ({}, ["400/2.5/2.25/16000"], {"response_ms": 20.0}, 50, 16_000),
        # Batches of ten, in which the whole batch takes 100 ms.
        ({"consume_batch_size": 10}, ["100/50/2.25/16000"], {}, 100, 16_000),
        # A concurrent consumer splits what one pull brought, which is 32 messages at most.
        ({"consume_batch_size": 64, "pull_batch_size": 64}, ["100/50/2.25/16000"], {}, 320, 16_000),
        ({"pull_batch_size": 8}, ["400/2.5/2.25/16000"], {}, 2.5, 4000),
        ({}, ["400/2.5/2.25/16000"], {"pull_batch": 64}, 2.5, 16_000),
        # Orderly: a queue has one thread at a time, and a batch is taken from all that is cached.
        ({"consume_orderly": True, "consume_threads": 20}, ["20/100/2.25/16000"], {}, 1000, 50),
        ({"consume_orderly": True, "consume_threads": 20, "consume_batch_size": 64}, ["640/100/2.25/16000"], {}, 2000,
         100),
        # Pull-bound: 32 messages every 200 ms, and in no less than a millisecond.
        ({"pull_interval_ms": 200}, ["5/100/0/16000"], {}, 200, 32_000 / 201),
        ({"pull_interval_ms": 200}, ["5/100/0/16000"], {"pull_interval_ms": 0}, 200, 32_000),
        # A listener that does nothing: RocketMQ reports 0.0, so the pulls are the limit.
        ({"pull_interval_ms": 199}, ["0/100/1/1000"], {}, np.inf, 160),
        # A minute without messages repeats an older response time, or has none: it counts for nothing.
        ({}, ["400/2.5/2.25/16000", "7/0/2/0", "-/0/-/0"], {}, 2.5, 16_000),
        # 4 queues with 10 messages a second are pulled every 400 ms: a pull of 405 ms waited 400 of them, and one
        # every 200 ms at the soonest waited 200.
        ({}, ["400/2.5/405/10"], {}, 2.5, 6400),
        ({"pull_interval_ms": 200}, ["400/2.5/205/10"], {}, 2.5, 32_000 / 205),
    ],
)  # fmt: skip
def test_the_listener_and_the_pulls_of_one_client(
    settings: dict[str, Any], minutes: list[str], changes: dict[str, Any], listener: float, queue: float
) -> None:
    found = throughput(reporting(*minutes, **settings))
    assert found is not None
    rates = found.rates(np.array([START]), Changes(**changes))
    assert rates.listener.tolist() == pytest.approx([listener])
    assert rates.queue.tolist() == pytest.approx([queue])


@pytest.mark.parametrize("missing", DEFAULTS)
def test_who_does_not_say_a_setting_is_unknown(missing: str) -> None:
    assert throughput(reporting("400/2.5/2/9", **{missing: None})) is None


@pytest.mark.parametrize("minute", ["-/2.5/2/9", "400/0/2/9", "400/-/2/9"])
def test_who_never_consumed_is_unknown(minute: str) -> None:
    assert throughput(reporting(minute)) is None


def test_topics_share_the_threads_by_how_many_messages_each_has() -> None:
    found = throughput(client_history(client_row(0, "c1", [status("10/90/1/90"), status("110/10/1/10", topic="u")])))
    assert found is not None
    # (90 × 10 + 10 × 110) ÷ 100 = 20 ms.
    assert found.rates(np.array([START])).listener.tolist() == [50]


def test_a_response_time_is_of_the_middle_of_its_minute_and_stays_before_and_after() -> None:
    found = throughput(reporting("10/9/1/9", "10/9/1/9", "50/9/1/9"))
    assert found is not None
    # The minutes that ended at 0, 60 and 120 s: their middles are at −30, 30 and 90 s.
    response_ms = 1000 / found.rates(START + np.array([-100, 0, 30, 60, 90, 500]) * 1_000_000).listener
    assert response_ms.tolist() == pytest.approx([10, 10, 10, 30, 50, 50])


@pytest.mark.parametrize(
    ("pulls", "took"),
    [
        ((2, 2, 100), (2, 2, 2, 51, 100, 100)),
        ((100, 100, 2), (100, 100, 100, 51, 2, 2)),
        # Three times the median, and a third of it, at most: its median counts.
        ((2, 2, 6), (2, 2, 2, 2, 2, 2)),
        ((6, 6, 2), (6, 6, 6, 6, 6, 6)),
    ],
)
def test_pulls_that_take_several_times_longer_for_a_while_bring_less_then(
    pulls: tuple[int, ...], took: tuple[int, ...]
) -> None:
    """32 messages a pull; of each 0.25 ms are the wait for 4 queues with 16,000 messages a second."""
    found = throughput(reporting(*(f"10/9/{each}.25/16000" for each in pulls)))
    assert found is not None
    rates = found.rates(START + np.array([-100, 0, 30, 60, 90, 500]) * 1_000_000).queue
    assert np.broadcast_to(32_000 / rates, len(took)).tolist() == pytest.approx(took)


def test_only_reports_of_the_time_count() -> None:
    client = reporting("10/9/1/9", "20/9/1/9", "40/9/1/9")
    found = throughputs({"c1": client}, START + MINUTE, START + 2 * MINUTE)
    assert found["c1"].rates(np.array([START])).listener.tolist() == [50]
    assert throughputs({"c1": client}, START + 3 * MINUTE, START + 4 * MINUTE) == {}
