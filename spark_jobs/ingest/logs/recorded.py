"""Logs → the lines of a recording, as if a recorder had asked all the time."""

import gzip
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from schemas import MEMBERSHIP_SNAPSHOTS
from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.domain.model.window import from_micros, to_micros
from spark_jobs.domain.phrases import count
from spark_jobs.ingest.files import read_lines
from spark_jobs.ingest.lines import line, meta
from spark_jobs.ingest.logs.entries import LogZone
from spark_jobs.ingest.logs.events import GroupState, Listed, LoggedConnection, Subscription
from spark_jobs.ingest.logs.members import Changed, groups_of
from spark_jobs.ingest.logs.read import Logged, together
from spark_jobs.ingest.logs.report import LogReport
from spark_jobs.ingest.logs.rows import CONNECTION, LogRow, client_rows, membership_rows, offset_rows, route_rows
from spark_jobs.ingest.logs.sources import LogFolder, Process, processes
from spark_jobs.ingest.logs.states import with_states
from spark_jobs.ingest.recording import Row, outcomes

#: Of recordings that name no cluster: their own is not asked for here.
_ANY_CLUSTER: Final = "*"


class LogRecording(NamedTuple):
    """A recording of the cluster from logs. `rows`: to be read once; `processes`: those that wrote the logs; `unknown`:
    the groups whose members are not known for some of the time, with the brokers; `report`: what was read.
    """

    cluster: str
    rows: Iterator[LogRow]
    processes: Sequence[Process]
    unknown: Mapping[str, Sequence[str]]
    report: LogReport

    def __str__(self) -> str:
        """Per process when it was alive, then what is not known, in lines."""
        named = [process for process in self.processes if process.name]
        rest = sum(not process.name for process in self.processes)
        text = [
            str(self.report),
            *(f"{process.name}: {' and '.join(map(_span, process.alive))}" for process in named),
            *([f"and {count(rest, 'folder')} without consumers' connections"] if rest else []),
        ]
        for group, brokers in self.unknown.items():
            text.append(f"{group}: its members are unknown for some of the time at {', '.join(brokers)}")
        return "\n".join(text)


def recording_of_logs(
    folders: Sequence[LogFolder],
    cluster: str,
    zone: str | None = None,
    recordings: Sequence[Path] = (),
    state_at: datetime | None = None,
) -> LogRecording:
    """The recording that these logs make of the cluster, written as it is read. Snapshots in `recordings` show members
    from before a log. `state_at`: the time of brokers' state files, if their own is wrong. Raises `InputFileError` or
    `UsageError` for logs that cannot be read.
    """
    report = LogReport()
    read = processes(folders, LogZone(zone), report)
    with_states(read, folders, state_at, report)
    with_snapshots(read, recordings)
    groups = {str(process.name): groups_of(process) for process in read if process.name}
    unknown = {group: _where_unknown(group, groups) for of_broker in groups.values() for group in of_broker}
    rows = chain(
        membership_rows(read, groups),
        route_rows(read),
        client_rows(read, groups),
        offset_rows(together([process.commits for process in read])),
    )
    in_part = {group: brokers for group, brokers in sorted(unknown.items()) if brokers}
    return LogRecording(cluster, rows, read, in_part, report)


def _where_unknown(group: str, groups: Mapping[str, Mapping[str, list[Changed]]]) -> list[str]:
    """The brokers at which the group's members are not known for some of the time, or at all."""
    states = {
        name: [change.state for change in of_broker[group]] for name, of_broker in groups.items() if group in of_broker
    }
    return [name for name, of_broker in states.items() if None in of_broker or not any(states.values())]


def write_recording(recording: LogRecording, path: Path, recorded: Sequence[tuple[int, int]] = ()) -> Path:
    """Write the lines as gzip, without those of `recorded` spans (ms, inclusive): snapshots say more. The path."""
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        file.write(meta(cluster=recording.cluster, source="logs"))
        for table, row in recording.rows:
            at = to_micros(row["captured_at"]) // 1000
            if not any(first <= at <= last for first, last in recorded):
                file.write(line(table, row))
    return path


def _span(span: tuple[int, int]) -> str:
    return "/".join(format_utc(from_micros(1000 * at)) for at in span)


def with_snapshots(read: Iterable[Process], recordings: Iterable[Path]) -> None:
    """Add recorders' answers to what brokers and proxies logged. Raises `InputFileError` for a bad recording."""
    named = {process.name: process for process in read if process.name}
    for path in recordings:
        for outcome in outcomes(read_lines(path), _ANY_CLUSTER):
            if isinstance(outcome, Row) and outcome.table is MEMBERSHIP_SNAPSHOTS:
                row: dict[str, Any] = outcome.values
                at = to_micros(row["captured_at"]) // 1000
                process = named.get(row["broker_name"])
                if process and process.is_covered(at):
                    process.logged.append(Logged(at + 1, _listed(row)))  # the snapshot itself is a row already
    for process in named.values():
        process.in_order()


def _listed(row: dict[str, Any]) -> Listed:
    members = tuple(LoggedConnection(*(member[name] for name in CONNECTION)) for member in row["connections"])
    subscriptions = (Subscription(*(entry[name] for name in Subscription._fields)) for entry in row["subscriptions"])
    known = {name: row[name] for name in ("consume_type", "message_model", "consume_from_where")}
    return Listed(row["consumer_group"], GroupState(members, subscriptions=tuple(subscriptions), **known))
