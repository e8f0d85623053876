from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from spark_jobs.domain.duplicates import (
    Connection,
    DuplicateCause,
    duplicate_cause,
    duplicate_ids,
    instance_name,
    is_persistent,
)

OLD_JAVA, NEW_JAVA = ("JAVA", 392), ("JAVA", 393)
ONE_HOST = ("10.0.0.1:40001", "10.0.0.1:40002")
TWO_HOSTS = ("10.0.0.1:40001", "10.0.0.2:40001")
STALE, CONTAINER = DuplicateCause.STALE_CONNECTION, DuplicateCause.CONTAINER_IDENTITY
FIXED, CLONED = DuplicateCause.FIXED_INSTANCE_NAME, DuplicateCause.CLONED_PROCESS


def test_duplicate_ids_once_each_in_clients_order() -> None:
    assert duplicate_ids(["b", "\uffff", "a", "b", "\U0001f600", "b", "\uffff", "\U0001f600"]) == [
        "b",
        "\U0001f600",
        "\uffff",
    ]
    assert duplicate_ids([]) == []


@pytest.mark.parametrize(
    ("client_id", "name"),
    [
        ("10.0.0.1@170", "170"),
        ("10.0.0.1@170#5@unit@STREAM", "170#5"),
        ("10.0.0.1@@unit", ""),
        ("nonsense", ""),
    ],
)
def test_instance_name_is_between_the_first_two_ats(client_id: str, name: str) -> None:
    assert instance_name(client_id) == name


def test_persistent_is_what_stands_in_two_snapshots_150_s_apart() -> None:
    seen = datetime(2026, 11, 21, 2, tzinfo=UTC)
    assert is_persistent(seen, seen + timedelta(seconds=150))
    assert not is_persistent(seen, seen + timedelta(seconds=149.999))
    assert is_persistent(seen, seen + timedelta(seconds=60), threshold=timedelta(seconds=60))


@pytest.mark.parametrize(
    ("client_id", "addresses", "software", "persistent", "cause"),
    [
        ("172.17.0.1@1", ONE_HOST, OLD_JAVA, False, STALE),
        ("172.17.0.1@1", TWO_HOSTS, OLD_JAVA, False, CONTAINER),
        ("172.17.0.1@1", ONE_HOST, OLD_JAVA, True, CONTAINER),
        ("172.17.0.1@1", ONE_HOST, ("GO", 500), True, CONTAINER),
        ("172.17.0.1@1", ONE_HOST, (None, None), True, CONTAINER),
        ("172.17.0.1@1", ONE_HOST, ("JAVA", None), True, CONTAINER),
        ("172.17.0.1@1@unit", ONE_HOST, OLD_JAVA, True, CONTAINER),
        ("172.17.0.1@1#DEFAULT", ONE_HOST, ("CPP", 400), True, CONTAINER),
        ("172.17.0.1@1#DEFAULT", ONE_HOST, NEW_JAVA, True, FIXED),
        ("172.17.0.1@#DEFAULT", ONE_HOST, ("PYTHON", 400), True, FIXED),
        ("172.17.0.1@1", ONE_HOST, NEW_JAVA, True, FIXED),
        ("172.17.0.1@worker", TWO_HOSTS, OLD_JAVA, True, FIXED),
        ("172.17.0.1@worker", TWO_HOSTS, NEW_JAVA, False, FIXED),
        ("172.17.0.1@1#x", TWO_HOSTS, NEW_JAVA, True, FIXED),
        ("172.17.0.1@\u0661", TWO_HOSTS, OLD_JAVA, True, FIXED),  # not an ASCII digit
        ("172.17.0.1", TWO_HOSTS, OLD_JAVA, True, FIXED),
        ("172.17.0.1@1#99", TWO_HOSTS, NEW_JAVA, True, CLONED),
        ("172.17.0.1@1#99", ONE_HOST, NEW_JAVA, True, CLONED),
        ("172.17.0.1@1#99", ONE_HOST, NEW_JAVA, False, STALE),
        ("172.17.0.1@worker", (None, None), NEW_JAVA, False, FIXED),  # unknown hosts are not one host
    ],
)
def test_probable_cause(
    client_id: str,
    addresses: tuple[str | None, ...],
    software: tuple[str | None, int | None],
    persistent: bool,
    cause: DuplicateCause,
) -> None:
    connections = [Connection(address, *software) for address in addresses]
    assert duplicate_cause(client_id, connections, persistent=persistent) is cause


def test_one_client_that_names_itself_by_pid_is_enough() -> None:
    connections = [Connection(ONE_HOST[0], *NEW_JAVA), Connection(ONE_HOST[1], *OLD_JAVA)]
    assert duplicate_cause("172.17.0.1@1", connections, persistent=True) is CONTAINER
