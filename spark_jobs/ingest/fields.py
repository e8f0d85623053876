"""Strictly typed access to a parsed object: errors name the field's path. Times are milliseconds since 1970, UTC."""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

from spark_jobs.domain.model.intervals import EPOCH
from spark_jobs.domain.model.message_queue import LONGEST_NAME
from spark_jobs.ingest.files import RejectedError, RejectReason
from spark_jobs.ingest.references import ObjectKeyMap

T = TypeVar("T")

#: No more than a Java long has.
_DIGITS: Final = re.compile(r"[0-9]{1,19}")
_INT64: Final = range(-(2**63), 2**63)
_MILLISECOND: Final = timedelta(milliseconds=1)
#: The years 2000 to 2199: seconds or microseconds given as milliseconds lie outside.
_PLAUSIBLE: Final = range(
    (datetime(2000, 1, 1, tzinfo=UTC) - EPOCH) // _MILLISECOND,
    (datetime(2200, 1, 1, tzinfo=UTC) - EPOCH) // _MILLISECOND,
)

_TYPE_NAMES: Final = {
    dict: "an object",
    ObjectKeyMap: "a map with objects as keys",
    list: "an array",
    str: "text",
    int: "an integer",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}


class Record:
    """A JSON object and its path, as `body.connectionSet[3]`; fields of another type or range are rejected."""

    __slots__ = ("_fields", "path")

    def __init__(self, value: object, path: str) -> None:
        if type(value) is not dict:
            raise _wrong_type(path, value, "an object")
        self._fields: dict[object, object] = value
        self.path = path

    def get(self, name: str) -> object:
        """The field as it stands, None where it is absent."""
        return self._fields.get(name)

    def optional(self, name: str, read: Callable[[object, str], T]) -> T | None:
        """The field; None where it is absent or null."""
        value = self._fields.get(name)
        return None if value is None else read(value, f"{self.path}.{name}")

    def required(self, name: str, read: Callable[[object, str], T]) -> T:
        """The field; `MISSING_FIELD` where it is absent or null."""
        value = self._fields.get(name)
        if value is None:
            raise self.missing(name)
        return read(value, f"{self.path}.{name}")

    def missing(self, name: str) -> RejectedError:
        """The rejection of an object without the field."""
        return RejectedError(RejectReason.MISSING_FIELD, f"{self.path}.{name} is missing")


def items(value: object, path: str) -> list[object]:
    """The array itself."""
    if type(value) is not list:
        raise _wrong_type(path, value, "an array")
    return value


def text(value: object, path: str) -> str:
    """A text that UTF-8 can hold: a lone surrogate, which Java's strings can hold, is rejected."""
    if type(value) is not str:
        raise _wrong_type(path, value, "text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            problem = f"{path} holds a lone surrogate at character {error.start}"
            raise RejectedError(RejectReason.LONE_SURROGATE, problem) from None
    return value


def name(value: object, path: str) -> str:
    """A text of a length that the audit takes for a name: a longer one would be in memory, and in tables, as often."""
    characters = text(value, path)
    if 1 <= len(characters) <= LONGEST_NAME:
        return characters
    raise RejectedError(RejectReason.OUT_OF_RANGE, f"{path} has {len(characters)} characters, not 1 to {LONGEST_NAME}")


def integer(value: object, path: str, within: range = _INT64) -> int:
    """An integer within the range."""
    if type(value) is not int:
        raise _wrong_type(path, value, "an integer")
    if value not in within:
        raise RejectedError(
            RejectReason.OUT_OF_RANGE, f"{path} is {value}, not within {within.start} and {within.stop - 1}"
        )
    return value


def int32(value: object, path: str) -> int:
    """A Java int."""
    return integer(value, path, range(-(2**31), 2**31))


def count(value: object, path: str) -> int:
    """A Java int that counts or numbers something."""
    return integer(value, path, range(2**31))


def number(value: object, path: str) -> float:
    """A finite number, integers included."""
    if type(value) is not float and type(value) is not int:
        raise _wrong_type(path, value, "a number")
    return float(value)


def boolean(value: object, path: str) -> bool:
    """True or false, not as text."""
    if type(value) is not bool:
        raise _wrong_type(path, value, "a boolean")
    return value


def records(value: object, path: str) -> list[Record]:
    """The objects of an array."""
    return [Record(item, f"{path}[{i}]") for i, item in enumerate(items(value, path))]


def named(
    value: object, path: str, read: Callable[[object, str], T], read_key: Callable[[object, str], str] = text
) -> list[tuple[str, T]]:
    """The values of a map, with their keys."""
    return [(read_key(key, f"a key of {path}"), read(child, f"{path}.{key}")) for key, child in _entries(value, path)]


def named_records(value: object, path: str) -> list[tuple[str, Record]]:
    """The objects of a map, with their keys, which may be any text."""
    return named(value, path, Record)


def records_by_name(value: object, path: str) -> list[tuple[str, Record]]:
    """The objects of a map, with their keys, each a `name`."""
    return named(value, path, Record, name)


def numbered(
    value: object, path: str, read: Callable[[object, str], T], within: range = range(2**63)
) -> list[tuple[int, T]]:
    """The values of a map from integers from 0 on: digits in quotes, as JSON has no other keys than text."""
    entries = (
        (int(key) if type(key) is str and _DIGITS.fullmatch(key) else key, child)
        for key, child in _entries(value, path)
    )
    return [(integer(key, f"a key of {path}", within), read(child, f"{path}.{key}")) for key, child in entries]


def keyed_records(value: object, path: str) -> list[tuple[Record, Record]]:
    """The entries of a map with objects as keys, equal keys kept."""
    if type(value) is ObjectKeyMap:
        return [
            (Record(key, f"{path}.key[{i}]"), Record(child, f"{path}.value[{i}]"))
            for i, (key, child) in enumerate(value.entries)
        ]
    if value == {}:
        return []
    raise _wrong_type(path, value, "a map with objects as keys")


def instant(value: object, path: str) -> datetime:
    """The point in time of so many milliseconds, exact; `OUT_OF_RANGE` outside the years 2000 to 2199."""
    return EPOCH + timedelta(milliseconds=integer(value, path, _PLAUSIBLE))


def _entries(value: object, path: str) -> Iterable[tuple[object, object]]:
    if type(value) is not dict:
        raise _wrong_type(path, value, "an object")
    return value.items()


def _wrong_type(path: str, value: object, wanted: str) -> RejectedError:
    return RejectedError(RejectReason.WRONG_TYPE, f"{path} is {_TYPE_NAMES[type(value)]}, not {wanted}")
