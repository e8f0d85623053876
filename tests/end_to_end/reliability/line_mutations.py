"""Mutations of a line of a recording, whatever its kind."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, Final

from tests.end_to_end.reliability.mutation import (
    BLANK,
    KINDS,
    MEGABYTES,
    NAMED,
    NO_OBSERVATION,
    NOT_TEXT,
    OBJECTS,
    ROW,
    Change,
    Fields,
    Mutation,
    with_,
    with_body,
)
from tests.end_to_end.reliability.names import FORMULAS, MARKUP, NAMES, PATHS, SQL, SURROGATES


def _name(value: Any) -> Change:
    return lambda _, fields: fields | {NAMED[fields["kind"]]: value}


def _without(name: str) -> Change:
    return lambda _, fields: {key: value for key, value in fields.items() if key != name}


def _instead(**changes: Any) -> Change:
    """An error, or nothing, instead of the body."""
    return lambda _, fields: {key: value for key, value in fields.items() if key != "body"} | changes


def _raw(change: Callable[[bytes], bytes]) -> Change:
    """A change of the line's bytes, its end left out."""
    return lambda _, fields: change(json.dumps(fields).encode()) + b"\n"


def _literally(line: bytes) -> Change:
    return lambda _, __: line + b"\n"


def _cut(of_body: bool) -> Change:
    def change(draw: random.Random, fields: Fields) -> Fields | bytes:
        text = fields["body"] if of_body else json.dumps(fields)
        head = text[: draw.randrange(1, len(text))]
        return fields | {"body": head} if of_body else head.encode() + b"\n"

    return change


def _before(extra: bytes) -> Change:
    """A further field before the others."""
    return _raw(lambda line: b"{" + extra + b"," + line[1:])


def _of_types() -> Iterator[Mutation]:
    for value in NOT_TEXT:
        yield Mutation(f"name {value!r}", _name(value), "WRONG_TYPE")
        yield Mutation(f"kind {value!r}", with_(kind=value), "WRONG_TYPE")
        yield Mutation(f"body {value!r}", with_(body=value), "WRONG_TYPE")
        yield Mutation(f"error {value!r}", _instead(error=value), "WRONG_TYPE")
    times: tuple[Any, ...] = ("", "1795226547799", "=1+1", 1795226547799.0, True, [], {}, [1])
    for at in times:
        yield Mutation(f"at {at!r}", with_(at=at), "WRONG_TYPE")
    for field in ("kind", "at", "body"):
        yield Mutation(f"no {field}", _without(field), "MISSING_FIELD")
        yield Mutation(f"{field} null", with_(**{field: None}), "MISSING_FIELD")
    yield Mutation("name null", _name(None), "MISSING_FIELD")


def _of_times() -> Iterator[Mutation]:
    for at in (
        *(0, 1, -1, 1_795_226_547, 1_795_226_547_799_000, -(2**63), 2**63 - 1, 253_402_300_800_000, 946_684_799_999),
    ):
        yield Mutation(f"at {at}", with_(at=at), "OUT_OF_RANGE")
    for at in (2**63, -(2**63) - 1, 10**30, 10**4000):
        yield Mutation(f"at {len(str(at))} digits", with_(at=at), "NOT_JSON")
    for raw in (b"NaN", b"Infinity", b"-Infinity", b"1e999", b"01", b"--1", b"0x1", b"1_000", b"+1", b"."):
        yield Mutation(f"at {raw!r}", _literal_at(raw), "NOT_JSON")
    # The last day of 2199 and the first of 2000: odd, but possible.
    yield Mutation("at 2199", lambda _, fields: fields | {"at": fields["at"] + 5_462_812_800_000}, ROW)
    yield Mutation("at 2000", lambda _, fields: fields | {"at": fields["at"] - 848_448_000_000}, ROW)


def _literal_at(raw: bytes) -> Change:
    return lambda _, fields: json.dumps(fields | {"at": "@@"}).encode().replace(b'"@@"', raw) + b"\n"


