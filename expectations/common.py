"""Rules that several tables share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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
        "The snapshot was taken in the run's steps or their look-back.",
        "captured_at IS NOT NULL AND captured_at >= read_start AND captured_at < read_end",
    )


@dataclass(frozen=True)
class Elements:
    """What is true of every element of an array: SQL of one, `it`; and `at_once` of all of them, `{array}`, true only
    if it is true of each, without a lambda over them.
    """

    holds: str
    at_once: str

    def __and__(self, other: Elements) -> Elements:
        return Elements(f"{self.holds} AND {other.holds}", f"{self.at_once} AND {other.at_once}")


def each(name: str, says: str, array: str, elements: Elements) -> Expectation:
    """A rule of the elements of an array."""
    return Expectation(name, says, elements.holds, each=array, at_once=elements.at_once.format(array=array))


def filled(*fields: str) -> str:
    """SQL: an element has these fields."""
    return f"(it IS NULL OR ({' AND '.join(f'it.{field} IS NOT NULL' for field in fields)}))"


def named_each(field: str) -> Elements:
    """An element has a name in this field."""
    names = f"{{array}}.{field}"
    # A text is not longer than all of them together. Where a null is among them, and no '', `array_contains` is null,
    # not false.
    together = f"octet_length(array_join({names}, '')) <= {_LONGEST_NAME}"
    short = f"({together} OR forall({names}, name -> length(name) <= {_LONGEST_NAME}))"
    return Elements(
        f"{filled(field)} AND length(it.{field}) BETWEEN 1 AND {_LONGEST_NAME}",
        f"NOT array_contains({names}, '') AND {short}",
    )


def within(field: str, highest: int) -> Elements:
    """An element has a number from 0 to `highest` in this field."""
    return Elements(
        f"{filled(field)} AND it.{field} BETWEEN 0 AND {highest}",
        f"NOT array_contains({{array}}.{field}, -1) AND {_all_between((field,), highest).at_once}",
    )


def numbered_queue() -> Elements:
    """An element has a queue's broker and number."""
    return named_each("broker_name") & within("queue_id", 65535)


def numbers_possible(*fields: str) -> Elements:
    """An element's offsets or rates, where they are known, are 0 to 10^15: sums of them do not overflow."""
    return _all_between(fields, _MOST_MESSAGES)


def times_possible(*fields: str) -> Elements:
    """An element's times in milliseconds, where they are known, are of the years 1970 to 9999; 0 is never."""
    return _all_between(fields, _LAST_MS)


def _all_between(fields: Iterable[str], highest: int) -> Elements:
    def between(lowest_is: str, highest_is: str) -> str:
        return f"coalesce({lowest_is} >= 0 AND {highest_is} <= {highest}L, true)"

    names = [f"{{array}}.{field}" for field in fields]
    return Elements(
        " AND ".join(f"coalesce(it.{field} BETWEEN 0 AND {highest}L, true)" for field in fields),
        " AND ".join(between(f"array_min({name})", f"array_max({name})") for name in names),
    )


def no_queue_twice(array: str) -> str:
    """SQL: no (broker, number) is twice in an array. It suffices that all numbers, or all hashes, differ; only where
    two hashes are equal the queues are compared, which is slow.
    """
    hashes = f"transform({array}, it -> xxhash64(it.broker_name, it.queue_id))"
    queues = f"arrays_zip({array}.broker_name, {array}.queue_id)"
    return " OR ".join(f"size(array_distinct({of})) = size({array})" for of in (f"{array}.queue_id", hashes, queues))


def one_of(values: Iterable[str]) -> str:
    """SQL list of texts."""
    return "(" + ", ".join(f"'{value}'" for value in values) + ")"


CLUSTER = named("cluster", "The cluster")
GROUP = named("consumer_group", "The consumer group")
TOPIC = named("topic", "The topic")
