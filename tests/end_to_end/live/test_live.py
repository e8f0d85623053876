"""A real cluster is recorded by `capture`, and what the audit says of it is what was done to it.

`ROCKETMQ` names the version of cluster and admin client (5.4.0); needs Maven, and the network at its first run.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from schemas import ALLOCATIONS, CAPTURE_CALLS, CLIENT_SNAPSHOTS, QUALITY_RESULTS, REBALANCE_INTERVALS, SOURCES, Table
from spark_jobs.errors import ExitCode
from spark_jobs.store.read.delta import delta_tables
from tests.end_to_end.live import scenario
from tests.end_to_end.live.cluster import cluster
from tests.spark.recording.test_truth import Answer, History, answers
from tests.support.tables import cells

pytestmark = pytest.mark.live

EXPECTED = (Path(__file__).parent / "expected.txt").read_text(encoding="utf-8")
#: A finding begins with the first answer that shows it: clients are asked in every second round, and a call that is not
#: answered takes 3 s.
LATE = timedelta(seconds=2 * scenario.CADENCE + 5)
#: A broker forgets a connection 120 s after its last heartbeat (every 30 s), and looks every 10 s.
EXPIRED = (timedelta(seconds=80), timedelta(seconds=145))


#: What changes between two snapshots is known with the second.
CADENCE = timedelta(seconds=scenario.CADENCE)


@dataclass(frozen=True)
class Live:
    """When things happened, what was found, and where it is."""

    times: Mapping[str, datetime]
    findings: list[dict[str, Any]]
    warehouse: Path
    files: list[str]

    def rows(self, table: Table) -> list[dict[str, Any]]:
        stored = delta_tables(str(self.warehouse))
        return list(stored.read(table, table.columns).to_pylist())


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Live:
    folder = tmp_path_factory.mktemp("live")
    with cluster(folder) as made:
        scenario.begin(made)
        times = scenario.record(made, folder / "recordings")
    warehouse = folder / "warehouse"
    files = sorted(map(str, (folder / "recordings").glob("*.jsonl.gz")))
    rebalance_audit("ingest", *files, "--warehouse", str(warehouse))
    config = folder / "audit.yaml"
    # A broker is down for a tenth of the time.
    config.write_text(f"cadence_seconds: {scenario.CADENCE}\nquality: {{seen_percent: 80}}\n")
    hour = timedelta(hours=1)
    first, last = (times[name].replace(minute=0, second=0, microsecond=0) for name in ("begin", "end"))
    interval = f"{first:%Y-%m-%dT%H:%M}/{last + hour:%Y-%m-%dT%H:%M}"
    options = ["--warehouse", str(warehouse), "--interval", interval]
    result = rebalance_audit("run", *options, "--config", str(config), "--fail-on", "NEVER", "--json")
    rebalance_audit("report", *options, "--out", str(folder / "report.html"))
    return Live(times, json.loads(result)["findings"], warehouse, files)


def rebalance_audit(*arguments: str) -> str:
    """What the command prints; it may end with warnings."""
    done = subprocess.run(
        [sys.executable, "-m", "spark_jobs.cli", *arguments], check=False, stdout=subprocess.PIPE, text=True
    )
    assert done.returncode in (ExitCode.CLEAN, ExitCode.WARNINGS), arguments
    return done.stdout


def moment(finding: dict[str, Any], name: str) -> datetime:
    return datetime.fromisoformat(finding[name].replace("Z", "+00:00")).astimezone(UTC)


def expected() -> list[tuple[str, ...]]:
    rows = [line for line in EXPECTED.splitlines() if "|" in line and not line.startswith("#")]
    return cells("\n".join(rows[1:]))


@pytest.mark.parametrize(("group", "rule", "start", "until"), expected())
def test_what_was_done_is_found_in_time(live: Live, group: str, rule: str, start: str, until: str) -> None:
    findings = [finding for finding in live.findings if (finding["consumer_group"], finding["rule"]) == (group, rule)]
    assert findings, Counter((finding["consumer_group"], finding["rule"]) for finding in live.findings)
    begins = min(moment(finding, "started_at") for finding in findings)
    ends = max(moment(finding, "ended_at") for finding in findings)
    assert live.times[start] - timedelta(seconds=1) <= begins <= live.times[start] + LATE
    earliest, latest = _until(live, until)
    assert earliest <= ends <= latest


def _until(live: Live, until: str) -> tuple[datetime, datetime]:
    """What goes on ends with the recording; its last answers hold for three cadences."""
    if until == "expired":
        return live.times["freeze"] + EXPIRED[0], live.times["freeze"] + EXPIRED[1]
    end = live.times[until]
    return (end - LATE, end + 4 * CADENCE) if until == "end" else (end, end + LATE)


def test_healthy_groups_have_no_finding_above_info(live: Live) -> None:
    healthy = EXPECTED.rpartition("healthy:")[2].split()
    found = [finding for finding in live.findings if finding["consumer_group"] in healthy]
    wrong = [one for one in found if one["severity"] != "INFO" and not _is_of_the_stopped_broker(live, one)]
    assert [(finding["consumer_group"], finding["rule"], finding["started_at"]) for finding in wrong] == []
    assert "MEMBERS_UNSEEN" in {one["rule"] for one in live.findings if one["consumer_group"] == "proxy-service"}


#: Clients ask for the route every 30 s (`pollNameServerInterval`), and rebalance within 20 s.
FOLLOWED = timedelta(seconds=50)


def _is_of_the_stopped_broker(live: Live, finding: dict[str, Any]) -> bool:
    """Messages that a group had not consumed when their broker was stopped wait until clients follow its route."""
    begins, ends = (moment(finding, name) for name in ("started_at", "ended_at"))
    stopped = live.times["stop_broker"] <= begins and ends <= live.times["start_broker"] + LATE + FOLLOWED
    return stopped and (finding["rule"], finding["severity"]) == ("BROKER_NOT_READABLE", "WARN")


def test_replay_equals_what_clients_really_owned(live: Live) -> None:
    history = History(live.rows(REBALANCE_INTERVALS), live.rows(ALLOCATIONS))

    def interval_of(answer: Answer) -> dict[str, Any] | None:
        interval = history.settled(answer)
        return interval if interval and answer.at + CADENCE < interval["interval_end"] else None

    compared = list(history.compared(answers(live.rows(CLIENT_SNAPSHOTS)), interval_of))
    assert [(answer, owned) for answer, owned in compared if answer.owned != owned] == []
    assert len(compared) > 50


def test_every_call_has_its_fate(live: Live) -> None:
    calls = live.rows(CAPTURE_CALLS)
    fates = Counter((call["request"], call["outcome"]) for call in calls)
    assert fates["connection", "ANSWERED"] > 100
    assert fates["connection", "NOT_ONLINE"] > 30
    asked = {call["called"].partition(" ")[0] for call in calls if call["outcome"] == "ANSWERED"}
    assert asked == {"broker-a", "broker-b", "name", "proxy"}
    hung = [call for call in calls if call["request"] == "running" and call["outcome"] == "TIMED_OUT"]
    assert {call["subject"] for call in hung} == {"frozen-service 10.9.6.2@1"}
    assert all(call["took_ms"] >= 3000 for call in hung)


def test_every_expectation_of_the_gate_holds(live: Live) -> None:
    failed = [result for result in live.rows(QUALITY_RESULTS) if not result["success"]]
    assert [(result["table_name"], result["expectation"], result["observed_value"]) for result in failed] == []


def test_what_is_ingested_again_changes_nothing(live: Live) -> None:
    before = {table.name: len(live.rows(table)) for table in (*SOURCES, CAPTURE_CALLS)}
    rebalance_audit("ingest", *live.files, "--warehouse", str(live.warehouse))
    assert {table.name: len(live.rows(table)) for table in (*SOURCES, CAPTURE_CALLS)} == before
