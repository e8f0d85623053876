"""A filter that lets no message through."""

from collections.abc import Sequence
from typing import Any

import pytest

from schemas import MEMBERSHIP_SNAPSHOTS
from spark_jobs.domain.model.finding import Finding
from tests.support.kernel import evaluated
from tests.support.times import HOUR
from tests.support.what_if import client_row, rate, snapshots, status

SECONDS = range(0, 3600, 20)
#: One message a second in 10 ms; nothing; one that the listener rejects.
CONSUMES, IDLE, REJECTS = status("10/1/0/1"), status("10/0/0/0"), status("10/0/1/1") | {"consume_failed_tps": 1.0}


def found(
    *minutes: dict[str, Any],
    until: int = 0,
    tag: Sequence[str] = ("A", "B"),
    changes_at: int = 600,
    messages: float = 1.0,
) -> list[Finding]:
    """Of an hour in which the members report the first minute before `changes_at`, and the others, one each, from then
    on; the subscription changes from one tag to the other. Reports end at `until`.
    """
    ids = [f"c{number}" for number in range(1, len(minutes))]
    reports = [
        client_row(second, client_id, [minutes[0] if second < changes_at else minute], queues=2)
        for second in SECONDS
        for client_id, minute in zip(ids, minutes[1:], strict=True)
        if second < (until or 3600)
    ]
    rows: dict[Any, list[dict[str, Any]]] = snapshots(
        lambda _: ids, [rate(messages)] * 4, [rate(messages)] * 4, SECONDS, clients=reports
    )
    for second, row in zip(SECONDS, rows[MEMBERSHIP_SNAPSHOTS], strict=True):
        for subscription in row["subscriptions"]:
            subscription["sub_string"] = tag[second >= changes_at]
    (step,) = evaluated(rows, HOUR)
    return [finding for finding in step.findings if finding.rule == "FILTER_MATCHES_NOTHING"]


def test_since_the_subscription_changed_no_message_matches() -> None:
    """The last report of a consumed message is that of 580 s; 4 messages a second come until 3,580 s."""
    (finding,) = found(CONSUMES, IDLE, IDLE)
    assert (finding.cause, finding.severity, finding.topic) == ("EXPRESSION_CHANGED", "WARN", "t")
    assert dict(finding.evidence.measures or ()) == {"skipped": 4 * 3000.0}
    assert finding.advice.endswith("It was A, and is B.")


@pytest.mark.parametrize(
    "case",
    [
        {"minutes": (CONSUMES, IDLE, CONSUMES)},  # a member has other messages
        {"minutes": (CONSUMES, IDLE, REJECTS)},
        {"minutes": (CONSUMES, IDLE, IDLE), "until": 3000},  # what they do then is not known
        {"minutes": (CONSUMES, IDLE, IDLE), "tag": ("A", "A")},  # messages of the tag are rare
        {"minutes": (CONSUMES, IDLE, IDLE), "changes_at": 3400},  # too short
        {"minutes": (CONSUMES, IDLE, IDLE), "messages": 0.005},  # 60 messages
        {"minutes": (CONSUMES, IDLE, IDLE), "tag": ("*", "*")},
    ],
)
def test_a_member_that_consumes_or_is_not_known_and_few_messages(case: dict[str, Any]) -> None:
    assert found(*case.pop("minutes"), **case) == []


def test_a_group_that_waits_for_rare_messages_is_info() -> None:
    (finding,) = found(IDLE, IDLE, IDLE, tag=("A", "A"))
    assert (finding.cause, finding.severity) == ("NEVER_MATCHED", "INFO")
