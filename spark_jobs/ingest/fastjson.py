"""Reads what fastjson writes: JSON, objects and integers as map keys, `$ref`."""

import json
import math
import re
from collections.abc import Callable
from typing import Any, Final, NoReturn

from spark_jobs.ingest.references import ObjectKeyMap, UnresolvableError, resolve_references

#: Nested containers; RocketMQ's bodies have six at most. The C scanner's own limit depends on Python and the caller.
MAX_DEPTH: Final = 100

#: References may double a text's length, or add so many characters: a repeated megabyte becomes no gigabyte.
_ROOM_TO_GROW: Final = 16 * 1024

#: Failures of the C scanner in one text before it gets scalars only: each costs time as long as its position.
_MAX_FAILURES: Final = 200

_INT64: Final = range(-(2**63), 2**63)
_LONGEST_INT64: Final = len(str(-(2**63)))
_WHITESPACE = re.compile(r"[ \t\n\r]*")


class FastjsonError(ValueError):
    """The text is not what fastjson writes: says what is wrong and at which character, from 0."""

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(f"{problem} at character {position}")
        self.position = position


def parse(text: str) -> object:
    """The value of the text: what JSON has, or `ObjectKeyMap` for object keys. Raises `FastjsonError`, nothing else.

    Bare integer keys are ints, and the last of equal keys wins. Integers are exact and fit 64 bits, floats are finite,
    strings may have lone surrogates. Time is linear in the text's length; references do not expand it much.
    Source: com.alibaba.fastjson.JSON.toJSONString and fastjson2's, as called by RocketMQ's RemotingSerializable.
    """
    reader = _Reader(text)
    value, end = reader.value(reader.skip(0), MAX_DEPTH)
    end = reader.skip(end)
    if end != len(text):
        raise FastjsonError("expected the end of the text", end)
    reference = text.find('"$ref"')
    if reference < 0:
        return value
    try:
        return resolve_references(value, max(_ROOM_TO_GROW, len(text)))
    except UnresolvableError as error:
        raise FastjsonError(str(error), reference) from None


def _integer(digits: str) -> int:
    if len(digits) <= _LONGEST_INT64 and (value := int(digits)) in _INT64:
        return value
    raise ValueError("integer beyond 64 bits")


def _finite(digits: str) -> float:
    if math.isfinite(value := float(digits)):
        return value
    raise ValueError("number beyond a double")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


#: The C scanner of the standard library: (text, start) → (value, end).
_scan: Callable[[str, int], tuple[object, int]] = json.JSONDecoder(  # type: ignore[attr-defined]
    parse_int=_integer, parse_float=_finite, parse_constant=_no_constant
).scan_once


class _Reader:
    """A reader that leaves all to the C scanner except the containers around a failure, in linear time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._failed_at = 0
        self._failures = 0

    def skip(self, at: int) -> int:
        """The next character that is not white space."""
        return _WHITESPACE.match(self._text, at).end()  # type: ignore[union-attr]  # matches the empty text too

    def value(self, at: int, depth: int) -> tuple[object, int]:
        """The value that begins at this very character, and where it ends."""
        opener = self._text[at : at + 1]
        container = opener in ("{", "[")  # the empty text at the end is neither
        if not container or at >= self._failed_at:
            try:
                return self._shallow(at, depth) if container else _scan(self._text, at)
            except (ValueError, StopIteration, RecursionError) as error:
                if not container:
                    raise FastjsonError(_problem(error), at) from None
                self._note_failure(error)
        if depth == 0:
            raise FastjsonError(f"more than {MAX_DEPTH} levels", at)
        if opener == "[":
            return self._elements(at, "]", self.value, depth - 1)
        entries, end = self._elements(at, "}", self._entry, depth - 1)
        return _map(entries), end

    def _shallow(self, at: int, depth: int) -> tuple[object, int]:
        """The value that the C scanner reads, if it has no more levels."""
        value, end = _scan(self._text, at)
        openers = self._text.count("{", at, end) + self._text.count("[", at, end)
        if openers > depth and isinstance(value, dict | list) and _levels(value) > depth:
            raise RecursionError  # `value` then says where
        return value, end

    def _note_failure(self, error: BaseException) -> None:
        self._failures += 1
        end = len(self._text)
        position = _position(error, end) if self._failures < _MAX_FAILURES else end
        self._failed_at = max(self._failed_at, position)

    def _elements(
        self, at: int, closer: str, read: Callable[[int, int], tuple[object, int]], depth: int
    ) -> tuple[list[Any], int]:
        """The elements between the opener at this character and its closer, and the index of its end."""
        elements: list[object] = []
        at = self.skip(at + 1)
        if self._text.startswith(closer, at):
            return elements, at + 1
        closed = False
        while not closed:
            element, at = read(at, depth)
            elements.append(element)
            at, closed = self._next(at, closer)
        return elements, at

    def _entry(self, at: int, depth: int) -> tuple[list[object], int]:
        key, at = self._key(at, depth)
        value, at = self.value(at, depth)
        return [key, value], at

    def _key(self, at: int, depth: int) -> tuple[object, int]:
        key, end = self.value(at, depth)
        if type(key) not in (str, int, dict):
            raise FastjsonError("a key must be text, an integer or an object", at)
        end = self.skip(end)
        if not self._text.startswith(":", end):
            raise FastjsonError("expected ':'", end)
        return key, self.skip(end + 1)

    def _next(self, at: int, closer: str) -> tuple[int, bool]:
        at = self.skip(at)
        if self._text.startswith(closer, at):
            return at + 1, True
        if not self._text.startswith(",", at):
            raise FastjsonError(f"expected ',' or '{closer}'", at)
        return self.skip(at + 1), False


def _levels(value: dict[str, object] | list[object]) -> int:
    """How many containers of what the C scanner gave are inside each other."""
    levels, layer = 0, [value]
    while layer:
        levels += 1
        children = (child for outer in layer for child in (outer.values() if isinstance(outer, dict) else outer))
        layer = [child for child in children if isinstance(child, dict | list)]
    return levels


def _map(entries: list[list[object]]) -> object:
    if any(type(key) is dict for key, _ in entries):
        return ObjectKeyMap(entries)
    return dict(entries)  # type: ignore[arg-type]  # pairs with hashable keys


def _position(error: BaseException, unknown: int) -> int:
    """The index at which the C scanner gave up; `unknown` if it does not say."""
    if isinstance(error, StopIteration):
        return int(error.value)
    return error.pos if isinstance(error, json.JSONDecodeError) else unknown


def _problem(error: BaseException) -> str:
    if isinstance(error, StopIteration):
        return "expected a value"
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error)
