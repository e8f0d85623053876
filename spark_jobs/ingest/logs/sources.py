"""Folders of logs → what each process wrote: its events in order, and when it was alive."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

from schemas import MEMBERSHIP_SNAPSHOTS
from spark_jobs.domain.kernel.unseen import PROXY
from spark_jobs.domain.model.window import to_micros
from spark_jobs.errors import InputFileError
from spark_jobs.ingest.files import read_lines
from spark_jobs.ingest.logs.entries import LogZone
from spark_jobs.ingest.logs.events import (
    Booted,
    Connected,
    Disconnected,
    Listed,
    LoggedConnection,
    QueueCounts,
    Subscription,
)
from spark_jobs.ingest.logs.offsets import Commits, together
from spark_jobs.ingest.logs.read import LONGEST_SILENCE, FileLog, Logged, read_files, spans_of
from spark_jobs.ingest.logs.report import LogReport
from spark_jobs.ingest.recording import Row, outcomes

#: Of recordings that name no cluster: their own is not asked for here.
_ANY_CLUSTER: Final = "*"
#: Folders that every installation has.
_ANY_LOGS: Final = ("logs", "rocketmqlogs")
_NOT_LOGS: Final = (".json", ".bak", ".properties", ".conf", ".xml", ".yml", ".yaml")


class LogFolder(NamedTuple):
    """A folder or file of logs, and whose they are, where the user says it."""

    path: Path
    process: str | None

    @classmethod
    def parse(cls, text: str) -> LogFolder:
        """`[BROKER=]PATH`; a path that exists is one, whatever is in its name."""
        process, separator, path = text.partition("=")
        if not separator or Path(text).exists():
            return cls(Path(text), None)
        return cls(Path(path), process)


@dataclass
class Process:
    """The logs of one process: a broker, a proxy, a name server or an application.

    `name`: of a broker or a proxy, as snapshots call it; None: of any other process. `alive`: the spans in which lines
    follow each other, milliseconds, both ends within. `commits`: offsets that clients wrote into it. `topics`: of a
    broker's `topics.json`; None: there is none.
    """

    name: str | None
    logged: list[Logged]
    alive: list[tuple[int, int]]
    commits: Commits = field(default_factory=dict)
    topics: dict[str, QueueCounts] | None = None


def processes(folders: Sequence[LogFolder], zone: LogZone, report: LogReport) -> list[Process]:
    """The processes whose logs are below these folders: one per folder that has log files.

    Raises `InputFileError` where there is nothing to read, where a file's zone is not known, or where a folder holds
    the logs of consumers' connections and nothing says of which broker.
    """
    files: dict[tuple[Path, str | None], list[Path]] = defaultdict(list)
    topics: dict[Path, dict[str, QueueCounts]] = {}
    for folder in folders:
        for path in _files_below(folder.path):
            if path.name == "topics.json":
                topics[path] = _topics(path)
            elif not path.name.endswith(_NOT_LOGS):
                files[_folder_of(path), folder.process].append(path)
    if not files:
        raise InputFileError(f"there is no log below {', '.join(str(folder.path) for folder in folders)}")
    logs = {log.path: log for log in read_files([path for paths in files.values() for path in paths], zone)}
    report.files.extend(logs.values())
    read = [
        _process(name, [logs[path] for path in paths], folder)
        for (folder, name), paths in sorted(files.items(), key=str)
    ]
    merged = _merged(_with_topics(read, topics, folders))
    for process in merged:
        _check_one_process(process)
    return merged


def with_snapshots(read: Iterable[Process], recordings: Iterable[Path]) -> None:
    """Puts what brokers and proxies answered to a recorder among what they logged, where their logs last until then.

    Raises `InputFileError` for a recording that cannot be read.
    """
    named = {process.name: process for process in read if process.name}
    for path in recordings:
        for outcome in outcomes(read_lines(path), _ANY_CLUSTER):
            if isinstance(outcome, Row) and outcome.table is MEMBERSHIP_SNAPSHOTS:
                row: dict[str, Any] = outcome.values
                at = to_micros(row["captured_at"]) // 1000
                process = named.get(row["broker_name"])
                if process and any(first <= at <= last + LONGEST_SILENCE for first, last in process.alive):
                    process.logged.append(Logged(at + 1, _listed(row)))  # the snapshot itself is a row already
    for process in named.values():
        process.logged.sort(key=attrgetter("at"))


def _listed(row: dict[str, Any]) -> Listed:
    members = (
        LoggedConnection(member["client_addr"], member["client_id"], member["language"], member["version"])
        for member in row["connections"]
    )
    subscriptions = (Subscription(*(entry[name] for name in Subscription._fields)) for entry in row["subscriptions"])
    return Listed(
        group=row["consumer_group"],
        consume_type=row["consume_type"],
        message_model=row["message_model"],
        consume_from_where=row["consume_from_where"],
        members=tuple(members),
        subscriptions=tuple(subscriptions),
    )


def _folder_of(path: Path) -> Path:
    """The folder of a process that a file is of: RocketMQ rotates files into one below it."""
    return path.parent.parent if path.parent.name == "otherdays" else path.parent


def _files_below(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from sorted(file for file in path.rglob("*") if file.is_file())
    elif path.exists():
        yield path
    else:
        raise InputFileError(f"{path} does not exist: name a folder of logs, or a file")


def _process(name: str | None, logs: Sequence[FileLog], folder: Path) -> Process:
    """The files of one folder; a line that two of them have counts once. Within a second their order is that of the
    files, the oldest first.
    """
    in_order = sorted(logs, key=lambda log: min(log.alive, default=(0, 0)))
    logged = sorted(dict.fromkeys(entry for log in in_order for entry in log.events), key=attrgetter("at"))
    alive = spans_of(span for log in logs for span in log.alive)
    return Process(_name_of(name, folder, logged), logged, alive, together([log.commits for log in logs]))


def _name_of(name: str | None, folder: Path, logged: Iterable[Logged]) -> str | None:
    """The broker or proxy that wrote this; None: a process without consumers."""
    booted = {event.broker for _, event in logged if isinstance(event, Booted)}
    if len(booted) > 1:
        raise InputFileError(
            f"{folder} has logs of several brokers, {', '.join(sorted(booted))}: put each broker's into its own folder"
        )
    if name and booted - {name}:
        raise InputFileError(
            f"{folder} has logs of {booted.pop()}, and not of {name}: name it so, or leave the name out"
        )
    if name or booted:
        return name or booted.pop()
    connected = [event for _, event in logged if isinstance(event, Connected)]
    if not connected:
        return None
    if all(
        "@" in event.connection.client_id and event.connection.language not in ("JAVA", "GO") for event in connected
    ):
        return f"{PROXY}{next((part for part in reversed(folder.parts) if part not in _ANY_LOGS), folder.name)}"
    raise InputFileError(f"{folder} does not say whose logs it has: name the broker, --logs BROKER={folder}")


def _check_one_process(process: Process) -> None:
    """Raises `InputFileError` where clients are connected to two brokers at once, by turns: their logs are mixed."""
    connected: dict[tuple[str, str], dict[str, str | None]] = defaultdict(dict)
    newest, former, mixed = None, set[str | None](), set[str | None]()
    for _, event in process.logged:
        match event:
            case Booted():
                connected.clear()
            case Connected(connection=connection, local=local):
                of_client = connected[event.group, connection.client_id]
                if local != newest:
                    former.add(newest)
                    newest = local
                if local in former and {*of_client.values()} - {local}:
                    mixed |= {local, *of_client.values()}
                of_client[connection.address] = local
            case Disconnected(connection=connection):
                connected[event.group, connection.client_id].pop(connection.address, None)
    if mixed:
        raise InputFileError(
            f"the logs of {process.name} are of several processes, {' and '.join(sorted(map(str, mixed)))}: the same "
            "clients are connected to both. Give each broker a folder and a name, and of a master and its slaves the "
            "master's logs only"
        )


def _topics(path: Path) -> dict[str, QueueCounts]:
    """The topics of a broker's `store/config/topics.json`."""
    try:
        table = json.loads(path.read_bytes())["topicConfigTable"]
        return {
            topic: QueueCounts(config["readQueueNums"], config["writeQueueNums"], config["perm"])
            for topic, config in table.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputFileError(f"{path} is no topics.json of a broker: {error!r}. Copy it again") from None


def _with_topics(
    read: Sequence[Process], topics: dict[Path, dict[str, QueueCounts]], folders: Sequence[LogFolder]
) -> Sequence[Process]:
    """Gives each `topics.json` to the broker whose name the user gave for it, or a folder above it has."""
    named = {process.name: process for process in read if process.name}
    for path, table in topics.items():
        given = next(
            (folder.process for folder in folders if folder.process and path.is_relative_to(folder.path)), None
        )
        above = [parent.name for parent in path.parents]
        name = given or next((name for name in named if name.replace("@", "_") in above or name in above), None)
        if name not in named:
            raise InputFileError(f"{path} does not say of which broker it is: name it, --logs BROKER={path}")
        named[name].topics = table
    return read


def _merged(read: Iterable[Process]) -> list[Process]:
    """Processes of one name together: a broker's logs may be in several folders."""
    merged: dict[str, Process] = {}
    unnamed = []
    for process in read:
        if process.name is None:
            unnamed.append(process)
        elif process.name in merged:
            first = merged[process.name]
            first.logged = sorted(first.logged + process.logged, key=attrgetter("at"))
            first.alive = spans_of(first.alive + process.alive)
            first.commits = together([first.commits, process.commits])
            first.topics = first.topics or process.topics
        else:
            merged[process.name] = process
    return [*merged.values(), *unnamed]
