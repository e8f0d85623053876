"""A master stops, its slave serves, the master returns with old offsets: what is told of the offsets that went back.

Made by hand from the recording with ACL (`tests/data/live_acl.jsonl.gz`, all in health): `broker-b` gets a slave, its
master is in no route from second 10 to second 30, and the sample at second 30.151 has 40 messages less in its consumer
offsets. By the recording they were 120, 120, 121 and 121 five seconds before, and then 132, 131, 131 and 131.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from schemas import FINDINGS, REBALANCE_INTERVALS, Table
from spark_jobs.ingest.files import read_lines
from spark_jobs.ingest.recording import outcomes
from tests.conformance.recording.test_live_bodies import DATA
from tests.support.kernel import published_hour, recorded_rows
from tests.support.tables import measures

BEGIN_MS = 1795400545_000
MASTER, SLAVE = "127.0.0.1:40019", "127.0.0.1:40020"
OF_B = re.compile(r'("brokerName":"broker-b","queueId":\d,"topic":"bills"}:{"brokerOffset":\d+,"consumerOffset":)(\d+)')


def changed(line: str, *, stops: bool) -> str:
    told = json.loads(line)
    second = (told.get("at", BEGIN_MS) - BEGIN_MS) / 1000
    if told["kind"] == "route":
        serving = f'1:"{SLAVE}"' if stops and 10 <= second < 30 else f'0:"{MASTER}",1:"{SLAVE}"'
        told["body"] = told["body"].replace(f'0:"{MASTER}"', serving)
    if told["kind"] == "stats" and 30 <= second < 35:
        told["body"] = OF_B.sub(lambda found: f"{found[1]}{int(found[2]) - 40}", told["body"])
    return json.dumps(told)


def audited(folder: Path, *, stops: bool) -> dict[Table, list[dict[str, Any]]]:
    lines = [line.content.decode() for line in read_lines(DATA / "live_acl.jsonl.gz")]
    (folder / "made.jsonl").write_text("\n".join(changed(line, stops=stops) for line in lines) + "\n")
    return tables_of(folder / "made.jsonl", 5, rewind_tolerance=27)


def tables_of(recording: Path, cadence_seconds: int, **thresholds: int) -> dict[Table, list[dict[str, Any]]]:
    assert not any(outcome.line.rejected for outcome in outcomes(read_lines(recording)))
    return published_hour(recorded_rows(recording), cadence_seconds, convergence_seconds=0, **thresholds)


@pytest.mark.parametrize(("stops", "cause"), [(True, "BROKER_SWITCHED"), (False, "RESET")])
def test_offsets_that_go_back_when_a_master_returns_are_no_reset(tmp_path: Path, stops: bool, cause: str) -> None:
    tables = audited(tmp_path, stops=stops)
    (found,) = (row for row in tables[FINDINGS] if row["rule"] != "UNOBSERVED")
    assert (found["rule"], found["cause"], found["subject"]) == ("OFFSET_REWOUND", cause, "broker-b:0-3")
    assert found["started_at"].isoformat() == "2026-11-23T02:22:55.151000"
    # 28, 29, 30 and 30.
    assert measures(found["evidence"]) == {"rewinds": 1, "rewound": 30, "rewound_max": 30, "rewound_in_all": 117}
    says = (
        "broker-b was asked at 127.0.0.1:40020 until 2026-11-23T02:22:51.017Z, "
        "and was asked at 127.0.0.1:40019 from 2026-11-23T02:22:56.070Z on."
    )
    assert (says in found["advice"]) == stops


def test_who_serves_a_broker_begins_no_interval(tmp_path: Path) -> None:
    """Neither does it change what is known of any."""
    with_switch, without = (audited(tmp_path, stops=stops)[REBALANCE_INTERVALS] for stops in (True, False))
    assert with_switch == without


def test_a_real_master_that_stops_and_returns(tmp_path: Path) -> None:
    """A minute and a half of RocketMQ 5.4.0, with asynchronous replication. `broker-a` stops at 00:15:21 and its slave
    serves with offsets of a minute ago; at 00:16:28 it returns with those of its last save. Both times the samples
    before and after say by how much each queue went back: 1,859, 1,915, 1,885, 1,885 and 1,441, 1,441, 1,412, 1,448.
    """
    findings = tables_of(DATA / "failover.jsonl.gz", cadence_seconds=2)[FINDINGS]
    found = [row for row in findings if row["rule"] == "OFFSET_REWOUND"]
    assert [
        (row["subject"], row["cause"], f"{row['started_at']:%H:%M:%S.%f}", measures(row["evidence"])["rewound_max"])
        for row in found
    ] == [
        ("broker-a:0-3", "BROKER_SWITCHED", "00:15:27.126000", 1915),
        ("broker-a:0-3", "BROKER_SWITCHED", "00:16:31.727000", 1448),
    ]
    asked = [re.findall(r"at 127.0.0.1:(\d+)", row["advice"]) for row in found]
    assert asked == [["54015", "57241"], ["57241", "54015"]]
