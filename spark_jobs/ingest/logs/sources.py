"""Folders of logs → what each process wrote: its name, its events in order, and when it was alive."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

from spark_jobs.domain.kernel.unseen import PROXY
from spark_jobs.domain.model.window import Time, joined, without
from spark_jobs.errors import InputFileError
from spark_jobs.ingest.logs.entries import LogZone
from spark_jobs.ingest.logs.events import Booted, Connected, Disconnected, QueueCounts, Stopped
from spark_jobs.ingest.logs.printed_connections import is_printed
from spark_jobs.ingest.logs.read import LONGEST_SILENCE, Commits, FileLog, Logged, read_files, spans_of, together
from spark_jobs.ingest.logs.report import LogReport

#: Kinds of a server's further files that say nothing of consumers or topics: no appender of theirs does.
_SERVERS: Final = frozenset(("broker", "broker_default", "namesrv", "proxy"))
_OTHER_KINDS: Final = frozenset(
    ("stats", "store", "storeerror", "remoting", "watermark", "transaction", "filter", "protection", "commercial")
)
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
    """The logs of one process: a broker, proxy, name server or application.

    `name`: of a broker or proxy, as in snapshots; else None. `alive`: spans (ms, inclusive) of lines without gap, at
    least one; `begins`: their starts. `commits`: offsets that clients logged. `folders`: of its logs. `topics`,
    `groups`: of its state files.
    """

    name: str | None
    logged: list[Logged]
    alive: list[Time]
    begins: list[int]
    commits: Commits
    folders: list[Path]
    topics: dict[str, QueueCounts] = field(default_factory=dict)
    groups: set[str] = field(default_factory=set)

    def is_covered(self, at: int) -> bool:
        """Return whether the log lasts until this time (milliseconds)."""
        return any(first <= at <= last + LONGEST_SILENCE for first, last in self.alive)

    def in_order(self) -> None:
        """Sorts what was logged by time; within a second it stays as it is."""
        self.logged.sort(key=attrgetter("at"))


def processes(folders: Sequence[LogFolder], zone: LogZone, report: LogReport) -> list[Process]:
    """The processes of the logs below these folders. Raises `InputFileError` without a log, zone or broker's name."""
    files: dict[tuple[Path, str | None], list[Path]] = defaultdict(list)
    for folder in folders:
        for path in files_below(folder.path):
            if not path.name.endswith(_NOT_LOGS) and not is_printed(path):
                files[_folder_of(path), folder.process].append(path)
    if not files:
        raise InputFileError(f"there is no log below {', '.join(str(folder.path) for folder in folders)}")
    for paths in files.values():
        report.passed_over += _pass_over(paths)
    logs = {log.path: log for log in read_files([path for paths in files.values() for path in paths], zone)}
    report.files.extend(logs.values())
    of_process: dict[tuple[str | None, Path | None], list[FileLog]] = defaultdict(list)
    folders_of: dict[tuple[str | None, Path | None], list[Path]] = defaultdict(list)
    for (path, given), paths in sorted(files.items(), key=str):
        of_folder = [logs[path] for path in paths]
        if any(log.alive for log in of_folder):
            name = name_of(given, path, [logged for log in of_folder for logged in log.events])
            key = name, None if name else path  # a broker's logs may be in several folders
            of_process[key] += of_folder
            folders_of[key].append(path)
    read = [_process(name, of_process[name, path], folders_of[name, path]) for name, path in of_process]
    for process in read:
        check_one_process(process.name, process.logged)
    return read


def files_below(path: Path) -> Iterator[Path]:
    """The files in a folder and in those below it, or the file itself. Raises `InputFileError` if it is not there."""
    if path.is_dir():
        yield from sorted(file for file in path.rglob("*") if file.is_file())
    elif path.exists():
        yield path
    else:
        raise InputFileError(f"{path} does not exist: name a folder of logs, or a file")


def _pass_over(paths: list[Path]) -> int:
    """Leaves out a server's files that say nothing of consumers or topics; how many."""
    read = [path for path in paths if _kind(path) not in _OTHER_KINDS]
    passed_over = len(paths) - len(read) if _SERVERS & {_kind(path) for path in paths} else 0
    if passed_over:
        paths[:] = read
    return passed_over


def _folder_of(path: Path) -> Path:
    """The folder of a process that a file is of: RocketMQ rotates files into one below it."""
    return path.parent.parent if path.parent.name == "otherdays" else path.parent


def _process(name: str | None, logs: Sequence[FileLog], folders: list[Path]) -> Process:
    """A process from its files; equal lines count once, and lines of one second stay in the order of the files."""
    in_order = sorted(_of_one_zone(logs), key=lambda log: min(log.alive, default=(0, 0)))
    each = {(type(entry.event), entry): entry for log in in_order for entry in log.events}
    logged = sorted(each.values(), key=attrgetter("at"))
    spans = spans_of(span for log in in_order for span in log.alive)
    unknown = joined([*_down(logged), *(span for log in in_order for span in log.back)])
    alive = [(first, end - 1) for span in spans for first, end in without((span[0], span[1] + 1), unknown)]
    begins = [first for first, _ in spans]
    return Process(name, logged, alive, begins, together([log.commits for log in logs]), folders)


def _of_one_zone(logs: Sequence[FileLog]) -> Sequence[FileLog]:
    """The files that name their zone, or whose kind was understood: others, such as RocksDB's, may use another zone."""
    kinds = {_kind(log.path) for log in logs if log.understood}
    return [log for log in logs if _kind(log.path) in kinds or not log.is_zone_given] or logs


def _kind(path: Path) -> str:
    return re.split(r"[.\d-]", path.name)[0]


def _down(logged: Iterable[Logged]) -> Iterator[Time]:
    """The times when the broker was down: from its last line before a start until it has started."""
    stopped = None
    for at, event in logged:
        if isinstance(event, Stopped):
            stopped = at if stopped is None else stopped
        elif isinstance(event, Booted):
            if stopped is not None:
                yield stopped + 1, at
            stopped = None


#: Folders that every installation has.
_ANY_LOGS: Final = ("logs", "rocketmqlogs")


def name_of(name: str | None, folder: Path, logged: Sequence[Logged]) -> str | None:
    """The broker or proxy of the logs; None: a process without consumers. Raises `InputFileError` if it is unclear."""
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


def check_one_process(name: str | None, logged: Iterable[Logged]) -> None:
    """Raises `InputFileError` where clients are connected to two brokers at once, by turns: their logs are mixed."""
    connected: dict[tuple[str, str], dict[str, str | None]] = defaultdict(dict)
    newest, former, mixed = None, set[str | None](), set[str | None]()
    for _, event in logged:
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
            f"the logs of {name} are of several processes, {' and '.join(sorted(map(str, mixed)))}: the same clients "
            "are connected to both. Give each broker a folder and a name, and of a master and its slaves the master's "
            "logs only"
        )
