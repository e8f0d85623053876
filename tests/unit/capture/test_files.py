"""Files of a recording: whole lines or none, whatever ends the process."""

import errno
import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from spark_jobs.capture.files import RecordingFiles, whole_members
from spark_jobs.errors import CaptureError
from spark_jobs.ingest.files import read_lines

HEAD = '{"kind":"meta","cluster":"c"}\n'


def opened(folder: Path, seconds: float = 300) -> tuple[RecordingFiles, list[Path]]:
    """The files of a capture, and those that it has closed."""
    closed: list[Path] = []
    written = RecordingFiles(folder, seconds, lambda: HEAD, closed.append)
    written.open()
    return written, closed


@contextmanager
def full_disk() -> Iterator[None]:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", full)
        yield


def content(path: Path) -> list[str]:
    """The lines behind the first, which is the head."""
    head, *lines = [line.content.decode() for line in read_lines(path)]
    assert head == HEAD
    return lines


def test_rounds_are_readable_at_once_and_the_name_shows_when_they_are_all(tmp_path: Path) -> None:
    written, closed = opened(tmp_path / "new")
    assert written.append(["one\n", "two\n"])
    assert written.append(["three\n"])
    (partial,) = (tmp_path / "new").glob("*.jsonl.gz.partial")
    assert content(partial) == ["one\n", "two\n", "three\n"]
    assert closed == []
    written.close()
    assert closed == [partial.with_suffix("")]
    assert content(closed[0]) == ["one\n", "two\n", "three\n"]
    assert not list((tmp_path / "new").glob("*.partial"))


def test_a_file_is_closed_when_its_time_has_come_and_nothing_makes_no_file(tmp_path: Path) -> None:
    written, closed = opened(tmp_path, seconds=1e-6)
    assert written.append([])
    written.rotate()
    assert closed == []
    for line in ("one\n", "two\n"):
        written.append([line])
        written.rotate()
    assert [content(path) for path in closed] == [["one\n"], ["two\n"]]
    written.close()
    assert len(closed) == 2


@pytest.mark.parametrize("cut", [0, 1, 9, 20])
def test_what_a_killed_process_has_half_written_is_cut_off(cut: int, tmp_path: Path) -> None:
    member = gzip.compress(b"two\n")
    left = tmp_path / "20260301T100000.000000Z.jsonl.gz.partial"
    left.write_bytes(gzip.compress(HEAD.encode() + b"one\n") + member[:cut])
    written, closed = opened(tmp_path)
    written.close()
    assert closed == [tmp_path / "20260301T100000.000000Z.jsonl.gz"]
    assert content(closed[0]) == ["one\n"]


def test_a_file_without_a_whole_member_goes(tmp_path: Path) -> None:
    (tmp_path / "20260301T100000.000000Z.jsonl.gz.partial").write_bytes(gzip.compress(HEAD.encode())[:10])
    written, closed = opened(tmp_path)
    written.close()
    assert closed == []
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_whole_members_are_counted_in_bytes() -> None:
    one, two = gzip.compress(b"one\n"), gzip.compress(b"two\n")
    assert whole_members(one + two) == len(one + two)
    assert whole_members(one + two[:-1]) == len(one)
    assert whole_members(one + b"rubbish") == len(one)
    assert whole_members(b"") == 0


def test_a_full_disk_costs_the_round_and_leaves_whole_lines(tmp_path: Path) -> None:
    written, _ = opened(tmp_path)
    assert written.append(["one\n"])
    with full_disk():
        assert not written.append(["two\n"])
    assert written.append(["three\n"])
    written.close()
    (path,) = tmp_path.glob("*.jsonl.gz")
    assert content(path) == ["one\n", "three\n"]


def test_a_disk_that_is_full_from_the_beginning_leaves_no_empty_files(tmp_path: Path) -> None:
    written, _ = opened(tmp_path)
    with full_disk():
        assert not written.append(["one\n"])
    assert not list(tmp_path.glob("*.jsonl.gz*"))
    assert written.append(["two\n"])
    written.close()
    (path,) = tmp_path.glob("*.jsonl.gz")
    assert content(path) == ["two\n"]


def test_two_captures_do_not_write_into_one_folder(tmp_path: Path) -> None:
    written, _ = opened(tmp_path)
    with pytest.raises(CaptureError, match="another capture is writing to"):
        opened(tmp_path)
    written.close()
    opened(tmp_path)[0].close()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CaptureError, match=r"file/recordings cannot be written: Not a directory"):
        opened(tmp_path / "file" / "recordings")
