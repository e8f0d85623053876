"""Every line of the table of outcomes, from samples of a queue, by the message with the offset 50."""

from collections.abc import Sequence
from typing import Any

import pytest

from spark_jobs.domain.model.causes import DoubleOwnedCause
from spark_jobs.show.message_outcome import (
    OUTCOMES,
    CommitSample,
    EndSample,
    MessageFacts,
    OwnerSpan,
    Passage,
    outcome_of,
    passage,
)
from tests.support.tables import cells, described

_OFFSET = 50
#: Samples at second 100, 110, …: stored between 100 and 110, passed between 110 and 120.
_COMMITS, _ENDS = "100:40 110:45 120:60 130:70", "100:45 110:55 120:65 130:70"
#: What holds unless a case says otherwise.
_USUAL: dict[str, Any] = {
    "owners": [OwnerSpan(1, 1000, ("c1",))],
    "cadence": 10,
    "max_gap": 30,
    "convergence": 20,
}


def _commits(text: str) -> list[CommitSample]:
    """Of `second:consumed:pulled`; `-`: unknown."""
    samples = (word.split(":") for word in text.split())
    return [CommitSample(int(at), *(None if each == "-" else int(each) for each in of)) for at, *of in samples]


def _ends(text: str) -> list[EndSample]:
    """Of `second:end:oldest`."""
    samples = ([*map(int, word.split(":"))] for word in text.split())
    return [EndSample(at, oldest[0] if oldest else None, end) for at, end, *oldest in samples]


def _facts(commits: str = _COMMITS, ends: str = _ENDS, **published: Any) -> MessageFacts:
    times = passage(_OFFSET, _commits(commits or _COMMITS), _ends(ends or _ENDS))
    return MessageFacts(times, **{**_USUAL, **published})


#: what must hold | committed offsets | ends of the queue | outcome | reason; nothing: as above.
_BY_SAMPLES = """
    passed, with one owner                       | | | CONSUMED | PASSED
    passed at the end of the samples             | 100:40 110:45 120:51 | | CONSUMED | PASSED
    stored before the first sample               | | 100:55 110:65 | CONSUMED | PASSED
    deleted after it was passed                  | | 100:45:1 110:55:1 130:70:60 | CONSUMED | PASSED
    the end of the queue is not in the samples   | | 90:1 | NOT_STORED | BEYOND_THE_END
    an offset that comes in the same round       | 99:40 109:51 | 100:50 110:55 | CONSUMED | PASSED
    the next message to be stored                | | 100:45 130:50 | NOT_STORED | BEYOND_THE_END
    the queue lost its end                       | | 100:55 110:45 | UNKNOWN | END_FELL
    made again: the second one counts            | 100:60 110:5 120:5 130:60 | 100:70 110:40 120:60 | CONSUMED | PASSED
    made again, the old offset is still there    | 110:60 120:5 130:60 | 100:70 110:40 120:60 | UNKNOWN | PASSED_BEFORE
    no committed offset                          | 100:- 110:- | | UNKNOWN | NO_SAMPLES
    no sample of the group since it was stored   | 80:40 90:45 | | UNKNOWN | NO_SAMPLES
    the offset is not beyond it                  | 100:40 110:45 120:50 | | WAITING | NOT_PASSED
    deleted before it was passed                 | 100:40 110:45 120:60 | 90:45:1 105:55:51 | LOST | DELETED
    deleted, and never passed                    | 100:40 110:45 120:45 | 90:45:1 105:55:51 | LOST | DELETED
    the oldest is the message itself             | 100:40 110:45 120:45 | 90:45:1 105:55:50 | WAITING | NOT_PASSED
    deleted and passed between the same samples  | 100:40 110:45 120:60 | 90:45:1 115:55:51 | CONSUMED | PASSED
    the first commit is beyond it                | 100:- 110:- 120:60 | | UNKNOWN | FIRST_COMMIT
    passed before the samples begin              | 100:60 110:65 | 100:70 110:75 | UNKNOWN | PASSED_BEFORE
    passed before it was stored                  | 100:90 110:90 120:90 | | UNKNOWN | PASSED_BEFORE
    no sample for longer than one holds          | 100:40 110:45 141:60 | | UNKNOWN | GAP
    no sample for as long as one holds           | 100:40 110:45 140:60 | | CONSUMED | PASSED
    the offset went back and stays               | 100:40 110:45 120:60 130:45 | | WAITING | WENT_BACK
    the offset went back, no finding        | 110:45 120:60 130:45 140:60 | | MAYBE_CONSUMED_TWICE | WENT_BACK
    the offset went back to near it              | 110:45 120:90 130:55 140:60 | | MAYBE_CONSUMED_TWICE | WENT_BACK
    the offset went back to far behind it        | 110:45 120:90 130:56 140:61 | | CONSUMED | PASSED
    the offset went back before it was passed | 100:44 110:40 120:60 | 90:45 105:55 | MAYBE_CONSUMED_TWICE | WENT_BACK
    the offset went back before it was stored    | 80:44 90:40 100:45 120:60 | 100:45 105:55 | CONSUMED | PASSED
"""


