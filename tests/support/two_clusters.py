"""Two clusters in two hours, audited without Spark: the recorder of `b` dies, the one of `a` goes on."""

from pathlib import Path
from typing import Any

from schemas import Table
from spark_jobs.domain.model.intervals import Interval
from tests.support.look import rows_into
from tests.support.snapshots import healthy_group
from tests.support.times import at

#: Seconds after 10:00: the last snapshots of `b` and of `a`, and the end of what was audited.
LAST_OF_B, LAST_OF_A, END = 3940, 7180, 7200


def write_two_clusters(warehouse: Path) -> None:
    """The group `g` of each, with a snapshot every 20 s from 10:00 on."""
    rows_into(warehouse, Interval(at(0), at(END)), 20, two_clusters())


def two_clusters() -> dict[Table, list[dict[str, Any]]]:
    """Their snapshots."""
    every: dict[Table, list[dict[str, Any]]] = {}
    for cluster, last in (("a", LAST_OF_A), ("b", LAST_OF_B)):
        for table, rows in healthy_group(range(0, last + 1, 20), "c1", "c2").items():
            every.setdefault(table, []).extend(row | {"cluster": cluster} for row in rows)
    return every
