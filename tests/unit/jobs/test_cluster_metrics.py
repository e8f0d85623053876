"""What Prometheus is given of clusters: a recorder that dies must not end its alert. No Spark."""

from pathlib import Path

import pytest

from spark_jobs.show.metrics import metrics
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.published import EVERYTHING, Scope
from tests.support.times import at
from tests.support.two_clusters import END, LAST_OF_A, LAST_OF_B, write_two_clusters

HOUR, DAYS = 3600, 24 * 3600
#: A snapshot counts for 60 s at a collection interval of 20 s: of the last hour of `b` 400 s are observed.
SHARE_OF_B = (LAST_OF_B + 60 - HOUR) / HOUR


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests must not change it."""
    folder = tmp_path_factory.mktemp("two")
    write_two_clusters(folder)
    return folder


def of_clusters(warehouse: Path, seconds: float, names: Scope = EVERYTHING) -> dict[str, dict[str, float]]:
    """By gauge of clusters its value by cluster, so many seconds after 10:00."""
    gauges = metrics(delta_tables(str(warehouse)), names, now=at(seconds)).collect()
    return {
        family.name.removeprefix("rebalance_audit_cluster_"): {
            sample.labels["cluster"]: sample.value for sample in family.samples
        }
        for family in gauges
        if family.name.startswith("rebalance_audit_cluster_")
    }


def test_a_cluster_whose_recorder_died_has_the_share_that_was_seen(warehouse: Path) -> None:
    found = of_clusters(warehouse, END + 100)
    assert found.pop("observed_ratio") == pytest.approx({"a": 1.0, "b": SHARE_OF_B})
    assert found == {
        "newest_snapshot_timestamp_seconds": {"a": at(LAST_OF_A).timestamp(), "b": at(LAST_OF_B).timestamp()},
        "audited_until_timestamp_seconds": {"a": at(END).timestamp(), "b": at(END).timestamp()},
    }


@pytest.mark.parametrize(
    ("seconds", "a", "b"),
    [
        (LAST_OF_B + 2 * HOUR, 1.0, SHARE_OF_B),
        (LAST_OF_B + 2 * HOUR + 1, 1.0, 0.0),
        (LAST_OF_A + 2 * HOUR + 1, 0.0, 0.0),
        (400 * DAYS, 0.0, 0.0),
    ],
)
def test_nothing_is_observed_of_a_cluster_whose_data_are_too_old(
    seconds: int, a: float, b: float, warehouse: Path
) -> None:
    """It stays, however old they are."""
    assert of_clusters(warehouse, seconds)["observed_ratio"] == pytest.approx({"a": a, "b": b})


def test_a_group_is_not_its_cluster(warehouse: Path) -> None:
    names = ("observed_ratio", "newest_snapshot_timestamp_seconds", "audited_until_timestamp_seconds")
    assert of_clusters(warehouse, END, Scope(None, "a", "g")) == {name: {} for name in names}
    assert of_clusters(warehouse, END, Scope(None, "a"))["observed_ratio"] == {"a": 1.0}
