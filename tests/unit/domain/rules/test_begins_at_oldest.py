"""New groups, and whether they begin with a topic's history."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.history import Connection, Membership
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.rules.begins_at_oldest import RULE
from tests.support.builders import audited_step, span, with_samples
from tests.support.samples import offsets, oldest
from tests.support.times import micros

QUEUES = [("b", 0)]
#: Second, end offset, and the group's offset: never committed, then 1,000 messages in 20 s, from the oldest one on.
NEW = {-60: (50_000, None), 20: (50_100, 40_500), 40: (50_120, 41_500), 3580: (54_000, 53_990)}
#: The oldest offset.
OLDEST = {-60: 40_000, 10: 40_000}


def step_of(
    read: Mapping[int, tuple[int, int | None]] = NEW,
    minimum: Mapping[int, int] = OLDEST,
    where: str | None = None,
    listed_from: int = 0,
) -> AuditedStep:
    rows: dict[float, list[tuple[int | None, ...] | None]] = {
        at: [(end, 0, 0, 0) if to is None else (end, to, to, 1)] for at, (end, to) in read.items()
    }
    topics = {"t": oldest(QUEUES, {at: [(offset, 60_000)] for at, offset in minimum.items()})}
    listed = Membership((Connection("c1"),), frozenset({"t"}), frozenset(), "CLUSTERING", consume_from_where=where)
    memberships = {"b": [Span(micros(listed_from), micros(3600), micros(3600), listed)]}
    return replace(with_samples(audited_step(), {"t": offsets(QUEUES, rows)}, topics), memberships=memberships)


def found_in(step: AuditedStep) -> list[RuleHit]:
    return list(RULE.hits(step))


def test_a_group_that_never_committed_begins_with_the_history_of_its_topic() -> None:
    """9,600 messages wait at 20 s; at 3,580 s no more than it consumes in a minute."""
    (hit,) = found_in(step_of())
    assert (span(hit), hit.cause, hit.severity) == ("20-3580", "FIRST_COMMIT", "INFO")
    assert hit.measures == {"history": 9600, "left": 10}
    assert hit.hint == "9,600 messages waited when it began. It had caught up at 2026-03-01T10:59:40Z."


@pytest.mark.parametrize(
    ("last", "text"),
    [
        # 10,100 become 6,000 in 3,599 s: these take 5,266 s more.
        ((50_100, 44_100), "6,000 are left; at this pace it has caught up at 2026-03-01T12:27:46Z."),
        ((60_000, 44_100), "15,900 are left, and it does not catch up at this pace."),
    ],
)
def test_until_when_at_this_pace(last: tuple[int, int], text: str) -> None:
    read = {-60: (50_100, None), 0: (50_100, 40_000), 20: (50_100, 40_020), 3599: last}
    (hit,) = found_in(step_of(read, {-60: 40_000}))
    assert hit.end == micros(3600)
    assert hit.hint == f"10,100 messages waited when it began. {text}"


def test_a_group_that_is_to_begin_at_the_end_is_warned_about() -> None:
    (hit,) = found_in(step_of(where="CONSUME_FROM_LAST_OFFSET"))
    assert (hit.cause, hit.severity) == ("NOT_AT_THE_END", "WARN")
    (hit,) = found_in(step_of(where="CONSUME_FROM_FIRST_OFFSET"))
    assert (hit.cause, hit.severity) == ("FIRST_COMMIT", "INFO")


@pytest.mark.parametrize(
    ("read", "minimum", "is_new"),
    [
        # The group is not recorded before, its topic is; neither is.
        ({at: row for at, row in NEW.items() if at > 0}, OLDEST, True),
        ({at: row for at, row in NEW.items() if at > 0}, {10: 40_000}, False),
        # An old group that catches up.
        ({**NEW, -60: (50_000, 40_000)}, OLDEST, False),
        # It consumes 1,000 in 20 s, so 3,000 in a minute; it begins 3,000 above the oldest message, or 3,001.
        (NEW, {-60: 37_500}, True),
        (NEW, {-60: 37_499}, False),
        # The oldest message is not known.
        (NEW, {100: 40_000}, False),
        # It begins at the end.
        ({**NEW, 20: (50_100, 50_000), 40: (50_120, 50_110)}, OLDEST, False),
        # A young topic: half of what waits, or more, came since.
        ({**NEW, -60: (45_299, None)}, OLDEST, False),
        ({**NEW, -60: (45_301, None)}, OLDEST, True),
    ],
)
def test_which_groups_are_new_and_begin_with_a_history(
    read: Mapping[int, tuple[int, int | None]], minimum: Mapping[int, int], is_new: bool
) -> None:
    assert bool(found_in(step_of(read, minimum))) is is_new


#: The recording begins with the step, and the group 300 s later.
LATER = {at + 300: row for at, row in NEW.items() if 0 < at < 3000}
SINCE_ITS_START = {10: 40_000, 290: 40_000}


@pytest.mark.parametrize(
    ("read", "listed_from", "is_new"),
    [
        (LATER, 310, True),
        # Nothing is committed at first.
        ({10: (50_050, None), **LATER}, 10, True),
        # It consumed before its offsets were recorded.
        (LATER, 10, False),
        # Its offsets are recorded as long as the topic.
        ({at - 300: row for at, row in LATER.items()}, 10, False),
    ],
)
def test_the_recording_may_begin_with_the_step(
    read: Mapping[int, tuple[int, int | None]], listed_from: int, is_new: bool
) -> None:
    assert bool(found_in(step_of(read, SINCE_ITS_START, listed_from=listed_from))) is is_new
