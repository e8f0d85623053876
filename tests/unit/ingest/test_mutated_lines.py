"""Lines damaged at random, seeded: whatever stands in a file, every line has one outcome and nothing crashes."""

import random
from collections import Counter
from pathlib import Path

import pytest

from schemas import QUARANTINE
from spark_jobs.domain.model.intervals import EPOCH
from spark_jobs.ingest.batches import arrow_table, quarantine_row
from spark_jobs.ingest.files import read_lines
from spark_jobs.ingest.recording import Quarantined, Row, outcomes
from tests.support.bodies import LINES, failed, line

_SNIPPETS = (
    *(b"{", b"}", b"[", b"]", b":", b",", b'"', b'\\"', b"\\", b"\n", b"\x00", b"\xff", b"\xed\xa0\x80", b"null"),
    *(b"NaN", b"-1", b"1e999", b"99999999999999999999", b"\\ud800", b"\\\\ud800", b"{{", b'{\\"$ref\\":\\"$.a\\"}'),
    *(b'{\\"$ref\\":\\"..\\"}', b"[" * 300, b"true", b'\\"x\\"'),
)


def mutated(chance: random.Random, content: bytes) -> bytes:
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(content) + 1)
        match chance.randrange(4):
            case 0:
                content = content[:at] + chance.choice(_SNIPPETS) + content[at:]
            case 1:
                content = content[:at] + content[at + chance.randint(1, 12) :]
            case 2:
                content = content[:at]
            case 3:
                content = content[:at] + bytes([chance.randrange(256)]) + content[at + 1 :]
    return content


def damaged_line(chance: random.Random) -> bytes:
    """A line whose text or whose body is damaged; its end stands, so that the next one is hit by itself."""
    kind = chance.choice(list(LINES))
    match chance.randrange(4):
        case 0:
            return mutated(chance, line(kind).rstrip()) + b"\n"
        case 1:
            return mutated(chance, failed(kind, "code 206 not online").rstrip()) + b"\n"
        case _:
            return line(kind, body=mutated(chance, str(LINES[kind]["body"]).encode()).decode("latin-1"))


@pytest.mark.parametrize("seed", range(4))
def test_every_damaged_line_is_accounted_for(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(b"".join(damaged_line(chance) for _ in range(5000)))

    found = list(outcomes(read_lines(path), "demo"))

    assert [o.line.number for o in found] == list(range(1, len(list(path.open("rb"))) + 1))
    kinds = Counter(type(o).__name__ for o in found)
    assert min(kinds["Row"], kinds["Quarantined"]) > 200
    for o in found:
        if isinstance(o, Row):
            arrow_table(o.table, [o.values])
    rejected = [quarantine_row(o, EPOCH) for o in found if isinstance(o, Quarantined)]
    assert arrow_table(QUARANTINE, rejected).num_rows == kinds["Quarantined"]
