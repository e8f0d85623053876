"""The incidents of the recording: what was done to the cluster, and nothing else, whatever the steps of the audit are.

The table is written by hand from the recording's script, as that of `test_timeline` is: seconds after T0, `…` is an end
of the recording. What stands at its end is open: silence is not health. An offset that went back is seen for a cadence.
No Spark.
"""

from collections.abc import Iterator
from datetime import timedelta
from operator import attrgetter
from pathlib import Path

import pytest

from schemas import FINDINGS, GROUP_STATUS, MEMBERSHIP_SNAPSHOTS, REBALANCE_INTERVALS
from spark_jobs.domain.incidents.fold import fold
from spark_jobs.domain.incidents.values import AuditedTime, Incident
from spark_jobs.domain.model.intervals import Interval, StepGrid
from spark_jobs.domain.model.window import SECOND, to_micros
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.store.read.published_rows import published_findings
from tests.conformance.recording.test_live_bodies import DATA
from tests.conformance.recording.test_timeline import BEGIN, END, EVERYBODY, T0
from tests.spark.recording.conftest import EXAMPLE
from tests.support.commands import Typed
from tests.support.kernel import recorded_rows
from tests.support.recordings import DAY, HOUR, PROXIES, Published, audited, write_warehouse
from tests.support.stored import arrow_table
from tests.support.tables import cells

ON_BROKER_B = "audit-service batch-export flapper mixed-service near-service order-service tick-service"
EXPECTED = f"""
opened | resolved | root                  | severity | consequences | groups
…      | open     | IDLE_CONSUMER         | WARN     | 0            | inventory-service
…      | open     | PRODUCER_SKEW         | WARN     | 0            | audit-service mixed-service
…      | open     | STRANDED_WRITE_QUEUES | ERROR    | 0            | legacy-import
…      | open     | SLOW_LISTENER         | WARN     | 3            | legacy-import
…      | open     | UNASSIGNED_QUEUE      | WARN     | 0            | geo-service
…      | open     | UNASSIGNED_QUEUE      | ERROR    | 0            | config-service
…      | open     | DOUBLE_OWNED_QUEUE    | ERROR    | 0            | config-service
…      | open     | SUBSCRIPTION_MISMATCH | ERROR    | 2            | notify-service
…      | open     | SUBSCRIPTION_MISMATCH | ERROR    | 0            | tag-service
…      | open     | MIXED_STRATEGIES      | ERROR    | 2            | mixed-service
240    | 720      | GROUP_OFFLINE         | ERROR    | 2            | batch-export
309    | 932      | DUPLICATE_CLIENT_ID   | ERROR    | 3            | payment-service
480    | 840      | DUPLICATE_CLIENT_ID   | ERROR    | 3            | tick-service
540    | 650      | CLIENT_HUNG           | ERROR    | 0            | audit-service
620    | 895      | FLAPPING_MEMBER       | WARN     | 2            | flapper
900    | 910      | OFFSET_REWOUND        | WARN     | 0            | audit-service
1020   | 1030     | OFFSET_REWOUND        | WARN     | 0            | batch-export
1200   | 1320     | BROKER_NOT_READABLE   | ERROR    | 1            | {ON_BROKER_B}
{END}  | open     | UNOBSERVED            | INFO     | 0            | {EVERYBODY}
"""
#: One cadence until a snapshot shows it, and 20 s until a group agrees.
TOLERANCE = 30 * SECOND


def folded(published: Published, step_seconds: int) -> list[Incident]:
    steps = ((row["cluster"], row["consumer_group"], to_micros(row["step_start"])) for row in published[GROUP_STATUS])
    found = published_findings(arrow_table(FINDINGS, published[FINDINGS]))
    return fold(found, AuditedTime(steps, step_seconds * SECOND), RULES).incidents


def moment(cell: str) -> int | None:
    seconds = {"…": BEGIN, "open": None}[cell] if cell in ("…", "open") else int(cell)
    return None if seconds is None else to_micros(T0 + timedelta(seconds=seconds))


def same_time(one: int | None, other: int | None) -> bool:
    return one == other or (one is not None and other is not None and abs(one - other) <= TOLERANCE)