@pytest.mark.parametrize(("commits", "ends", "outcome", "reason"), described(_BY_SAMPLES))
def test_the_outcome_by_samples(commits: str, ends: str, outcome: str, reason: str) -> None:
    assert outcome_of(_facts(commits, ends)) == (outcome, reason)


def _owner(start: int, end: int, *owner_ids: str, cause: str | None = None) -> OwnerSpan:
    return OwnerSpan(start, end, owner_ids, cause)


_BACK = "110:45 120:60 130:45 140:60"
_DUPLICATE = DoubleOwnedCause.DUPLICATE_CLIENT_ID
_PUBLISHED: Sequence[tuple[str, dict[str, Any], str, str]] = [
    ("each member has its own offset", {"reasons": {"BROADCASTING"}}, "UNKNOWN", "BROADCASTING"),
    ("not even then it is stored", {"reasons": {"BROADCASTING"}, "ends": "100:45"}, "NOT_STORED", "BEYOND_THE_END"),
    ("POP", {"reasons": {"POP_ALL_QUEUES"}}, "UNKNOWN", "HANDED_OUT"),
    ("gRPC", {"reasons": {"CONSUMED_THROUGH_PROXY"}}, "UNKNOWN", "HANDED_OUT"),
    (
        "owners of a known kind",
        {"reasons": {"ASSIGNED_BY_HAND"}, "owners": []},
        "MAYBE_CONSUMED_TWICE",
        "OWNER_CHANGED",
    ),
    (
        "older snapshots are gone",
        {"kept_since": 99, "commits": "100:60 110:65", "ends": "100:70"},
        "UNKNOWN",
        "SNAPSHOTS_DELETED",
    ),
    ("older snapshots are gone, newer show it", {"kept_since": 99}, "CONSUMED", "PASSED"),
    ("a jump to the oldest", {"skipped": "LOST", "ends": "100:45:1 120:65:51"}, "LOST", "JUMPED_TO_OLDEST"),
    ("a jump to the message itself", {"skipped": "LOST", "ends": "100:45:1 120:65:50"}, "CONSUMED", "PASSED"),
    ("a jump, and no oldest is known", {"skipped": "LOST"}, "CONSUMED", "PASSED"),
    ("a jump that is not explained", {"skipped": "SKIPPED_OR_CONSUMED"}, "UNKNOWN", "SKIPPED_OR_CONSUMED"),
    ("a reset", {"skipped": "RESET_FORWARD"}, "SKIPPED", "JUMPED_OVER"),
    ("begun at the end", {"skipped": "BEGAN_AT_END", "commits": "100:- 120:60"}, "SKIPPED", "JUMPED_OVER"),
    ("tags", {"is_filtered": True}, "UNKNOWN", "FILTERED"),
    ("a reset back", {"commits": _BACK, "rewound": "RESET"}, "CONSUMED_TWICE", "WENT_BACK"),
    ("an old owner's commit", {"commits": _BACK, "rewound": "HAND_OVER"}, "MAYBE_CONSUMED_TWICE", "WENT_BACK"),
    ("one id", {"owners": [_owner(110, 120, "c1", "c1", cause=_DUPLICATE)]}, "CONSUMED_TWICE", "TWO_OWNERS"),
    (
        "one id, not all the time",
        {"owners": [_owner(1, 119, "c1", "c1", cause=_DUPLICATE), _owner(119, 200, "c1")]},
        "MAYBE_CONSUMED_TWICE",
        "OWNER_CHANGED",
    ),
    (
        "two owners by an old route",
        {"owners": [_owner(1, 200, "c1", "c2", cause="ROUTE_OUTDATED")]},
        "MAYBE_CONSUMED_TWICE",
        "OWNER_CHANGED",
    ),
    (
        "an owner that left when it was stored",
        {"owners": [_owner(1, 81, "c1"), _owner(81, 200, "c2")]},
        "MAYBE_CONSUMED_TWICE",
        "OWNER_CHANGED",
    ),
    ("an owner that left before", {"owners": [_owner(1, 80, "c1"), _owner(80, 200, "c2")]}, "CONSUMED", "PASSED"),
    (
        "an owner that was seen after it was passed",
        {"owners": [_owner(1, 129, "c1"), _owner(129, 200, "c2")]},
        "MAYBE_CONSUMED_TWICE",
        "OWNER_CHANGED",
    ),
    ("an owner that came later", {"owners": [_owner(1, 130, "c1"), _owner(130, 200, "c2")]}, "CONSUMED", "PASSED"),
    (
        "an owner that left before it was pulled",
        {"commits": "100:40:50 110:45:51 120:60:60", "ends": "50:45 60:55", "owners": [_owner(80, 200, "c2")]},
        "CONSUMED",
        "PASSED",
    ),
    (
        "brokers that list different members",
        {"owners": [_owner(1, 200, "c1"), _owner(1, 200, "c2")]},
        "MAYBE_CONSUMED_TWICE",
        "OWNER_CHANGED",
    ),
    (
        "a time without the queue",
        {"owners": [_owner(1, 112, "c1"), _owner(118, 200, "c1")]},
        "MAYBE_CONSUMED_TWICE",
        "OWNER_CHANGED",
    ),
    ("no owner", {"owners": [_owner(1, 200)]}, "MAYBE_CONSUMED_TWICE", "OWNER_CHANGED"),
    (
        "brokers list different members",
        {"owners": [_owner(1, 200, "c1")._replace(is_agreed=False)]},
        "MAYBE_CONSUMED_TWICE",
        "OWNER_CHANGED",
    ),
]


@pytest.mark.parametrize(
    ("published", "outcome", "reason"), [pytest.param(*others, id=what) for what, *others in _PUBLISHED]
)
def test_the_outcome_by_what_is_published(published: dict[str, Any], outcome: str, reason: str) -> None:
    if "reasons" in published:
        published = {**published, "reasons": frozenset(published["reasons"])}
    assert outcome_of(_facts(**published)) == (outcome, reason)


def test_every_line_is_reached() -> None:
    reached = {(outcome, reason) for _, _, _, outcome, reason in cells(_BY_SAMPLES)}
    reached |= {(outcome, reason) for _, _, outcome, reason in _PUBLISHED}
    assert {(outcome, reason) for outcome, reason, *_ in OUTCOMES} == reached


def test_the_times_of_a_message() -> None:
    commits = _commits("100:40:45 110:45:60 120:60:70 130:45:70 140:55:70")
    assert passage(_OFFSET, commits, _ends(_ENDS)) == Passage(
        *(100, 110),
        pulled_after=100,
        passed_after=110,
        passed_by=120,
        went_back_at=130,
        passed_again_by=140,
        went_near_at=130,
        waits_at=130,
        newest=140,
    )
    assert passage(_OFFSET, [], []) == Passage()
