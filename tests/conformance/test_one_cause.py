"""One queue, one cause, one backlog: what `status` calls the bottleneck, and what waits, is what the findings and the
series say, of all public reports and all synthetic groups. No Spark.
"""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from spark_jobs.domain.diagnosis.diagnoses import diagnoses
from spark_jobs.domain.diagnosis.table import LINE_OF, StandingCause
from spark_jobs.domain.evaluate import EvaluatedStep
from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.model.history import UNKNOWN
from spark_jobs.domain.phrases import known_sum
from spark_jobs.domain.status.capacity import SIGNS, Limit
from tests.conformance.test_field import HOUR, INTERVAL_SECONDS, RECORDINGS
from tests.conformance.test_synthetic_groups import Groups, groups
from tests.support.kernel import evaluated, recorded_rows, settings
from tests.support.one_backlog import NOT_IN_THE_SERIES

__all__ = ["groups"]
_RULES = ("CONSUMER_STOPPED", "CONSUMER_STALLED")
_LINES = frozenset(StandingCause)


@pytest.fixture(scope="module", params=[3, pytest.param(1, marks=pytest.mark.slow)], ids=["a third", "all"])
def steps(groups: Groups, request: pytest.FixtureRequest) -> list[EvaluatedStep]:
    """Of every so many public reports, and of all synthetic groups."""
    files = sorted(RECORDINGS.glob("*.jsonl.gz"))[request.param // 2 :: request.param]
    reports = [step for file in files for step in evaluated(recorded_rows(file), HOUR, settings(INTERVAL_SECONDS))]
    return reports + [step for of_kind in groups.values() for step in of_kind]


def standing(step: EvaluatedStep) -> Iterator[Finding]:
    """The findings of the step that a line of the table gave, above INFO."""
    for finding in step.findings:
        if finding.rule in _RULES and finding.cause in _LINES and finding.severity != "INFO":
            yield finding


def test_every_finding_of_a_queue_that_stands_is_a_line_of_the_table(steps: list[EvaluatedStep]) -> None:
    reached = 0
    for step in steps:
        causes = {(each.standing.queue, each.cause.value) for each in diagnoses(step.step)}
        for finding in standing(step):
            queues = {(queue[:3], finding.cause) for queue in finding.evidence.queues}
            assert queues <= causes, finding
            reached += len(queues)
    assert reached > 300


def test_a_queue_has_one_cause_at_a_time(steps: list[EvaluatedStep]) -> None:
    for step in steps:
        times: dict[object, list[tuple[int, int]]] = {}
        for each in diagnoses(step.step):
            times.setdefault((each.standing.queue, each.client_id), []).append((each.standing.start, each.standing.end))
        for of_queue in times.values():
            in_order = sorted(of_queue)
            assert all(before[1] <= after[0] for before, after in pairwise(in_order))


def test_more_consumers_never_help_a_queue_that_stood(steps: list[EvaluatedStep]) -> None:
    """If all that waited in the group waited in queues that stood as an ERROR."""
    for step in steps:
        errors = [finding for finding in standing(step) if finding.severity == "ERROR"]
        others = [finding for finding in step.findings if finding.severity != "INFO" and finding not in errors]
        if errors and not others and step.status is not None:
            assert step.status.more_members_help is not True, (errors, step.status.advice)


def test_the_bottleneck_is_that_of_the_line_if_nothing_else_is_wrong(steps: list[EvaluatedStep]) -> None:
    compared = 0
    for step in steps:
        wrong = [finding for finding in step.findings if finding.severity != "INFO"]
        if step.status is None or not wrong or any(finding.rule not in _RULES for finding in wrong):
            continue
        lines = {LINE_OF[StandingCause(finding.cause)].bottleneck for finding in wrong if finding.cause in _LINES}
        if step.status.bottleneck in {Limit.NO_BACKLOG, Limit.WORKED_OFF, Limit.UNKNOWN_BACKLOG, Limit.UNKNOWN_MEMBERS}:
            continue  # too few waited, it fell, or nobody knows the members
        assert step.status.bottleneck in lines, (step.status.bottleneck, wrong)
        compared += 1
    assert compared > 10
    assert all(Limit(line.bottleneck) in SIGNS for line in LINE_OF.values())


def test_status_findings_and_the_table_name_one_backlog(steps: list[EvaluatedStep]) -> None:
    """What waits at the end is what the series of the topics end with, and no finding names more than their peak."""
    compared = 0
    for step in steps:
        if step.status is None:
            continue
        filled = [backlog.messages[-1] for backlog in step.backlogs if not backlog.is_empty]
        ends = [int(messages) for messages in filled or [0] * len(step.backlogs) if messages != UNKNOWN]
        assert step.status.backlog_end == known_sum(ends), (step.step.history.consumer_group, step.status)
        for finding in step.findings:
            if finding.rule in NOT_IN_THE_SERIES or not finding.evidence.backlog_max:
                continue
            assert step.status.backlog_max is not None
            assert finding.evidence.backlog_max <= step.status.backlog_max, (finding, step.status)
            compared += 1
    assert compared > 300
