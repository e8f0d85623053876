"""Rules that several tables share."""

from __future__ import annotations

from collections.abc import Iterable

from expectations.suite import Expectation

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
    """A time of observation."""
    return Expectation("captured_at_is_known", "The time of the snapshot is there.", "captured_at IS NOT NULL")


def one_of(values: Iterable[str]) -> str:
    """SQL list of texts."""
    return "(" + ", ".join(f"'{value}'" for value in values) + ")"


CLUSTER = named("cluster", "The cluster")
GROUP = named("consumer_group", "The consumer group")
TOPIC = named("topic", "The topic")
