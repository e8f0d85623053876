"""How the time of an audit grows: with the groups, with the age of the tables, with the rebalances."""

from dataclasses import replace
from datetime import timedelta

from benchmarks.bench import Bench
from benchmarks.errors import NotMeasuredError
from benchmarks.fleet import FLAP_MS, Fleet
from benchmarks.measure import CallResults
from benchmarks.process import used
from benchmarks.times import Times
from spark_jobs.domain.model.intervals import Interval


def ten_times(bench: Bench) -> CallResults:
    """A run over all groups ÷ over a tenth of them, the time of a run over an empty step taken off both."""
    empty_step, full, tenth = bench.empty_times, bench.audit_times(1.0), bench.audit_times(0.1)
    beyond = tenth.median - empty_step.median
    if beyond <= 0:
        raise NotMeasuredError(f"a tenth of the groups takes no longer than an empty step ({tenth}, {empty_step})")
    text = f"({full} − {empty_step}) ÷ ({tenth} − {empty_step})"
    return CallResults((full.median - empty_step.median) / beyond, text)


def fixed_part(bench: Bench) -> CallResults:
    """The seconds of a run over 12 hours that do not depend on the groups: by a twentieth of them, and by half."""
    parts = (max(bench.groups(0.05), 1), max(bench.groups(0.5), 2))
    fleets = {f"{groups} groups": replace(bench.full_fleet, groups=groups, hours=12) for groups in parts}
    bench.make(fleets)
    bench.say(f"auditing 12 hours of {' and of '.join(fleets)}")
    few, many = bench.times("audit", [bench.target(name) for name in fleets])
    of_a_group = (many.median - few.median) / (parts[1] - parts[0])
    return CallResults(few.median - of_a_group * parts[0], f"{few} and {many} of {' and '.join(fleets)}")


def month_by_day(bench: Bench) -> CallResults:
    """A run over the last hour of a 30-day table ÷ over that of a 1-day table; a twentieth of the groups."""
    day = replace(bench.full_fleet, groups=max(bench.groups(0.05), 5), hours=24)
    fleets = {"day": day, "month": replace(day, hours=30 * 24)}
    bench.make(fleets)
    bench.say("auditing the last hour of 30 days and of one")
    targets = [bench.target(name, _last_hour(fleet)) for name, fleet in fleets.items()]
    of_day, of_month = bench.times("audit", targets)
    return CallResults.ratio(of_month, of_day, f"{day.groups} groups")


def short_steps(bench: Bench) -> CallResults:
    """Processor time of runs over the steps of five minutes of two hours, in one process, ÷ of one run over the two
    hours; of one hour where the history is no longer. A file of snapshots every five minutes, as `capture` writes.
    """
    hours = min(bench.full_fleet.hours, 2)
    bench.make({"short": replace(bench.full_fleet, hours=hours, files_an_hour=12)})
    bench.say(f"auditing {hours} hours in steps of five minutes, and at once")
    five_minutes = bench.root / "five-minutes.yaml"
    five_minutes.write_text("step_seconds: 300\n", encoding="utf-8")
    # `watch` decides by two steps how it starts Spark.
    in_steps = ("backfill", "--config", str(five_minutes), "--scale", "small")
    rounds = [(_audited(bench, *in_steps), _audited(bench, "run")) for _ in range(bench.rounds)]
    of_steps, at_once = (Times(seconds) for seconds in zip(*rounds, strict=True))
    return CallResults.ratio(of_steps, at_once, f"{bench.full_fleet.groups} groups, {hours * 12} steps")


def _audited(bench: Bench, command: str, *options: str) -> float:
    """Seconds of processor time of a command over the history of the short steps."""
    target = bench.target("short")
    over = ("--warehouse", target["warehouse"], "--interval", target["interval"], "--fail-on", "NEVER")
    return used(["-m", "spark_jobs.cli", command, *over, *options])[0]


def with_sightings(bench: Bench) -> CallResults:
    """A run over an hour of all groups that has a week of sightings ÷ one that is told to do without."""
    fleet = replace(bench.full_fleet, hours=2, sighted_hours=7 * 24)
    bench.make({"sighted": fleet})
    bench.say("auditing an hour with the sightings of a week, and without")
    hour = _last_hour(fleet)
    targets = [bench.target("sighted", hour), bench.target("sighted", hour, {"sightings_days": 0})]
    sighted, unsighted = bench.times("audit", targets)
    return CallResults.ratio(sighted, unsighted, f"{bench.full_fleet.groups} groups")


def _last_hour(fleet: Fleet) -> Interval:
    end = fleet.interval.end
    return Interval(end - timedelta(hours=1), end)


def storms(bench: Bench) -> CallResults:
    """A run over an hour in which a member of a tenth of the groups comes and goes 1,000 times ÷ in which none does.

    A fifth of the whole fleet's groups: every source is captured every 1.8 s, so that each coming and going is seen.
    """
    groups = max(bench.groups(0.2), 10)
    stable = replace(bench.full_fleet, groups=groups, hours=1, cadence_ms=FLAP_MS, churn=0.0, duplicates=0.0)
    flapping = groups // 10
    bench.make({"stable": stable, "flapping": replace(stable, flapping=flapping)})
    bench.say(f"auditing {groups} groups, {flapping} of which flap, and none of which does")
    calm, stormy = bench.times("audit", [bench.target("stable"), bench.target("flapping")])
    return CallResults.ratio(stormy, calm, f"{flapping} of {groups} groups")
