"""Cases of `expectations/coverage.py`."""

from typing import Any

from expectations.coverage import SUITE
from schemas import COVERAGE
from tests.support.times import at
from tests.unit.expectations.cases import OWN, Cases, Row, alone

SECONDS = (
    *("expected_seconds", "observed_seconds", "members_seconds", "routes_seconds", "offsets_seconds"),
    "clients_seconds",
)


def missing(**changes: Any) -> Row:
    """No members were recorded in the second half."""
    time = {"started_at": at(1800), "ended_at": at(3600)}
    return time | {"source": "membership_snapshots", "reason": "NO_SNAPSHOTS"} | changes


def row(**changes: Any) -> Row:
    key = {"step_start": at(0), "cluster": OWN, "consumer_group": "g"}
    snapshots = {"first_snapshot_at": at(0), "last_snapshot_at": at(1740)}
    seconds = dict.fromkeys(SECONDS, 1800.0) | {"expected_seconds": 3600.0}
    return key | snapshots | seconds | {"missing": [missing()]} | changes


good = alone(COVERAGE, row)


CASES = Cases(
    SUITE,
    breaks={
        "seconds_are_of_the_step": [
            *(good(**{name: -0.5}) for name in SECONDS[1:]),
            *(good(**{name: 3600.5}) for name in SECONDS if name != "observed_seconds"),
            good(expected_seconds=-0.5, observed_seconds=-0.5),
        ],
        "observed_is_expected": [good(expected_seconds=1799.0), good(observed_seconds=3600.0, expected_seconds=3599.0)],
        "snapshots_are_of_the_step": [
            good(first_snapshot_at=at(-0.000001)),
            good(last_snapshot_at=at(3600)),
        ],
        "missing_begins_before_it_ends": [
            good(missing=[missing(started_at=at(3600))]),
            good(missing=[missing(), missing(ended_at=at(1799))]),
            good(missing=[missing(started_at=None)]),
            good(missing=[missing(ended_at=None)]),
        ],
        "missing_has_a_reason": [
            good(missing=[missing(**{name: value})]) for name in ("source", "reason") for value in ("ODD", None)
        ],
        "keys_are_unique": [
            {COVERAGE: [row(), row()]},
            {COVERAGE: [row(consumer_group=None), row(consumer_group=None)]},
        ],
    },
    keeps=[
        good(),
        good(**dict.fromkeys(SECONDS, 0.0)),
        good(**dict.fromkeys(SECONDS, 3600.0), missing=[]),
        good(first_snapshot_at=None, last_snapshot_at=None),
        good(first_snapshot_at=at(3599.999999), last_snapshot_at=at(3599.999999)),
        good(missing=[missing(source=name) for name in ("route_snapshots", "offset_snapshots")]),
        good(missing=[missing(reason=reason) for reason in ("NOT_ANSWERED", "REJECTED")]),
        # The cluster, and another group of it.
        {COVERAGE: [row(), row(consumer_group=None), row(consumer_group="h")]},
    ],
)
