"""Laws of the findings: a violation is a bug of the audit."""

import numpy as np

from expectations.common import known_value
from expectations.rows import Flags, Numbers, Rows, Values, codes, first_places, least
from expectations.suite import Expectation, Suite, Tables
from schemas import ALLOCATIONS, CLIENT_SNAPSHOTS, FINDINGS, REBALANCE_INTERVALS
from schemas.common import OF_GROUP, OF_QUEUE
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.domain.rules import consume_failing, unobserved
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.domain.rules.popped import POP_REVIVE_STUCK

_GROUP = OF_GROUP.names
_RULES = [rule.name for rule in RULES]
_CAUSES = {rule.name: [*rule.causes] for rule in RULES}
#: Reports of clients and brokers, and silence, may be about a group or topic without intervals.
_WITHOUT_INTERVALS = (unobserved.RULE, consume_failing.RULE, POP_REVIVE_STUCK)
_OF_SOURCES = [rule.name for rule in RULES if CLIENT_SNAPSHOTS.name in rule.needs or rule in _WITHOUT_INTERVALS]
_MESSAGES = ("backlog_start", "backlog_end", "backlog_max", "produced", "consumed")


def with_subjects(findings: Rows, tables: Tables) -> Rows:
    """Add `evidence`'s columns; `has_group`, `has_topic`, `has_root`: in the step; `strangers`: unallocated queues."""
    intervals, evidence = tables[REBALANCE_INTERVALS], findings["evidence"]
    is_root = findings["root_finding_id"].is_unknown()
    ids, named = codes(
        (*_GROUP, "id"), findings.adding(id=findings["finding_id"]), findings.adding(id=findings["root_finding_id"])
    )
    subjects = findings.adding(
        has_group=_are_in(findings, intervals, _GROUP),
        has_topic=_are_in(findings, intervals, (*_GROUP, "topic")),
        has_root=np.isin(named, ids[is_root.flags()]),
        **{name: evidence.field(name) for name in (*_MESSAGES, "queues")},
    )
    return subjects.adding(strangers=_strangers(subjects, tables[ALLOCATIONS]))


def _are_in(rows: Rows, other_rows: Rows, names: tuple[str, ...]) -> Flags:
    return first_places(*codes(names, rows, other_rows)) >= 0


def _strangers(findings: Rows, allocations: Rows) -> Numbers:
    queues, of_row = findings.elements("queues")
    of_step = queues.adding(**{name: findings[name].array.take(of_row) for name in _GROUP})
    is_said = queues["role"].is_in(("UNASSIGNED", "DOUBLE_OWNED")).or_else(False).flags()
    return np.bincount(
        of_row[is_said & ~_are_in(of_step, allocations, (*_GROUP, "topic", *OF_QUEUE.names))], minlength=len(findings)
    )


def _cause_is_of_its_rule(rows: Rows) -> Values:
    """A rule that is not in the catalog is broken by that already."""
    is_valid = ~rows["rule"].is_in(_RULES)
    for rule, causes in _CAUSES.items():
        is_valid = is_valid | ((rows["rule"] == rule) & rows["cause"].is_in(causes).or_else(False))
    return is_valid


def _queue_balances(queue: Rows) -> Values:
    start, end = queue["backlog_start"], queue["backlog_end"]
    return ~((start > 0) & (end > 0)) | (start + queue["produced"] - queue["consumed"] == end)


SUITE = Suite(
    FINDINGS,
    prepare=with_subjects,
    expectations=(
        Expectation(
            "span_is_inside_the_step",
            "A finding begins and ends inside its step, and has a duration.",
            lambda rows: (
                (rows["started_at"] >= rows["step_start"])
                & (rows["started_at"] < rows["ended_at"])
                & (rows["ended_at"] <= rows["step_start"] + rows.settings.step)
            ),
        ),
        Expectation("rule_is_known", "The rule is in the catalog.", known_value("rule", _RULES)),
        Expectation("severity_is_known", "The severity is a value of the enum.", known_value("severity", SEVERITIES)),
        Expectation("cause_is_known", "The cause is one of the causes of its rule.", _cause_is_of_its_rule),
        Expectation(
            "group_was_audited",
            "The group has intervals in the step, unless the finding comes from client snapshots, missing snapshots, "
            "or no members.",
            lambda rows: (
                rows["has_group"] | rows["rule"].is_in(_OF_SOURCES) | rows.always(not rows.settings.whole_groups)
            ),
        ),
        Expectation(
            "topic_was_audited",
            "The topic, if named, has intervals in the step, with the same exceptions.",
            lambda rows: rows["topic"].is_unknown() | rows["has_topic"] | rows["rule"].is_in(_OF_SOURCES),
        ),
        Expectation(
            "queues_are_allocated",
            "Unassigned and double-owned queues have an allocation.",
            lambda rows: (rows["strangers"] == 0) | rows.always(not rows.settings.whole_groups),
        ),
        Expectation(
            "root_is_a_root",
            "A symptom names a root cause of its group and step.",
            lambda rows: rows["root_finding_id"].is_unknown() | rows["has_root"],
        ),
        Expectation(
            "evidence_is_not_negative",
            "Messages of the evidence are 0 or more, or unknown.",
            lambda rows: least(*(rows[name] for name in _MESSAGES)) >= 0,
        ),
        Expectation(
            "backlog_balances",
            "Per queue: backlog before + produced − consumed = backlog after, if both are known.",
            lambda rows: rows.every("queues", _queue_balances),
        ),
    ),
)
