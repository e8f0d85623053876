"""Mutations of the body of a line: kind by kind, field by field."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tests.end_to_end.reliability.mutation import ROW, Change, Fields, Mutation, each, with_, with_body
from tests.end_to_end.reliability.names import NAMES, SURROGATES
from tests.support.fakes import offset_table, queue

#: Outcome: JSON texts that lead to it.
Texts = Mapping[str, Sequence[str]]
MISSING: Final = "MISSING_FIELD"
INT, LONG, COUNT = (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1), (0, 2**31 - 1)
ANY: Final = [json.dumps(name) for name in NAMES]


def put(pattern: str, text: str) -> Change:
    """The first of what the pattern finds in the body, but for its first group, is replaced by the text."""

    def change(body: str) -> str:
        changed, found = re.subn(pattern, lambda match: match[1] + text, body, count=1)
        assert found, f"{pattern} is not in {body[:1000]}"
        return changed

    return with_body(change)


def number(limits: tuple[int, int], null: str, text: str = "WRONG_TYPE") -> Texts:
    """Texts for an integer between these; `text`: what becomes of one in quotes, as C++ clients write some."""
    every = {0, 1, -1, 99_999, *LONG, 2**63, *limits, limits[0] - 1, limits[1] + 1}
    stored, readable = ({one for one in every if first <= one <= last} for first, last in (limits, LONG))
    unreadable = [*map(str, every - readable), "1" * 5000, "NaN", "-", "01", "1e999"]
    wrong = ["1.5", "1e3", "true", "[1]", "{}", '"=1+1"']
    found = {ROW: [*map(str, stored)], "OUT_OF_RANGE": [*map(str, readable - stored)], "WRONG_TYPE": wrong}
    found |= {"BODY_UNREADABLE": unreadable, null: [*found.get(null, []), "null"]}
    return found | {text: [*found[text], '"1"']}


def name(null: str) -> Texts:
    """Texts for a name."""
    surrogates = [json.dumps(name) for name in SURROGATES]
    found = {ROW: ANY, "LONE_SURROGATE": surrogates, "WRONG_TYPE": ["7", "1.5", "true", "[]", "{}", '["a"]']}
    found["OUT_OF_RANGE"] = [] if null == ROW else ['""', json.dumps("x" * 256)]
    return found | {null: [*found.get(null, []), "null"]}


_HOST, _OWNED = r'"queueDatas":\[\{"brokerName":', r'"mqTable":\{\{[^}]*\}:\{[^}]*'
#: By kind, what the texts replace behind the first group of a pattern.
FIELDS: Final[Mapping[str, Mapping[str, Texts]]] = {
    "connection": {
        r'("clientId":)"[^"]*"': name(null=MISSING),
        r'("clientAddr":)"[^"]*"': name(null=ROW),
        r'("version":)\d+': number(INT, null=ROW),
        r'("subVersion":)-?\d+': number(LONG, null=ROW),
        r'("messageModel":)"[^"]*"': {
            "OUT_OF_RANGE": ANY,
            "WRONG_TYPE": ["7"],
            MISSING: ["null"],
            ROW: ['"BROADCASTING"'],
        },
        r'("connectionSet":)\[.*\](?=,"consumeFrom)': {"WRONG_TYPE": ["7", "{}"], MISSING: ["null"], ROW: ["[]"]},
        r'("subscriptionTable":).*(?=})': {"WRONG_TYPE": ["7", "[]", '"x"'], MISSING: ["null"], ROW: ["{}"]},
        r"()^\{": {ROW: ['{"connectionSet":7,']},
    },
    "route": {
        rf'({_HOST})"[^"]*"': name(null=MISSING),
        rf'({_HOST}[^}}]*"perm":)\d+': number(COUNT, null=MISSING),
        rf'({_HOST}[^}}]*"readQueueNums":)\d+': number(COUNT, null=MISSING),
        rf'({_HOST}[^}}]*"writeQueueNums":)\d+': number(COUNT, null=MISSING),
        r'("queueDatas":)\[.*\]': {"WRONG_TYPE": ["7", "{}", "[7]"], ROW: ["null"]},
    },
    "stats": {
        r'("brokerOffset":)-?\d+': number(LONG, null=MISSING),
        r'("consumerOffset":)-?\d+': number(LONG, null=MISSING),
        r'("lastTimestamp":)-?\d+': number(LONG, null=ROW),
        r'("queueId":)\d+': number(COUNT, null=MISSING),
        r'("brokerName":)"[^"]*"': name(null=MISSING),
        r'("topic":)"[^"]*"': {"CONTRADICTION": ANY},
        r'("offsetTable":).*(?=})': {"WRONG_TYPE": ["7", "[]", '"x"', '{"a":{}}'], MISSING: ["null"], ROW: ["{}"]},
    },
    "running": {
        r'("mqTable":\{\{[^}]*"queueId":)\d+': number(COUNT, null=MISSING),
        r'("mqTable":\{\{"brokerName":)"[^"]*"': name(null=MISSING),
        rf'({_OWNED}"cachedMsgCount":)\d+': number(INT, null=ROW),
        rf'({_OWNED}"commitOffset":)-?\d+': number(LONG, null=ROW, text=ROW),
        rf'({_OWNED}"locked":)(?:true|false)': {"WRONG_TYPE": ["7", '"true"', "[]", "1.0"], ROW: ["null"]},
        r'("PROP_CONSUMER_START_TIMESTAMP":)"\d+"': {
            "WRONG_TYPE": ["7", '""', '"x"', '"=1+1"', '"1.5"', f'"{"1" * 20}"', '"+1"', r'"\u0661"'],
            "OUT_OF_RANGE": ['"0"', '"-1"', f'"{2**63 - 1}"', '"1795226547"'],
            ROW: ['"4102444800000"', "null"],
        },
        r'("properties":)(?=\{)': {"WRONG_TYPE": ['7,"x":'], ROW: ['null,"x":']},
    },
}
#: Entries of `topicstats`: broker, queue, first and last offset.
ENTRIES: Final[Mapping[str, Sequence[Any]]] = {
    "WRONG_TYPE": [
        *(7, "x", None, {}, ["b", "0", 0, 0], ["b", 0, 0, 1.5], [7, 0, 0, 0], ["b", None, 0, 0], [None, 0, 0, 0]),
        *(["b", True, 0, 0], ["b", 0, [], 0]),
    ],
    MISSING: [[], ["b"], ["b", 0, 0], ["b", 0, 0, 0, 0]],
    "OUT_OF_RANGE": [["b", queue_id, 0, 0] for queue_id in (-1, -(2**31), 2**31, 2**63 - 1)],
    "BODY_UNREADABLE": [["b", 0, 0, offset] for offset in (2**63, -(2**63) - 1, 10**400)],
    "LONE_SURROGATE": [[name, 0, 0, 0] for name in SURROGATES],
    ROW: [*([name, 0, -1, 2**63 - 1] for name in NAMES), ["b", 99_999, 2**63 - 1, -(2**63)]],
}


def _many_offsets(fields: Fields) -> Fields:
    numbers = {"brokerOffset": 2, "consumerOffset": 1, "lastTimestamp": 0}
    return fields | {"body": offset_table(*(queue("b", fields["topic"], id_, **numbers) for id_ in range(100_000)))}


def _of_bodies() -> Iterator[Mutation]:
    for kind, patterns in FIELDS.items():
        for pattern, outcomes in patterns.items():
            for expected, texts in outcomes.items():
                yield from each(expected, *(put(pattern, text) for text in texts), kinds=[kind])
    for expected, entries in ENTRIES.items():
        changes = (with_(body=json.dumps([["a", 0, 0, 5], entry])) for entry in entries)
        yield from each(expected, *changes, kinds=["topicstats"])
    host_twice = with_body(lambda body: re.sub(r'"queueDatas":\[(\{[^}]*\})', r'"queueDatas":[\1,\1', body, count=1))
    yield from each("CONTRADICTION", host_twice, kinds=["route"])
    queue_twice = json.dumps([["b", 0, 0, 5], ["a", 0, 0, 5], ["b", 0, 0, 6]])
    yield from each("CONTRADICTION", with_(body=queue_twice), kinds=["topicstats"])
    many = json.dumps([["b", number, 0, 5] for number in range(100_000)])
    yield from each(ROW, with_(body=many), kinds=["topicstats"], is_heavy=True)
    yield from each(ROW, _many_offsets, kinds=["stats"], is_heavy=True)


BODY_MUTATIONS: Final = (*_of_bodies(),)
