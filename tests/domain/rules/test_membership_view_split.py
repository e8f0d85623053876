"""Brokers that list different members."""

from __future__ import annotations

from dataclasses import replace

from spark_jobs.domain.kernel.audited_step import RebalanceInterval
from spark_jobs.domain.model.finding import Party, RuleHit
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rules.membership_view_split import hits
from tests.domain.rules.builders import allocation, audited_step, interval, members


def _view(name: str, start: int, end: int, ids: str, topic: str = "t") -> RebalanceInterval:
    listed = members(ids)
    return interval(start, end, listed, allocation(listed, "0"), topic=topic, view=name, seen_at=end)


def test_one_hit_per_moment_at_which_views_begin() -> None:
    """A twin is named once; the hit lasts as long as the last of its views."""
    step = audited_step(
        _view("*", 0, 100, "c1 c2"),
        _view("b2", 100, 180, "c1 c1"),
        _view("b", 100, 140, "c2 c1"),
        _view("b", 140, 180, "c3"),
        _view("b", 100, 140, "c1", topic="u"),
    )
    split = {"cause": "BROKERS_DISAGREE", "view": "b", "severity": "ERROR"}
    assert list(hits(step)) == [
        RuleHit(
            100 * SECOND,
            180 * SECOND,
            topic="t",
            weight=2,
            parties=(Party("b", ("c2", "c1")), Party("b2", ("c1",))),
            **split,  # type: ignore[arg-type]
        ),
        RuleHit(140 * SECOND, 180 * SECOND, topic="t", weight=1, parties=(Party("b", ("c3",)),), **split),  # type: ignore[arg-type]
        RuleHit(100 * SECOND, 140 * SECOND, topic="u", weight=1, parties=(Party("b", ("c1",)),), **split),  # type: ignore[arg-type]
    ]


def test_a_host_that_was_not_asked_since_the_members_changed_does_not_disagree() -> None:
    """c2 is gone at 100 s; b2 was last asked at 90 s, and at 160 s lists the same as b. Then b2 does disagree."""
    step = audited_step(
        _view("b", 100, 160, "c1"),
        replace(_view("b2", 100, 160, "c1 c2"), seen_at=90 * SECOND),
        _view("*", 160, 200, "c1"),
        _view("b", 200, 260, "c1"),
        _view("b2", 200, 260, "c1 c2"),
    )
    assert [(one.start, one.end) for one in hits(step)] == [(200 * SECOND, 260 * SECOND)]


def test_a_list_that_changes_during_a_split_is_compared_with_those_that_stay() -> None:
    """b2 was last asked at 130 s, before b changed; that b changed says nothing of a split from then on."""
    step = audited_step(
        _view("b", 100, 140, "c1"),
        replace(_view("b2", 100, 180, "c1 c2"), seen_at=130 * SECOND),
        _view("b", 140, 180, "c1 c3"),
    )
    assert [(one.start, one.end) for one in hits(step)] == [(100 * SECOND, 180 * SECOND)]


def test_neither_agreement_nor_retry_topics_nor_what_was_not_replayed() -> None:
    step = audited_step(
        _view("*", 0, 100, "c1"),
        _view("b", 100, 140, "c1", topic="%RETRY%g"),
        interval(100, 140, members("c1"), None, view="b"),
    )
    assert list(hits(step)) == []
