"""The trace: the published tables of an interval as a file for Perfetto."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from schemas import ALLOCATIONS, GROUP_STATUS, QUEUE_PROGRESS, Table
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.intervals import EVER, Interval
from spark_jobs.domain.model.window import to_micros
from spark_jobs.domain.phrases import count
from spark_jobs.show import spans
from spark_jobs.show.files import whole_file
from spark_jobs.show.incidents import IncidentQuery, published_incidents
from spark_jobs.show.rows import GROUP, Row, group_of
from spark_jobs.show.status import in_order
from spark_jobs.show.trace_tracks import TracedGroup, TraceWriter, add_group, add_incidents
from spark_jobs.store.read.published import PublishedTables, Scope, published_tables
from spark_jobs.store.read.stored import Filter, StoredTables, rows

#: Groups of a trace, at most, and how many of them are read at a time.
GROUPS, AT_A_TIME = 500, 50
#: Spans of ownership of all groups together, at most; each group may have as many as the others.
SPANS = 500_000
_STATUS = (*GROUP, "step_start", "worst_severity", "backlog_end")
Group = tuple[str, str]


def trace(stored: StoredTables, scope: Scope, file: Path, progress: Callable[[str], None]) -> list[str]:
    """Write the trace; return a sentence per omission. Raises `NothingPublishedError` and `ReportFileError`."""
    progress("reading what the trace shows")
    tables = published_tables(stored)
    interval = tables.steps(scope.interval or EVER)
    incidents = published_incidents(tables, IncidentQuery(interval, scope.cluster, scope.consumer_group))
    worst_first = in_order(rows(tables.read(GROUP_STATUS, scope, _STATUS)))
    groups = [*dict.fromkeys(map(group_of, worst_first))]
    chosen = groups[:GROUPS]
    left_out = []
    if more := len(groups) - len(chosen):
        which = f"The trace has the {GROUPS} groups that need attention most, without {count(more, 'more group')}"
        left_out.append(f"{which}: choose one with --group.")
    with whole_file(file, "trace") as out:
        writer = TraceWriter(out, to_micros(interval.start))
        clusters = {cluster: writer.track(cluster) for cluster in dict.fromkeys(cluster for cluster, _ in chosen)}
        for cluster, track in clusters.items():
            add_incidents(writer, track, (incident for incident in incidents if incident.cluster == cluster), interval)
        for group in _groups(tables, interval, chosen):
            left_out += add_group(writer, clusters[group.cluster], group, SPANS // len(chosen))
    return left_out


def _groups(tables: PublishedTables, interval: Interval, groups: Sequence[Group]) -> Iterator[TracedGroup]:
    """The rows of each group; `AT_A_TIME` groups are in memory at a time."""
    for start in range(0, len(groups), AT_A_TIME):
        batch = groups[start : start + AT_A_TIME]
        allocations = _rows(tables, ALLOCATIONS, spans.ALLOCATION_COLUMNS, interval, batch)
        progress = _rows(tables, QUEUE_PROGRESS, spans.PROGRESS_COLUMNS, interval, batch)
        for group in batch:
            group_progress = progress.get(group, [])
            yield TracedGroup(*group, spans.ownership(allocations.get(group, []), group_progress), group_progress)


def _rows(
    tables: PublishedTables, table: Table, columns: Sequence[str], interval: Interval, groups: Sequence[Group]
) -> dict[Group, list[Row]]:
    """The table's rows of the interval, by group."""
    named = [Filter(name, "IN", sorted({group[place] for group in groups})) for place, name in enumerate(GROUP)]
    return by_key(rows(tables.read(table, Scope(interval), columns, named)), group_of)
