"""FLOW_CONTROLLED on the hour of `client_groups`, and its measures."""

from __future__ import annotations

import pytest

from schemas import CLIENT_SNAPSHOTS
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import AuditSettings
from spark_jobs.domain.rules.flow_controlled import RULE
from tests.domain.rules.client_groups import held, hits_of
from tests.domain.rules.client_steps import micros, step_with
from tests.kernel import SETTINGS, group_histories
from tests.snapshots import client


def test_it_is_a_warning_with_what_is_cached() -> None:
    hits = hits_of(RULE, "full")
    assert hits[0] == RuleHit(
        micros(200),
        micros(280),
        cause="CACHED_MESSAGES",
        topic="full",
        client_id="c1",
        queue=FindingQueue("full", "b", 0, "THROTTLED"),
        implicated="c1",
        severity="WARN",
        weight=1.001,
        measures={"cached_count": 1001.0, "cached_mib": 0.0, "cached_span": 0.0},
    )


@pytest.mark.parametrize(
    ("cached", "limits", "cause", "weight"),
    [
        ({"cached_count": 1500, "cached_mib": None}, {}, "CACHED_MESSAGES", 1.5),
        ({"cached_mib": 250}, {}, "CACHED_SIZE", 2.5),
        ({"cached_max_offset": 8000}, {}, "CACHED_SPAN", 4.0),
        ({"cached_count": 1}, {"cached_messages": 0}, "CACHED_MESSAGES", None),
    ],
)
def test_the_weight_is_how_far_beyond_its_limit_the_queue_is(
    cached: dict[str, int | None], limits: dict[str, int], cause: str, weight: float | None
) -> None:
    rows = [
        client(second, consume_orderly=False, owned_queues=[held("t", 0, second, dict(cached))]) for second in (0, 20)
    ]
    (history,) = group_histories({CLIENT_SNAPSHOTS: rows})
    settings = AuditSettings(SETTINGS.step, SETTINGS.cadence, SETTINGS.max_gap, Thresholds(**limits))
    (hit,) = RULE.hits(step_with(history, settings=settings))
    assert (hit.cause, hit.weight) == (cause, weight)
    expected = {"cached_count": 0, "cached_mib": 0, "cached_span": cached.get("cached_max_offset", 0)}
    assert hit.measures == expected | {name: value for name, value in cached.items() if name in expected}
