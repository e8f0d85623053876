"""Logs written for tests: a broker b, whose group g has consumers with ids such as a@1."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from schemas import MEMBERSHIP_SNAPSHOTS, Table
from spark_jobs.ingest.logs.recorded import LogRecording, recording_of_logs
from spark_jobs.ingest.logs.sources import LogFolder


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def written(folder: Path, name: str, lines: Sequence[str]) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


BOOT = "The broker[b, 10.1.0.1:10911] boot success. serializeType=JSON"


def channel(client: str, state: str = "-") -> str:
    port = 50_000 + ord(client[0])
    return (
        f"ClientChannelInfo [channel=[id: 0x{port:x}, L:/10.1.0.1:10911 {state} R:/10.2.0.7:{port}], "
        f"clientId={client}@1, language=JAVA, version=493, lastUpdateTimestamp=1795645233590]"
    )


def connected(client: str) -> str:
    return f"new consumer connected, group: g CONSUME_PASSIVELY CLUSTERING channel: {channel(client)}"


def closed(client: str) -> str:
    return f"NETTY EVENT: remove not active channel[{channel(client, '!')}] from ConsumerGroupInfo, consumer group: g"


def entries(*texts: str, start: int = 0, every: int = 60) -> list[str]:
    """Entries of a broker, so many seconds apart, from 06:20:33 in GMT+8 on, which is 22:20:33Z."""
    seconds = [33 + start + every * number for number in range(len(texts))]
    return [
        f"2026-11-26 06:{20 + s // 60:02}:{s % 60:02} INFO Thread_1 - {text}"
        for s, text in zip(seconds, texts, strict=True)
    ]


def read(*folders: str | Path, recordings: Sequence[Path] = (), state_at: datetime | None = None) -> LogRecording:
    """The recording of the logs below these folders, in which a folder `NAME=PATH` has the logs of that broker."""
    of = [LogFolder.parse(str(one)) for one in folders]
    return recording_of_logs(of, "c", recordings=recordings, state_at=state_at)


def rows_of(table: Table, recording: LogRecording) -> list[Mapping[str, Any]]:
    """The rows of that table, in the order of time."""
    return sorted((row for of, row in recording.rows if of is table), key=lambda row: row["captured_at"])


def times(table: Table, recording: LogRecording) -> list[str]:
    return [time_of(row) for row in rows_of(table, recording)]


def time_of(row: Mapping[str, Any]) -> str:
    return f"{row['captured_at']:%H:%M:%S}"


def alive(recording: LogRecording) -> list[tuple[str, str]]:
    """From when to when the only process was alive."""
    (process,) = recording.processes
    return [(clock_of(first), clock_of(last)) for first, last in process.alive]


def members(*folders: str | Path, recordings: Sequence[Path] = ()) -> list[tuple[str, str]]:
    """(time, members) of g at b, at each change."""
    found: list[tuple[str, str]] = []
    for row in rows_of(MEMBERSHIP_SNAPSHOTS, read(*folders, recordings=recordings)):
        if row["consumer_group"] == "g":
            ids = " ".join(one["client_id"][0] for one in row["connections"])
            if not found or found[-1][1] != ids:
                found.append((time_of(row), ids))
    return found


def clock_of(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%H:%M:%S}"


LIFE = [BOOT, connected("a"), connected("b"), closed("a"), connected("c"), closed("c"), "register OK"]


MEMBERS_OF_LIFE = [
    *(("22:20:33", ""), ("22:21:33", "a"), ("22:22:33", "a b")),
    *(("22:23:33", "b"), ("22:24:33", "b c"), ("22:25:33", "b")),
]
