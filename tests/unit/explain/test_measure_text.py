"""Measures as sentences."""

import pytest

from spark_jobs.show.text.phrases import measures_text


@pytest.mark.parametrize(
    ("measures", "sentence"),
    [
        ({"max_over_mean": 2.9216, "mean": 2369.58, "produced_max": 6923.0},
         "6,923 messages came to the queue with most, 2.92 times the mean, 2,370 messages to a queue on average."),
        ({"age_ms": 191_075.0, "lag_first": 1.0, "lag_last": 381.0},
         "1 message waited at first, 381 messages at last, the oldest had waited 3 min 11 s."),
        ({"more_members": 2.0, "utilization": 1.567, "with_more_members": 0.783, "with_twice_the_threads": None},
         "The busiest member uses 157 % of what it can consume, with twice the threads unknown, "
         "78 % with more members, 2 more members would leave it a queue less."),
        ({"busy_threads": 1.0, "consume_rt_ms": 400.147, "consume_threads": 1.0, "pull_rt_ms": 2.5},
         "1 thread busy, of 1 consume thread, the listener takes 400 ms a message, a pull takes 2.5 ms."),
        ({"oldest_message_seconds": 90.0, "reserved_seconds": 172_800.0},
         "The oldest message had waited 1 min 30 s, the broker keeps messages for 2 d 00 h."),
        ({"all_of_one_broker": 1.0}, "All of these queues, and no others, are of one broker."),
        ({"new_measure": 100.0}, "New measure 100."),
    ],
)  # fmt: skip
def test_a_measure_has_its_unit(measures: dict[str, float | None], sentence: str) -> None:
    assert measures_text(measures.items()) == sentence