def what(one: Incident) -> tuple[str, str, int, tuple[str, ...]]:
    return one.rule, one.severity, len(one.symptoms), one.consumer_groups


def test_what_was_done_and_nothing_else(hourly: Published) -> None:
    found = sorted(folded(hourly, 3600), key=lambda one: (what(one), one.opened_at))
    expected = sorted(by_hand(), key=lambda row: (row[0], moment(row[1]) or 0))
    assert [what(one) for one in found] == [row[0] for row in expected]
    for one, (_, opened, resolved) in zip(found, expected, strict=True):
        assert same_time(one.opened_at, moment(opened)), one
        assert same_time(one.resolved_at, moment(resolved)), one


def by_hand() -> Iterator[tuple[tuple[str, str, int, tuple[str, ...]], str, str]]:
    """What it is, when it was opened, and when resolved."""
    for opened, resolved, rule, severity, consequences, groups in cells(EXPECTED)[1:]:
        yield (rule, severity, int(consequences), tuple(groups.split())), opened, resolved


@pytest.mark.parametrize(("step_seconds", "run"), [(300, HOUR), (900, HOUR), (86_400, DAY)])
def test_whatever_the_steps_are_the_incidents_are_the_same(step_seconds: int, run: Interval, hourly: Published) -> None:
    """What came while a condition was too young for its step is not counted: of the twins of `tick-service`, 4 s. What
    came to queues without an offset is a minimum: whether they have one later, a shorter step does not know.
    """
    of_hours, of_steps = sorted_incidents(hourly, 3600), sorted_incidents(audited(step_seconds, [run]), step_seconds)
    for one, other in zip(of_hours, of_steps, strict=True):
        assert (*what(one), one.causes, one.headline) == (*what(other), other.causes, other.headline)
        assert times(one) == times(other)
        is_minimum = one.backlog_is_minimum or other.backlog_is_minimum
        is_excused = is_minimum or (step_seconds, one.consumer_groups) == (300, ("tick-service",))
        assert is_excused or one.peak_backlog_messages == other.peak_backlog_messages
        assert one.unassigned_queue_minutes == pytest.approx(other.unassigned_queue_minutes)


#: A recording, and by how many seconds before a full hour steps of five minutes begin: where a condition begins or ends
#: shortly before or after a step's border, is too short for its first step, or transient in it.
BORDERS = [
    *((EXAMPLE, seconds) for seconds in (40, 160)),
    *(pytest.param(EXAMPLE, seconds, marks=pytest.mark.slow) for seconds in (60, 70, 170, 200)),
    *((PROXIES, seconds) for seconds in (40, 140)),
    (DATA / "live_ghost.jsonl.gz", 30),
    (DATA / "redelivery.jsonl.gz", 140),
    (DATA / "capacity.jsonl.gz", 80),
]


@pytest.mark.parametrize(("recording", "seconds"), BORDERS)
def test_wherever_the_steps_begin_incidents_have_the_same_times(recording: Path, seconds: int) -> None:
    """But those of PRODUCER_SKEW, which measures whole steps; and OFFSET_REWOUND is shown to the end of its step."""
    hour = hour_of(recording)
    shifted = Interval(hour.start - timedelta(seconds=seconds), hour.end + timedelta(seconds=300 - seconds))
    same = attrgetter("rule", "consumer_groups", "causes", "severity")
    of_hour = sorted_incidents(audited(3600, [hour], recording=recording), 3600)
    of_steps = sorted_incidents(audited(300, [shifted], recording=recording), 300)
    for one, other in zip(of_hour, of_steps, strict=True):
        assert same(one) == same(other)
        if one.rule == "OFFSET_REWOUND":
            assert one.opened_at == other.opened_at
            assert 0 <= one.last_seen_at - other.last_seen_at < 10 * SECOND
        elif one.rule == "PRODUCER_SKEW":
            assert 0 <= other.opened_at - one.opened_at < 300 * SECOND
        else:
            assert times(one) == times(other)


def hour_of(recording: Path) -> Interval:
    """The whole hour in which a recording lies."""
    begin = min(row["captured_at"] for row in recorded_rows(recording)[MEMBERSHIP_SNAPSHOTS])
    start = begin.replace(minute=0, second=0, microsecond=0)
    return Interval(start, start + timedelta(hours=1))


