"""Rows of the output tables: values of the kernel become rows, and findings become values again."""

from dataclasses import replace
from typing import Any

import pyarrow as pa

from schemas import OUTPUTS
from spark_jobs.domain.evaluate import EvaluatedStep
from spark_jobs.domain.incidents.values import PublishedFinding
from spark_jobs.domain.kernel.allocations import Member
from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress, Moves, RebalanceInterval
from spark_jobs.domain.model.finding import ConflictingValue, Counts, QueueEvidence
from spark_jobs.domain.model.history import Connection, GroupHistory
from spark_jobs.domain.model.statuses import Reason, Trigger
from spark_jobs.domain.model.window import SECOND, from_micros
from spark_jobs.domain.status.attribution import TopicGrowth
from spark_jobs.domain.status.group_status import DeletedTopic, GroupStatus
from spark_jobs.domain.status.strategy_comparison import StrategyComparison
from spark_jobs.pipeline.publish.rows import results, seen, tables, tables_of
from spark_jobs.store.read.published_rows import published_findings
from tests.support.builders import allocation, interval
from tests.support.findings import finding
from tests.support.kernel import SETTINGS
from tests.support.samples import progress
from tests.support.times import START, at, micros

GROUP = "g'\\\"\x00😀"
MEMBERS = (
    Member("c1", "10.0.0.1:1", "JAVA", 493, "AVG", True, True),
    Member("c1", None, None, None, "AVG", True, False),
    Member("c2", "10.0.0.2:1", "GO", 1, "AVG_BY_CIRCLE", False, True),
)
#: Queue 0 has two owners, queue 1 none; nobody may read queue 2.
ALLOCATION = allocation(
    MEMBERS,
    "0+1 -",
    unassigned={1: ("DUPLICATE_CLIENT_ID", "c1")},
    double_owned={0: "DUPLICATE_CLIENT_ID"},
    unreadable=["BEYOND_READ_QUEUES"],
)
MOVES = Moves(((Trigger.MEMBER_LEFT, "c3"), (Trigger.MEMBER_JOINED, "c2")), moved=1, preserved=1, least=0)
REPLAYED = interval(-5, 10, MEMBERS, ALLOCATION, seen_at=1, moves=MOVES)
UNOBSERVED = interval(10, 20, MEMBERS, topic="u", seen_at=1, reason=Reason.NO_ROUTE_SNAPSHOT)
#: Of queue 1 no offset was committed, and queue 2 was not read.
OF_QUEUE_0 = {"consumer_offset": 7, "end_offset": 7, "consumed": 5, "lag_first": 2, "lag_last": 0, "lag_max": 9}
OF_QUEUE_0 |= {"rewinds": 1, "rewound": 4, "rewound_max": 3, "rewound_at": 7, "moved_at": 6, "last_reading_at": 8}
_READ: dict[str, Any] = {name: [value, None, None] for name, value in OF_QUEUE_0.items()}
_READ |= {"verdicts": ["OK", None, None], "readings": [3, 2, 0], "produced": [10, 0, None]}
PROGRESS = progress(REPLAYED, 0, 9, **_READ)
MESSAGES = {"backlog_start": 1, "backlog_end": None, "backlog_max": 2, "produced": 3, "consumed": None}
EVIDENCE: dict[str, Any] = MESSAGES | (
    {"persistence": "PERSISTENT", "connections": [Connection("c1", None, "JAVA", 493)], "client_ids": ["c1"]}
    | {"member_count": 3, "queue_count": 2, "unknown_queues": 1, "if_deduplicated": Counts(0, 1)}
    | {"queues": [QueueEvidence("t", "b", 1, "UNASSIGNED", START, START + SECOND, 1, None, 2, 3, None)]}
    | {"measures": [("lag", 1.5), ("age", None)]}
    | {"conflicting_values": [ConflictingValue("b", ("c1", "c2")), ConflictingValue("?", None)]}
)
_NAMED: dict[str, Any] = {"topic": "t", "client_id": "c1", "active_since": micros(-5), "evidence": EVIDENCE}
FINDING = finding("f1", "DUPLICATE_CLIENT_ID", 0, 10, "SHARED_INSTANCE", **_NAMED)
_STATUS: dict[str, Any] = dict.fromkeys(GroupStatus._fields) | (
    {"worst_severity": "ERROR", "finding_count": 1, "member_count": 3, "distinct_members": 2, "idle_members": 1}
    | {"queue_count": 2, "queues_with_one_owner": 0, "double_owned_queues": 1, "unassigned_queues": 1}
    | {"backlog_start": 2, "backlog_end": 0, "lag_quality": "MEASURED", "unknown_queues": 2}
    | {"produced_messages_per_second": 1.25, "utilization": 0.25, "busiest_utilization": 0.5, "busiest_member": "c1"}
    | {"busiest_bottleneck": "PULLS", "headroom_messages_per_second": 1.25, "catches_up": True}
    | {"catch_up_seconds": 90.5, "attribution": [TopicGrowth("t", 1, 2, 3, 4, 5, 6)], "bottleneck": "NONE"}
    | {"advice": "add", "deleted_at": 8_000_000, "deleted_topics": [DeletedTopic("u", 7_000_000)]}
)
STATUS = GroupStatus(**_STATUS)
COMPARED = StrategyComparison("t", "AVG", 1, 2, 3, 4, 1.5, 6, 5)


