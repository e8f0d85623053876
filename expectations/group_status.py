"""Laws of the groups' status: a violation is a bug of the audit."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from expectations.common import each, known_value
from expectations.rows import Numbers, Rows, Values, all_of, codes, least
from expectations.suite import Expectation, Suite, Tables
from schemas import COVERAGE, FINDINGS, GROUP_STATUS
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.domain.status.capacity import Limit
from spark_jobs.domain.status.utilization import Bottleneck

_UTILIZATION = ("busiest_utilization", "busiest_member", "busiest_bottleneck", "headroom_messages_per_second")
#: The table has six decimals.
_ROUNDING = 0.000001


def with_findings(groups: Rows, tables: Tables) -> Rows:
    """Add `published_findings`, the group's findings in the step, `worst_rank` of those not silenced (0: none), and
    `covered`, its rows of coverage.
    """
    findings = tables[FINDINGS]
    own, of_findings = codes(GROUP_STATUS.key, groups, findings)
    finding_counts, worst = np.zeros((2, max(own.max(initial=-1), of_findings.max(initial=-1)) + 1), np.int64)
    np.add.at(finding_counts, of_findings, 1)
    unmuted_ranks = np.where(findings["silenced_because"].is_unknown().flags(), _ranks(findings["severity"]), 0)
    np.maximum.at(worst, of_findings, unmuted_ranks)
    own_of_coverage, of_coverage = codes(GROUP_STATUS.key, groups, tables[COVERAGE])
    covered = np.isin(own_of_coverage, of_coverage).astype(np.int64)
    return groups.adding(published_findings=finding_counts[own], worst_rank=worst[own], covered=covered)


def _ranks(severities: Values) -> Numbers:
    """From 1, the least; 0 of none, or of what is no severity."""
    return Values(pc.index_in(severities.array, value_set=pa.array(SEVERITIES, pa.string()))).numbers() + 1


def _parts_add_up(it: Rows) -> Values:
    parts = it["unassigned"] + it["stuck_owner"] + it["hand_over"] + it["producer_surge"] + it["residual"]
    return parts == it["growth"]


def _growth_is_end_less_start(rows: Rows) -> Values:
    """Check rows with an attribution; what is not known of a topic counts as none."""
    topics, of_row = rows.elements("attribution")
    growth = np.zeros(len(rows), np.int64)
    np.add.at(growth, of_row, topics["growth"].numbers(unknown=0))
    total = Values(pc.if_else(rows["attribution"].is_known().array, pa.array(growth), None))
    return total == rows["backlog_end"] - rows["backlog_start"]


SUITE = Suite(
    GROUP_STATUS,
    prepare=with_findings,
    expectations=(
        Expectation(
            "findings_are_counted",
            "The count equals the step's findings.",
            lambda rows: (
                (rows["finding_count"] == rows["published_findings"]) | rows.always(not rows.settings.whole_groups)
            ),
        ),
        Expectation(
            "worst_severity_is_the_worst",
            "The worst severity is that of the step's findings that are not silenced.",
            lambda rows: (
                (Values(pa.array(_ranks(rows["worst_severity"]))) == rows["worst_rank"])
                | rows.always(not rows.settings.whole_groups)
            ),
        ),
        Expectation(
            "coverage_is_published",
            "How much of the group was observed is published with its status.",
            lambda rows: (rows["covered"] == 1) | rows.always(not rows.settings.has_coverage),
        ),
        Expectation("bottleneck_is_known", "The bottleneck is a value of the enum.", known_value("bottleneck", Limit)),
        Expectation(
            "every_queue_is_counted",
            "Queues with one, several and no owner add up to all queues.",
            lambda rows: (
                (
                    rows["queue_count"]
                    == rows["queues_with_one_owner"] + rows["double_owned_queues"] + rows["unassigned_queues"]
                )
                & (least(rows["queues_with_one_owner"], rows["double_owned_queues"], rows["unassigned_queues"]) >= 0)
            ),
        ),
        Expectation(
            "members_are_counted",
            "Client ids and idle members are at most as many as members.",
            lambda rows: (
                (rows["distinct_members"] <= rows["member_count"]) & (rows["idle_members"] <= rows["member_count"])
            ),
        ),
        each("parts_add_up_to_the_growth", "The parts add up to the growth.", "attribution", _parts_add_up),
        Expectation(
            "growth_is_end_less_start",
            "The growth of all topics is the backlog at the end minus that at the start.",
            _growth_is_end_less_start,
        ),
        Expectation(
            "highest_backlog_is_the_highest",
            "The backlog at the end is not above the highest one.",
            lambda rows: rows["backlog_end"] <= rows["backlog_max"],
        ),
        Expectation(
            "messages_are_not_negative",
            "Backlogs, ages and rates are 0 or more, or unknown.",
            lambda rows: (
                (least(rows["backlog_start"], rows["backlog_end"], rows["oldest_message_ms"]) >= 0).or_else(True)
                & (least(rows["produced_messages_per_second"], rows["consumed_messages_per_second"]) >= 0.0).or_else(
                    True
                )
            ),
        ),
        Expectation(
            "utilization_is_known_or_not",
            "Utilization, headroom, and the busiest member's values are known together.",
            lambda rows: all_of(rows[name].is_known() == rows["utilization"].is_known() for name in _UTILIZATION),
        ),
        Expectation(
            "utilization_is_not_negative",
            "Utilization and headroom are 0 or more; the busiest member is at least as busy as all together.",
            lambda rows: (
                (least(rows["utilization"], rows["headroom_messages_per_second"]) >= 0.0).or_else(True)
                & (rows["busiest_utilization"] >= rows["utilization"] - _ROUNDING).or_else(True)
            ),
        ),
        Expectation(
            "busiest_bottleneck_is_known",
            "The busiest member's limit, where it is known, is a value of the enum.",
            lambda rows: known_value("busiest_bottleneck", Bottleneck)(rows) | rows["busiest_bottleneck"].is_unknown(),
        ),
        Expectation(
            "time_left_is_not_negative",
            "Catch-up time and retention left are 0 or more; only a group that catches up has a time.",
            lambda rows: (
                (least(rows["catch_up_seconds"], rows["retention_left_seconds"]) >= 0.0).or_else(True)
                & (rows["catches_up"].or_else(False) == rows["catch_up_seconds"].is_known())
            ),
        ),
    ),
)
