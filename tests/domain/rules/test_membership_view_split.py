"""Brokers that list different members."""

from __future__ import annotations

from spark_jobs.domain.audited_step import RebalanceInterval
from spark_jobs.domain.rules.membership_view_split import hits
from spark_jobs.domain.rules.rule import Party, RuleHit
from spark_jobs.domain.window import SECOND
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


def test_neither_agreement_nor_retry_topics_nor_what_was_not_replayed() -> None:
    step = audited_step(
        _view("*", 0, 100, "c1"),
        _view("b", 100, 140, "c1", topic="%RETRY%g"),
        interval(100, 140, members("c1"), None, view="b"),
    )
    assert list(hits(step)) == []
