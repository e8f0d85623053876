"""Members of a group behind a proxy: `explain` reads the proxy's lists."""

from pathlib import Path

from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS
from spark_jobs.show.explain import explain_group
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.published import Scope
from tests.support.look import rows_into
from tests.support.snapshots import membership, offsets, route
from tests.support.times import HOUR, at

TIMES = range(0, 600, 20)


def test_the_list_that_held_at_the_moment_is_named(tmp_path: Path) -> None:
    """At 300 s a second client joins; brokers list nobody."""
    listed = [membership(second, *("n1 n2" if second >= 300 else "n1").split(), broker="proxy p:1") for second in TIMES]
    rows = {
        MEMBERSHIP_SNAPSHOTS: [*listed, *(membership(second) for second in TIMES)],
        ROUTE_SNAPSHOTS: [route(second, 2) for second in TIMES],
        OFFSET_SNAPSHOTS: [offsets(second, *[(1000 + second, 990 + second, 1)] * 2) for second in TIMES],
    }
    rows_into(tmp_path, HOUR, 20, rows)
    stored = delta_tables(str(tmp_path))
    (before,), (after,) = (
        explain_group(stored, Scope(None, None, "g"), at(second)).topics[0].views for second in (290, 310)
    )
    assert (before.proxies, after.proxies) == ({"proxy p:1": ["n1"]}, {"proxy p:1": ["n1", "n2"]})
