"""Lines of the real recording with one thing wrong, or odd, and what must become of each: known by hand from what was
done to it.
"""

from __future__ import annotations

import gzip
import json
import random
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.end_to_end.reliability.body_mutations import BODY_MUTATIONS
from tests.end_to_end.reliability.line_mutations import LINE_MUTATIONS
from tests.end_to_end.reliability.mutation import Fields, Mutation

MUTATIONS: Final = (*LINE_MUTATIONS, *BODY_MUTATIONS)

_RECORDING: Final = Path(__file__).parents[3] / "examples" / "recording.jsonl.gz"
_LOOKED_AT: Final = 3_000
_FIRST_AT: Final = 1_795_226_400_000
#: A body has what its kind's mutations change.
_TELLING: Final = {
    "connection": '"clientId"',
    "route": '"queueDatas":[{',
    "stats": '"queueId"',
    "topicstats": "[[",
    "running": '"mqTable":{{',
}


class Hostile(NamedTuple):
    """A line, what was done to it, when it says it was taken, and what must become of it."""

    content: bytes
    mutation: Mutation
    fields: Fields
    expected: str


@cache
def honest() -> dict[str, list[Fields]]:
    """Lines of the recording by kind, parsed; the body is text."""
    found: dict[str, list[Fields]] = defaultdict(list)
    with gzip.open(_RECORDING, "rt", encoding="utf-8") as file:
        for _, line in zip(range(_LOOKED_AT), file, strict=False):
            fields = json.loads(line)
            if _TELLING.get(fields["kind"], "\0") in fields.get("body", ""):
                found[fields["kind"]].append(fields)
    return found


def hostile_lines(seed: int, count: int, heavy: int = 0) -> Iterator[Hostile]:
    """Every mutation in turn, until there are so many lines; `heavy` of those that are megabytes come first.

    No two lines have the same time, so no two rows have the same key.
    """
    draw = random.Random(seed)
    light = [one for one in MUTATIONS if not one.is_heavy]
    in_turn = [one for one in MUTATIONS if one.is_heavy]
    turns = [in_turn[place % len(in_turn)] for place in range(heavy)]
    turns += [light[place % len(light)] for place in range(count - heavy)]
    for number, mutation in enumerate(turns):
        kind = draw.choice(mutation.kinds)
        fields = draw.choice(honest()[kind]) | {"at": _FIRST_AT + number}
        yield hostile(draw, mutation, fields)


def hostile(draw: random.Random, mutation: Mutation, fields: Fields) -> Hostile:
    """The line of these fields, mutated."""
    changed = mutation.change(draw, dict(fields))
    content = changed if isinstance(changed, bytes) else as_line(draw, changed)
    expected = mutation.expected if isinstance(mutation.expected, str) else mutation.expected[fields["kind"]]
    return Hostile(content, mutation, changed if isinstance(changed, dict) else fields, expected)


def as_line(draw: random.Random, fields: Fields) -> bytes:
    """As one writer or another would write it."""
    raw = draw.random() < 0.5 and not _has_surrogate(fields)
    return json.dumps(fields, ensure_ascii=not raw).encode() + b"\n"


def _has_surrogate(fields: Fields) -> bool:
    return any("\ud800" <= character <= "\udfff" for value in fields.values() for character in _text(value))


def _text(value: Any) -> str:
    return value if isinstance(value, str) and not value.isascii() else ""