def step(start: int, *intervals: RebalanceInterval, progress: tuple[IntervalProgress, ...] = ()) -> AuditedStep:
    return AuditedStep(GroupHistory("c", GROUP), SETTINGS.window(start), SETTINGS, intervals, progress, [])


EVALUATED = [
    EvaluatedStep(step(START - 3600 * SECOND), [], None),
    EvaluatedStep(step(START, REPLAYED, UNOBSERVED, progress=(PROGRESS,)), [FINDING], STATUS, [COMPARED]),
    EvaluatedStep(step(START + 3600 * SECOND), [FINDING, FINDING._replace(finding_id="f2")], None),
]


STEP = {"step_start": at(0), "cluster": "c", "consumer_group": GROUP}


def test_a_replayed_interval() -> None:
    row, _ = tables(EVALUATED)["rebalance_intervals"].to_pylist()
    assert row == STEP | (
        {"topic": "t", "membership_view": "*", "interval_start": at(0), "interval_end": at(10)}
        | {"status": "REPLAYED", "reason": None, "strategy": "MIXED", "strategy_source": "CLIENT"}
        | {
            "members": [
                dict(zip(_MEMBER, ("c1", "10.0.0.1:1", "JAVA", 493, "AVG", True), strict=True)),
                dict(zip(_MEMBER, ("c1", None, None, None, "AVG", True), strict=True)),
                dict(zip(_MEMBER, ("c2", "10.0.0.2:1", "GO", 1, "AVG_BY_CIRCLE", False), strict=True)),
            ],
        }
        | {"queues": [{"broker_name": "b", "queue_id": 0}, {"broker_name": "b", "queue_id": 1}]}
        | {"members_seen_at": at(1), "member_count": 3, "distinct_members": 2, "queue_count": 2}
        | {"unassigned_queues": 1, "double_owned_queues": 1, "idle_members": 1, "min_queues_per_member": 0}
        | {"max_queues_per_member": 1, "trigger_type": "MEMBER_LEFT", "trigger_subject": "c3"}
        | {
            "triggers": [
                {"trigger_type": "MEMBER_LEFT", "subject": "c3"},
                {"trigger_type": "MEMBER_JOINED", "subject": "c2"},
            ],
        }
        | {"queues_moved": 1, "queues_preserved": 1, "minimum_moves": 0, "strategy_alternatives": None}
        | {"observed_virtual_nodes": None, "observed_rooms": None}
    )


_MEMBER = ("client_id", "client_addr", "language", "version", "strategy", "subscribes")


def test_an_unobserved_interval_says_when_and_why_and_nothing_else() -> None:
    _, row = tables(EVALUATED)["rebalance_intervals"].to_pylist()
    assert {name: value for name, value in row.items() if value is not None} == STEP | (
        {"topic": "u", "membership_view": "*", "interval_start": at(10), "interval_end": at(20)}
        | {"status": "UNOBSERVED", "reason": "NO_ROUTE_SNAPSHOT"}
    )


