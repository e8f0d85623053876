"""Mutations of the body of a line: kind by kind, field by field."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from tests.end_to_end.reliability.mutation import MANY_QUEUES, ROW, Fields, Mutation, with_, with_body
from tests.end_to_end.reliability.names import NAMES, SURROGATES


def _put(pattern: str, values: Iterable[tuple[str, str]], *kinds: str) -> Iterator[Mutation]:
    """The first of what the pattern finds in the body, replaced by each of the values, with what is expected of it."""
    for value, expected in values:

        def change(body: str, value: str = value) -> str:
            changed, found = re.subn(pattern, lambda match: match[1] + value, body, count=1)
            assert found, f"{pattern} is not in {body[:1000]}"
            return changed

        yield Mutation(f"{pattern} {value[:60]!a}", with_body(change), expected, kinds)


def _numbers(lowest: int, highest: int, *, required: bool) -> Iterator[tuple[str, str]]:
    """Texts for an integer, and what is expected of each."""
    for number in {0, 1, -1, 99_999, lowest, highest, lowest - 1, highest + 1, -(2**63), 2**63 - 1}:
        is_stored = lowest <= number <= highest
        fits = -(2**63) <= number < 2**63
        yield str(number), ROW if is_stored else "OUT_OF_RANGE" if fits else "BODY_UNREADABLE"
    yield from ((text, "WRONG_TYPE") for text in ('"1"', "1.5", "1e3", "true", "[1]", "{}", '"=1+1"'))
    yield from ((text, "BODY_UNREADABLE") for text in (str(2**63), "1" * 5000, "NaN", "-", "01", "1e999"))
    yield "null", "MISSING_FIELD" if required else ROW


def _texts(*, required: bool) -> Iterator[tuple[str, str]]:
    """Texts for a name, and what is expected of each."""
    yield from ((json.dumps(name), ROW) for name in NAMES)
    yield from ((json.dumps(name), "LONE_SURROGATE") for name in SURROGATES)
    yield from ((text, "WRONG_TYPE") for text in ("7", "1.5", "true", "[]", "{}", '["a"]'))
    yield "null", "MISSING_FIELD" if required else ROW


_INT, _LONG, _COUNT = (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1), (0, 2**31 - 1)
_TABLE = [("7", "WRONG_TYPE"), ("[]", "WRONG_TYPE"), ('"x"', "WRONG_TYPE"), ("null", "MISSING_FIELD")]


def _of_connections() -> Iterator[Mutation]:
    kind = "connection"
    yield from _put(r'("clientId":)"[^"]*"', _texts(required=True), kind)
    yield from _put(r'("clientAddr":)"[^"]*"', _texts(required=False), kind)
    yield from _put(r'("version":)\d+', _numbers(*_INT, required=False), kind)
    yield from _put(r'("subVersion":)-?\d+', _numbers(*_LONG, required=False), kind)
    models = [(json.dumps(name), "OUT_OF_RANGE") for name in NAMES] + [("7", "WRONG_TYPE"), ("null", "MISSING_FIELD")]
    yield from _put(r'("messageModel":)"[^"]*"', [*models, ('"BROADCASTING"', ROW)], kind)
    yield from _put(
        r'("connectionSet":)\[.*\](?=,"consumeFrom)',
        [*_TABLE[:1], ("{}", "WRONG_TYPE"), *_TABLE[3:], ("[]", ROW)],
        kind,
    )
    yield from _put(r'("subscriptionTable":).*(?=})', [*_TABLE, ("{}", ROW)], kind)
    twice = with_body(lambda body: '{"connectionSet":7,' + body[1:])
    yield Mutation("connections twice, bad first", twice, ROW, [kind])


def _of_routes() -> Iterator[Mutation]:
    kind, first = "route", r'"queueDatas":\[\{"brokerName":'
    yield from _put(rf'({first})"[^"]*"', _texts(required=True), kind)
    for field in ("perm", "readQueueNums", "writeQueueNums"):
        yield from _put(rf'({first}[^}}]*"{field}":)\d+', _numbers(*_COUNT, required=True), kind)
    yield from _put(
        r'("queueDatas":)\[.*\]', [*_TABLE[:1], ("{}", "WRONG_TYPE"), ("null", ROW), ("[7]", "WRONG_TYPE")], kind
    )
    twin = with_body(lambda body: re.sub(r'"queueDatas":\[(\{[^}]*\})', r'"queueDatas":[\1,\1', body, count=1))
    yield Mutation("a broker twice", twin, "CONTRADICTION", [kind])


def _of_stats() -> Iterator[Mutation]:
    kind = "stats"
    for field, required in (("brokerOffset", True), ("consumerOffset", True), ("lastTimestamp", False)):
        yield from _put(rf'("{field}":)-?\d+', _numbers(*_LONG, required=required), kind)
    yield from _put(r'("queueId":)\d+', _numbers(*_COUNT, required=True), kind)
    yield from _put(r'("brokerName":)"[^"]*"', _texts(required=True), kind)
    yield from _put(r'("topic":)"[^"]*"', [(json.dumps(name), "CONTRADICTION") for name in NAMES], kind)
    yield from _put(r'("offsetTable":).*(?=})', [*_TABLE, ("{}", ROW), ('{"a":{}}', "WRONG_TYPE")], kind)
    yield Mutation("100,000 queues", _many_offsets, ROW, [kind], is_heavy=True)


def _many_offsets(_: random.Random, fields: Fields) -> Fields:
    topic = json.dumps(fields["topic"])
    entry = '{"brokerName":"b","queueId":%d,"topic":%s}:{"brokerOffset":2,"consumerOffset":1,"lastTimestamp":0}'
    entries = ",".join(entry % (number, topic) for number in range(MANY_QUEUES))
    return fields | {"body": '{"consumeTps":0.0,"offsetTable":{' + entries + "}}"}


def _of_topics() -> Iterator[Mutation]:
    of_other_types: tuple[Any, ...] = (
        *(7, "x", None, {}, ["b", "0", 0, 0], ["b", 0, 0, 1.5], [7, 0, 0, 0]),
        *(["b", None, 0, 0], [None, 0, 0, 0], ["b", True, 0, 0], ["b", 0, [], 0]),
    )
    of_other_lengths: tuple[Any, ...] = ([], ["b"], ["b", 0, 0], ["b", 0, 0, 0, 0])
    rejected: list[tuple[Any, str]] = [
        *((entry, "WRONG_TYPE") for entry in of_other_types),
        *((entry, "MISSING_FIELD") for entry in of_other_lengths),
        *((["b", queue_id, 0, 0], "OUT_OF_RANGE") for queue_id in (-1, -(2**31), 2**31, 2**63 - 1)),
        *((["b", 0, 0, number], "BODY_UNREADABLE") for number in (2**63, -(2**63) - 1, 10**400)),
        *(([name, 0, 0, 0], "LONE_SURROGATE") for name in SURROGATES),
        *(([name, 0, -1, 2**63 - 1], ROW) for name in NAMES),
        (["b", 99_999, 2**63 - 1, -(2**63)], ROW),
    ]
    for entry, expected in rejected:
        body = json.dumps([["a", 0, 0, 5], entry])
        yield Mutation(f"entry {body[:60]}", with_(body=body), expected, ["topicstats"])
    twice = json.dumps([["b", 0, 0, 5], ["a", 0, 0, 5], ["b", 0, 0, 6]])
    yield Mutation("a queue twice", with_(body=twice), "CONTRADICTION", ["topicstats"])
    many = json.dumps([["b", number, 0, 5] for number in range(MANY_QUEUES)])
    yield Mutation("100,000 queues", with_(body=many), ROW, ["topicstats"], is_heavy=True)


def _of_clients() -> Iterator[Mutation]:
    kind, first = "running", r'"mqTable":\{\{[^}]*\}:\{[^}]*'
    yield from _put(r'("mqTable":\{\{[^}]*"queueId":)\d+', _numbers(*_COUNT, required=True), kind)
    yield from _put(r'("mqTable":\{\{"brokerName":)"[^"]*"', _texts(required=True), kind)
    yield from _put(rf'({first}"cachedMsgCount":)\d+', _numbers(*_INT, required=False), kind)
    yield from _put(rf'({first}"commitOffset":)-?\d+', _numbers(*_LONG, required=False), kind)
    flags = [*((text, "WRONG_TYPE") for text in ("7", '"true"', "[]", "1.0")), ("null", ROW)]
    yield from _put(rf'({first}"locked":)(?:true|false)', flags, kind)
    starts = [
        *((f'"{text}"', "WRONG_TYPE") for text in ("", "x", "=1+1", "1.5", "1" * 20, "+1", "\\u0661")),
        ("7", "WRONG_TYPE"),
    ]
    starts += [*((f'"{text}"', "OUT_OF_RANGE") for text in (0, -1, 2**63 - 1, 1_795_226_547)), ('"4102444800000"', ROW)]
    yield from _put(r'("PROP_CONSUMER_START_TIMESTAMP":)"\d+"', [*starts, ("null", ROW)], kind)
    yield from _put(r'("properties":)(?=\{)', [('7,"x":', "WRONG_TYPE"), ('null,"x":', ROW)], kind)


BODY_MUTATIONS: Final = (*_of_connections(), *_of_routes(), *_of_stats(), *_of_topics(), *_of_clients())
