"""Times that Python gives to a warehouse. No Spark."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import rebalance_audit
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import IntervalError, RebalanceAuditError

NAIVE = datetime(2026, 11, 21, 2, 10)


def test_a_datetime_without_an_offset_is_utc(example_warehouse: str) -> None:
    warehouse = rebalance_audit.open(example_warehouse)
    time = warehouse.time(NAIVE, "2026-11-21T03:00")
    assert time == Interval(NAIVE.replace(tzinfo=UTC), datetime(2026, 11, 21, 3, tzinfo=UTC))
    assert warehouse.explain("payment-service", at=NAIVE).facts.at == NAIVE.replace(tzinfo=UTC)
    assert len(warehouse.incidents(since=NAIVE, until=NAIVE.replace(hour=3)))


def test_an_interval_without_an_offset_is_an_error_of_ours() -> None:
    with pytest.raises(IntervalError, match="2026-11-21T02:10:00 has no time zone: intervals are UTC") as raised:
        Interval(NAIVE, NAIVE.replace(hour=3))
    assert isinstance(raised.value, RebalanceAuditError)
