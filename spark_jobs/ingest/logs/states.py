"""Files of a broker's state at one moment → events and offsets among those of its logs."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.window import from_micros, to_micros
from spark_jobs.domain.rocketmq.system_names import is_of_users, is_topic_of
from spark_jobs.errors import InputFileError
from spark_jobs.ingest import fastjson, fields
from spark_jobs.ingest.fields import Record
from spark_jobs.ingest.files import RejectedError
from spark_jobs.ingest.logs.events import Committed, QueueCounts
from spark_jobs.ingest.logs.printed_connections import is_printed, listed_in
from spark_jobs.ingest.logs.read import Commits, Logged, commit_of, together
from spark_jobs.ingest.logs.report import LogReport
from spark_jobs.ingest.logs.sources import LogFolder, Process, files_below

#: The file of before, which the broker keeps. Source: MixAll.string2File.
_BACKUP: Final = ".bak"


def with_states(read: Sequence[Process], folders: Sequence[LogFolder], at: datetime | None, report: LogReport) -> None:
    """Add brokers' state files to their logs. `at`: their time, else that of the file. Raises `InputFileError`."""
    states = {
        path.with_name(path.name.removesuffix(_BACKUP)): folder
        for folder in folders
        for path in files_below(folder.path)
    }
    for path, folder in states.items():
        reader = _READERS.get(path.name) or (_add_connections if is_printed(path) else None)
        if reader:
            try:
                reader(_File(path, _broker(path, folder, read), at, report))
            except RejectedError as error:
                raise InputFileError(f"{path} is no {path.name} of a broker: {error.detail}. Copy it again") from None
    for process in read:
        process.in_order()


class _File:
    """A file of a broker's state."""

    def __init__(self, path: Path, process: Process, given: datetime | None, report: LogReport) -> None:
        self.path, self.process = path, process
        self._given, self._report = given, report

    def content(self) -> Record:
        """The content of the file, or of its backup if it is broken. Raises `InputFileError` if neither can be read."""
        problems = []
        for path in (self.path, self.path.with_name(self.path.name + _BACKUP)):
            try:
                content = fastjson.parse(path.read_text("utf-8"))
            except (OSError, UnicodeDecodeError, fastjson.FastjsonError) as error:
                problems.append(f"{path} cannot be read: {error}. Copy it again")
            else:
                self.path = path
                return Record(content, path.name)
        raise InputFileError(problems[0])

    def moment(self, changed: int = 0) -> int | None:
        """The time of the content (ms); None: unknown, as the log does not cover it or the content `changed` later."""
        given, own = self._given, int(self.path.stat().st_mtime * 1000)
        at = own if given is None else to_micros(given) // 1000
        source = "its own time" if given is None else "--state-at"
        if self.process.is_covered(at) and at >= changed:
            self.note(f"is of {_text(at)}, as {source} says")
            return at
        why = (
            "its content has changed since" if at < changed else f"there is no log of {self.process.name} of that time"
        )
        self.note(f"is passed over: {source} says {_text(at)}, but {why}. Name the time of the copy with --state-at")
        return None

    def note(self, text: str) -> None:
        """Reports something of the file to the user."""
        self._report.notes.append(f"{self.path} {text}")


def _broker(path: Path, folder: LogFolder, read: Sequence[Process]) -> Process:
    """The broker whose name the user gave for the file, or a folder above it has, or the only one with logs near it."""
    named = {process.name: process for process in read if process.name}
    above = [parent.name for parent in path.parents]
    name = folder.process or next((name for name in named if {name, name.replace("@", "_")} & {*above}), None)
    if name in named:
        return named[name]
    for parent in (parent for parent in path.parents if name is None and parent.is_relative_to(folder.path)):
        near = [process for process in named.values() if any(logs.is_relative_to(parent) for logs in process.folders)]
        if len(near) == 1:
            return near[0]
    raise InputFileError(f"{path} does not say of which broker with logs it is: name it, --logs BROKER={path}")


def _changed(content: Record) -> int:
    """When a broker changed the file's content, milliseconds; 0: it does not say."""
    version = content.optional("dataVersion", Record)
    return version.optional("timestamp", fields.integer) or 0 if version else 0


def _add_topics(file: _File) -> None:
    content = file.content()
    for topic, config in content.required("topicConfigTable", fields.named_records):
        counts = (config.required(name, fields.count) for name in ("readQueueNums", "writeQueueNums", "perm"))
        file.process.topics[topic] = QueueCounts(*counts)
    changed = _changed(content)
    if not file.process.is_covered(changed) and changed > file.process.alive[-1][1]:
        file.note(f"has changed at {_text(changed)}, after the log: queues of topics may have been others")


def _add_groups(file: _File) -> None:
    groups = file.content().required("subscriptionGroupTable", fields.named_records)
    file.process.groups.update(group for group, _ in groups if is_of_users(group))


def _add_offsets(file: _File) -> None:
    """Keys are `topic@group`, as neither name may have the separator."""
    content = file.content()
    at = file.moment(_changed(content))
    if at is None:
        return
    offsets: Commits = {}
    for key, queues in content.required("offsetTable", _offset_table):
        topic, _, group = key.partition("@")
        if is_of_users(group) and is_topic_of(topic, group) and "@" not in group:
            for queue_id, offset in queues:
                committed = Committed(group, MessageQueue(topic, str(file.process.name), queue_id), offset)
                offsets[commit_of(committed, at)] = at, offset
    file.process.commits = together([file.process.commits, offsets])


def _offset_table(value: object, path: str) -> list[tuple[str, list[tuple[int, int]]]]:
    return fields.named(value, path, partial(fields.numbered, read=fields.integer, within=range(2**31)))


def _add_connections(file: _File) -> None:
    at = file.moment()
    if at is not None:
        file.process.logged += (Logged(at, listed) for listed in listed_in(file.path))


_READERS: Final[Mapping[str, Callable[[_File], None]]] = {
    "topics.json": _add_topics,
    "subscriptionGroup.json": _add_groups,
    "consumerOffset.json": _add_offsets,
}


def _text(at: int) -> str:
    return format_utc(from_micros(1000 * at))