def sorted_incidents(published: Published, step_seconds: int) -> list[Incident]:
    return sorted(
        folded(published, step_seconds), key=lambda one: (one.rule, one.consumer_groups, one.causes, one.opened_at)
    )


def times(one: Incident) -> tuple[int, int | None, int | None]:
    """When it began and ended; the recorder's silence ends with what was audited."""
    return one.opened_at, None if one.rule == "UNOBSERVED" else one.last_seen_at, one.resolved_at


def test_steps_audited_backwards_and_twice_have_the_same_incidents(hourly: Published) -> None:
    grid = list(StepGrid(timedelta(minutes=15)).steps(HOUR))
    assert folded(audited(900, [*reversed(grid), *grid]), 900) == folded(audited(900), 900)


@pytest.fixture(scope="module")
def warehouse(hourly: Published, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    wanted = (FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS)
    write_warehouse(folder, {table: hourly[table] for table in wanted}, 3600)
    return folder


def test_the_command_lists_them_the_worst_first(warehouse: Path, typed: Typed) -> None:
    age, *lines = typed("incidents", warehouse=warehouse, code=1).lines
    assert age.startswith("The data end at 2026-11-21T02:26:56Z, ")
    assert [line.split()[0] for line in lines[:-3]] == ["ERROR"] * 12 + ["WARN"] * 7
    # The recording ends after 27 of 60 minutes.
    assert lines[0] == (
        "ERROR UNOBSERVED groups=17 since=2026-11-21T02:26:55Z (33 min 04 s, open) id=ec987b92 "
        "Nothing is recorded of the cluster demo"
    )
    # Open, with the highest peak backlog.
    assert lines[1].startswith("ERROR STRANDED_WRITE_QUEUES group=legacy-import since=2026-11-21T02:02:28Z ")
    count, silent, old = lines[-3:]
    assert count == "19 incidents: 12 ERROR, 7 WARN; 11 are open"
    assert silent == "Nothing was recorded of the cluster demo from 2026-11-21T02:26:56Z to 2026-11-21T03:00Z."
    assert old.startswith("The data of demo end ")
    assert "0 ERROR" not in typed("incidents --open", warehouse=warehouse, code=1).out


@pytest.mark.parametrize(
    ("options", "rules"),
    [
        ("--group payment-service", ["UNOBSERVED", "DUPLICATE_CLIENT_ID"]),
        # Its only incident is a WARN, and of these minutes all was seen.
        ("--group batch-export --interval 2026-11-21T02:18/2026-11-21T02:20", ["OFFSET_REWOUND"]),
        ("--group legacy-import --open", ["UNOBSERVED", "STRANDED_WRITE_QUEUES", "SLOW_LISTENER"]),
        ("--cluster demo --group ledger --interval 2026-11-21T02:10/2026-11-21T02:20", []),
    ],
)
def test_only_incidents_that_are_asked_for(options: str, rules: list[str], warehouse: Path, typed: Typed) -> None:
    code = {1: 2, 0: 0}.get(len(rules), 1)
    document = typed(f"incidents {options} --json", warehouse=warehouse, code=code).document
    assert [one["rule"] for one in document["incidents"]] == rules


def test_an_incident_is_shown_in_full(warehouse: Path, typed: Typed) -> None:
    incidents = typed("incidents --group payment-service --json", warehouse=warehouse, code=1).document["incidents"]
    duplicate = incidents[1]
    shown = typed("incidents --id", duplicate["incident_id"], warehouse=warehouse, code=1).out
    text = Path(__file__).parents[2] / "data" / "explained" / "incident.txt"
    assert shown.replace(duplicate["incident_id"], "ID") == text.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--group payment", "did you mean payment-service?"),
        ("--cluster eu", "there is no cluster eu; audited clusters: demo"),
        ("--id zz", "there is no incident zz: list them without --id"),
    ],
)
def test_an_unknown_name_is_an_error_that_helps(options: str, message: str, warehouse: Path, typed: Typed) -> None:
    assert message in typed(f"incidents {options}", warehouse=warehouse, code=3).err
