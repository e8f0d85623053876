"""Rules that several tables share."""

from collections.abc import Callable, Iterable

from expectations.rows import Rows, Values, all_of
from expectations.suite import Expectation
from spark_jobs.domain.model.message_queue import LONGEST_NAME

#: A million messages a second for 30 years; and the sum of thousands of queues is still a bigint.
_MOST_MESSAGES = 10**15
#: The year 9999, in milliseconds.
_LAST_MS = 253_402_300_799_999
NAME = f"a name of 1 to {LONGEST_NAME} characters"

Holds = Callable[[Rows], Values]


def named(column: str, what: str) -> Expectation:
    """A name that is there, not empty, and not longer than RocketMQ allows."""
    return Expectation(f"{column}_is_a_name", f"{what} is {NAME}.", has_names(column))


def has_names(*columns: str) -> Holds:
    """There is a name of a possible length in each of these columns."""
    return lambda rows: all_of(rows[name].length().between(1, LONGEST_NAME).or_else(False) for name in columns)


def present(array: str, *, of_samples: bool = False) -> Expectation:
    """An array without null elements."""
    name, says = f"{array}_have_no_null", f"No element of {array} is null."
    return Expectation(name, says, lambda rows: rows.none_null(array), of_samples=of_samples)


def there(column: str, says: str) -> Expectation:
    """A column that is not null."""
    return Expectation(f"{column}_are_there", says, lambda rows: rows[column].is_known())


def captured() -> Expectation:
    """A time of observation, of the time that the run reads."""

    def holds(rows: Rows) -> Values:
        at, run = rows["captured_at"], rows.settings
        return ((at >= run.read_start) & (at < run.read_end)).or_else(False)

    return Expectation(
        "captured_at_is_of_the_run",
        "The snapshot was taken in the run's steps or their look-back.",
        holds,
        of_samples=True,
    )


def each(name: str, says: str, array: str, holds: Holds, *, of_samples: bool = False) -> Expectation:
    """A rule of the elements of an array; a null element is the business of `present` alone."""
    return Expectation(name, says, lambda rows: rows.every(array, holds), of_samples=of_samples)


def has_numbers(highest: int, *columns: str) -> Holds:
    """There is a number from 0 to `highest` in each of these columns."""
    return lambda rows: all_of(rows[name].between(0, highest).or_else(False) for name in columns)


def has_queue(rows: Rows) -> Values:
    """There is a queue's broker and number."""
    return has_names("broker_name")(rows) & has_numbers(65535, "queue_id")(rows)


def numbers_possible(*columns: str) -> Holds:
    """Offsets or rates, where they are known, are 0 to 10^15: sums of them do not overflow."""
    return lambda rows: all_of(rows[name].between(0, _MOST_MESSAGES).or_else(True) for name in columns)


def times_possible(*columns: str) -> Holds:
    """Times in milliseconds, where they are known, are of the years 1970 to 9999; 0 is never."""
    return lambda rows: all_of(rows[name].between(0, _LAST_MS).or_else(True) for name in columns)


def once_each(array: str, *fields: str) -> Holds:
    """No two elements of an array have the same values in these fields."""
    return lambda rows: rows.distinct(array, *fields) == rows[array].size()


def known_value(column: str, values: Iterable[str]) -> Holds:
    """The column, where it is known, has one of these values."""
    possible = [*values]
    return lambda rows: rows[column].is_in(possible)


CLUSTER = named("cluster", "The cluster")
GROUP = named("consumer_group", "The consumer group")
TOPIC = named("topic", "The topic")
SUBSCRIBED_TOPICS = each(
    "subscribed_topics_are_names",
    "Every subscription names its topic, in 1 to 255 characters.",
    "subscriptions",
    has_names("topic"),
)
