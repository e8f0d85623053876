"""The metrics and the trace of the recording, against what was done to the cluster (`test_incidents`). No Spark."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from schemas import ALLOCATIONS, FINDINGS, GROUP_STATUS, QUEUE_PROGRESS, REBALANCE_INTERVALS
from spark_jobs.domain.model.window import SECOND, to_micros
from spark_jobs.show.metrics import metrics
from spark_jobs.show.trace import trace
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.published import Scope
from tests.spark.recording.test_timeline import EVERYBODY, T0
from tests.support.recordings import HOUR, audited, write_warehouse
from tests.support.times import START
from tests.support.traces import tracks

#: What stands at the end of the recording: (incidents, their groups).
OPEN = {
    ("IDLE_CONSUMER", "WARN"): (1, 1),
    ("PRODUCER_SKEW", "WARN"): (1, 2),
    ("STRANDED_WRITE_QUEUES", "ERROR"): (1, 1),
    ("SLOW_LISTENER", "WARN"): (1, 1),
    ("UNASSIGNED_QUEUE", "WARN"): (1, 1),
    ("UNASSIGNED_QUEUE", "ERROR"): (1, 1),
    ("DOUBLE_OWNED_QUEUE", "ERROR"): (1, 1),
    ("SUBSCRIPTION_MISMATCH", "ERROR"): (2, 2),
    ("MIXED_STRATEGIES", "ERROR"): (1, 1),
    ("UNOBSERVED", "ERROR"): (1, len(EVERYBODY.split())),
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> DeltaTables:
    folder = tmp_path_factory.mktemp("exports")
    wanted = (FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS, ALLOCATIONS, QUEUE_PROGRESS)
    write_warehouse(folder, audited(3600, wanted=wanted), 3600)
    return DeltaTables(Location.parse(str(folder)))


def samples(gauges: CollectorRegistry, name: str) -> Iterator[tuple[dict[str, str], float]]:
    for family in gauges.collect():
        if family.name == f"rebalance_audit_{name}":
            yield from ((sample.labels, sample.value) for sample in family.samples)


def test_the_incidents_that_stand_at_the_end(tables: DeltaTables) -> None:
    gauges = metrics(tables)
    both = [
        {(labels["rule"], labels["severity"]): value for labels, value in samples(gauges, name) if value}
        for name in ("open_incidents", "open_incident_groups")
    ]
    assert {kind: tuple(values[kind] for values in both) for kind in both[0]} == OPEN
    ends = [(labels["consumer_group"], value) for labels, value in samples(gauges, "step_end_timestamp_seconds")]
    assert set(ends) == {(group, HOUR.end.timestamp()) for group in EVERYBODY.split()}


def test_twins_own_four_queues_twice_and_four_have_no_owner(tables: DeltaTables, tmp_path: Path) -> None:
    """Ten minutes after T0 two consumers of payment-service share a client id; ten minutes later they do not."""
    file = tmp_path / "trace.pftrace"
    request = Scope(HOUR, consumer_group="payment-service")
    assert trace(tables, request, file, lambda _: None) == []
    shown = tracks(file.read_bytes())
    queues = {path: slices for path, slices in shown.items() if path[1:2] == ("payment-service",) and ":" in path[-1]}
    assert len([path for path in queues if "%RETRY%" not in path[-1]]) == 8

    def at(seconds: int) -> Counter[str]:
        moment = (to_micros(T0) - START) / SECOND + seconds
        of_topic = (slices for path, slices in queues.items() if "%RETRY%" not in path[-1])
        return Counter(name for slices in of_topic for start, end, name in slices if start <= moment < end)

    assert at(600) == {"2 owners: 172.17.0.1@1, 172.17.0.1@1": 4, "no owner": 4}
    assert [name for name in at(1200) if name == "no owner" or "owners" in name] == []
    headlines = [name for _, _, name in shown["demo", "incidents"]]
    assert "Consumers of payment-service share the client id 172.17.0.1@1" in headlines
    assert ("demo", "payment-service", "backlog") in shown
