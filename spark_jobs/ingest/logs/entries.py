"""Log files → entries: what was written when, in UTC."""

import gzip
import re
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import IO, Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from spark_jobs.errors import InputFileError, UsageError
from spark_jobs.ingest.files import opened

#: A longer line is read no further: the lines that count have a few thousand characters.
LONGEST_ENTRY: Final = 256 * 1024
#: The time of an entry, wherever the layout puts it, and its offset from UTC where the layout writes one.
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{3}))?\d*(Z|[+-]\d\d:?\d\d)?")
_TIME_WITHIN: Final = 200
#: RocketMQ's own layouts write GMT+8 whatever the machine's zone: `%d{…,GMT+8} %p %t - %m%n` of servers
#: (rmq.*.logback.xml, logback_*.xml), `%d{…,GMT+8} %p [%pid] [%t] [%logger#%M:%L] - %m%n` of 5.x clients
#: (rmq.client.logback.xml).
_GMT_8_LAYOUTS = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (?:TRACE|DEBUG|INFO|WARN|ERROR) (?:\S+ ){0,2}- |"
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (?:TRACE|DEBUG|INFO|WARN|ERROR) +\[\d+\] \[[^]]+\] \[[^]]+\] - "
)
_GMT_8: Final = 8 * 3_600_000
#: A connection that begins is logged with its own time: milliseconds since 1970, whatever the zone.
_OWN_TIME = re.compile(r"new (?:consumer|producer) connected.* lastUpdateTimestamp=(\d{13})")
_QUARTER: Final = 15 * 60_000


class WrittenTime(NamedTuple):
    """An entry's time as written: ms since 1970 as if in UTC, and its `offset` from UTC (ms); None: not written."""

    local: int
    offset: int | None


class Entry(NamedTuple):
    """An entry of a log: its time, and its first line."""

    written: WrittenTime
    text: str

    @property
    def is_gmt_8(self) -> bool:
        """Return whether the layout is one of RocketMQ's own."""
        return bool(_GMT_8_LAYOUTS.match(self.text))


class LogZone:
    """The zone that the user names for logs whose layout and content do not tell theirs."""

    def __init__(self, name: str | None) -> None:
        try:
            self._zone = ZoneInfo(name) if name else None
        except (ZoneInfoNotFoundError, ValueError):
            raise UsageError(f"--log-zone {name} is no time zone: name one such as UTC or Asia/Shanghai") from None

    def to_utc(self, local: int) -> int | None:
        """The time in UTC of a local time, both in milliseconds as if of UTC; None where no zone was named."""
        if self._zone is None:
            return None
        moment = datetime.fromtimestamp(local / 1000, UTC).replace(tzinfo=self._zone)
        return local - int((moment.utcoffset() or timedelta()) / timedelta(milliseconds=1))


class FileClock:
    """The clock of a file, in UTC. Zone: of the entry, else its connections, RocketMQ's layout, or the user."""

    def __init__(self, path: Path, zone: LogZone) -> None:
        self._path, self._zone = path, zone
        self._offset: int | None = None
        self.is_zone_given = False

    def learn(self, entry: Entry) -> None:
        """Take the zone from the first connection of the file."""
        own = _OWN_TIME.search(entry.text) if self._offset is None else None
        if own:
            self._offset = round((entry.written.local - int(own[1])) / _QUARTER) * _QUARTER

    def to_utc(self, written: WrittenTime, is_gmt_8: bool) -> int:
        """The time in ms since 1970, after all entries were learned. Raises `InputFileError` for an unknown zone."""
        local, offset = written
        if offset is None:
            offset = self._offset
        if offset is None and is_gmt_8:
            offset = _GMT_8
        self.is_zone_given |= offset is None
        at = self._zone.to_utc(local) if offset is None else local - offset
        if at is None:
            raise InputFileError(f"{self._path} does not say the time zone of its entries: name it with --log-zone")
        return at


class LogFile:
    """A log file, plain or gzip: iterate it for its entries, without further lines such as stack traces, and without a
    last line that is cut. `damage`: why the end is unreadable, after the last entry; None: all was read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage: str | None = None

    def __iter__(self) -> Iterator[Entry]:
        """Raises `InputFileError` where the file cannot be read, or not even begun."""
        for line in self._lines():
            text = line.decode(errors="replace").rstrip("\r\n")
            written = _written_time(text)
            if written is not None:
                yield Entry(written, text)

    def _lines(self) -> Iterator[bytes]:
        with opened(self.path) as stream:
            has_begun = False
            try:
                while line := stream.readline(LONGEST_ENTRY):
                    if not has_begun and line.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
                        raise InputFileError(f"{self.path} is UTF-16: convert it, iconv -f UTF-16 -t UTF-8")
                    has_begun = True
                    if line.endswith(b"\n") or _skip_rest(stream):
                        yield line
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                if not has_begun:
                    raise InputFileError(f"{self.path} cannot be decompressed: {error}. Copy it again") from None
                self.damage = str(error)


def _skip_rest(stream: IO[bytes]) -> bool:
    """Read to the end of a line; whether it has one."""
    while block := stream.readline(LONGEST_ENTRY):
        if block.endswith(b"\n"):
            return True
    return False


def _written_time(text: str) -> WrittenTime | None:
    """The time of an entry; None: the line has none, or belongs to the entry before, as it is indented."""
    if text[19:20] == " ":  # as mostly: a time to the second, at the start of many lines one after the other
        written = _time_in(text[:19])
        if written is not None:
            return written
    match = None if text[:1].isspace() else _TIME.search(text, 0, _TIME_WITHIN)
    return _of_match(match) if match else None


@lru_cache(maxsize=16)
def _time_in(text: str) -> WrittenTime | None:
    match = _TIME.fullmatch(text)
    return _of_match(match) if match else None


def _of_match(match: re.Match[str]) -> WrittenTime | None:
    """RocketMQ 4.x clients write the seconds again in place of milliseconds: those are none."""
    hours, minutes, seconds, fraction = int(match[2]), int(match[3]), int(match[4]), int(match[5] or 0)
    day = _day(match[1])
    if day is None:
        return None
    millis = 0 if fraction == seconds else fraction
    local = day + ((hours * 60 + minutes) * 60 + seconds) * 1000 + millis
    return WrittenTime(local, _written_offset(match[6]) if match[6] else None)


@lru_cache(maxsize=1000)
def _day(date: str) -> int | None:
    try:
        return int(datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp()) * 1000
    except ValueError:
        return None


def _written_offset(text: str) -> int:
    if text == "Z":
        return 0
    sign = -1 if text[0] == "-" else 1
    return sign * (int(text[1:3]) * 60 + int(text[-2:])) * 60_000
