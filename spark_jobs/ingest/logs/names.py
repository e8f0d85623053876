"""Logs of a process → whose they are."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from spark_jobs.domain.kernel.unseen import PROXY
from spark_jobs.errors import InputFileError
from spark_jobs.ingest.logs.events import Booted, Connected, Disconnected
from spark_jobs.ingest.logs.read import Logged

#: Folders that every installation has.
_ANY_LOGS: Final = ("logs", "rocketmqlogs")


def name_of(name: str | None, folder: Path, logged: Sequence[Logged]) -> str | None:
    """The broker or proxy of the logs; None: a process without consumers. Raises `InputFileError` if it is unclear."""
    booted = {event.broker for _, event in logged if isinstance(event, Booted)}
    if len(booted) > 1:
        raise InputFileError(
            f"{folder} has logs of several brokers, {', '.join(sorted(booted))}: put each broker's into its own folder"
        )
    if name and booted - {name}:
        raise InputFileError(
            f"{folder} has logs of {booted.pop()}, and not of {name}: name it so, or leave the name out"
        )
    if name or booted:
        return name or booted.pop()
    connected = [event for _, event in logged if isinstance(event, Connected)]
    if not connected:
        return None
    if all(
        "@" in event.connection.client_id and event.connection.language not in ("JAVA", "GO") for event in connected
    ):
        return f"{PROXY}{next((part for part in reversed(folder.parts) if part not in _ANY_LOGS), folder.name)}"
    raise InputFileError(f"{folder} does not say whose logs it has: name the broker, --logs BROKER={folder}")


def check_one_process(name: str | None, logged: Iterable[Logged]) -> None:
    """Raises `InputFileError` where clients are connected to two brokers at once, by turns: their logs are mixed."""
    connected: dict[tuple[str, str], dict[str, str | None]] = defaultdict(dict)
    newest, former, mixed = None, set[str | None](), set[str | None]()
    for _, event in logged:
        match event:
            case Booted():
                connected.clear()
            case Connected(connection=connection, local=local):
                of_client = connected[event.group, connection.client_id]
                if local != newest:
                    former.add(newest)
                    newest = local
                if local in former and {*of_client.values()} - {local}:
                    mixed |= {local, *of_client.values()}
                of_client[connection.address] = local
            case Disconnected(connection=connection):
                connected[event.group, connection.client_id].pop(connection.address, None)
    if mixed:
        raise InputFileError(
            f"the logs of {name} are of several processes, {' and '.join(sorted(map(str, mixed)))}: the same clients "
            "are connected to both. Give each broker a folder and a name, and of a master and its slaves the master's "
            "logs only"
        )
