"""Whether the age of a table costs anything."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from benchmarks.bench import Bench
from benchmarks.fleet import Fleet
from benchmarks.measure import CallResults
from spark_jobs.domain.model.intervals import Interval


def month_by_day(bench: Bench) -> CallResults:
    """A run over the last hour of a 30-day table ÷ over that of a 1-day table; a twentieth of the groups."""
    day = replace(bench.whole, groups=max(bench.groups(0.05), 5), hours=24)
    fleets = {"day": day, "month": replace(day, hours=30 * 24)}
    bench.make(fleets)
    bench.say("auditing the last hour of 30 days and of one")
    targets = [bench.target(name, _last_hour(fleet)) for name, fleet in fleets.items()]
    of_day, of_month = bench.seconds("audit", targets)
    return CallResults(of_month / of_day, f"{of_month:.1f} s ÷ {of_day:.1f} s, {day.groups} groups")


def with_sightings(bench: Bench) -> CallResults:
    """A run over an hour of all groups that has a week of sightings ÷ one that is told to do without."""
    fleet = replace(bench.whole, hours=2, sighted_hours=7 * 24)
    bench.make({"sighted": fleet})
    bench.say("auditing an hour with the sightings of a week, and without")
    hour = _last_hour(fleet)
    targets = [bench.target("sighted", hour), bench.target("sighted", hour, {"sightings_days": 0})]
    those, without = bench.seconds("audit", targets)
    return CallResults(those / without, f"{those:.1f} s ÷ {without:.1f} s, {bench.whole.groups} groups")


def _last_hour(fleet: Fleet) -> Interval:
    end = fleet.interval.end
    return Interval(end - timedelta(hours=1), end)
