"""Rows of `coverage` as values of the domain."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from spark_jobs.domain.kernel.coverage import CoverageRow, Lack, Missing
from spark_jobs.domain.model.window import to_micros


def coverage_row(row: Mapping[str, Any]) -> CoverageRow:
    """A row of the table, which has datetimes."""
    missing = [
        Missing(to_micros(each["started_at"]), to_micros(each["ended_at"]), each["source"], Lack(each["reason"]))
        for each in row["missing"]
    ]
    own: dict[str, Any] = {name: to_micros(at) if isinstance(at, datetime) else at for name, at in row.items()}
    return CoverageRow(**own | {"missing": missing})
