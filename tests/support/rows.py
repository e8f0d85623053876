"""Published rows made by hand: one group, one step from 10:00 to 11:00, times in seconds after 10:00."""

from typing import Any

from spark_jobs.domain.model.finding import Evidence
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.show.explain import explain
from spark_jobs.show.rows import Row
from spark_jobs.show.text.explanation_text import lines
from spark_jobs.show.text.intervals import GroupStep
from tests.support.times import at

STEP = Interval.parse("2026-03-01T10:00/2026-03-01T11:00")


def member(client_id: str, addr: str | None = "10.0.0.1:1", **values: Any) -> dict[str, Any]:
    named = {"client_id": client_id, "client_addr": addr, "language": "JAVA", "version": 493}
    return named | {"strategy": "AVG", "subscribes": True} | values


def queues(text: str) -> list[dict[str, Any]]:
    """`a:2 b:1`: queues 0 and 1 of a, 0 of b."""
    counts = (entry.rpartition(":") for entry in text.split())
    return [{"broker_name": broker, "queue_id": number} for broker, _, n in counts for number in range(int(n))]


def interval(start: float, end: float, *members: dict[str, Any], of: str = "a:2", **values: Any) -> dict[str, Any]:
    """A replayed interval of the topic T, as all hosts list it."""
    key = {"topic": "T", "membership_view": "*", "interval_start": at(start), "interval_end": at(end)}
    listed = {"members": list(members), "queues": queues(of), "member_count": len(members), "triggers": []}
    counts = dict.fromkeys(("queue_count", "queues_preserved"), len(queues(of)))
    none = dict.fromkeys(("unassigned_queues", "double_owned_queues", "queues_moved", "minimum_moves"), 0)
    named = {"status": "REPLAYED", "strategy": "AVG", "strategy_source": "CLIENT"}
    observed = ("strategy_alternatives", "observed_virtual_nodes", "observed_rooms")
    return key | listed | counts | none | named | dict.fromkeys(("reason", "trigger_type", *observed)) | values


def unobserved(start: float, end: float, reason: str = "NO_MEMBERSHIP_SNAPSHOT") -> dict[str, Any]:
    unknown = ("strategy", "strategy_source", "members", "queues", "member_count", "queue_count", "triggers")
    return interval(start, end) | dict.fromkeys(unknown) | {"status": "UNOBSERVED", "reason": reason}


def allocation(row: Row, queue: str, *owners: dict[str, Any], **values: Any) -> dict[str, Any]:
    """The owners of the queue `broker:id` in an interval."""
    nobody = dict.fromkeys(("unassigned_cause", "unassigned_client_id", "double_owned_cause"))
    owned = [{name: owner[name] for name in ("client_id", "client_addr")} for owner in owners]
    return _in_interval(row, queue) | {"readable": True, "owners": owned} | nobody | values


def _in_interval(row: Row, queue: str) -> dict[str, Any]:
    broker, _, number = queue.rpartition(":")
    names = ("topic", "membership_view", "interval_start", "interval_end")
    return {name: row[name] for name in names} | {"broker_name": broker, "queue_id": int(number)}


def progress(row: Row, queue: str, **values: Any) -> dict[str, Any]:
    """One queue that went from 10 to 4 messages behind."""
    numbers = {"produced": 1000, "consumed": 1006, "lag_first": 10, "lag_last": 4, "readings": 2}
    known = {"lag_quality": "MEASURED", "last_reading_at": at(50), "verdict": "OK"}
    return _in_interval(row, queue) | numbers | known | values


def finding(**values: Any) -> dict[str, Any]:
    evidence = dict.fromkeys(Evidence._fields)
    about = {"cluster": "C", "consumer_group": "G", "topic": None, "subject": "G", "finding_id": values.get("rule")}
    what = {"rule": "GROUP_OFFLINE", "cause": "NO_MEMBERS", "severity": "ERROR", "advice": "Start it."}
    time = {"started_at": at(0), "ended_at": at(3600)}
    columns = about | what | time | dict.fromkeys(("silenced_because", "root_finding_id"))
    return columns | values | {"evidence": evidence | values.get("evidence", {})}


def group_step(seconds: float, *intervals: Row, **values: Any) -> GroupStep:
    return GroupStep("C", "G", at(seconds), STEP, intervals, **values)


def topic_lines(group: GroupStep) -> list[str]:
    """The text of the topics, without header and findings."""
    text = all_lines(group)
    first = text.index("", 3) + 1
    return text[first : [*text, ""].index("", first)]


def all_lines(group: GroupStep) -> list[str]:
    """The text of the whole explanation."""
    return [" " * 2 * line.indent + line.text for line in lines(explain(group))]
