"""The recording that ships with the project, against counts taken from its text with zcat and grep."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_jobs.ingest.files import read_lines
from spark_jobs.ingest.recording import Meta, NoObservation, Outcome, Row, outcomes

RECORDING = Path(__file__).parents[3] / "examples" / "recording.jsonl.gz"

Values = dict[str, list[dict[str, object]]]


@pytest.fixture(scope="module")
def lines() -> list[Outcome]:
    return list(outcomes(read_lines(RECORDING)))


@pytest.fixture(scope="module")
def rows(lines: list[Outcome]) -> Values:
    by_table: Values = {}
    for outcome in lines:
        if isinstance(outcome, Row):
            by_table.setdefault(outcome.table.name, []).append(outcome.values)
    return by_table


def elements(rows: list[dict[str, object]], column: str) -> Iterator[object]:
    for row in rows:
        value = row[column]
        if value is not None:
            assert isinstance(value, list)
            yield from value


def test_every_line_has_its_outcome(lines: list[Outcome]) -> None:
    assert len(lines) == 22_997
    assert Counter(line.table.name if isinstance(line, Row) else type(line).__name__ for line in lines) == (
        {"Meta": 1, "membership_snapshots": 7208, "route_snapshots": 4060, "offset_snapshots": 5075 - 143}
        | {"topic_snapshots": 700, "client_snapshots": 5953 - 38, "NoObservation": 143 + 38}
    )
    assert Counter(line.kind for line in lines if isinstance(line, NoObservation)) == {"stats": 143, "running": 38}
    assert [line.cluster for line in lines if isinstance(line, Meta)] == ["demo"]


@pytest.mark.parametrize(
    ("table", "column", "count"),
    [
        ("membership_snapshots", "connections", 9350),  # clientAddr
        ("membership_snapshots", "subscriptions", 6873),  # expressionType
        ("route_snapshots", "queues", 5824),  # readQueueNums
        ("offset_snapshots", "offsets", 26_266),  # brokerOffset
        ("topic_snapshots", "queues", 2687),  # [
        ("client_snapshots", "owned_queues", 25_279),  # cachedMsgCount
        ("client_snapshots", "subscriptions", 11_522),  # expressionType
        ("client_snapshots", "consume_status", 11_522),  # consumeRT
    ],
)
def test_no_element_is_lost(rows: Values, table: str, column: str, count: int) -> None:
    assert sum(1 for _ in elements(rows[table], column)) == count


def test_answers_are_distinguished(rows: Values) -> None:
    assert sum(row["connections"] == [] for row in rows["membership_snapshots"]) == 3633
    clients = rows["client_snapshots"]
    assert sum(not row["answered"] for row in clients) == 11
    assert sum(row["client_rebalance"] is False for row in clients) == 290
    assert sum(row["consume_orderly"] is True for row in clients) == 290
    consistent_hash = "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash"
    assert sum(row["strategy_class"] == consistent_hash for row in clients) == 429


def test_the_settings_of_clients(rows: Values) -> None:
    """Those of batch-export, and of all others: its consumers are configured alike. 11 did not answer."""
    settings = (
        {"consume_threads": 1, "consume_batch_size": 1, "pull_batch_size": 32, "pull_interval_ms": 200}
        | {"pull_threshold_for_queue": 200, "pull_threshold_size_for_queue": 100, "consume_max_span": 2000}
        | {"consume_timeout_minutes": 15}
    )
    said = Counter(tuple(row[name] for name in settings) for row in rows["client_snapshots"])
    assert said == {tuple(settings.values()): 5953 - 38 - 11, (None,) * 8: 11}
