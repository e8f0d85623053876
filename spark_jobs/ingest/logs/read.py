"""One log file → what it says: its events, when its process was alive, and the offsets that were committed."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from typing import Final, NamedTuple

from spark_jobs.domain.model.window import Time, joined
from spark_jobs.errors import InputFileError
from spark_jobs.ingest.logs.entries import Entry, FileClock, LogFile, LogZone, WrittenTime
from spark_jobs.ingest.logs.events import Committed, Event, Stopped
from spark_jobs.ingest.logs.lines import WORDS, events

#: The default collection interval (ms), in which states are repeated, and a queue has one sample.
CADENCE: Final = 20_000


class Commit(NamedTuple):
    """A queue of a group in the collection interval of this number. Java clients write each queue's offset every 5 s
    (`RemoteBrokerOffsetStore`).
    """

    group: str
    topic: str
    number: int
    broker: str
    queue_id: int


#: When the last commit of a queue in a collection interval was (milliseconds), and its offset.
Commits = dict[Commit, tuple[int, int]]


def commit_of(event: Committed, at: int) -> Commit:
    """The queue, and the collection interval of that time (milliseconds)."""
    return Commit(event.group, event.queue.topic, at // CADENCE, event.queue.broker_name, event.queue.queue_id)


def committed(logged: Iterable[tuple[Commit, int, int]]) -> Commits:
    """The last commits, of (queue, milliseconds, offset); `number` becomes that of the time."""
    last: Commits = {}
    for commit, at, offset in logged:
        key = commit._replace(number=at // CADENCE)
        last[key] = max(last.get(key, (at, offset)), (at, offset))
    return last


def together(of_processes: Sequence[Commits]) -> Commits:
    """The last commits of several logs."""
    return committed((commit, *when) for commits in of_processes for commit, when in commits.items())


#: A broker registers every 30 s, a proxy or client logs counts every 60 s: longer silence means that all is unknown.
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
    """The content of a log file: `events` in its order; `alive`, spans (ms, inclusive) without a gap of
    `LONGEST_SILENCE`; `entries`, and how many were `understood`; `back`, spans written twice as the clock `went_back`
    so often; `is_zone_given`, the user's zone was needed; `damage`, why its end is missing.
    """

    path: Path
    events: list[Logged] = field(default_factory=list)
    alive: list[Time] = field(default_factory=list)
    commits: Commits = field(default_factory=dict)
    entries: int = 0
    understood: int = 0
    back: list[Time] = field(default_factory=list)
    went_back: int = 0
    is_zone_given: bool = False
    damage: str | None = None


class _Placed(NamedTuple):
    """A time as it is written, until all of the file is read and its zone is known: `FileClock.to_utc`."""

    written: WrittenTime
    is_gmt_8: bool


def read_files(paths: Sequence[Path], zone: LogZone, many_bytes: int = _MANY_BYTES) -> Iterator[FileLog]:
    """Each file's content, in order; many bytes are read in parallel. Raises `InputFileError`."""
    workers = min(len(paths), cpu_count() or 1)
    if workers < 2 or sum(path.stat().st_size for path in paths) < many_bytes:
        yield from map(read_file, paths, repeat(zone))
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(read_file, paths, repeat(zone))


def read_file(path: Path, zone: LogZone) -> FileLog:
    """One file's content, in one pass. If the clock goes back, an event has the last time before that."""
    log, file, clock, times = FileLog(path), LogFile(path), FileClock(path, zone), _Times()
    placed: list[tuple[_Placed, Event]] = []
    same: dict[tuple[type, Event], Event] = {}  # most lines are repeated: each event is in memory once
    commits: dict[Commit, tuple[_Placed, int]] = {}
    before = None
    for entry in file:
        dated = times.take(entry)
        if WORDS.search(entry.text):
            clock.learn(entry)
            logged = list(events(entry.text))
            log.understood += bool(logged)
            for event in logged:
                if isinstance(event, Committed):
                    commits[commit_of(event, dated.written.local)] = _placed(dated), event.offset
                elif not isinstance(event, Stopped):
                    placed.append((_placed(dated), same.setdefault((type(event), event), event)))
                elif before and before.written != entry.written:
                    placed.append((_placed(before), event))
        before = dated
    log.entries, log.went_back, log.damage = times.entries, times.went_back, file.damage
    log.events = [Logged(clock.to_utc(*place), event) for place, event in placed]
    log.commits = committed((key, clock.to_utc(*place), offset) for key, (place, offset) in commits.items())
    try:
        log.alive, log.back = (
            spans_of((clock.to_utc(*first), clock.to_utc(*last)) for first, last in spans)
            for spans in (times.alive, times.back)
        )
    except InputFileError:
        if log.understood:
            raise
    log.is_zone_given = clock.is_zone_given
    return log


def _placed(entry: Entry) -> _Placed:
    return _Placed(entry.written, entry.is_gmt_8)


class _Times:
    """The times of a file's entries: their number, spans without gap, and spans written twice as time went back."""

    def __init__(self) -> None:
        self.entries = self.went_back = 0
        self.alive: list[tuple[_Placed, _Placed]] = []
        self.back: list[tuple[_Placed, _Placed]] = []
        self._newest: Entry | None = None
        self._local = self._lowest = 0

    def take(self, entry: Entry) -> Entry:
        """Add an entry, in the file's order. The entry whose time counts for it: itself, unless time went back."""
        local, newest = entry.written.local, self._newest
        self.entries += 1
        if newest is None or local > self._local:
            place = _placed(entry)
            if newest is None or local > self._local + LONGEST_SILENCE:
                self.alive.append((place, place))
            else:
                self.alive[-1] = self.alive[-1][0], place
            self._newest, self._local, self._lowest = entry, local, local
        elif local < self._local - _OUT_OF_ORDER:
            self._take_back(entry, newest)
            return newest
        return entry

    def _take_back(self, entry: Entry, newest: Entry) -> None:
        if self._lowest == self._local:
            self.went_back += 1
            self.back.append((_placed(entry), _placed(newest)))
        elif entry.written.local < self._lowest:
            self.back[-1] = _placed(entry), self.back[-1][1]
        self._lowest = min(self._lowest, entry.written.local)


def spans_of(times: Iterable[Time]) -> list[Time]:
    """These times (milliseconds, both ends within), those together between which is no more than `LONGEST_SILENCE`."""
    lasting = joined((first, last + LONGEST_SILENCE) for first, last in times)
    return [(first, last - LONGEST_SILENCE) for first, last in lasting]
