import gzip
from pathlib import Path

import pytest

from spark_jobs.domain.model.intervals import EPOCH
from spark_jobs.errors import InputFileError
from spark_jobs.ingest.batches import quarantine_row
from spark_jobs.ingest.files import LONGEST_LINE, Line, check_readable, read_lines
from spark_jobs.ingest.recording import Quarantined, outcomes
from tests.support.bodies import line

TEXT = b"first\nsecond\n\nlast"


def contents(path: Path) -> list[tuple[int, bytes]]:
    return [(line.number, line.content) for line in read_lines(path)]


def test_plain_and_gzip_give_the_same_lines(tmp_path: Path) -> None:
    plain, packed, two = tmp_path / "a", tmp_path / "b.jsonl", tmp_path / "c"
    plain.write_bytes(TEXT)
    packed.write_bytes(gzip.compress(TEXT))
    two.write_bytes(gzip.compress(TEXT[:8]) + gzip.compress(TEXT[8:]))
    expected = [(1, b"first\n"), (2, b"second\n"), (3, b"\n"), (4, b"last")]
    assert contents(plain) == contents(packed) == contents(two) == expected


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "empty.gz").write_bytes(gzip.compress(b""))
    assert contents(tmp_path / "empty") == contents(tmp_path / "empty.gz") == []


def test_a_truncated_gzip_gives_everything_before_and_one_damaged_line(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    whole = b"".join(b"%d %d\n" % (i, i * 7919 % 10_007) for i in range(100_000))
    path.write_bytes(gzip.compress(whole)[:-100_000])
    *read, damaged = read_lines(path)

    assert b"".join(line.content for line in read) == b"".join(whole.splitlines(keepends=True)[: len(read)])
    assert len(read) > 30_000
    assert not any(line.rejected for line in read)
    assert damaged.number == len(read) + 1
    assert damaged.rejected is not None
    assert damaged.rejected.reason == "DAMAGED_FILE"


def test_a_wrong_checksum_is_one_damaged_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.gz"
    packed = bytearray(gzip.compress(TEXT))
    packed[-8] ^= 1
    path.write_bytes(packed)
    *read, damaged = read_lines(path)
    assert [line.content for line in read] == [b"first\n", b"second\n", b"\n"]
    assert damaged.rejected is not None


def test_a_line_beyond_the_limit_is_skipped_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "long.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"x" * LONGEST_LINE + b"\n")
        file.write(b"y" * (LONGEST_LINE + 3_000_000) + b"\n")
        file.write(b"after\n")
    exact, too_long, after = read_lines(path)

    assert (len(exact.content), exact.rejected) == (LONGEST_LINE + 1, None)
    assert too_long.rejected is not None
    assert too_long.rejected.reason == "LINE_TOO_LONG"
    assert f"{LONGEST_LINE + 3_000_001} bytes" in too_long.rejected.detail
    assert too_long.content == b"y" * 65536
    assert (after.number, after.content) == (3, b"after\n")


@pytest.mark.parametrize("content", [b"\x1f\x8b", b"\x1f\x8b\x08garbage that is no gzip at all"])
def test_what_cannot_be_decompressed_at_all_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.gz"
    path.write_bytes(content)
    with pytest.raises(InputFileError, match=r"broken\.gz cannot be decompressed"):
        list(read_lines(path))


def test_a_missing_file_and_a_folder_are_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.jsonl", tmp_path):
        with pytest.raises(InputFileError, match="cannot be read"):
            check_readable(path)


def test_a_quarantined_line_keeps_its_head_and_its_id(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"[" + b"1," * 50_000 + b"\n" + b"\xff\n" + b"\xff\n")
    rows = []
    for found in outcomes(read_lines(tmp_path / "bad"), "demo"):
        assert isinstance(found, Quarantined)
        rows.append(quarantine_row(found, EPOCH))

    assert rows[0]["content"] == ("[" + "1," * 50_000)[:65536]
    assert str(rows[0]["detail"]).endswith("(content: the first 65536 of 100002 bytes)")
    assert rows[1] == {
        # printf 'bad\0002\000\377\n' | sha256sum
        "quarantine_id": "c1462659a02c9751014480943f128ac12ea541d2d3d43f911a1e362cb7d26c12",
        "source_table": None,
        "source_file": "bad",
        "line_number": 2,
        "row_key": None,
        "reasons": ["NOT_UTF8"],
        "detail": "invalid start byte at byte 0",
        "run_id": None,
        "content": "�\n",
        "rejected_at": EPOCH,
    }
    assert len({row["quarantine_id"] for row in rows}) == 3


def test_of_a_long_key_the_head_is_kept() -> None:
    (found,) = outcomes([Line(1, line("connection", group="é" * 100_000, broker=7))], "demo")
    assert isinstance(found, Quarantined)
    key = quarantine_row(found, EPOCH)["row_key"]
    assert key == ('{"cluster": "demo", "consumer_group": "' + r"\u00e9" * 20_000)[:65536]
