"""Cases of `expectations/findings.py`."""

from typing import Any

from expectations.findings import SUITE
from schemas import ALLOCATIONS, FINDINGS, REBALANCE_INTERVALS
from tests.support.times import at
from tests.unit.expectations.cases import OWN, Cases, Row, Rows

GROUP = {"step_start": at(0), "cluster": OWN, "consumer_group": "g"}
TOPIC = GROUP | {"topic": "t"}
QUEUE = {"topic": "t", "broker_name": "b", "queue_id": 3}
MESSAGES = {"backlog_start": 10, "backlog_end": 13, "backlog_max": 13, "produced": 5, "consumed": 2}


def queue(**changes: Any) -> Row:
    return QUEUE | MESSAGES | {"role": "UNASSIGNED"} | changes


def row(**changes: Any) -> Row:
    """Queue 3 of t was nobody's: 10 and 5 more came, 2 went, 13 are left."""
    what = {"rule": "UNASSIGNED_QUEUE", "severity": "ERROR", "subject": "b:3", "cause": "GROUP_OFFLINE"}
    when = {"started_at": at(0), "ended_at": at(3600)}
    return TOPIC | {"finding_id": OWN, "evidence": MESSAGES | {"queues": [queue()]}} | what | when | changes


def good(**changes: Any) -> Rows:
    return {FINDINGS: [row(**changes)], REBALANCE_INTERVALS: [TOPIC], ALLOCATIONS: [TOPIC | QUEUE, TOPIC | QUEUE]}


def with_evidence(**changes: Any) -> Rows:
    return good(evidence=row()["evidence"] | changes)


def with_queue(**changes: Any) -> Rows:
    return with_evidence(queues=[queue(), queue(**changes)])


def audited(*intervals: Row, **changes: Any) -> Rows:
    return {FINDINGS: [row(**changes)], REBALANCE_INTERVALS: intervals, ALLOCATIONS: [TOPIC | QUEUE]}


def another(finding_id: str, **changes: Any) -> Row:
    """A finding of the group that says nothing of queues."""
    silent = {"rule": "UNOBSERVED", "cause": "NO_SNAPSHOTS", "topic": None, "evidence": MESSAGES}
    return row(finding_id=finding_id, **silent | changes)


def with_another(finding_id: str, **changes: Any) -> Rows:
    """The first finding is the consequence of the other."""
    return {**good(), FINDINGS: [row(root_finding_id=finding_id), another(finding_id, **changes)]}


CASES = Cases(
    SUITE,
    breaks={
        "span_is_inside_the_step": [
            good(started_at=at(-1)),
            good(ended_at=at(3600.001)),
            good(started_at=at(9), ended_at=at(9)),
            good(started_at=at(9), ended_at=at(8)),
        ],
        "rule_is_known": [good(rule="ODD")],
        "severity_is_known": [good(severity="FATAL"), good(severity="error")],
        "cause_is_known": [good(cause="ODD"), good(cause="NO_MEMBERS"), good(cause=None)],
        "group_was_audited": [audited(topic=None), audited(TOPIC | {"consumer_group": "g2"}, topic=None)],
        "topic_was_audited": [audited(TOPIC | {"topic": "t2"})],
        "queues_are_allocated": [
            with_queue(queue_id=4),
            with_queue(broker_name="b2", role="DOUBLE_OWNED"),
            {FINDINGS: [row()], REBALANCE_INTERVALS: [TOPIC]},
        ],
        "root_is_a_root": [
            good(root_finding_id="r"),
            good(root_finding_id=OWN),
            with_another("r", consumer_group="g2"),
            with_another("r", root_finding_id="r0"),
        ],
        "evidence_is_not_negative": [with_evidence(**{name: -1}) for name in MESSAGES],
        "backlog_balances": [with_queue(**{name: MESSAGES[name] + 1}) for name in MESSAGES if name != "backlog_max"],
        "keys_are_unique": [{**good(), FINDINGS: [row(), row()]}, {**good(), FINDINGS: [row(), row(subject="b:4")]}],
    },
    keeps=[
        good(),
        good(topic=None),
        good(rule="GROUP_OFFLINE", cause="NO_MEMBERS"),
        good(started_at=at(3599.999)),
        with_another("r"),
        audited(TOPIC, TOPIC, TOPIC | {"topic": "t2"}),
        audited(TOPIC | {"topic": "t2"}, rule="SLOW_LISTENER", cause="RESPONSE_TIME_ROSE"),
        audited(rule="SLOW_LISTENER", cause="RESPONSE_TIME_ROSE"),
        audited(topic=None, rule="UNOBSERVED", cause="NO_SNAPSHOTS"),
        with_queue(queue_id=4, role="DISPUTED"),
        with_queue(queue_id=4, role=None),
        with_evidence(**dict.fromkeys(MESSAGES)),
        with_evidence(**dict.fromkeys(MESSAGES, 0)),
        with_evidence(queues=None),
        with_evidence(queues=[]),
        # Where a backlog is 0 the consumer may have been ahead of the broker's sample; unknown is no number.
        with_queue(backlog_start=0),
        with_queue(backlog_end=0),
        with_queue(produced=None),
        with_queue(backlog_start=None, consumed=9),
    ],
    # A run of one topic publishes findings of whole groups without the allocations of their other topics, and without
    # the intervals of groups that do not have the topic.
    keeps_in_part=[with_queue(queue_id=4), audited(topic=None)],
)
