"""A case file: the snapshots of one incident as a recording, whose audit gives the same incident."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from gzip import GzipFile
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from schemas import (
    CAPTURE_CALLS,
    CLIENT_SNAPSHOTS,
    CLIENT_STACKS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    REBALANCE_INTERVALS,
    ROUTE_SNAPSHOTS,
    TOPIC_SNAPSHOTS,
    Table,
)
from spark_jobs.config import Configuration
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.kernel.unseen import PROXIES_GROUP
from spark_jobs.domain.model.history import DEAD_LETTERS
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import HOUR, from_micros, to_micros
from spark_jobs.domain.rocketmq.strategies import CONSISTENT_HASH
from spark_jobs.domain.rules import unobserved
from spark_jobs.errors import OutputError, WarehouseError
from spark_jobs.ingest.lines import line, meta
from spark_jobs.operate.anonymous import NewNames
from spark_jobs.show.files import whole_file
from spark_jobs.store.read.kept import check_kept
from spark_jobs.store.read.published import Scope, newest_configuration, published_tables
from spark_jobs.store.read.stored import Filter, StoredTables, rows, tuples

#: So much of the snapshots is in memory at a time.
_SLICE: Final = HOUR
#: The highest takes three times as long, and saves 3 %.
_GZIP_LEVEL: Final = 6
Row = tuple[Table, dict[str, Any]]


class CaseFile(NamedTuple):
    """The content of a case file: `steps`, whose audit by the `configuration` shows the incident, and the `window` that
    it reads: the steps and the look-back.
    """

    cluster: str
    consumer_groups: tuple[str, ...]
    steps: Interval
    window: Interval
    configuration: Configuration


def case_of(stored: StoredTables, incident: Incident) -> CaseFile:
    """The case of a published incident; raises `WarehouseError` if its snapshots were deleted."""
    tables, configuration = published_tables(stored), Configuration.model_validate(newest_configuration(stored))
    steps = tables.steps(Interval(from_micros(incident.opened_at), from_micros(incident.last_seen_at)))
    if incident.resolved_at is not None:  # the step after the last one shows that it was gone
        audited = max(group.last_step for group in tables.groups() if group.cluster == incident.cluster)
        steps = Interval(steps.start, max(steps.end, min(audited, steps.end) + tables.grid.length))
    check_kept(stored, steps, configuration.look_back)
    window = Interval(steps.start - configuration.look_back, steps.end)
    groups = (*incident.consumer_groups, *_recorded_meanwhile(stored, incident))
    return CaseFile(incident.cluster, groups, steps, window, configuration)


def _recorded_meanwhile(stored: StoredTables, incident: Incident) -> list[str]:
    """One other group if snapshots of the incident's groups are missing, that with most of them in this time: without
    it nothing would be recorded of the whole cluster. None if that was so.
    """
    missing = any(part.rule == unobserved.RULE.name for part in (*incident.root_causes, *incident.symptoms))
    if not missing or unobserved.NOTHING_RECORDED in incident.causes:
        return []
    time = Interval(from_micros(incident.opened_at), from_micros(incident.last_seen_at))
    is_other = Filter("consumer_group", "NOT IN", [*incident.consumer_groups, PROXIES_GROUP])
    conditions = [Filter("cluster", "=", incident.cluster), is_other, *_during(time)]
    seen = Counter(stored.read(MEMBERSHIP_SNAPSHOTS, ["consumer_group"], conditions)["consumer_group"].to_pylist())
    return [group for group, _ in seen.most_common(1)]


def check_not_hashed(stored: StoredTables, case: CaseFile) -> None:
    """Raise `OutputError` if members allocate queues by hashes of names: under others they own other queues."""
    is_of_group = Filter("consumer_group", "IN", [*case.consumer_groups])
    scope = Scope(case.steps, case.cluster)
    members = published_tables(stored).read(REBALANCE_INTERVALS, scope, ["consumer_group", "members"], [is_of_group])
    hashed = {
        row["consumer_group"]
        for row in rows(members)
        if any(CONSISTENT_HASH in (member["strategy"] or "") for member in row["members"] or ())
    }
    if hashed:
        raise OutputError(
            f"{', '.join(sorted(hashed))}: {CONSISTENT_HASH} allocates queues by hashes of names, so under other names "
            "the owners would be others. Export without --anonymous"
        )


def export(stored: StoredTables, case: CaseFile, file: Path, names: NewNames | None = None) -> int:
    """Write the case file, under other `names` if they are given, and return its number of snapshots. They are read in
    slices: memory does not grow with their time. Raises `WarehouseError` if there are none, and as `NewNames.order`.
    """
    of_tables = _of_tables(stored, case)
    if names is not None:
        for _, row in _snapshots(stored, case.window, of_tables):
            names.add(row)
        names.order()
    renamed = names.renamed if names else dict
    number = 0
    with whole_file(file, "case file") as out, GzipFile("", "wb", _GZIP_LEVEL, out, 0) as lines:
        for table, row in _snapshots(stored, case.window, of_tables):
            if not number:
                about = {"cadence_s": case.configuration.cadence_seconds, "interval": str(case.steps)}
                lines.write(meta(cluster=renamed(row)["cluster"], **about).encode())
            lines.write(line(table, renamed(row)).encode())
            number += 1
        if not number:
            raise WarehouseError(f"{stored.location.location} has no snapshots of the incident in {case.window}")
    return number


#: A table, its version, so that its rows are the same twice, and the conditions of those that are of the case.
_Part = tuple[Table, int, Sequence[Filter]]


def _snapshots(stored: StoredTables, window: Interval, of_tables: Sequence[_Part]) -> Iterator[Row]:
    """The rows that an audit of the groups reads, with the calls for their members and the stacks of their clients."""
    for start in range(to_micros(window.start), to_micros(window.end), _SLICE):
        during = Interval(from_micros(start), min(from_micros(start + _SLICE), window.end))
        for table, version, conditions in of_tables:
            read = stored.read(table, table.columns, [*conditions, *_during(during)], version)
            for values in tuples(read.sort_by([(name, "ascending") for name in reversed(table.key)])):
                yield table, dict(zip(table.columns, values, strict=True))


def _of_tables(stored: StoredTables, case: CaseFile) -> list[_Part]:
    """The rows of the groups, of their topics, and of the proxies."""
    groups, is_of_cluster = [*case.consumer_groups], Filter("cluster", "=", case.cluster)
    is_of_group = Filter("consumer_group", "IN", groups)
    is_of_topic = Filter("topic", "IN", sorted(_topics(stored, case, [is_of_cluster, is_of_group])))
    of_tables = {
        CAPTURE_CALLS: [Filter("request", "=", "connection"), Filter("subject", "IN", groups)],
        MEMBERSHIP_SNAPSHOTS: [Filter("consumer_group", "IN", [*groups, PROXIES_GROUP])],
        ROUTE_SNAPSHOTS: [is_of_topic],
        OFFSET_SNAPSHOTS: [is_of_group],
        TOPIC_SNAPSHOTS: [is_of_topic],
        CLIENT_SNAPSHOTS: [is_of_group],
        CLIENT_STACKS: [is_of_group],
    }
    return [
        (table, stored.version(table), [is_of_cluster, *conditions])
        for table, conditions in of_tables.items()
        if stored.exists(table)
    ]


def _topics(stored: StoredTables, case: CaseFile, conditions: Iterable[Filter]) -> set[str]:
    """The topics that the groups subscribe to or have offsets of, and those of their dead letters."""
    of_case = [*conditions, *_during(case.window)]

    def read(table: Table, column: str) -> pa.ChunkedArray:
        empty = pa.chunked_array([], pa.string())
        return stored.read(table, [column], of_case, distinct=True)[column] if stored.exists(table) else empty

    subscribed = (
        pc.struct_field(pc.list_flatten(subscriptions), "topic").to_pylist()
        for table in (MEMBERSHIP_SNAPSHOTS, CLIENT_SNAPSHOTS)
        if len(subscriptions := read(table, "subscriptions"))
    )
    dead_letters = (DEAD_LETTERS + group for group in case.consumer_groups)
    return {*chain.from_iterable(subscribed), *read(OFFSET_SNAPSHOTS, "topic").to_pylist(), *dead_letters} - {None}


def _during(time: Interval) -> tuple[Filter, Filter]:
    return Filter("captured_at", ">=", time.start), Filter("captured_at", "<", time.end)
