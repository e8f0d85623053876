"""Consumers that make progress, and less than the producers."""

from dataclasses import replace

from spark_jobs.domain.kernel.verdicts import VerdictSpan
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import UNKNOWN
from spark_jobs.domain.model.statuses import Verdict
from spark_jobs.domain.rules.consumer_lagging import RULE
from tests.support.builders import allocation, audited_step, interval, members, span, with_samples
from tests.support.samples import Rows, offsets, progress
from tests.support.times import micros

LISTED = members("c1 c1 c2")
#: Owners of queue 0 … 4: one, duplicates, two, none, one.
OF = interval(-100, 3600, LISTED, allocation(LISTED, "0 0+1 0+2 - 0"))


def stuck(place: int, verdict: Verdict, start: int, end: int, age_ms: int = 7) -> VerdictSpan:
    return VerdictSpan(place, verdict, micros(start), micros(end), 100, 400 + place, age_ms)


def hits(*spans: VerdictSpan, read: Rows | None = None) -> list[RuleHit]:
    """Per sample what it shows of each queue; by default more than their spans begin with."""
    behind = progress(OF, 0, 3600, spans)
    samples = offsets([("b", number) for number in range(5)], read or {0: ["1000/500"] * 5})
    return list(RULE.hits(with_samples(replace(audited_step(OF), progress=[behind]), {"t": samples})))


def test_each_owner_of_a_queue_in_each_span() -> None:
    times = [(-60, 200), (201, 3600), (202, 900), (203, 900)]
    found = hits(
        *(stuck(place, Verdict.WARN, *time) for place, time in enumerate(times)), stuck(0, Verdict.WARN, 500, 700)
    )
    # Duplicates are one client, and a queue without owner stands still for another reason.
    assert [(hit.queue, hit.implicated, span(hit)) for hit in found] == [
        (FindingQueue("t", "b", 0, "BEHIND"), "c1", "-60-200"),
        (FindingQueue("t", "b", 1, "BEHIND"), "c1", "201-3600"),
        (FindingQueue("t", "b", 2, "BEHIND"), "c1", "202-900"),
        (FindingQueue("t", "b", 2, "BEHIND"), "c2", "202-900"),
        (FindingQueue("t", "b", 0, "BEHIND"), "c1", "500-700"),
    ]
    assert {(hit.severity, hit.cause, hit.topic) for hit in found} == {("WARN", "FALLING_BEHIND", "t")}
    # For two minutes at least; the queue with the greatest lag speaks for all.
    assert {hit.minimum_seconds for hit in found} == {120}
    assert [hit.weight for hit in found] == [400, 401, 402, 402, 400]
    assert found[0].measures == {"lag_first": 100, "lag_last": 400, "age_ms": 7}


def test_it_begins_where_the_lag_begins_to_grow() -> None:
    """At 100 s and 120 s as much waits as at first, at 140 s it is not known, and from 160 s on more."""
    waits = {100: "600/500", 120: "620/520", 140: "640/?", 160: "680/540", 180: "900/560"}
    read = {second: [cell] * 5 for second, cell in waits.items()}
    assert [span(hit) for hit in hits(stuck(0, Verdict.WARN, 100, 600), read=read)] == ["120-600"]


def test_any_other_verdict_is_left_alone() -> None:
    assert hits(*(stuck(0, other, 0, 600) for other in Verdict if other != Verdict.WARN)) == []


def test_who_lags_falls_behind_by_more_than_is_allowed() -> None:
    spans = (stuck(0, Verdict.WARN, 0, 600)._replace(lag_last=100 + grown) for grown in (33, 32, 0))
    assert [hit.weight for hit in hits(*spans)] == [133]


def test_who_lags_falls_behind_by_more_than_comes_between_two_commits() -> None:
    """It consumes 60 messages a second: 300 in five seconds, and 32 more are allowed."""
    read = {0: ["0/0"] * 5, 600: ["36400/36000"] * 5}
    spans = (stuck(0, Verdict.WARN, 0, 601)._replace(lag_last=lag) for lag in (331, 333))
    assert [hit.weight for hit in hits(*spans, read=read)] == [333]


def test_an_unknown_age_stays_unknown() -> None:
    (hit,) = hits(stuck(4, Verdict.WARN, 100, 3600, UNKNOWN))
    assert hit.measures == {"lag_first": 100, "lag_last": 404, "age_ms": None}
