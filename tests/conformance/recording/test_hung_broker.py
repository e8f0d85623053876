"""A client on two brokers, one of which answers nobody after 70 s. The recorder called clients through that one too."""

from schemas import CLIENT_SNAPSHOTS, FINDINGS
from tests.conformance.recording.test_live_bodies import DATA
from tests.support.kernel import published_hour, recorded_rows


def test_time_outs_of_a_hanging_broker_say_nothing_of_clients() -> None:
    rows = recorded_rows(DATA / "hung_broker.jsonl.gz")
    answered = [(row["client_id"], row["answered"]) for row in rows[CLIENT_SNAPSHOTS]]
    assert answered == [("10.1.0.1@1#1", True), ("10.1.0.2@1#2", True)] * 2
    findings = [row for row in published_hour(rows, 20)[FINDINGS] if row["severity"] != "INFO"]
    assert [(row["rule"], row["cause"]) for row in findings] == [("UNOBSERVED", "SILENT_BROKER")]
    assert {queue["broker_name"] for queue in findings[0]["evidence"]["queues"]} == {"broker-a"}
