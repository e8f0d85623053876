"""Folders of logs → what each process wrote: its events in order, and when it was alive."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

from spark_jobs.domain.model.window import Time, without
from spark_jobs.errors import InputFileError
from spark_jobs.ingest.logs.entries import LogZone
from spark_jobs.ingest.logs.events import Booted, QueueCounts, Stopped
from spark_jobs.ingest.logs.names import check_one_process, name_of
from spark_jobs.ingest.logs.offsets import Commits, together
from spark_jobs.ingest.logs.printed_connections import is_printed
from spark_jobs.ingest.logs.read import LONGEST_SILENCE, FileLog, Logged, read_files, spans_of
from spark_jobs.ingest.logs.report import LogReport

#: Kinds of files beside those of a server that say nothing of consumers or topics: no appender of theirs does.
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
    """The logs of one process: a broker, a proxy, a name server or an application.

    `name`: of a broker or a proxy, as snapshots call it; None: of any other process. `alive`: the spans in which lines
    follow each other, milliseconds, both ends within; at least one. `commits`: offsets that clients wrote into it.
    `folders`: where its logs are. `topics`, `groups`: those of its files of state.
    """

    name: str | None
    logged: list[Logged]
    alive: list[tuple[int, int]]
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
    """The processes whose logs are below these folders: one per folder that has log files.

    Raises `InputFileError` where there is nothing to read, where a file's zone is not known, or where a folder holds
    the logs of consumers' connections and nothing says of which broker.
    """
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
    merged = _merged(
        _process(name, [logs[path] for path in paths], folder)
        for (folder, name), paths in sorted(files.items(), key=str)
        if any(logs[path].entries for path in paths)
    )
    for process in merged:
        check_one_process(process.name, process.logged)
    return merged


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


def _process(name: str | None, logs: Sequence[FileLog], folder: Path) -> Process:
    """The files of one folder; a line that two of them have counts once. Within a second their order is that of the
    files, the oldest first.
    """
    in_order = sorted(_of_kinds_understood(logs), key=lambda log: min(log.alive, default=(0, 0)))
    logged = sorted(dict.fromkeys(entry for log in in_order for entry in log.events), key=attrgetter("at"))
    alive = _alive((span for log in in_order for span in log.alive), logged)
    return Process(name_of(name, folder, logged), logged, alive, together([log.commits for log in logs]), [folder])


def _of_kinds_understood(logs: Sequence[FileLog]) -> Sequence[FileLog]:
    """The files of a kind, such as `broker.log` and all that were rotated, of which anything was understood: others,
    such as RocksDB's, may have times of another zone.
    """
    kinds = {_kind(log.path) for log in logs if log.understood}
    return [log for log in logs if _kind(log.path) in kinds] or logs


def _kind(path: Path) -> str:
    return re.split(r"[.\d-]", path.name)[0]


def _alive(spans: Iterable[Time], logged: Iterable[Logged]) -> list[Time]:
    """The spans, without the times when the broker was down: from its last line before a start until it has started."""
    down, stopped = list[Time](), None
    for at, event in logged:
        if isinstance(event, Stopped):
            stopped = at if stopped is None else stopped
        elif isinstance(event, Booted):
            down += [(stopped + 1, at)] if stopped is not None else []
            stopped = None
    up = (part for first, last in spans_of(spans) for part in without((first, last + 1), down))
    return [(first, end - 1) for first, end in up]


def _merged(read: Iterable[Process]) -> list[Process]:
    """Processes of one name together: a broker's logs may be in several folders."""
    merged: dict[str, Process] = {}
    unnamed = []
    for process in read:
        if process.name is None:
            unnamed.append(process)
        elif process.name in merged:
            first = merged[process.name]
            first.logged += process.logged
            first.in_order()
            first.alive = _alive(first.alive + process.alive, first.logged)
            first.commits = together([first.commits, process.commits])
            first.folders += process.folders
        else:
            merged[process.name] = process
    return [*merged.values(), *unnamed]
