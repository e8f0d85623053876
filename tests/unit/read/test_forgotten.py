"""A cluster that was retired by name: from then on nothing is expected of it; what was published stays. No Spark."""

from datetime import datetime
from pathlib import Path

import pytest

from schemas import GROUP_STATUS, SIGHTINGS
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.errors import NothingPublishedError, WarehouseError
from spark_jobs.operate.late import StepsByVersion, with_other_sightings
from spark_jobs.operate.retention import forgettable
from spark_jobs.pipeline.sources import sightings_before
from spark_jobs.show.coverage import coverage_of
from spark_jobs.show.incidents import IncidentQuery, incidents_and_unknown
from spark_jobs.show.metrics import metrics
from spark_jobs.show.status import statuses
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.forgotten import forgotten_clusters, property_of
from spark_jobs.store.read.published import Scope, published_tables
from spark_jobs.store.read.stored import StoredTables, rows
from tests.support.published import publish_hours
from tests.support.snapshots import sighting
from tests.support.stored import set_property, write
from tests.support.times import at
from tests.support.two_clusters import END, LAST_OF_B, write_two_clusters

HOUR, DAY = 3600, 24 * 3600
#: When `b` is forgotten, and a time soon after.
FORGOTTEN, NOW = END + DAY, END + DAY + 60


def forget(warehouse: Path, cluster: str, seconds: float) -> None:
    set_property(warehouse, GROUP_STATUS, property_of(cluster), format_utc(at(seconds)))


@pytest.fixture
def stored(tmp_path: Path) -> StoredTables:
    """Two clusters; the recorder of `b` died, and it was forgotten a day later."""
    write_two_clusters(tmp_path)
    write(tmp_path, SIGHTINGS, [sighting(0, LAST_OF_B % HOUR, consumer_group="g", cluster="b")])
    forget(tmp_path, "b", FORGOTTEN)
    return delta_tables(str(tmp_path))


def test_any_name_is_remembered(tmp_path: Path) -> None:
    publish_hours(tmp_path, [0])
    for name in ("b", "Größe 'x' token\n"):
        forget(tmp_path, name, FORGOTTEN)
    stored = delta_tables(str(tmp_path))
    assert forgotten_clusters(stored) == {"b": at(FORGOTTEN), "Größe 'x' token\n": at(FORGOTTEN)}


def test_no_answer_about_the_newest_steps_expects_it(stored: StoredTables) -> None:
    tables, now = published_tables(stored), at(NOW)
    newest = coverage_of(tables, Scope(), now)
    assert {group.cluster for group in newest.groups} == {"a"}
    assert newest.silent == []
    assert [*newest.too_old] == [*newest.data_until] == ["a"]
    last_hour = coverage_of(tables, Scope(Interval(at(END), at(END + HOUR))), now, newest=True)
    assert last_hour.data_until.keys() == {"a"}
    assert [group["cluster"] for group in statuses(stored, now=now).groups] == ["a"]
    labels = {sample.labels["cluster"] for family in metrics(stored, now=now).collect() for sample in family.samples}
    assert labels == {"a"}


def test_who_names_it_sees_what_was_published(stored: StoredTables) -> None:
    of_b = Scope(None, "b")
    assert [group["cluster"] for group in statuses(stored, of_b, now=at(NOW)).groups] == ["b"]
    covered = coverage_of(published_tables(stored), Scope(Interval(at(0), at(HOUR))), at(NOW))
    assert [(group.cluster, group.share) for group in covered.groups] == [("a", 1.0), ("b", 1.0)]


def test_its_incidents_are_over(stored: StoredTables) -> None:
    (silence,) = (each for each in incidents_and_unknown(stored, IncidentQuery()).incidents if each.cluster == "b")
    assert (silence.severity, silence.rule) == ("ERROR", "UNOBSERVED")
    assert silence.resolved_at == round(at(FORGOTTEN).timestamp() * 1e6)


