"""Mutations of a line of a recording, whatever its kind."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from tests.end_to_end.reliability.mutation import (
    BLANK,
    KINDS,
    MEGABYTES,
    NO_OBSERVATION,
    ROW,
    Change,
    Fields,
    Mutation,
    each,
    with_,
    with_body,
)
from tests.end_to_end.reliability.names import FORMULAS, MARKUP, NAMES, PATHS, SQL, SURROGATES

#: A field of the line that is a name, and may be any (the topic of `stats` stands in its body too).
NAMED: Final = {"connection": "group", "route": "topic", "stats": "group", "topicstats": "topic", "running": "client"}
#: Kinds whose body is an object.
OBJECTS: Final = ("connection", "route", "stats", "running")
REQUIRED: Final = ("kind", "at", "body")


def name(value: Any) -> Change:
    return lambda fields: fields | {NAMED[fields["kind"]]: value}


def without(field: str) -> Change:
    return lambda fields: {key: value for key, value in fields.items() if key != field}


def error(value: Any) -> Change:
    """An error instead of the body."""
    return lambda fields: without("body")(fields) | {"error": value}  # type: ignore[operator]


def line(content: bytes) -> Change:
    return lambda _: content + b"\n"


def raw(change: Callable[[bytes], bytes]) -> Change:
    """A change of the line's bytes, its end left out."""
    return lambda fields: change(json.dumps(fields).encode()) + b"\n"


def around(start: bytes, end: bytes = b"") -> Change:
    return raw(lambda line: start + line + end)


def instead(old: bytes, new: bytes) -> Change:
    return raw(lambda line: line.replace(old, new, 1))


def first(field: bytes) -> Change:
    """An additional field before the others."""
    return raw(lambda line: b"{" + field + b"," + line[1:])


def last(field: bytes) -> Change:
    return raw(lambda line: line[:-1] + b"," + field + b"}")


def at(number: bytes) -> Change:
    return lambda fields: json.dumps(fields | {"at": "@@"}).encode().replace(b'"@@"', number) + b"\n"


def later(milliseconds: int) -> Change:
    return lambda fields: fields | {"at": fields["at"] + milliseconds}


def cut(text: str, fields: Fields) -> str:
    """Another head of the text for every line: its time decides."""
    return text[: 1 + fields["at"] % (len(text) - 1)]


def _of_types() -> Iterator[Mutation]:
    for value in (7, 1.5, True, [], {}, ["a"], {"a": 1}):
        yield from each("WRONG_TYPE", name(value), with_(kind=value), with_(body=value), error(value))
    times: tuple[Any, ...] = ("", "1795226547799", "=1+1", 1795226547799.0, True, [], {}, [1])
    yield from each("WRONG_TYPE", *(with_(at=time) for time in times))
    yield from each("WRONG_TYPE", *map(line, (b"7", b"[]", b'"x"', b"null", b"true", b"-1.5e3", b"[{}]", b"{{}:1}")))
    yield from each("MISSING_FIELD", name(None), *map(without, REQUIRED), *(with_(**{one: None}) for one in REQUIRED))
    yield from each("MISSING_FIELD", *map(line, (b"{}", b'{"kind":null}', b'{"at":1}', b"{1:2}")))


def _of_times() -> Iterator[Mutation]:
    impossible = (0, 1, -1, 1_795_226_547, 1_795_226_547_799_000, 253_402_300_800_000, 946_684_799_999)
    yield from each("OUT_OF_RANGE", *(with_(at=time) for time in (*impossible, -(2**63), 2**63 - 1)))
    yield from each("NOT_JSON", *(with_(at=time) for time in (2**63, -(2**63) - 1, 10**30, 10**4000)))
    numbers = (b"NaN", b"Infinity", b"-Infinity", b"1e999", b"01", b"--1", b"0x1", b"1_000", b"+1", b".")
    yield from each("NOT_JSON", *map(at, numbers))
    # The last day of 2199 and the first of 2000: odd, but possible.
    yield from each(ROW, later(5_462_812_800_000), later(-848_448_000_000))