def _of_names() -> Iterator[Mutation]:
    for name in NAMES:
        yield Mutation(f"name {name!a}", _name(name), ROW)
        yield Mutation(f"error {name!a}", _instead(error=name), NO_OBSERVATION)
    for name in (*FORMULAS, *PATHS, *SQL, *MARKUP, "Route", "META", " route"):
        yield Mutation(f"kind {name!a}", with_(kind=name), "UNKNOWN_KIND")
        yield Mutation(f"line {name!a}", _literally(name.encode()), "NOT_JSON")
        yield Mutation(f"body {name!a}", with_body(lambda _, name=name: name), "BODY_UNREADABLE")  # type: ignore[misc]
    for name in SURROGATES:
        yield Mutation(f"name {name!a}", _name(name), "LONE_SURROGATE")
        yield Mutation(f"kind {name!a}", with_(kind=name), "LONE_SURROGATE")
        yield Mutation(f"body {name!a}", with_(body=name), "LONE_SURROGATE")
        yield Mutation(f"error {name!a}", _instead(error=name), "LONE_SURROGATE")
    yield Mutation("name of 10 MB", _name("m" * MEGABYTES), ROW, is_heavy=True)
    yield Mutation("kind of 10 MB", with_(kind="m" * MEGABYTES), "UNKNOWN_KIND", is_heavy=True)
    yield Mutation("error of 10 MB", _instead(error="m" * MEGABYTES), NO_OBSERVATION, is_heavy=True)
    long = {"group": "\0" * (MEGABYTES // 6), "broker": 7}
    yield Mutation("long key", with_(**long), "WRONG_TYPE", ["connection"], is_heavy=True)


def _of_answers() -> Iterator[Mutation]:
    yield Mutation("body and error", with_(error="code 206"), "CONTRADICTION")
    told = {"connection": ROW} | dict.fromkeys(KINDS[1:], NO_OBSERVATION)
    yield Mutation("not online", _instead(error="CODE: 206 \x1b[2J\u202e"), told)
    told = {"running": ROW} | dict.fromkeys(KINDS[:-1], NO_OBSERVATION)
    yield Mutation("timed out", _instead(error="RemotingTimeoutException \0"), told)
    told = {"route": ROW} | dict.fromkeys(("connection", "stats", "topicstats", "running"), NO_OBSERVATION)
    yield Mutation("no route", _instead(error="CODE: 17 <script>"), told)


def _of_bytes() -> Iterator[Mutation]:
    for broken in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\x80", b"\xe2\x82"):
        yield Mutation(f"bytes {broken!r}", _before(b'"x":"' + broken + b'"'), "NOT_UTF8")
        yield Mutation(f"ends with {broken!r}", _raw(lambda line, end=broken: line + end), "NOT_UTF8")  # type: ignore[misc]
    yield Mutation("UTF-16", _raw(lambda line: b"\xff\xfe" + line.decode().encode("utf-16-le")), "NOT_UTF8")
    yield Mutation("UTF-16 without mark", _raw(lambda line: line.decode().encode("utf-16-le")), "NOT_JSON")
    bom = b"\xef\xbb\xbf"
    for mark, expected in ((bom, ROW), (bom * 2, "NOT_JSON"), (b"\0", "NOT_JSON"), (b"\x1b[2J", "NOT_JSON")):
        yield Mutation(f"begins with {mark!r}", _raw(lambda line, mark=mark: mark + line), expected)  # type: ignore[misc]
    for space in (b" ", b"\r", b"\t", b" \r \t"):
        yield Mutation(f"{space!r} between", _raw(lambda line, s=space: line.replace(b": ", b":" + s, 1) + s), ROW)  # type: ignore[misc]
    of_unicode = [text.encode() for text in ("\u00a0", "\u2028", "\ufeff")]
    for space in (b"\0", b"\x0b", b"\x0c", *of_unicode, b"\\n", b"//x", b"/**/"):
        yield Mutation(f"{space!r} between", _raw(lambda line, s=space: line.replace(b": ", b":" + s, 1)), "NOT_JSON")  # type: ignore[misc]
        inside = ROW if space[0] > 127 or space in (b"\\n", b"//x", b"/**/") else "NOT_JSON"
        yield Mutation(f"{space!r} inside text", _before(b'"x":"' + space + b'"'), inside)
    yield Mutation("CR inside text", _before(b'"x":"\r"'), "NOT_JSON")
    yield Mutation("cut", _cut(of_body=False), "NOT_JSON")
    yield Mutation("twice", _raw(lambda line: line * 2), "NOT_JSON")
    yield Mutation("no brace", _raw(lambda line: line[1:]), "NOT_JSON")
    yield Mutation("single quotes", _raw(lambda line: line.replace(b'"kind"', b"'kind'")), "NOT_JSON")
    yield Mutation("comma at the end", _raw(lambda line: line[:-1] + b",}"), "NOT_JSON")
    for blank in (b"", b" ", b"\r", b"\t \r", b"\x0b\x0c", b" " * 10_000):
        yield Mutation(f"blank {blank[:9]!r}", _literally(blank), BLANK)
    for value in (b"7", b"[]", b'"x"', b"null", b"true", b"-1.5e3", b"[{}]", b"{{}:1}"):
        yield Mutation(f"line {value!r}", _literally(value), "WRONG_TYPE")
    for value in (b"{}", b'{"kind":null}', b'{"at":1}', b"{1:2}"):
        yield Mutation(f"line {value!r}", _literally(value), "MISSING_FIELD")
    for value in (b"\xef\xbb\xbf", b"{", b"}", b"NaN", b"1e999", b"nul", b'"', b"\\", b"kind,at,group"):
        yield Mutation(f"line {value!r}", _literally(value), "NOT_JSON")


def _of_shape() -> Iterator[Mutation]:
    for opener, closer in (("[", "]"), ('{"a":', "}"), ("{0:", "}"), ('[{"a":1},', "]")):
        deep = opener * 10_000 + "1" + closer * 10_000
        yield Mutation(f"depth 10,000 of {opener}", _before(b'"x":' + deep.encode()), "NOT_JSON")
        yield Mutation(f"body of depth 10,000 of {opener}", with_body(lambda _, deep=deep: deep), "BODY_UNREADABLE")  # type: ignore[misc]
        yield Mutation(f"only openers {opener}", _literally((opener * 10_000).encode()), "NOT_JSON")
    # The line is one level itself.
    yield Mutation("depth 100", _before(b'"x":' + b"[" * 99 + b"]" * 99), ROW)
    yield Mutation("depth 101", _before(b'"x":' + b"[" * 100 + b"]" * 100), "NOT_JSON")
    yield Mutation("depth 900", _before(b'"x":' + b"[" * 900 + b"]" * 900), "NOT_JSON")
    yield Mutation("field of 10 MB", with_(x="x" * MEGABYTES), ROW, is_heavy=True)
    yield Mutation("10 MB of digits", _before(b'"x":' + b"1" * MEGABYTES), "NOT_JSON", is_heavy=True)
    yield Mutation("10 MB of quotes", _literally(b'"' * MEGABYTES), "NOT_JSON", is_heavy=True)
    yield Mutation("body of 10 MB of openers", with_(body="{" * MEGABYTES), "BODY_UNREADABLE", is_heavy=True)
    yield Mutation("kind twice, bad first", _before(b'"kind":7'), ROW)
    yield Mutation("at twice, bad first", _before(b'"at":"x"'), ROW)
    yield Mutation("kind twice, bad last", _raw(lambda line: line[:-1] + b',"kind":"x"}'), "UNKNOWN_KIND")
    yield Mutation("at twice, bad last", _raw(lambda line: line[:-1] + b',"at":0}'), "OUT_OF_RANGE")
    yield Mutation("key 10,000 times", _before(b",".join([b'"x":1'] * 10_000)), ROW)
    yield Mutation("10,000 keys", _before(b",".join(b'"x%d":1' % n for n in range(10_000))), ROW)
    yield Mutation("reference to nothing", with_(x={"$ref": "$.nothing"}), "NOT_JSON")
    yield Mutation("circle", with_(x={"$ref": "$"}), ROW)
    yield Mutation("name is a reference", _name({"$ref": "$"}), "WRONG_TYPE")
    yield Mutation("body is a reference", with_(body={"$ref": "$"}), "WRONG_TYPE")
    yield Mutation("name refers to text", _name({"$ref": "$.kind"}), "NOT_JSON")
    many = '[{"x":"%s"}' % ("x" * 50_000) + ',{"$ref":"$[0]"}' * 5_000 + "]"
    yield Mutation("250 MB of references", with_(body=many), "BODY_UNREADABLE")


def _of_bodies() -> Iterator[Mutation]:
    yield Mutation("body cut", _cut(of_body=True), "BODY_UNREADABLE")
    for text in ("", " ", "\0", "NaN", "{", "]", "nul", "01", "1e999", "9223372036854775808", '"\n"', '{"$ref":"$"}'):
        yield Mutation(f"body {text!a}", with_body(lambda _, text=text: text), "BODY_UNREADABLE")  # type: ignore[misc]
    for text in ("null", "7", '"x"', "true"):
        yield Mutation(f"body {text}", with_body(lambda _, text=text: text), "WRONG_TYPE")  # type: ignore[misc]
    for mark in ("\0", "\ufeff", "x", "\x1b[2J", "{}"):
        yield Mutation(f"body begins with {mark!a}", with_body(lambda body, mark=mark: mark + body), "BODY_UNREADABLE")  # type: ignore[misc]
        yield Mutation(f"body ends with {mark!a}", with_body(lambda body, mark=mark: body + mark), "BODY_UNREADABLE")  # type: ignore[misc]
    empty = {"connection": "MISSING_FIELD", "stats": "MISSING_FIELD", "topicstats": "WRONG_TYPE"}
    yield Mutation("body {}", with_(body="{}"), empty | {"route": ROW, "running": ROW})
    yield Mutation("body []", with_(body="[]"), dict.fromkeys(OBJECTS, "WRONG_TYPE") | {"topicstats": ROW})
    further = with_body(lambda body: body[:-1] + ',"x":"' + "x" * MEGABYTES + '"}')
    yield Mutation("body with 10 MB", further, ROW, OBJECTS, is_heavy=True)


LINE_MUTATIONS: Final = (
    *(*_of_types(), *_of_times(), *_of_names(), *_of_answers(), *_of_bytes(), *_of_shape(), *_of_bodies()),
)
