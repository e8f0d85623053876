"""Strictly typed access to the fields of a parsed object: an error names the path of the field. Times are RocketMQ's
clock, milliseconds since 1970 in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

from spark_jobs.domain.model.intervals import EPOCH
from spark_jobs.ingest.reasons import RejectedError, RejectReason
from spark_jobs.ingest.references import ObjectKeyMap

T = TypeVar("T")

INT32: Final = range(-(2**31), 2**31)
INT64: Final = range(-(2**63), 2**63)
#: Java ints that count or number something.
COUNT: Final = range(2**31)

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
    """A JSON object and the path that leads to it, such as `body.connectionSet[3]`.

    The `…_or_none` methods give None for a field that is absent or null; the others reject that with
    `MISSING_FIELD`. A value of another type is rejected with `WRONG_TYPE`, never converted.
    """

    __slots__ = ("_fields", "path")

    def __init__(self, value: object, path: str) -> None:
        if type(value) is not dict:
            raise wrong_type(path, value, "an object")
        self._fields: dict[object, object] = value
        self.path = path

    def get(self, name: str) -> object:
        """The field as it stands, None where it is absent."""
        return self._fields.get(name)

    def text_or_none(self, name: str) -> str | None:
        """A text that UTF-8 can hold; a lone surrogate is rejected."""
        value = self._fields.get(name)
        return None if value is None else text(value, f"{self.path}.{name}")

    def integer_or_none(self, name: str, within: range = INT64) -> int | None:
        """An integer within the range, else `OUT_OF_RANGE`."""
        value = self._fields.get(name)
        return None if value is None else integer(value, within, f"{self.path}.{name}")

    def number_or_none(self, name: str) -> float | None:
        """A finite number, integers included."""
        value = self._fields.get(name)
        if value is None:
            return None
        if type(value) is not float and type(value) is not int:
            raise wrong_type(f"{self.path}.{name}", value, "a number")
        return float(value)

    def boolean_or_none(self, name: str) -> bool | None:
        """True or false, not as text."""
        value = self._fields.get(name)
        if value is None or type(value) is bool:
            return value
        raise wrong_type(f"{self.path}.{name}", value, "a boolean")

    def text(self, name: str) -> str:
        """As `text_or_none`, required."""
        return self._required(name, self.text_or_none(name))

    def integer(self, name: str, within: range = INT64) -> int:
        """As `integer_or_none`, required."""
        return self._required(name, self.integer_or_none(name, within))

    def record_or_none(self, name: str) -> Record | None:
        """An object."""
        value = self._fields.get(name)
        return None if value is None else Record(value, f"{self.path}.{name}")

    def records_or_none(self, name: str) -> list[Record] | None:
        """The objects of an array."""
        value = self._fields.get(name)
        path = f"{self.path}.{name}"
        return None if value is None else [Record(item, f"{path}[{i}]") for i, item in enumerate(items(value, path))]

    def records(self, name: str) -> list[Record]:
        """As `records_or_none`, required."""
        return self._required(name, self.records_or_none(name))

    def named_records_or_none(self, name: str) -> list[tuple[str, Record]] | None:
        """The objects of a map, with their keys."""
        value = self._fields.get(name)
        if value is None:
            return None
        path = f"{self.path}.{name}"
        return [(text(key, f"a key of {path}"), Record(child, f"{path}.{key}")) for key, child in _entries(value, path)]

    def numbered_texts_or_none(self, name: str) -> list[tuple[int, str]] | None:
        """The texts of a map from integers from 0 on."""
        value = self._fields.get(name)
        if value is None:
            return None
        path = f"{self.path}.{name}"
        return [
            (integer(key, range(2**63), f"a key of {path}"), text(child, f"{path}.{key}"))
            for key, child in _entries(value, path)
        ]

    def keyed_records_or_none(self, name: str) -> list[tuple[Record, Record]] | None:
        """The entries of a map with objects as keys, equal keys kept."""
        value = self._fields.get(name)
        if value is None:
            return None
        path = f"{self.path}.{name}"
        if type(value) is ObjectKeyMap:
            return [
                (Record(key, f"{path}.key[{i}]"), Record(child, f"{path}.value[{i}]"))
                for i, (key, child) in enumerate(value.entries)
            ]
        if value == {}:
            return []
        raise wrong_type(path, value, "a map with objects as keys")

    def _required(self, name: str, value: T | None) -> T:
        if value is None:
            raise RejectedError(RejectReason.MISSING_FIELD, f"{self.path}.{name} is missing")
        return value


def items(value: object, path: str) -> list[object]:
    """The array itself."""
    if type(value) is not list:
        raise wrong_type(path, value, "an array")
    return value


def wrong_type(path: str, value: object, wanted: str) -> RejectedError:
    """The rejection of a value that has another type."""
    return RejectedError(RejectReason.WRONG_TYPE, f"{path} is {_TYPE_NAMES[type(value)]}, not {wanted}")


def check_range(value: int, within: range, path: str) -> int:
    """The value, unless it lies outside."""
    if value not in within:
        raise RejectedError(
            RejectReason.OUT_OF_RANGE, f"{path} is {value}, not within {within.start} and {within.stop - 1}"
        )
    return value


def text(value: object, path: str) -> str:
    """The value as a text. Rejects a lone surrogate, which Java's strings can hold and UTF-8 cannot."""
    if type(value) is not str:
        raise wrong_type(path, value, "text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            problem = f"{path} holds a lone surrogate at character {error.start}"
            raise RejectedError(RejectReason.LONE_SURROGATE, problem) from None
    return value


def integer(value: object, within: range, path: str) -> int:
    """The value as an integer within the range, else `OUT_OF_RANGE`."""
    if type(value) is not int:
        raise wrong_type(path, value, "an integer")
    return check_range(value, within, path)


def _entries(value: object, path: str) -> Iterable[tuple[object, object]]:
    if type(value) is not dict:
        raise wrong_type(path, value, "an object")
    return value.items()


_MILLISECOND: Final = timedelta(milliseconds=1)

#: The years 2000 to 2199: seconds or microseconds given as milliseconds lie outside.
PLAUSIBLE: Final = range(
    (datetime(2000, 1, 1, tzinfo=UTC) - EPOCH) // _MILLISECOND,
    (datetime(2200, 1, 1, tzinfo=UTC) - EPOCH) // _MILLISECOND,
)


def instant(milliseconds: int, path: str) -> datetime:
    """The point in time, exact; `OUT_OF_RANGE` outside the years 2000 to 2199."""
    return EPOCH + timedelta(milliseconds=check_range(milliseconds, PLAUSIBLE, path))
