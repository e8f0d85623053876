"""Values that change from round to round, and when a source was recorded."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import SECOND, AuditSettings
from tests.conformance.kernel_vs_oracle.choices import Choices
from tests.support.times import START

#: Four rounds a step; a snapshot holds for two, and persistent is what lasts for six: just enough to see who expired.
STEP, CADENCE, MAX_GAP, PERSISTENT_AFTER = 40 * SECOND, 10 * SECOND, 20 * SECOND, 60 * SECOND
#: A window of a verdict has four samples; it spans 30 s if none of them is missing.
VERDICT_WINDOW, VERDICT_SAMPLES = 30 * SECOND, 4
#: Offsets that stand for two rounds while messages come in are those of a group that nobody consumes.
STALLED_AFTER = 20 * SECOND
_SECONDS = {"persistent_after_seconds": 60, "stalled_after_seconds": 20, "verdict_window_seconds": 30}
SETTINGS = AuditSettings(STEP, CADENCE, MAX_GAP, Thresholds(**_SECONDS, verdict_window_readings=VERDICT_SAMPLES))
#: A window begins ten rounds before its step.
FIRST_ROUND = -11

T = TypeVar("T")
#: A value from the first round on, and others, each from a round on.
BacklogCourse = tuple[T, list[tuple[int, T]]]


class Rounds(NamedTuple):
    """When one source was recorded: all rounds but those that it missed, each a little late."""

    last: int
    phase: int
    missed: list[tuple[int, int]]

    def times(self) -> Iterator[tuple[int, int]]:
        """(round, microseconds)."""
        for number in range(FIRST_ROUND, self.last):
            if not any(first <= number < first + count for first, count in self.missed):
                yield number, START + number * CADENCE + self.phase


def course(choices: Choices, steps: int, draw: Callable[[], T], counts: Sequence[int]) -> BacklogCourse[T]:
    """With as many changes as one of the counts says."""
    count = 4 * steps - FIRST_ROUND
    return draw(), choices.many(lambda: (FIRST_ROUND + choices.below(count), draw()), counts)


def last(course: BacklogCourse[T], number: int) -> T:
    """The value of the last change up to that round."""
    value, changes = course
    since = FIRST_ROUND
    for begins, new in changes:
        if since <= begins <= number:
            value, since = new, begins
    return value


def rounds(choices: Choices, steps: int, late: int | None = None) -> Rounds:
    """So many seconds late, or some."""
    late = choices.of((0, 0, 0, 1, 4, 5, 6)) if late is None else late
    beside = choices.of((0, 0, 0, 0, 0, 1, -1))
    count = 4 * steps - FIRST_ROUND
    missed = choices.many(lambda: (FIRST_ROUND + choices.below(count), 1 + choices.below(4)), (0, 0, 0, 1, 1, 2))
    return Rounds(4 * steps + 1, late * SECOND + beside, missed)