def _of_names() -> Iterator[Mutation]:
    yield from each(ROW, *map(name, NAMES))
    yield from each(NO_OBSERVATION, *map(error, NAMES))
    for text in (*FORMULAS, *PATHS, *SQL, *MARKUP, "Route", "META", " route"):
        yield from each("UNKNOWN_KIND", with_(kind=text))
        yield from each("NOT_JSON", line(text.encode()))
        yield from each("BODY_UNREADABLE", with_(body=text))
    for text in SURROGATES:
        yield from each("LONE_SURROGATE", name(text), with_(kind=text), with_(body=text), error(text))
    long = "m" * MEGABYTES
    yield from each("OUT_OF_RANGE", name(""), name("x" * 256))
    yield from each("OUT_OF_RANGE", name(long), is_heavy=True)
    yield from each("UNKNOWN_KIND", with_(kind=long), is_heavy=True)
    yield from each(NO_OBSERVATION, error(long), is_heavy=True)
    long_key = with_(group="\0" * (MEGABYTES // 6), broker=7)
    yield from each("OUT_OF_RANGE", long_key, kinds=["connection"], is_heavy=True)


def _of_answers() -> Iterator[Mutation]:
    """Some errors are an observation of one kind of line, and none of others."""
    yield from each("CONTRADICTION", with_(error="code 206"))
    for kind, text in (
        ("connection", "CODE: 206 \x1b[2J\u202e"),
        ("running", "RemotingTimeoutException \0"),
        ("route", "CODE: 17 <script>"),
    ):
        yield from each(ROW, error(text), kinds=[kind])
        yield from each(NO_OBSERVATION, error(text), kinds=[one for one in KINDS if one != kind])


def _of_bytes() -> Iterator[Mutation]:
    for broken in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\x80", b"\xe2\x82"):
        yield from each("NOT_UTF8", first(b'"x":"' + broken + b'"'), around(b"", broken))
    yield from each("NOT_UTF8", raw(lambda line: b"\xff\xfe" + line.decode().encode("utf-16-le")))
    yield from each("NOT_JSON", raw(lambda line: line.decode().encode("utf-16-le")))
    mark = b"\xef\xbb\xbf"
    yield from each(ROW, around(mark))
    yield from each("NOT_JSON", *map(around, (mark * 2, b"\0", b"\x1b[2J")))
    for space in (b" ", b"\r", b"\t", b" \r \t"):
        yield from each(ROW, instead(b": ", b":" + space), around(b"", space))
    in_text = ("\u00a0".encode(), "\u2028".encode(), mark, b"\\n", b"//x", b"/**/")
    not_in_text = (b"\0", b"\x0b", b"\x0c")
    yield from each("NOT_JSON", *(instead(b": ", b":" + space) for space in (*in_text, *not_in_text)))
    yield from each(ROW, *(first(b'"x":"' + space + b'"') for space in in_text))
    yield from each("NOT_JSON", *(first(b'"x":"' + space + b'"') for space in (*not_in_text, b"\r")))
    yield from each("NOT_JSON", lambda fields: cut(json.dumps(fields), fields).encode() + b"\n")
    yield from each("NOT_JSON", raw(lambda line: line * 2), raw(lambda line: line[1:]), instead(b'"kind"', b"'kind'"))
    yield from each("NOT_JSON", raw(lambda line: line[:-1] + b",}"))
    yield from each("NOT_JSON", *map(line, (mark, b"{", b"}", b"NaN", b"1e999", b"nul", b'"', b"\\", b"kind,at,group")))
    yield from each(BLANK, *map(line, (b"", b" ", b"\r", b"\t \r", b"\x0b\x0c", b" " * 10_000)))


def _of_shape() -> Iterator[Mutation]:
    for opener, closer in (("[", "]"), ('{"a":', "}"), ("{0:", "}"), ('[{"a":1},', "]")):
        deep = opener * 10_000 + "1" + closer * 10_000
        yield from each("NOT_JSON", first(b'"x":' + deep.encode()), line((opener * 10_000).encode()))
        yield from each("BODY_UNREADABLE", with_(body=deep))
    # The line is one level itself.
    yield from each(ROW, first(b'"x":' + b"[" * 99 + b"]" * 99))
    yield from each("NOT_JSON", *(first(b'"x":' + b"[" * depth + b"]" * depth) for depth in (100, 900)))
    yield from each(ROW, with_(x="x" * MEGABYTES), is_heavy=True)
    yield from each("NOT_JSON", first(b'"x":' + b"1" * MEGABYTES), line(b'"' * MEGABYTES), is_heavy=True)
    yield from each("BODY_UNREADABLE", with_(body="{" * MEGABYTES), is_heavy=True)
    # Of equal fields the last counts.
    yield from each(ROW, first(b'"kind":7'), first(b'"at":"x"'), first(b",".join([b'"x":1'] * 10_000)))
    yield from each(ROW, first(b",".join(b'"x%d":1' % number for number in range(10_000))))
    yield from each("UNKNOWN_KIND", last(b'"kind":"x"'))
    yield from each("OUT_OF_RANGE", last(b'"at":0'))
    circle = {"$ref": "$"}
    yield from each(ROW, with_(x=circle))
    yield from each("WRONG_TYPE", name(circle), with_(body=circle))
    yield from each("NOT_JSON", with_(x={"$ref": "$.nothing"}), name({"$ref": "$.kind"}))


def _of_bodies() -> Iterator[Mutation]:
    many_references = '[{"x":"%s"}' % ("x" * 50_000) + ',{"$ref":"$[0]"}' * 5_000 + "]"
    yield from each("BODY_UNREADABLE", with_(body=many_references))
    yield from each("BODY_UNREADABLE", lambda fields: fields | {"body": cut(fields["body"], fields)})
    texts = ("", " ", "\0", "NaN", "{", "]", "nul", "01", "1e999", "9223372036854775808", '"\n"', '{"$ref":"$"}')
    yield from each("BODY_UNREADABLE", *(with_(body=text) for text in texts))
    yield from each("WRONG_TYPE", *(with_(body=text) for text in ("null", "7", '"x"', "true")))
    for mark in ("\0", "\ufeff", "x", "\x1b[2J", "{}"):
        yield from each("BODY_UNREADABLE", with_body(mark.__add__), with_body(lambda body, mark=mark: body + mark))  # type: ignore[misc]
    yield from each(ROW, with_(body="{}"), kinds=["route", "running"])
    yield from each("MISSING_FIELD", with_(body="{}"), kinds=["connection", "stats"])
    yield from each("WRONG_TYPE", with_(body="{}"), kinds=["topicstats"])
    yield from each(ROW, with_(body="[]"), kinds=["topicstats"])
    yield from each("WRONG_TYPE", with_(body="[]"), kinds=OBJECTS)
    longer = with_body(lambda body: body[:-1] + ',"x":"' + "x" * MEGABYTES + '"}')
    yield from each(ROW, longer, kinds=OBJECTS, is_heavy=True)


LINE_MUTATIONS: Final = (
    *(*_of_types(), *_of_times(), *_of_names(), *_of_answers(), *_of_bytes(), *_of_shape(), *_of_bodies()),
)
