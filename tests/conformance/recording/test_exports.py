"""The metrics of the recording, against what was done to the cluster (`test_incidents`). No Spark."""

from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry

from schemas import FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS
from spark_jobs.show.metrics import metrics
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables
from tests.conformance.recording.test_timeline import EVERYBODY
from tests.support.recordings import HOUR, audited, write_warehouse

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
    wanted = (FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS)
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
