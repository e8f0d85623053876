"""A report of read logs, in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from spark_jobs.domain.phrases import count
from spark_jobs.ingest.logs.read import FileLog

#: So many files are named.
_NAMED: Final = 5


@dataclass
class LogReport:
    """The logs that were read; `passed_over`: skipped files of servers; `notes`: about files of brokers' states."""

    files: list[FileLog] = field(default_factory=list)
    passed_over: int = 0
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """How much was read and understood, then the files that say nothing, and what is wrong with others."""
        entries, understood = (sum(getattr(log, name) for log in self.files) for name in ("entries", "understood"))
        passed = f"; {count(self.passed_over, 'file')} of other kinds, such as store.log" if self.passed_over else ""
        total = f"{count(len(self.files), 'log file')}, {entries:,} entries, {understood:,} of them understood{passed}"
        silent = [log.path for log in self.files if log.entries and not log.understood]
        strange = [log.path for log in self.files if not log.entries and log.path.stat().st_size]
        text = [
            total,
            *([f"no entry is about consumers or topics in {_names(silent)}"] if silent else []),
            *([f"nothing was understood in {_names(strange)}: no entry of a log"] if strange else []),
        ]
        return "\n".join([*text, *(problem for log in self.files for problem in _problems(log)), *self.notes])


def _names(paths: Sequence[Path]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(map(str, paths[:_NAMED])) + more


def _problems(log: FileLog) -> Iterator[str]:
    if log.damage:
        yield f"{log.path} is damaged, and was read up to there: {log.damage}"
    if log.went_back:
        times = count(log.went_back, "time")
        yield (
            f"{log.path} goes back in time {times}: the clock was set back, or several processes write into "
            "it. The times that it has twice are unknown"
        )
