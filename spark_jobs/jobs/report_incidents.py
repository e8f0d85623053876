"""What the report begins with: the incidents of its interval, and how each group fared in the weeks before its end."""

from __future__ import annotations

from typing import NamedTuple

from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.intervals import Interval
from spark_jobs.domain.trends import GroupTrend
from spark_jobs.jobs.incidents import IncidentQuery, published_incidents, stood_in
from spark_jobs.jobs.trends import TrendQuery, last_days, published_trends
from spark_jobs.read.published import PublishedTables

#: Four whole weeks.
_DAYS = 28


class IncidentsAndTrends(NamedTuple):
    """The incidents, the newest first, and the groups, what got worse first."""

    incidents: list[Incident]
    trends: list[GroupTrend]


def incidents_and_trends(
    tables: PublishedTables, interval: Interval, cluster: str | None, consumer_group: str | None
) -> IncidentsAndTrends:
    """Those of the names that are given. The findings are folded once for both."""
    query = TrendQuery(_DAYS, cluster, consumer_group, before=interval.end)
    days = last_days(tables, query)
    both = Interval(min(days.start, interval.start), max(days.end, interval.end))
    found = published_incidents(tables, IncidentQuery(both, False, cluster, consumer_group))
    trends = published_trends(tables, query, days, found)
    return IncidentsAndTrends([one for one in found if stood_in(one, interval)], trends)
