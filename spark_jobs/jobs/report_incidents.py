"""What the report begins with: the incidents of its interval, and how each group fared in the weeks before its end."""

from __future__ import annotations

from dataclasses import replace
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


def incidents_and_trends(tables: PublishedTables, interval: Interval, query: IncidentQuery) -> IncidentsAndTrends:
    """Those of the names of the query. The findings are folded once for both."""
    weeks = TrendQuery(_DAYS, query.cluster, query.consumer_group, before=interval.end)
    days = last_days(tables, weeks)
    both = Interval(min(days.start, interval.start), max(days.end, interval.end))
    found = published_incidents(tables, replace(query, interval=both))
    trends = published_trends(tables, weeks, days, found)
    return IncidentsAndTrends([one for one in found if stood_in(one, interval)], trends)
