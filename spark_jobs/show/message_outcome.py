"""The outcome of one message in one consumer group: its times by samples of its queue, the facts, and the table that
decides.

Times are microseconds since 1970; None is unknown. A committed offset is the next one to consume.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from spark_jobs.domain.model.causes import DoubleOwnedCause
from spark_jobs.domain.model.statuses import HANDED_OUT, Reason
from spark_jobs.domain.model.window import Time, common, covered
from spark_jobs.domain.rules import messages_skipped, offset_rewound


class CommitSample(NamedTuple):
    """A sample of the group's offsets in the queue."""

    at: int
    consumed_to: int | None
    pulled_to: int | None = None


class EndSample(NamedTuple):
    """A sample of the queue's oldest offset and of the next one to write."""

    at: int
    oldest: int | None
    end: int


class Passage(NamedTuple):
    """The times of a message: each after one sample and by another.

    `passed_by`: the first sample with a committed offset beyond it; `waits_at`: the last one without. `went_near_at`:
    the offset went back, and the message may have been consumed before and after. `deleted_by`: the queue begins beyond
    it, though the group has not passed it; `is_deleted`: so it does when it is passed. `newest`: the last sample of a
    committed offset; `is_first`: the one that passed it is the first. `end_fell`: the queue ended beyond it before, and
    does no more.
    """

    stored_after: int | None = None
    stored_by: int | None = None
    pulled_after: int | None = None
    passed_after: int | None = None
    passed_by: int | None = None
    went_back_at: int | None = None
    passed_again_by: int | None = None
    went_near_at: int | None = None
    deleted_by: int | None = None
    waits_at: int | None = None
    newest: int | None = None
    is_deleted: bool = False
    is_first: bool = False
    end_fell: bool = False


def passage(offset: int, commits: Sequence[CommitSample], ends: Sequence[EndSample]) -> Passage:
    """The times of a message by the samples of its queue, which are in the order of time. If the queue ended before it
    more than once, as a topic that was created again, the last message with this offset counts.
    """
    stored_after = max((each.at for each in ends if each.end <= offset), default=None)
    stored_by = _first(each.at for each in ends if each.end > offset and each.at > (stored_after or 0))
    known = [(each.at, each.consumed_to) for each in commits if each.consumed_to is not None]
    waits_at = max((at for at, consumed_to in known if consumed_to <= offset), default=None)
    since = (place for place, (at, _) in enumerate(known) if at >= (stored_after or 0))
    place = _first(each for each in since if known[each][1] > offset)
    times = Passage(
        *(stored_after, stored_by),
        waits_at=waits_at,
        newest=known[-1][0] if known else None,
        end_fell=stored_by is None and any(each.end > offset for each in ends),
    )
    if place is not None:
        times = _passed(offset, commits, known, place, times)
    until = times.passed_after if times.passed_by else waits_at
    deletions = (
        each.at for each in ends if (each.oldest or 0) > offset and (stored_after or 0) <= each.at <= (until or 0)
    )
    passing = (
        each.oldest > offset for each in ends if each.oldest is not None and each.at >= (times.passed_by or each.at + 1)
    )
    return times._replace(deleted_by=_first(deletions), is_deleted=next(passing, False))


def _passed(
    offset: int, commits: Sequence[CommitSample], known: Sequence[tuple[int, int]], place: int, times: Passage
) -> Passage:
    """The passage of a message that the known sample at the place shows as passed."""
    pulled = _first(each for each, sample in enumerate(commits) if (sample.pulled_to or 0) > offset)
    back = _first(each for each in range(place, len(known)) if known[each][1] <= offset)
    again = _first(each for each in range(back or len(known), len(known)) if known[each][1] > offset)
    may_begin = (
        at for each, (at, _) in enumerate(known) if at > (times.stored_after or 0) and _begins(offset, known, each)
    )
    return times._replace(
        pulled_after=commits[pulled - 1].at if pulled else None,
        passed_after=known[place - 1][0] if place and known[place - 1][1] <= offset else None,
        passed_by=known[place][0],
        went_back_at=known[back][0] if back else None,
        passed_again_by=known[again][0] if again else None,
        went_near_at=_first(may_begin),
        is_first=not place and commits[0].at < known[0][0],
    )


def _begins(offset: int, known: Sequence[tuple[int, int]], place: int) -> bool:
    """Return whether the offset went back at the sample, to before the message or less beyond it than is consumed until
    the next one.
    """
    before, (_, here), (_, after) = known[max(place - 1, 0)][1], known[place], known[min(place + 1, len(known) - 1)]
    return here < before and here - max(after - here, 0) <= offset


