"""Whose implementation of its strategy a client runs."""

import pytest

from spark_jobs.domain.evaluate import evaluate
from spark_jobs.domain.rocketmq.strategies import StrategySettings, variant_of
from tests.conformance.kernel_vs_oracle import by_kernel
from tests.support.histories import CLASS, SETTINGS, calm, client, intervals, rows
from tests.support.oracle.snapshots import Software
from tests.support.tables import cells
from tests.support.times import START

#: strategy | language and version (`-` is unknown) | whose implementation
_TABLE = """
    CONSISTENT_HASH | GO 317   | GO
    CONSISTENT_HASH | GO -     | GO
    CONSISTENT_HASH | JAVA 493 | JAVA
    CONSISTENT_HASH | JAVA 355 | JAVA
    CONSISTENT_HASH | - 317    | JAVA
    CONSISTENT_HASH | CPP 317  | JAVA
    MACHINE_ROOM    | GO 493   | GO
    MACHINE_ROOM    | JAVA 0   | JAVA_TO_4_7_1
    MACHINE_ROOM    | JAVA 355 | JAVA_TO_4_7_1
    MACHINE_ROOM    | JAVA 356 | JAVA
    MACHINE_ROOM    | JAVA 373 | JAVA
    MACHINE_ROOM    | JAVA -   | JAVA
    MACHINE_ROOM    | - 355    | JAVA
    MACHINE_ROOM    | CPP 355  | JAVA
    MACHINE_ROOM    | OTHER -  | JAVA
    AVG             | GO 317   | JAVA
    CONFIG          | GO 317   | JAVA
    MACHINE_ROOM_NEARBY-CONSISTENT_HASH | GO 317 | GO
    MACHINE_ROOM_NEARBY-AVG | JAVA 355 | JAVA
"""


@pytest.mark.parametrize(("strategy", "software", "variant"), cells(_TABLE))
def test_what_a_client_runs_by_language_and_version(strategy: str, software: str, variant: str) -> None:
    language, version = (None if word == "-" else word for word in software.split())
    assert variant_of(strategy, language, int(version) if version else None) == variant


HASH = StrategySettings("CONSISTENT_HASH", virtual_node_cnt=2)
NEARBY = StrategySettings("MACHINE_ROOM_NEARBY")
GO: Software = ("GO", 317)


def _owners(software: dict[str, Software]) -> list[str]:
    """Of queues 0 to 3 of broker a, in the only interval: `+` joins several, `-` is nobody."""
    (interval,) = intervals(calm(configured=HASH, software=software))
    assert interval.allocation is not None
    return ["+".join(ids) or "-" for ids in interval.allocation.owner_ids]


def test_nearby_in_go_is_avg_whatever_its_rooms() -> None:
    """`AllocateByMachineNearby` calls `AllocateByAveragely`; it needs no patterns, and no room."""
    with_rooms = StrategySettings("MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE", broker_room="(x)", client_room="(x)")
    for settings in (with_rooms, NEARBY):
        (interval,) = intervals(calm(configured=settings, software={"c1": GO, "c2": GO}))
        assert interval.allocation is not None
        assert interval.allocation.owner_ids == [("c1",), ("c1",), ("c2",), ("c2",)]


def test_clients_in_c_plus_plus_have_avg_whatever_others_report() -> None:
    said = (client("c1", 0, CLASS + "AllocateMessageQueueAveragelyByCircle"),)
    assert rows(calm(clients=said, software={"c2": ("CPP", 317)})) == ["0-300 * CLIENT c1/AVG_BY_CIRCLE c2"]


def test_members_are_replayed_by_their_own_rules() -> None:
    """The numbers are those of `tests/data/allocations.txt`: there are the hashes."""
    assert _owners({}) == ["c1", "c1", "c1", "c2"]
    assert _owners({"c1": GO, "c2": GO}) == ["c2", "c2", "c2", "c2"]
    assert _owners({"c1": GO}) == ["-", "-", "-", "c2"]
    assert _owners({"c1": (None, None), "c2": (None, 317)}) == ["c1", "c1", "c1", "c2"]


@pytest.mark.parametrize(
    ("software", "expected"),
    [
        ({"c1": GO}, {("MIXED_CLIENTS", "DIFFERENT_RULES", "g"), ("UNASSIGNED_QUEUE", "MIXED_CLIENTS", "a:0-2")}),
        ({"c1": GO, "c2": GO}, set()),
    ],
)
def test_a_mixture_is_a_finding_with_what_it_does_to_the_queues_and_go_alone_is_none(
    software: dict[str, Software], expected: set[tuple[str, str, str]]
) -> None:
    history = calm(configured=HASH, software=software)
    (evaluated,) = evaluate(by_kernel.history_of(history.group), HASH, SETTINGS, START, START + SETTINGS.step)
    harm = ("MIXED_CLIENTS", "UNASSIGNED_QUEUE", "DOUBLE_OWNED_QUEUE")
    found = {(finding.rule, finding.cause, finding.subject) for finding in evaluated.findings if finding.rule in harm}
    assert found == expected
