"""Sightings of source rows, hour by hour."""

from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, SIGHTINGS
from spark_jobs.ingest.sightings import sightings
from tests.support.snapshots import membership, offsets, route
from tests.support.times import at


def test_a_row_per_thing_and_hour() -> None:
    """`at(0)` is 10:00. A group without members was captured, too; offsets show neither."""
    unreadable = route(3640, 4, broker="c")
    unreadable["queues"][0]["perm"] = 2
    rows = sightings(
        [
            (MEMBERSHIP_SNAPSHOTS, membership(40, "c1", broker="x")),
            (MEMBERSHIP_SNAPSHOTS, membership(20, broker="y")),
            (MEMBERSHIP_SNAPSHOTS, membership(3600, "c1")),
            (MEMBERSHIP_SNAPSHOTS, membership(3620, listed=False)),
            (MEMBERSHIP_SNAPSHOTS, membership(3680, listed=False)),
            (ROUTE_SNAPSHOTS, route(3599, 4)),
            (ROUTE_SNAPSHOTS, route(0, 4)),
            (ROUTE_SNAPSHOTS, route(20, 8)),
            (ROUTE_SNAPSHOTS, route(40, 4) | {"queues": []}),
            (ROUTE_SNAPSHOTS, unreadable),
            (OFFSET_SNAPSHOTS, offsets(7200, (1, 1, 1))),
        ]
    )
    assert [tuple(row[name] for name in SIGHTINGS.columns) for row in rows] == [
        ("c", "g", None, None, at(0), at(20), at(40), None, None),
        ("c", "g", None, None, at(3600), at(3600), at(3600), None, None),
        ("c", "g", None, None, at(3600), at(3620), at(3680), True, None),
        ("c", None, "t", "b", at(0), at(0), at(3599), None, 4),
        ("c", None, "t", "b", at(0), at(20), at(20), None, 8),
        ("c", None, "t", None, at(0), at(40), at(40), None, None),
    ]
