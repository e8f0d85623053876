"""Logs that are not as they should be: a clear word each, and answers that are right or unknown."""

import gzip
import tarfile
from pathlib import Path

import pytest

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS
from spark_jobs.errors import InputFileError
from spark_jobs.ingest.logs.entries import LogZone
from spark_jobs.ingest.logs.read import read_files
from tests.conformance.test_logs import LOGS
from tests.support.logged import (
    BOOT,
    LIFE,
    MEMBERS_OF_LIFE,
    alive,
    closed,
    connected,
    entries,
    members,
    read,
    rows_of,
    times,
    written,
)


def test_a_clock_that_is_set_back_makes_the_time_that_is_written_twice_unknown(tmp_path: Path) -> None:
    """The file's order is the order of what happened: c connects before the clock goes back, and leaves after it."""
    before = entries(BOOT, connected("a"), *["register OK"] * 8, connected("c"))  # until 22:30:33
    after = entries(connected("b"), closed("c"), *["register OK"] * 9, connected("d"), start=240)  # from 22:24:33 on
    path = written(tmp_path, "broker.log", [*before, *after])
    assert members(tmp_path) == [
        ("22:20:33", ""), ("22:21:33", "a"), ("22:30:33", "a b"), ("22:35:33", "a b d"),
    ]  # fmt: skip
    recording = read(tmp_path)
    assert f"{path} goes back in time 1 time: the clock was set back" in str(recording)
    assert alive(recording) == [("22:20:33", "22:24:32"), ("22:30:33", "22:35:33")]


def test_lines_of_threads_may_be_a_little_out_of_order(tmp_path: Path) -> None:
    lines = entries(*LIFE, every=2)
    written(tmp_path, "broker.log", [lines[0], *lines[2:4], lines[1], *lines[4:]])
    assert "goes back" not in str(read(tmp_path))
    assert members(tmp_path)[-1] == ("22:20:43", "b")


def test_a_damaged_archive_is_read_up_to_there_and_then_nothing_is_known(tmp_path: Path) -> None:
    """What follows in another file is of after the gap: who left meanwhile is unknown."""
    packed = gzip.compress(
        "\n".join([*entries(*LIFE[:3]), *entries(*["register OK"] * 5000, start=180, every=0)]).encode()
    )
    path = tmp_path / "broker.1.log.gz"
    path.write_bytes(packed[: len(packed) - 8])
    written(tmp_path, "broker.log", entries("register OK", "register OK", start=900))
    assert members(tmp_path) == MEMBERS_OF_LIFE[:3]
    assert f"{path} is damaged, and was read up to there: Compressed file ended" in str(read(tmp_path))
    assert read(tmp_path).unknown == {"g": ["b"]}
    assert times(MEMBERSHIP_SNAPSHOTS, read(tmp_path))[-1] < "22:26:00"


def test_an_archive_that_cannot_even_be_begun(tmp_path: Path) -> None:
    (tmp_path / "broker.log.gz").write_bytes(gzip.compress(b"x" * 100)[:12])
    with pytest.raises(InputFileError, match=r"broker\.log\.gz cannot be decompressed: .* Copy it again"):
        read(tmp_path)


def test_two_brokers_under_one_name(tmp_path: Path) -> None:
    """Neither log says whose it is: both have the same clients, who are connected to two addresses at once."""
    lines = entries("register OK", connected("a"), connected("b"))
    other = [line.replace("L:/10.1.0.1:10911", "L:/10.1.0.2:10911").replace("5009", "6009") for line in lines]
    again = entries(connected("c"), start=300)
    written(tmp_path, "a/broker.log", [*lines, *again])
    written(tmp_path, "b/broker.log", other)
    with pytest.raises(
        InputFileError, match=r"the logs of x are of several processes, 10\.1\.0\.1:10911 and 10\.1\.0\.2"
    ):
        read(f"x={tmp_path}")
    written(tmp_path, "both/broker.log", sorted([*lines, *other, *again]))
    with pytest.raises(InputFileError, match="of several processes"):
        read(f"x={tmp_path / 'both'}")


def test_two_applications_that_write_into_one_file(tmp_path: Path) -> None:
    result = (
        "rebalanced result changed. allocateMessageQueueStrategyName=AVG, group=g, topic=t, clientId={}@1, "
        "mqAllSize=2, cidAllSize=2, rebalanceResultSize=1, "
        "rebalanceResultSet=[MessageQueue [topic=t, brokerName=b, queueId={}]]"
    )
    written(tmp_path, "rocketmq_client.log", entries(result.format("a", 0), result.format("b", 1), every=1))
    owned = {row["client_id"]: row["owned_queues"] for row in rows_of(CLIENT_SNAPSHOTS, read(tmp_path))}
    assert {client: [queue["queue_id"] for queue in queues] for client, queues in owned.items()} == {
        "a@1": [0], "b@1": [1],
    }  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_utf_16(encoding: str, tmp_path: Path) -> None:
    text = "\ufeff" * (encoding != "utf-16") + "\n".join(entries(*LIFE))
    (tmp_path / "broker.log").write_bytes(text.encode(encoding))
    with pytest.raises(InputFileError, match=r"broker\.log is UTF-16: convert it, iconv -f UTF-16 -t UTF-8"):
        read(tmp_path)


def test_lines_that_are_indented_belong_to_the_entry_before(tmp_path: Path) -> None:
    """A document that an application prints has times of its own."""
    lines = entries(*LIFE)
    written(tmp_path, "broker.log", [*lines[:3], '  "until": "2030-01-01 00:00:00",', *lines[3:]])
    assert members(tmp_path) == MEMBERS_OF_LIFE


def test_a_file_in_which_nothing_is_understood_need_not_say_its_zone(tmp_path: Path) -> None:
    written(tmp_path, "broker.log", entries(*LIFE))
    written(tmp_path, "root_store_LOG", ["2026-11-26 06:20:33,250 DB stats"])
    assert members(tmp_path) == MEMBERS_OF_LIFE


def test_a_named_folder_without_any_entry(tmp_path: Path) -> None:
    path = written(tmp_path, "a/broker.log", ["Hello"])
    written(tmp_path, "b/broker.log", entries(*LIFE))
    recording = read(f"x={tmp_path / 'a'}", tmp_path / "b")
    assert f"nothing was understood in {path}" in str(recording)
    assert [process.name for process in recording.processes] == ["b"]


def test_several_processes_read_what_one_reads(tmp_path: Path) -> None:
    with tarfile.open(LOGS / "languages.tar.gz") as tar:
        tar.extractall(tmp_path, filter="data")
    paths = sorted(tmp_path.rglob("*.log"))
    alone, pooled = (list(read_files(paths, LogZone("UTC"), many_bytes)) for many_bytes in (2**40, 1))
    assert len(alone) == len(paths) > 10
    assert alone == pooled


@pytest.mark.parametrize("time", ["11-26 06:20:33.250", "06:20:33.250", "26/11/2026 06:20:33", "Nov 26 06:20:33"])
def test_a_time_without_its_year_is_not_guessed(time: str, tmp_path: Path) -> None:
    path = written(tmp_path, "app/app.log", [f"{time} INFO RocketmqClient - {text}" for text in LIFE])
    written(tmp_path, "broker.log", entries(BOOT, "register OK"))
    assert f"nothing was understood in {path}: no entry of a log" in str(read(tmp_path))