def test_an_interval_without_members_shares_nothing() -> None:
    unowned = replace(ALLOCATION, owners=[()] * 3, queues_per_member=[])
    nobody = replace(REPLAYED, members=(), allocation=unowned, moves=Moves(()))
    (row,) = tables([EvaluatedStep(step(START, nobody), [], None)])["rebalance_intervals"].to_pylist()
    names = ("strategy", "idle_members", "min_queues_per_member", "max_queues_per_member", "trigger_type", "triggers")
    assert [row[name] for name in names] == [None, 0, None, None, None, []]


def test_an_allocation_has_a_row_per_queue_with_its_owners_as_connections() -> None:
    rows = tables(EVALUATED)["allocations"].to_pylist()
    key = STEP | {"topic": "t", "membership_view": "*", "interval_start": at(0), "interval_end": at(10)}
    owners = [{"client_id": "c1", "client_addr": "10.0.0.1:1"}, {"client_id": "c1", "client_addr": None}]
    names = ("broker_name", "queue_id", "readable", "owners")
    causes = ("unassigned_cause", "unassigned_client_id", "double_owned_cause")
    expected: list[tuple[Any, ...]] = [
        ("b", 0, True, owners, None, None, "DUPLICATE_CLIENT_ID"),
        ("b", 1, True, [], "DUPLICATE_CLIENT_ID", "c1", None),
        ("b", 2, False, [], "BEYOND_READ_QUEUES", None, None),
    ]
    known = key | {"settled_at": None}
    assert rows == [known | dict(zip((*names, *causes), values, strict=True)) for values in expected]


def test_intervals_that_share_an_allocation_have_the_addresses_of_their_own_members() -> None:
    moved = tuple(member._replace(client_addr="10.9.9.9:9") for member in MEMBERS)
    later = replace(REPLAYED, start=START + 10 * SECOND, end=START + 20 * SECOND, members=moved)
    again = replace(REPLAYED, start=START + 20 * SECOND, end=START + 30 * SECOND)
    found = tables([EvaluatedStep(step(START, REPLAYED, later, again), [], None)])["allocations"].to_pylist()
    expected = [["10.0.0.1:1", None], ["10.9.9.9:9", "10.9.9.9:9"], ["10.0.0.1:1", None]]
    assert [[owner["client_addr"] for owner in row["owners"]] for row in found[::3]] == expected
    assert [row["queue_id"] for row in found] == [0, 1, 2] * 3


def test_the_progress_of_a_queue_is_unknown_where_nothing_was_read() -> None:
    measured, uncommitted, unread = tables(EVALUATED)["queue_progress"].to_pylist()
    key = STEP | {"topic": "t", "membership_view": "*", "interval_start": at(0), "interval_end": at(9)}
    unknown = dict.fromkeys(set(measured) - set(key) - {"broker_name", "queue_id", "readings", "lag_quality"})
    assert measured == key | (
        {"broker_name": "b", "queue_id": 0, "readings": 3, "lag_quality": "MEASURED", "last_reading_at": at(8)}
        | {"consumer_offset": 7, "produced": 10, "consumed": 5, "rewinds": 1, "rewound": 4, "rewound_max": 3}
        | {"rewound_at": at(7), "moved_at": at(6), "lag_first": 2, "lag_last": 0, "lag_max": 9, "age_ms": None}
        | {"verdict": "OK"}
    )
    never = {"broker_name": "b", "queue_id": 1, "readings": 2, "lag_quality": "NEVER_COMMITTED", "produced": 0}
    assert uncommitted == key | unknown | never
    assert unread == key | unknown | {"broker_name": "b", "queue_id": 2, "readings": 0, "lag_quality": "NO_READING"}


