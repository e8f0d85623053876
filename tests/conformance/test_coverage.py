"""Recorders that die, and groups that nobody audited: no answer about them is clean. Recordings of healthy groups, read
by the kernel, and shown by the real commands. No Spark.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from spark_jobs.api.warehouse import open_warehouse
from spark_jobs.domain.model.intervals import Interval
from tests.support.commands import Typed
from tests.support.look import audit_into
from tests.unit.project.test_layers import ROOT

RECORDINGS = ROOT / "tests" / "data" / "coverage"
CADENCE = 20
#: Recorded from 10:40 on.
TEN, ELEVEN = (
    "2026-11-20T10:00Z/2026-11-20T11:00Z",
    "2026-11-20T11:00Z/2026-11-20T12:00Z",
)
BOTH = Interval.parse("2026-11-20T10:00/2026-11-20T12:00")


@pytest.fixture(scope="module")
def two_clusters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorder of B dies, that of A goes on."""
    folder = tmp_path_factory.mktemp("two")
    audit_into(folder, BOTH, CADENCE, [RECORDINGS / "A.jsonl.gz", RECORDINGS / "B.jsonl.gz"])
    return folder


@pytest.fixture(scope="module")
def one_cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The only recorder dies."""
    folder = tmp_path_factory.mktemp("one")
    audit_into(folder, BOTH, CADENCE, [RECORDINGS / "C.jsonl.gz"])
    return folder


@pytest.fixture(scope="module")
def one_group(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of six groups that were recorded one was audited."""
    folder = tmp_path_factory.mktemp("group")
    audit_into(folder, Interval.parse(TEN), CADENCE, [RECORDINGS / "A.jsonl.gz"], "g0")
    return folder


def incidents(warehouse: Path, typed: Typed, time: str, code: int, names: str = "") -> list[str]:
    lines = typed(f"incidents --interval {time} {names}", warehouse=warehouse, code=code).lines
    return [line for line in lines if not line.startswith("The data end at ")]


def test_an_hour_that_was_audited_and_seen_is_clean(two_clusters: Path, one_cluster: Path, typed: Typed) -> None:
    """The recording begins in it."""
    assert incidents(two_clusters, typed, TEN, 0) == [f"No incidents in 8 groups of A, B, {TEN}, 100 % observed."]
    assert incidents(one_cluster, typed, TEN, 0) == [f"No incidents in 6 groups of C, {TEN}, 100 % observed."]
    assert incidents(two_clusters, typed, ELEVEN, 0, "--cluster A") == [
        f"No incidents in 6 groups of A, {ELEVEN}, 100 % observed."
    ]
    for group in ("g0", "g5"):
        typed(f"explain --group {group} --cluster A --at 2026-11-20T11:30", warehouse=two_clusters, code=0)


def test_a_recorder_that_died_is_an_error_whatever_another_one_does(
    two_clusters: Path, one_cluster: Path, typed: Typed
) -> None:
    for warehouse, cluster, count in ((two_clusters, "B", 2), (one_cluster, "C", 6)):
        first, counted, silent, *more = incidents(warehouse, typed, ELEVEN, 1)
        groups = "groups=g0,g1" if count == 2 else f"groups={count}"
        assert first.startswith(f"ERROR UNOBSERVED {groups} ")
        assert first.endswith(f"Nothing is recorded of the cluster {cluster}")
        assert counted == "1 incident: 1 ERROR; 1 is open"
        assert silent == (
            f"Nothing was recorded of the cluster {cluster} from 2026-11-20T11:05:40Z to 2026-11-20T12:00Z."
        )
        assert more == []
        shown = incidents(warehouse, typed, ELEVEN, 1, f"--cluster {cluster}")
        assert shown[-1] == silent
        typed(f"explain --group g0 --cluster {cluster} --at 2026-11-20T11:03", warehouse=warehouse, code=1)


def test_the_status_of_what_was_hardly_seen_is_unknown(two_clusters: Path, one_cluster: Path, typed: Typed) -> None:
    for path, cluster in ((two_clusters, "B"), (one_cluster, "C")):
        typed(f"status --cluster {cluster}", warehouse=path, code=1)
        warehouse = replace(open_warehouse(path), clock=lambda: BOTH.end)
        for group in warehouse.status(cluster=cluster):
            assert group["observed_share"] == 340 / 3600
            assert group["bottleneck"] == "UNKNOWN_MEMBERS"
            unknown = ("queues_with_one_owner", "backlog_end", "member_count", "unassigned_queues")
            assert [group[name] for name in unknown] == [None] * 4
            assert group["advice"] == "Unknown: 9 % of the step was observed."
    healthy = replace(open_warehouse(two_clusters), clock=lambda: BOTH.end).status(cluster="A")
    assert healthy.coverage.is_whole
    assert {(group["observed_share"], group["queues_with_one_owner"]) for group in healthy} == {(1.0, 8)}
    text = typed("status --all", warehouse=one_cluster, code=1).out
    assert "with one owner" not in text
    assert "no backlog" not in text


def test_five_groups_that_nobody_audited_are_named(one_group: Path, typed: Typed) -> None:
    assert incidents(one_group, typed, TEN, 2) == [
        f"No incidents are known in 6 groups of A, {TEN}, 16 % observed.",
        f"g1, g2, g3 and 2 more of the cluster A were not audited in {TEN}.",
    ]
    assert incidents(one_group, typed, TEN, 0, "--group g0") == [
        f"No incidents in 1 group of A, {TEN}, 100 % observed."
    ]
    document = typed(f"incidents --interval {TEN} --json", warehouse=one_group, code=2).document
    not_whole = [(group["consumer_group"], group["seen"]) for group in document["coverage"]["not_whole"]]
    assert not_whole == [(f"g{number}", "NOT_AUDITED") for number in range(1, 6)]
    lines = typed("status", warehouse=one_group, code=2).lines
    assert f"g1, g2, g3 and 2 more of the cluster A were not audited in {TEN}." in lines
