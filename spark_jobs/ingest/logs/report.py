"""A report of read logs, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from spark_jobs.domain.phrases import count
from spark_jobs.ingest.logs.read import FileLog


@dataclass
class LogReport:
    """The logs that were read. `notes`: what is to be known of files of brokers' states."""

    files: list[FileLog] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """How much was read and understood, then the files that say nothing, and what is wrong with others."""
        entries, understood = (sum(getattr(log, name) for log in self.files) for name in ("entries", "understood"))
        total = f"{count(len(self.files), 'log file')}, {entries:,} entries, {understood:,} of them understood"
        silent = [str(log.path) for log in self.files if log.entries and not log.understood]
        text = [total, *([f"no entry is about consumers or topics in {', '.join(silent)}"] if silent else [])]
        return "\n".join([*text, *(problem for log in self.files for problem in _problems(log)), *self.notes])


def _problems(log: FileLog) -> Iterator[str]:
    if not log.entries:
        yield f"nothing was understood in {log.path}: it has no entries of a log"
    if log.damage:
        yield f"{log.path} is damaged, and was read up to there: {log.damage}"
    if log.went_back:
        times = count(log.went_back, "time")
        yield f"{log.path} goes back in time {times}: the clock was set back, or several processes write into it"
