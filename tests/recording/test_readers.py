"""What Spark gathers of the recording's clients is what the reader of one group has of them."""

from __future__ import annotations

import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemas import CLIENT_SNAPSHOTS, SOURCES
from spark_jobs.domain.model.history import ClientHistory, ClientState
from spark_jobs.pipeline.gather.gather import Partitioning, group_topics, readings_per_group, states_per_group
from spark_jobs.pipeline.gather.histories import histories
from spark_jobs.pipeline.gather.judged import Gathered
from spark_jobs.pipeline.gather.kinds import CLIENT, READABLE
from spark_jobs.pipeline.gather.one_group import one_group
from spark_jobs.store.arrow_types import arrow_schema
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.warehouse import Warehouse
from tests.recording.conftest import EXAMPLE, RECORDING

pytestmark = pytest.mark.skipif(RECORDING != EXAMPLE, reason="the numbers are those of the recording of the project")

Clients = dict[tuple[str, str], ClientHistory]


@pytest.fixture(scope="module")
def by_spark(spark: SparkSession, recorded: Warehouse) -> Clients:
    gathered = Gathered.of({table: recorded.read(spark, table) for table in SOURCES})
    topics, parts = group_topics(gathered.folded), Partitioning(1)
    states = states_per_group(gathered.folded.withColumn(READABLE, F.lit(None).cast("string")), topics, parts)
    key = ("cluster", "consumer_group", "kind", "name", "fingerprint", "times")
    of_clients = states.where(F.col("kind") == CLIENT).select(*key, CLIENT).toArrow()
    found = histories(of_clients, readings_per_group(gathered.snapshots, topics, parts).toArrow())
    return {(one.consumer_group, name): client for one in found for name, client in one.clients.items()}


@pytest.fixture(scope="module")
def by_one_group(recorded: Warehouse) -> Clients:
    tables = DeltaTables(recorded)
    every = tables.read(CLIENT_SNAPSHOTS, CLIENT_SNAPSHOTS.columns)
    nothing = {table: arrow_schema(table).empty_table() for table in SOURCES}
    found: Clients = {}
    for group in sorted(set(every["consumer_group"].to_pylist())):
        own = every.filter(pc.equal(every["consumer_group"], group))
        history = one_group("demo", group, {**nothing, CLIENT_SNAPSHOTS: own})
        found |= {(group, name): client for name, client in history.clients.items()}
    return found


def told(client: ClientHistory) -> list[tuple[int, ClientState, object]]:
    states = (client.series.states[code] for code in client.series.codes)
    return [*zip(client.series.times.tolist(), states, client.readings.statuses, strict=True)]


def test_both_say_the_same_of_every_client(by_spark: Clients, by_one_group: Clients) -> None:
    assert by_spark.keys() == by_one_group.keys()
    assert {key: told(one) for key, one in by_spark.items()} == {key: told(one) for key, one in by_one_group.items()}


def test_it_is_what_the_clients_said(by_one_group: Clients) -> None:
    """As zcat and grep show it: 11 of 5915 snapshots are of clients that did not answer."""
    every = [one for client in by_one_group.values() for one in told(client)]
    answered = [(state, statuses) for _, state, statuses in every if state.answered]
    assert (len(every), len(answered)) == (5915, 5904)
    assert {
        (one.consume_threads, one.consume_batch_size, one.pull_batch_size, one.pull_interval_ms) for one, _ in answered
    } == {(1, 1, 32, 200)}
    limits = {
        (one.pull_threshold_for_queue, one.pull_threshold_size_for_queue, one.consume_max_span) for one, _ in answered
    }
    assert limits == {(200, 100, 2000)}
    assert all(statuses for _, statuses in answered)
