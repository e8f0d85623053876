"""Members of one group that run different strategies."""

from spark_jobs.domain.kernel.allocations import Member
from spark_jobs.domain.model.finding import ConflictingValue
from spark_jobs.domain.rules.mixed_clients import MIXED_STRATEGIES as RULE
from tests.support.builders import allocation, audited_step, interval, members
from tests.support.findings import rule_hit


def _mixed() -> tuple[Member, ...]:
    """Two run AVG_BY_CIRCLE, the first and the third; one with a duplicate runs AVG."""
    listed = members("c2 c3 c3 c1", "AVG_BY_CIRCLE")
    return (listed[0], listed[1]._replace(strategy="AVG"), listed[2]._replace(strategy="AVG"), listed[3])


def test_one_hit_per_interval_of_any_view_and_topic() -> None:
    listed = _mixed()
    owned = allocation(listed, "0 1 2 3")
    (hit,) = RULE.hits(audited_step(interval(0, 60, listed, owned, topic="%RETRY%g", view="b")))
    values = ConflictingValue("AVG", ("c3",)), ConflictingValue("AVG_BY_CIRCLE", ("c2", "c1"))
    assert hit == rule_hit(0, 60, "DIFFERENT_STRATEGIES", view="b", severity="ERROR", conflicting_values=values)


def test_no_hit_if_all_run_one_or_nothing_was_replayed() -> None:
    alike = members("c1 c2", "MACHINE_ROOM_NEARBY-AVG")
    none = members("")
    step = audited_step(
        interval(0, 60, alike, allocation(alike, "0 1")),
        interval(60, 80, none, allocation(none, "-")),
        interval(80, 90, _mixed(), None),
    )
    assert list(RULE.hits(step)) == []
