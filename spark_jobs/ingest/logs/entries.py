"""Log files → entries: what was written when, in UTC."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from spark_jobs.errors import InputFileError, UsageError
from spark_jobs.ingest.files import read_lines

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


class Entry(NamedTuple):
    """An entry of a log: milliseconds since 1970, and its first line."""

    at: int
    text: str


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


def entries(path: Path, zone: LogZone) -> Iterator[Entry]:
    """The entries of a log file, plain or gzip, in the file's order; more lines of an entry, such as a stack trace,
    are left out, and a file that ends in the middle of a line ends with the entry before.

    The zone is what the entry says, else what the file's own times of connections say, else that of RocketMQ's layout,
    else `zone`. Raises `InputFileError` where none of them says it, or where the file cannot be read.
    """
    offset = _offset_of_connections(path)
    for text in _texts(path):
        match = _TIME.search(text, 0, _TIME_WITHIN)
        if match is None:
            continue
        local = _local(match)
        if match[6]:
            yield Entry(local - _written_offset(match[6]), text)
        elif offset is not None:
            yield Entry(local - offset, text)
        elif _GMT_8_LAYOUTS.match(text):
            yield Entry(local - _GMT_8, text)
        else:
            at = zone.to_utc(local)
            if at is None:
                raise InputFileError(f"{path} does not say the time zone of its entries: name it with --log-zone")
            yield Entry(at, text)


def _texts(path: Path) -> Iterator[str]:
    """The lines as text; what is no UTF-8 is replaced. A damaged end of a compressed file is left out."""
    for line in read_lines(path):
        if line.rejected is None:
            yield line.content[:LONGEST_ENTRY].decode(errors="replace").rstrip("\r\n")


def _offset_of_connections(path: Path) -> int | None:
    """Milliseconds from UTC to the local time of the file, by the first connection that it has; None: it has none."""
    for text in _texts(path):
        match, own = _TIME.search(text, 0, _TIME_WITHIN), _OWN_TIME.search(text)
        if match and own:
            return round((_local(match) - int(own[1])) / _QUARTER) * _QUARTER
    return None


def _local(match: re.Match[str]) -> int:
    """Milliseconds since 1970 as if the time was in UTC.

    RocketMQ 4.x clients write the seconds again in place of milliseconds: those are none.
    """
    hours, minutes, seconds, fraction = int(match[2]), int(match[3]), int(match[4]), int(match[5] or 0)
    millis = 0 if fraction == seconds else fraction
    return _day(match[1]) + ((hours * 60 + minutes) * 60 + seconds) * 1000 + millis


@lru_cache(maxsize=1000)
def _day(date: str) -> int:
    try:
        return int(datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp()) * 1000
    except ValueError:
        return 0


def _written_offset(text: str) -> int:
    if text == "Z":
        return 0
    sign = -1 if text[0] == "-" else 1
    return sign * (int(text[1:3]) * 60 + int(text[-2:])) * 60_000
