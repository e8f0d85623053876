"""Rules that several tables share."""

from __future__ import annotations

from collections.abc import Iterable

from expectations.suite import Expectation

#: A million messages a second for 30 years; and the sum of thousands of queues is still a bigint.
_MOST_MESSAGES = 10**15
#: The year 9999, in milliseconds.
_LAST_MS = 253_402_300_799_999
#: RocketMQ refuses longer names of topics and groups (`Validators`, `TopicValidator`).
_LONGEST_NAME = 255


def named(column: str, what: str) -> Expectation:
    """A name that is there, not empty, and not longer than RocketMQ allows."""
    return Expectation(
        f"{column}_is_a_name",
        f"{what} is a name of 1 to {_LONGEST_NAME} characters.",
        f"{column} IS NOT NULL AND length({column}) BETWEEN 1 AND {_LONGEST_NAME}",
    )


def present(array: str) -> Expectation:
    """An array that is there, without null elements."""
    return Expectation(f"{array}_have_no_null", f"No element of {array} is null.", "it IS NOT NULL", each=array)


def captured() -> Expectation:
    """A time of observation, of the time that the run reads."""
    return Expectation(
        "captured_at_is_of_the_run",
        "The snapshot is of the run's steps or their look-back.",
        "captured_at IS NOT NULL AND captured_at >= read_start AND captured_at < read_end",
    )


def filled(*fields: str) -> str:
    """SQL: an element has these fields."""
    return f"(it IS NULL OR ({' AND '.join(f'it.{field} IS NOT NULL' for field in fields)}))"


def named_each(field: str) -> str:
    """SQL: an element has a name in this field."""
    return f"{filled(field)} AND length(it.{field}) BETWEEN 1 AND {_LONGEST_NAME}"


def numbered_queue() -> str:
    """SQL: an element has a queue's broker and number."""
    return f"{named_each('broker_name')} AND {filled('queue_id')} AND it.queue_id BETWEEN 0 AND 65535"


def numbers_possible(*fields: str) -> str:
    """SQL: an element's offsets or rates, where they are known, are 0 to 10^15: sums of them do not overflow."""
    return _all_between(fields, _MOST_MESSAGES)


def times_possible(*fields: str) -> str:
    """SQL: an element's times in milliseconds, where they are known, are of the years 1970 to 9999; 0 is never."""
    return _all_between(fields, _LAST_MS)


def _all_between(fields: Iterable[str], highest: int) -> str:
    return " AND ".join(f"coalesce(it.{field} BETWEEN 0 AND {highest}L, true)" for field in fields)


def no_queue_twice(array: str) -> str:
    """SQL: no (broker, number) is twice in an array. Different hashes suffice; only where two are equal the queues
    are compared, which is slow.
    """
    hashes = f"transform({array}, it -> xxhash64(it.broker_name, it.queue_id))"
    queues = f"arrays_zip({array}.broker_name, {array}.queue_id)"
    return f"size(array_distinct({hashes})) = size({array}) OR size(array_distinct({queues})) = size({array})"


def one_of(values: Iterable[str]) -> str:
    """SQL list of texts."""
    return "(" + ", ".join(f"'{value}'" for value in values) + ")"


CLUSTER = named("cluster", "The cluster")
GROUP = named("consumer_group", "The consumer group")
TOPIC = named("topic", "The topic")