def test_steps_after_it_are_not_missing(tmp_path: Path) -> None:
    """`c` is audited in hour 0 only, `d` in hours 0 to 3; the question is about hours 0 to 3, which is not whole."""
    publish_hours(tmp_path, [0], cluster="c")
    publish_hours(tmp_path, [0, 1, 2, 3], cluster="d")
    tables = published_tables(delta_tables(str(tmp_path)))
    question = Scope(Interval(at(0), at(4 * HOUR)))
    assert [lack.cluster for lack in coverage_of(tables, question).unaudited] == ["c"]
    forget(tmp_path, "c", HOUR)
    assert [lack.cluster for lack in coverage_of(tables, question).unaudited] == []
    assert {group.cluster: group.seen.value for group in coverage_of(tables, question).groups} == {
        "c": "WHOLE",
        "d": "WHOLE",
    }


def test_what_is_recorded_later_counts_again(tmp_path: Path) -> None:
    publish_hours(tmp_path, [0, 5], cluster="c")
    forget(tmp_path, "c", 2 * HOUR)
    stored = delta_tables(str(tmp_path))
    assert [group["cluster"] for group in statuses(stored).groups] == ["c"]
    assert [group.cluster for group in coverage_of(published_tables(stored), Scope()).groups] == ["c"]


def test_later_runs_know_its_groups_as_deleted(stored: StoredTables, tmp_path: Path) -> None:
    """From the step on in which it was forgotten; a step reads snapshots from 420 s before it on. No earlier step
    is late.
    """
    starts = (0, FORGOTTEN - HOUR, FORGOTTEN, FORGOTTEN + HOUR)
    steps = [Interval(at(start), at(start + HOUR)) for start in starts]

    def deletions(step: Interval) -> list[tuple[str, str, datetime]]:
        read = rows(sightings_before(stored, step, Configuration(), stored.version(SIGHTINGS)))
        return [(row["cluster"], row["consumer_group"], row["last_at"]) for row in read if row["deleted"]]

    deleted = [("b", "g", at(FORGOTTEN - 421))]
    assert [*map(deletions, steps)] == [[], [], deleted, deleted]
    write(tmp_path, SIGHTINGS, [sighting(FORGOTTEN + 60, consumer_group="g", cluster="a")])
    read_by: StepsByVersion = {0: steps[:2], 1: steps[2:]}
    assert with_other_sightings(stored, Configuration(), read_by, stored.version(SIGHTINGS)) == set()


@pytest.mark.parametrize(
    ("name", "seconds", "error", "message"),
    [
        ("B", NOW, NothingPublishedError, "there is no cluster B: audited clusters: a, b"),
        ("bb", NOW, NothingPublishedError, "there is no cluster bb: did you mean b?"),
        (
            "b",
            LAST_OF_B + DAY - 60,
            WarehouseError,
            "the cluster b is still recorded: its newest snapshot is 23 h 59 min",
        ),
    ],
)
def test_what_cannot_be_forgotten(
    name: str, seconds: int, error: type[Exception], message: str, stored: StoredTables
) -> None:
    with pytest.raises(error, match=message):
        forgettable(stored, name, at(seconds))


def test_a_cluster_that_was_silent_for_a_day_can_be_forgotten(stored: StoredTables, tmp_path: Path) -> None:
    """Snapshots that no run has audited count, too."""
    found = forgettable(stored, "b", at(LAST_OF_B + DAY))
    assert (found.cluster, found.groups, found.newest_snapshot) == ("b", 1, at(LAST_OF_B))
    assert str(found) == "b: 1 group, newest snapshot 2026-03-01T11:05:40Z"
    write(tmp_path, SIGHTINGS, [sighting(FORGOTTEN, consumer_group="g", cluster="b")])
    with pytest.raises(WarehouseError, match="newest snapshot is 1 min 00 s old"):
        forgettable(stored, "b", at(NOW))
