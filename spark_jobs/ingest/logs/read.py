"""One log file → what it says: its events, when its process was alive, and the offsets that were committed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from typing import Final, NamedTuple

from spark_jobs.domain.model.window import Time, joined
from spark_jobs.ingest.logs.entries import Entry, FileClock, LogFile, LogZone, WrittenTime
from spark_jobs.ingest.logs.events import Committed, Event, Stopped
from spark_jobs.ingest.logs.lines import WORDS, events
from spark_jobs.ingest.logs.offsets import Commit, Commits, commit_of, committed

#: A broker registers at the name servers every 30 s, and a proxy or client logs its counts every 60 s: longer without
#: any line, and what happened is unknown.
LONGEST_SILENCE: Final = 150_000
#: Threads write their entries out of order by no more than this, in milliseconds.
_OUT_OF_ORDER: Final = 5_000
#: Bytes of logs from which on files are read by several processes: one takes half a second to start.
_MANY_BYTES: Final = 32 * 1024 * 1024


class Logged(NamedTuple):
    """An event at its time, milliseconds since 1970."""

    at: int
    event: Event


@dataclass
class FileLog:
    """All that counts of a log file. `events`: in the file's order; `alive`: the spans of time without a gap of
    `LONGEST_SILENCE`, milliseconds, both ends within; `entries`: how many it has; `understood`: of how many events or
    offsets were read.
    `went_back`: how often its times go back, which threads alone do not explain; `damage`: why its end is missing.
    """

    path: Path
    events: list[Logged] = field(default_factory=list)
    alive: list[Time] = field(default_factory=list)
    commits: Commits = field(default_factory=dict)
    entries: int = 0
    understood: int = 0
    went_back: int = 0
    damage: str | None = None


class _Placed(NamedTuple):
    """A time as it is written, until all of the file is read and its zone is known: `FileClock.to_utc`."""

    written: WrittenTime
    is_gmt_8: bool


def read_files(paths: Sequence[Path], zone: LogZone) -> Iterator[FileLog]:
    """Each file's content, in order; with many bytes all cores read, a file each.

    Raises `InputFileError` where a file's zone is not known, or where it cannot be read.
    """
    workers = min(len(paths), cpu_count() or 1)
    if workers < 2 or sum(path.stat().st_size for path in paths) < _MANY_BYTES:
        yield from map(read_file, paths, repeat(zone))
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(read_file, paths, repeat(zone))


def read_file(path: Path, zone: LogZone) -> FileLog:
    """The content of one file, in one pass. Memory grows with the events, and not with the lines."""
    log, file, clock = FileLog(path), LogFile(path), FileClock(path, zone)
    placed: list[tuple[_Placed, Event]] = []
    commits: dict[Commit, tuple[_Placed, int]] = {}
    alive, before = _Alive(), None
    for entry in file:
        alive.take(entry)
        if WORDS.search(entry.text):
            clock.learn(entry)
            logged = list(events(entry.text))
            log.understood += bool(logged)
            for event in logged:
                place = _Placed(entry.written, entry.is_gmt_8)
                if isinstance(event, Committed):
                    commits[commit_of(event, entry.written.local)] = place, event.offset
                elif not isinstance(event, Stopped):
                    placed.append((place, event))
                elif before and before.written != entry.written:
                    placed.append((before, event))
        before = _Placed(entry.written, entry.is_gmt_8)
    log.entries, log.went_back, log.damage = alive.entries, alive.went_back, file.damage
    log.events = [Logged(clock.to_utc(*place), event) for place, event in placed]
    log.commits = committed((key, clock.to_utc(*place), offset) for key, (place, offset) in commits.items())
    log.alive = spans_of((clock.to_utc(*first), clock.to_utc(*last)) for first, last in alive.spans)
    return log


class _Alive:
    """The time in which entries follow each other: how many there are, in which spans, and how often time goes back."""

    def __init__(self) -> None:
        self.entries = self.went_back = 0
        self.spans: list[tuple[_Placed, _Placed]] = []
        self._first = self._last = self._before = 0

    def take(self, entry: Entry) -> None:
        """Add an entry, in the file's order."""
        local = entry.written.local
        self.entries += 1
        if local == self._before and self.spans:  # as mostly
            return
        place = _Placed(entry.written, entry.is_gmt_8)
        self.went_back += local < self._before - _OUT_OF_ORDER
        self._before = local
        if not self.spans or not self._first - LONGEST_SILENCE <= local <= self._last + LONGEST_SILENCE:
            self.spans.append((place, place))
            self._first = self._last = local
        elif local > self._last:
            self.spans[-1] = self.spans[-1][0], place
            self._last = local
        elif local < self._first:
            self.spans[-1] = place, self.spans[-1][1]
            self._first = local


def spans_of(times: Iterable[Time]) -> list[Time]:
    """These times (milliseconds, both ends within), those together between which is no more than `LONGEST_SILENCE`."""
    lasting = joined((first, last + LONGEST_SILENCE) for first, last in times)
    return [(first, last - LONGEST_SILENCE) for first, last in lasting]
