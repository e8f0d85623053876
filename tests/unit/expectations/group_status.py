"""Cases of `expectations/group_status.py`."""

from collections.abc import Sequence
from typing import Any

from expectations.group_status import SUITE
from schemas import COVERAGE, FINDINGS, GROUP_STATUS
from tests.support.times import at
from tests.unit.expectations.cases import OWN, Cases, Row, Rows

KEY = {"step_start": at(0), "cluster": OWN, "consumer_group": "g"}
MUTED = KEY | {"finding_id": "m", "severity": "ERROR", "silenced_because": "known"}
FOUND = [KEY | {"finding_id": severity, "severity": severity} for severity in ("INFO", "WARN")]


BUSY = {"utilization": 0.25, "busiest_utilization": 0.5, "busiest_member": "c1", "busiest_bottleneck": "PULLS"}
BUSY |= {"headroom_messages_per_second": 1.0}
RATES = ("produced_messages_per_second", "consumed_messages_per_second")


def growth(**changes: Any) -> Row:
    """15 more than before."""
    parts = {"unassigned": 1, "stuck_owner": 2, "hand_over": 3, "producer_surge": 4, "residual": 5}
    return {"topic": "t", "growth": 15} | parts | changes


def row(**changes: Any) -> Row:
    """Two findings, the worse a WARN; a backlog of 100 that grew to 115."""
    found = {"worst_severity": "WARN", "finding_count": 2, "bottleneck": "LISTENER", "attribution": [growth()]}
    who = {"member_count": 2, "distinct_members": 2, "idle_members": 2}
    queues = {"queue_count": 3, "queues_with_one_owner": 1, "double_owned_queues": 1, "unassigned_queues": 1}
    backlog = {"backlog_start": 100, "backlog_end": 115, "backlog_max": 115, "oldest_message_ms": 1}
    rates = dict(zip(RATES, (1.0, 0.5), strict=True))
    return KEY | found | who | queues | backlog | rates | BUSY | changes


def good(**changes: Any) -> Rows:
    return published(row(**changes))


def published(*rows: Row, found: Sequence[Row] = FOUND) -> Rows:
    """The rows with findings, and with the coverage of each."""
    covered = [{name: each[name] for name in KEY} for each in rows]
    return {GROUP_STATUS: rows, FINDINGS: found, COVERAGE: covered}


CASES = Cases(
    SUITE,
    breaks={
        "findings_are_counted": [good(finding_count=1), published(row(finding_count=1, worst_severity=None), found=[])],
        "worst_severity_is_the_worst": [good(worst_severity=worst) for worst in ("INFO", "ERROR", "ODD", None)],
        "coverage_is_published": [
            {**good(), COVERAGE: []},
            # It is of another group, or of the cluster.
            *({**good(), COVERAGE: [KEY | {"consumer_group": name}]} for name in ("h", None)),
            {**published(row(), row(consumer_group="h", finding_count=0, worst_severity=None)), COVERAGE: [KEY]},
        ],
        "bottleneck_is_known": [good(bottleneck="ODD")],
        "every_queue_is_counted": [good(queue_count=4), good(queues_with_one_owner=3, unassigned_queues=-1)],
        "members_are_counted": [good(distinct_members=3), good(idle_members=3)],
        "parts_add_up_to_the_growth": [
            good(attribution=[growth(**{name: value + 1})])
            for name, value in growth().items()
            if name not in ("topic", "growth")
        ],
        "growth_is_end_less_start": [good(backlog_end=114), good(backlog_start=99), good(attribution=[])],
        "highest_backlog_is_the_highest": [good(backlog_max=114)],
        "messages_are_not_negative": [
            good(backlog_start=-1, backlog_end=14),
            *(good(**{name: -1}) for name in ("oldest_message_ms",)),
            *(good(**{name: -0.5}) for name in RATES),
        ],
        "utilization_is_known_or_not": [good(**{name: None}) for name in BUSY],
        "utilization_is_not_negative": [
            good(utilization=-0.1),
            good(headroom_messages_per_second=-0.1),
            good(busiest_utilization=0.2499),
            good(utilization=-0.1, busiest_utilization=-0.1),
        ],
        "busiest_bottleneck_is_known": [good(busiest_bottleneck="ODD")],
        "time_left_is_not_negative": [
            good(catches_up=True, catch_up_seconds=-0.1),
            good(retention_left_seconds=-0.1),
            good(catches_up=True),
            good(catches_up=False, catch_up_seconds=0.0),
            good(catch_up_seconds=0.0),
        ],
        "keys_are_unique": [{**good(), GROUP_STATUS: [row(), row()]}],
    },
    keeps=[
        good(),
        # A muted finding counts, and is not the worst.
        published(row(finding_count=3), found=[*FOUND, MUTED]),
        published(row(finding_count=0, worst_severity=None), found=[]),
        # The cluster has a row of coverage too.
        {**good(), COVERAGE: [KEY, KEY | {"consumer_group": None}]},
        good(queue_count=None, queues_with_one_owner=None, double_owned_queues=None, unassigned_queues=None),
        good(member_count=None, distinct_members=None, idle_members=None),
        good(backlog_start=0, backlog_end=0, attribution=[], oldest_message_ms=0, **dict.fromkeys(RATES, 0.0)),
        good(backlog_start=None, backlog_end=None, oldest_message_ms=None, **dict.fromkeys(RATES)),
        good(backlog_end=130, backlog_max=130, attribution=[growth(), growth(topic="t2")]),
        good(backlog_end=85, attribution=[growth(growth=-15, residual=-25)]),
        good(attribution=None),
        good(**dict.fromkeys(BUSY)),
        good(utilization=0.0, busiest_utilization=0.0, headroom_messages_per_second=0.0),
        # Both are rounded.
        good(utilization=0.500001),
        good(utilization=2.0, busiest_utilization=2.0, headroom_messages_per_second=0.0, busiest_bottleneck="LISTENER"),
        good(busiest_bottleneck="HOT_QUEUE"),
        good(catches_up=True, catch_up_seconds=0.0, retention_left_seconds=0.0),
        good(catches_up=False, retention_left_seconds=60.0),
        published(row(), row(consumer_group="g2", finding_count=0, worst_severity=None)),
    ],
    # A run of one topic publishes a group without the findings of its other topics, and without coverage.
    keeps_in_part=[good(finding_count=3), good(worst_severity="ERROR"), {GROUP_STATUS: [row()]}],
)
