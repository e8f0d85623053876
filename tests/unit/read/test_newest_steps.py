"""Which step of a group is its newest, in tables written by hand."""

from pathlib import Path

import pytest

from schemas import GROUP_STATUS
from spark_jobs.domain.coverage import Coverage
from spark_jobs.errors import NothingPublishedError, WarehouseError
from spark_jobs.show.status import Statuses, statuses
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.published import Scope
from tests.support.published import STATUS, publish_hours
from tests.support.stored import write
from tests.support.times import at


def stored(folder: Path) -> DeltaTables:
    return DeltaTables(Location.parse(str(folder)))


def test_the_newest_step_of_every_group_that_a_run_has_published(tmp_path: Path) -> None:
    publish_hours(tmp_path, [0, 1], group="a", cluster="eu", offline=[0])
    publish_hours(tmp_path, [0], group="b", cluster="eu", offline=[0])
    publish_hours(tmp_path, [1], group="a", cluster="us")
    # Of a run that has not come to its end: its rows are not published.
    unfinished = {"cluster": "eu", "consumer_group": "a", "step_start": at(7200)}
    write(tmp_path, GROUP_STATUS, [STATUS | unfinished])

    newest = statuses(stored(tmp_path))
    assert newest.newest_step == at(3600)
    shown = [(row["cluster"], row["consumer_group"], row["step_start"]) for row in newest.groups]
    assert shown == [("eu", "b", at(0)), ("eu", "a", at(3600)), ("us", "a", at(3600))]
    # What is old is told by all groups, also where only old ones are asked for.
    only = statuses(stored(tmp_path), Scope(None, None, "b"))
    assert ([row["consumer_group"] for row in only.groups], only.newest_step) == (["b"], at(3600))
    assert [row["cluster"] for row in statuses(stored(tmp_path), Scope(None, "us")).groups] == ["us"]
    with pytest.raises(NothingPublishedError, match=r"a is in several clusters \(eu, us\)"):
        statuses(stored(tmp_path), Scope(None, None, "a"))
    with pytest.raises(NothingPublishedError, match="there is no cluster asia; audited clusters: eu, us"):
        statuses(stored(tmp_path), Scope(None, "asia"))


def test_a_warehouse_in_which_nothing_was_published(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="no such folder"):
        statuses(stored(tmp_path / "none"))
    with pytest.raises(WarehouseError, match=f"there is no warehouse {tmp_path}: it has no table"):
        statuses(stored(tmp_path))
    write(tmp_path, GROUP_STATUS, [])
    with pytest.raises(NothingPublishedError, match="nothing has been published in the warehouse"):
        statuses(stored(tmp_path))


def test_a_run_that_found_no_group(tmp_path: Path) -> None:
    publish_hours(tmp_path, [])
    assert statuses(stored(tmp_path)) == Statuses(None, [], Coverage(None, [], [], []))
    with pytest.raises(NothingPublishedError, match="there is no cluster eu; audited clusters: none"):
        statuses(stored(tmp_path), Scope(None, "eu"))