def _first(values: Iterable[int]) -> int | None:
    return next(iter(values), None)


class MessageOutcome(StrEnum):
    """The outcome of a message. CONSUMED: its listener returned, or it went to the retry topic."""

    CONSUMED = "CONSUMED"
    CONSUMED_TWICE = "CONSUMED_TWICE"
    MAYBE_CONSUMED_TWICE = "MAYBE_CONSUMED_TWICE"
    SKIPPED = "SKIPPED"
    LOST = "LOST"
    WAITING = "WAITING"
    NOT_STORED = "NOT_STORED"
    UNKNOWN = "UNKNOWN"


class OwnerSpan(NamedTuple):
    """A time in which the audit says who owns the queue, as the brokers of one membership view list the members; not
    `is_agreed`: others list different ones.
    """

    start: int
    end: int
    owner_ids: tuple[str, ...]
    double_owned_cause: str | None = None
    is_agreed: bool = True


#: Each owner consumes every message.
_EACH_FOR_ITSELF = {
    *(DoubleOwnedCause.DUPLICATE_CLIENT_ID, DoubleOwnedCause.MIXED_STRATEGIES),
    *(DoubleOwnedCause.MIXED_CLIENTS, DoubleOwnedCause.CONFIG_OVERLAP),
}


@dataclass(frozen=True)
class MessageFacts:
    """The times of the message, and what the audit published of the group in that time.

    `reasons`: of intervals whose owners are not known; `is_filtered`: the group subscribes to some of the messages;
    `skipped`, `rewound`: causes of the findings that cover its passing and its going back. `cadence`, `max_gap`,
    `convergence`: those of the audit. `kept_since`: older snapshots were deleted.
    """

    times: Passage
    owners: Sequence[OwnerSpan] = ()
    reasons: frozenset[str] = frozenset()
    is_filtered: bool = False
    skipped: str | None = None
    rewound: str | None = None
    cadence: int = 0
    max_gap: int = 0
    convergence: int = 0
    kept_since: int | None = None

    @cached_property
    def holding_time(self) -> Time:
        """From when on a member may have had it until it was passed, with as long as a rebalance takes around it."""
        times = self.times
        start = max(times.stored_after or 0, times.pulled_after or 0) or times.passed_after or 0
        return start - self.convergence, (times.passed_by or start) + self.cadence

    @cached_property
    def has_two_owners(self) -> bool:
        """Return whether several connections owned the queue, each for itself, all the time of the passing."""
        passing = (self.times.passed_after or 0, self.times.passed_by or 0)
        return self._covers(passing, (each for each in self.owners if each.double_owned_cause in _EACH_FOR_ITSELF))

    @cached_property
    def has_one_owner(self) -> bool:
        """Return whether one connection owned the queue all the time in which a member may have had the message."""
        spans = [each for each in self.owners if common(self.holding_time, each[:2])]
        is_one = [*map(len, {each.owner_ids for each in spans})] == [1] and all(each.is_agreed for each in spans)
        return is_one and self._covers(self.holding_time, spans)

    @staticmethod
    def _covers(time: Time, spans: Iterable[OwnerSpan]) -> bool:
        return covered(part for each in spans if (part := common(time, each[:2]))) == time[1] - time[0]


