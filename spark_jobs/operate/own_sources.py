"""A check of source tables that another program wrote, before any audit and without Spark."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from expectations.suite import Severity
from schemas import CLIENT_SNAPSHOTS, EVERY_CADENCE, MEMBERSHIP_SNAPSHOTS, OPTIONAL_SOURCES, SOURCES, Table
from schemas.differences import lasting_differences, missing_columns
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval, duration_text, format_utc
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.phrases import count, names_text
from spark_jobs.operate.source_questions import NEEDED_FIELDS, QUESTIONS, OwnTables, Times
from spark_jobs.store.read.delta import DeltaTables

#: Differences, columns or keys that one line names.
_MOST = 5
#: Clocks of recorders may be ahead by so much.
_AHEAD = timedelta(minutes=5)
#: Zones differ from UTC by multiples of this.
_ZONES = timedelta(minutes=30)
_WITHOUT = "without it, messages that the broker may delete before they are consumed are unknown"
_WITHOUT_CLIENTS = "without it, strategies, owned queues and processing times of clients are unknown"
#: Severity of a problem without effect on an audit; critical ones make it fail or reject rows, warnings leave gaps.
NOTE = "note"
_WORST_FIRST = (Severity.CRITICAL, Severity.WARNING, NOTE)


@dataclass(frozen=True)
class SourceProblem:
    """Something wrong with a table, up to three examples, and what to do; `severity`: a `Severity`, or `NOTE`."""

    table: str
    severity: str
    problem: str
    examples: Sequence[str]
    advice: str


@dataclass(frozen=True)
class SourceSummary:
    """One source table. `rows`: None if unreadable; `usual_seconds`: median between snapshots of a key, or None."""

    table: str
    is_required: bool
    rows: int | None
    keys: int | None
    first: datetime | None
    last: datetime | None
    usual_seconds: float | None


@dataclass(frozen=True)
class SourceReport:
    """All source tables, and their problems, the worst first."""

    tables: Sequence[SourceSummary]
    problems: Sequence[SourceProblem]


def check_sources(
    tables: DeltaTables, configuration: Configuration, now: datetime, interval: Interval | None = None
) -> SourceReport:
    """Report missing, mistyped or implausible snapshots of the interval (None: all). Raises `WarehouseError`."""
    own = OwnTables.of(tables, interval)
    times = {table: own.times(table, configuration.max_gap) for table in SOURCES}
    summaries = [_summary(table, times[table]) for table in SOURCES]
    problems = _problems(own, times, configuration, now)
    return SourceReport(summaries, sorted(problems, key=lambda problem: _WORST_FIRST.index(problem.severity)))


def _summary(table: Table, times: Times | None) -> SourceSummary:
    known = (times.rows, times.keys, times.first, times.last, times.usual_seconds) if times else (None,) * 5
    return SourceSummary(table.name, table not in OPTIONAL_SOURCES, *known)


def _problems(
    own: OwnTables, times: Mapping[Table, Times | None], configuration: Configuration, now: datetime
) -> Iterator[SourceProblem]:
    reference = times[MEMBERSHIP_SNAPSHOTS]
    for table in SOURCES:
        if table not in own.stored:
            yield _missing(table)
            continue
        yield from _of_columns(own, table)
        if (of_table := times[table]) is not None:
            yield from _of_times(table, of_table, configuration, now)
            yield from _of_zone(table, of_table, reference, configuration.max_gap)
        for question in QUESTIONS:
            number, examples = own.answer(question) if question.table is table else (0, ())
            if number:
                problem = question.problem.format(count(number, question.thing))
                severity = Severity.CRITICAL if question.is_critical else Severity.WARNING
                yield SourceProblem(table.name, severity, problem, examples, question.advice)


def _missing(table: Table) -> SourceProblem:
    if table in OPTIONAL_SOURCES:
        without = _WITHOUT_CLIENTS if table is CLIENT_SNAPSHOTS else _WITHOUT
        return SourceProblem(table.name, NOTE, "there is no such table", (), f"optional: {without}")
    make = "make it with the SQL of `rebalance-audit sql sources`, and fill it"
    return SourceProblem(table.name, Severity.CRITICAL, "there is no such table", (), make)


def _of_columns(own: OwnTables, table: Table) -> Iterator[SourceProblem]:
    absent = [field.name.replace(".element.", "[].") for field in missing_columns(own.stored[table], table)]
    needed = [f"column {name} is missing" for name in absent if name in NEEDED_FIELDS]
    if differ := [*lasting_differences(own.stored[table], table), *needed]:
        make = "make the table with the SQL of `rebalance-audit sql sources`, and fill it again: an audit refuses it"
        yield SourceProblem(table.name, Severity.CRITICAL, names_text(differ, _MOST), (), make)
    if optional := [name for name in absent if name not in NEEDED_FIELDS]:
        problem = f"{count(len(optional), 'optional column')} missing: {names_text(optional, _MOST)}"
        add = f"`rebalance-audit maintain --upgrade --warehouse {own.location}` adds them; until then no audit runs"
        yield SourceProblem(table.name, Severity.WARNING, problem, (), add)


def _of_times(table: Table, times: Times, configuration: Configuration, now: datetime) -> Iterator[SourceProblem]:
    def problem(severity: str, text: str, example: str, advice: str) -> SourceProblem:
        return SourceProblem(table.name, severity, text, [example] if example else [], advice)

    if times.rows == 0:
        severity = NOTE if table in OPTIONAL_SOURCES else Severity.CRITICAL
        yield problem(severity, "it has no rows", "", "load snapshots, or give another --interval")
    if times.last is not None and times.last > now + _AHEAD:
        text = f"snapshots are in the future: the last is of {format_utc(times.last)}"
        yield problem(Severity.CRITICAL, text, "", "write captured_at in UTC")
    if times.repeated:
        text = f"{count(times.repeated, 'snapshot')} with the key and time of another"
        advice = "write one row per key and captured_at; an audit rejects those that differ"
        yield problem(Severity.CRITICAL, text, times.repeated_key, advice)
    if table not in EVERY_CADENCE or times.usual_seconds is None:
        return
    cadence = configuration.cadence_seconds
    if not configuration.audit_settings.is_about(times.usual_seconds * SECOND):
        text = f"snapshots are {times.usual_seconds:g} s apart, and cadence_seconds is {cadence}"
        advice = f"set `cadence_seconds: {round(times.usual_seconds)}` in the configuration, and give it with --config"
        yield problem(Severity.WARNING, text, "", advice)
    if times.gaps:
        longest = duration_text(timedelta(seconds=times.longest_seconds))
        limit = duration_text(configuration.max_gap)
        text = f"{count(times.gaps, 'gap')} longer than {limit}, the longest of {longest}"
        example = f"{times.longest_key} until {format_utc(times.longest_end)}" if times.longest_end else ""
        yield problem(Severity.WARNING, text, example, "load what is missing: an audit shows gaps as UNOBSERVED")


def _of_zone(table: Table, times: Times, reference: Times | None, tolerance: timedelta) -> Iterator[SourceProblem]:
    """All times differ by one whole number of half hours from those of memberships: they are of another zone."""
    if reference is None or reference is times:
        return
    pairs = (times.first, reference.first), (times.last, reference.last)
    differ = [theirs - ours for theirs, ours in pairs if theirs is not None and ours is not None]
    shift = round(sum(differ, timedelta(0)) / len(differ) / _ZONES) * _ZONES if differ else timedelta(0)
    if shift and all(abs(each - shift) <= tolerance for each in differ):
        hours = f"{abs(shift) / timedelta(hours=1):g} h {'after' if shift > timedelta(0) else 'before'}"
        text = f"all times are {hours} those of {MEMBERSHIP_SNAPSHOTS.name}"
        yield SourceProblem(table.name, Severity.CRITICAL, text, (), "write captured_at of both in UTC")