def test_a_finding_with_all_its_evidence() -> None:
    row, *others = tables(EVALUATED)["findings"].to_pylist()
    assert [(one["finding_id"], one["step_start"]) for one in others] == [("f1", at(3600)), ("f2", at(3600))]
    evidence = row.pop("evidence")
    assert row == STEP | (
        {"finding_id": "f1", "rule": "DUPLICATE_CLIENT_ID", "severity": "ERROR", "topic": "t", "subject": "c1"}
        | {"started_at": at(0), "ended_at": at(10), "cause": "SHARED_INSTANCE", "advice": "Do it."}
        | {"silenced_because": None, "root_finding_id": None, "active_since": at(-5), "client_id": "c1"}
    )
    queue = {"topic": "t", "broker_name": "b", "queue_id": 1, "role": "UNASSIGNED", "started_at": at(0)}
    queue |= {"ended_at": at(1)}
    known = {"backlog_start": 1, "backlog_end": None, "backlog_max": 2, "produced": 3, "consumed": None}
    assert evidence == known | (
        {"persistence": "PERSISTENT"}
        | {"connections": [{"client_id": "c1", "client_addr": None, "language": "JAVA", "version": 493}]}
        | {"client_ids": ["c1"], "member_count": 3, "queue_count": 2, "queues": [queue | known]}
        | {"unknown_queues": 1, "if_deduplicated": {"unassigned_queues": 0, "double_owned_queues": 1}}
        | {"if_unique": None, "measures": [{"name": "lag", "value": 1.5}, {"name": "age", "value": None}]}
        | {"conflicting_values": [{"name": "b", "client_ids": ["c1", "c2"]}, {"name": "?", "client_ids": None}]}
    )


def test_the_status_of_a_group() -> None:
    (row,) = tables(EVALUATED)["group_status"].to_pylist()
    growth = dict(zip(TopicGrowth._fields, ("t", 1, 2, 3, 4, 5, 6), strict=True))
    deleted = {"deleted_topics": [{"topic": "u", "deleted_at": from_micros(7_000_000)}]}
    assert row == STEP | STATUS._asdict() | {"attribution": [growth], "deleted_at": from_micros(8_000_000)} | deleted


def test_what_other_strategies_would_have_done() -> None:
    (row,) = tables(EVALUATED)["strategy_comparison"].to_pylist()
    assert row == STEP | COMPARED._asdict()


def test_the_results_have_the_rows_of_all_tables() -> None:
    written = tables(EVALUATED)
    found = tables_of(results(written, seen=[{"observed": True}]))
    assert {name: rows.to_pylist() for name, rows in found.items()} == {
        name: rows.to_pylist() for name, rows in written.items()
    }


def test_very_many_results_come_in_batches_that_java_can_hold() -> None:
    few = tables(EVALUATED)["allocations"]
    many = pa.concat_tables([few] * 10_000).combine_chunks()
    found = results({"allocations": many})
    # Nulls of the other tables' columns included, a row has about 900 bytes.
    assert found.nbytes > 16 * 1024**2
    assert all(batch.nbytes <= 16 * 1024**2 for batch in found.to_batches())
    assert tables_of(found)["allocations"].equals(many)


def test_nothing_evaluated_is_no_rows() -> None:
    assert results(tables([])).num_rows == 0
    assert {name: found.num_rows for name, found in tables([]).items()} == {table.name: 0 for table in OUTPUTS}
    assert all(isinstance(found, pa.Table) for found in tables([]).values())


def test_a_finding_comes_back_as_it_was_evaluated() -> None:
    found, *_ = published_findings(tables(EVALUATED)["findings"])
    step = next(one.step for one in EVALUATED if one.findings)
    key = step.history.cluster, step.history.consumer_group, step.window.start
    assert found == PublishedFinding(*key, FINDING)


def test_only_topics_without_any_replay_could_not_be_replayed() -> None:
    """A log begins before its topics exist: they have no route for a moment."""
    no_route, strange = ("NOT_REPLAYABLE", "NO_ROUTE"), ("NOT_REPLAYABLE", "UNKNOWN_STRATEGY")
    replayed, popped, unobserved = ("REPLAYED", None), ("NOT_APPLICABLE", "BROKER_REBALANCE"), ("UNOBSERVED", "X")
    intervals = [
        *(("g", "new", *state) for state in (unobserved, no_route, replayed, unobserved)),
        *(("g", "popped", *state) for state in (no_route, popped)),
        *(("g", "gone", *state) for state in (unobserved, no_route)),
        *(("g", "strange", *state) for state in (no_route, strange)),
        ("h", "gone", *replayed),
    ]
    names = ("consumer_group", "topic", "status", "reason")
    rows = [
        {"cluster": "c", "strategy_source": "CLIENT", "member_count": 1, **dict(zip(names, values, strict=True))}
        for values in intervals
    ]
    assert seen(pa.Table.from_pylist(rows)) == {
        "observed": True,
        "assumed": 0,
        "skipped": [("c", "g", "NO_ROUTE", ["gone", "strange"]), ("c", "g", "UNKNOWN_STRATEGY", ["strange"])],
    }