#: Of offsets that went back: those that running consumers follow. Others they overwrite with their own.
_FOLLOWED = {
    *(offset_rewound.RESET, offset_rewound.TO_MINIMUM),
    *(offset_rewound.OFFSETS_LOST, offset_rewound.BEYOND_END),
}
_NOT_BY_MEMBERS = {*HANDED_OUT, Reason.CONSUMED_THROUGH_PROXY}
_O = MessageOutcome
#: The first line that applies is the outcome, with its reason; in its sentence a name in braces is a time.
OUTCOMES: Sequence[tuple[MessageOutcome, str, Callable[[MessageFacts], object], str]] = (
    (_O.UNKNOWN, "END_FELL", lambda f: f.times.end_fell,
     "The queue ended beyond it before, and does no more: the broker lost its last messages, or the topic was created "
     "again."),
    (_O.NOT_STORED, "BEYOND_THE_END", lambda f: f.times.stored_after and not f.times.stored_by,
     "The queue ended before it at {stored_after}, the last sample."),
    (_O.UNKNOWN, "BROADCASTING", lambda f: Reason.BROADCASTING in f.reasons,
     "Each member of a broadcasting group has its own offset, which no broker knows."),
    (_O.UNKNOWN, "HANDED_OUT", lambda f: f.reasons & _NOT_BY_MEMBERS,
     "Brokers or proxies hand out the messages (POP, gRPC): an offset beyond it shows that it was handed out, not that "
     "it was consumed."),
    (_O.UNKNOWN, "SNAPSHOTS_DELETED", lambda f: f.kept_since and not (f.times.stored_after or f.times.passed_after),
     "Snapshots before {kept_since} were deleted by retention; results are kept."),
    (_O.UNKNOWN, "NO_SAMPLES", lambda f: not f.times.newest or f.times.newest < (f.times.stored_after or 0),
     "No sample since it was stored shows a committed offset."),
    (_O.LOST, "JUMPED_TO_OLDEST", lambda f: f.skipped == messages_skipped.LOST and f.times.is_deleted,
     "The broker deleted it, and by {passed_by} the offset jumped to the oldest message (MESSAGES_SKIPPED)."),
    (_O.UNKNOWN, "SKIPPED_OR_CONSUMED", lambda f: f.skipped == messages_skipped.SKIPPED_OR_CONSUMED,
     "The offset jumped over it by {passed_by}: it was skipped, or consumed very fast (MESSAGES_SKIPPED)."),
    (_O.SKIPPED, "JUMPED_OVER", lambda f: f.skipped not in (None, messages_skipped.LOST),
     "The offset jumped over it by {passed_by}, and no consumption explains that (MESSAGES_SKIPPED)."),
    (_O.LOST, "DELETED", lambda f: f.times.deleted_by,
     "The queue began beyond it by {deleted_by}, when the offset was not beyond it."),
    (_O.WAITING, "NOT_PASSED", lambda f: not f.times.passed_by,
     "The committed offset was not beyond it at {newest}, the last sample."),
    (_O.UNKNOWN, "FIRST_COMMIT", lambda f: f.times.is_first,
     "The first committed offset, of {passed_by}, is beyond it: the group consumed it, or began after it."),
    (_O.UNKNOWN, "PASSED_BEFORE", lambda f: not f.times.passed_after,
     "The committed offset was beyond it at {passed_by} already, the first sample."),
    (_O.UNKNOWN, "FILTERED", lambda f: f.is_filtered,
     "The group subscribes to some of the messages, by tags or SQL: this may be another one."),
    (_O.UNKNOWN, "GAP", lambda f: (f.times.passed_by or 0) - (f.times.passed_after or 0) > f.max_gap,
     "It was passed between {passed_after} and {passed_by}, without a sample in between."),
    (_O.WAITING, "WENT_BACK", lambda f: f.times.went_back_at and not f.times.passed_again_by,
     "It was passed by {passed_by}, and the offset went back by {went_back_at}: it waits again."),
    (_O.CONSUMED_TWICE, "WENT_BACK", lambda f: f.times.went_back_at and f.rewound in _FOLLOWED,
     "It was passed by {passed_by}, the offset went back by {went_back_at} (OFFSET_REWOUND), and it was passed again "
     "by {passed_again_by}."),
    (_O.CONSUMED_TWICE, "TWO_OWNERS", lambda f: f.has_two_owners,
     "It was passed between {passed_after} and {passed_by}, while several connections owned the queue, and each "
     "consumes every message."),
    (_O.MAYBE_CONSUMED_TWICE, "WENT_BACK", lambda f: f.times.went_near_at,
     "It was passed by {passed_by}, and later the offset went back: consumers may have begun before it, or kept their "
     "own offset."),
    (_O.MAYBE_CONSUMED_TWICE, "OWNER_CHANGED", lambda f: not f.has_one_owner,
     "It was passed between {passed_after} and {passed_by}. Another member may have had it before: the owner changed, "
     "or is not known."),
    (_O.CONSUMED, "PASSED", lambda _: True,
     "It was passed between {passed_after} and {passed_by}, with one owner all the time."),
)  # fmt: skip
#: The sentence of each outcome and reason.
SENTENCES: Mapping[tuple[str, str], str] = {(outcome, reason): says for outcome, reason, _, says in OUTCOMES}


def outcome_of(facts: MessageFacts) -> tuple[MessageOutcome, str]:
    """The outcome and reason of the first line of the table that applies."""
    return next((outcome, reason) for outcome, reason, applies, _ in OUTCOMES if applies(facts))
