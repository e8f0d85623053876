"""The laws that one queue has one cause and one backlog, whichever of findings, `status` and series names them."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from spark_jobs.domain.diagnosis.diagnoses import diagnoses
from spark_jobs.domain.diagnosis.table import LINE_OF, StandingCause
from spark_jobs.domain.evaluate import EvaluatedStep
from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.model.history import UNKNOWN
from spark_jobs.domain.phrases import known_sum
from spark_jobs.domain.status.capacity import Limit
from tests.support.one_backlog import NOT_IN_THE_SERIES

STANDING_RULES = ("CONSUMER_STOPPED", "CONSUMER_STALLED")
_LINES = frozenset(StandingCause)
#: Too few waited, the backlog fell, or the members are not known.
_NO_LINE = frozenset((Limit.NO_BACKLOG, Limit.WORKED_OFF, Limit.UNKNOWN_BACKLOG, Limit.UNKNOWN_MEMBERS))


def assert_one_cause(steps: Iterable[EvaluatedStep]) -> tuple[int, int, int]:
    """The numbers of queues with a line of the table, of bottlenecks and of backlogs that were compared."""
    compared = [(causes_of_findings(step), bottlenecks_of_status(step), backlogs_of_findings(step)) for step in steps]
    queues, bottlenecks, backlogs = map(sum, zip(*compared, strict=True))
    return queues, bottlenecks, backlogs


def standing(step: EvaluatedStep) -> Iterator[Finding]:
    """The findings of the step that a line of the table gave, above INFO."""
    for finding in step.findings:
        if finding.rule in STANDING_RULES and finding.cause in _LINES and finding.severity != "INFO":
            yield finding


def causes_of_findings(step: EvaluatedStep) -> int:
    """Each queue has one cause at a time, which is that of the finding; the number of queues in findings."""
    causes = set()
    times: dict[object, list[tuple[int, int]]] = {}
    for each in diagnoses(step.step):
        causes.add((each.standing.queue, each.cause.value))
        times.setdefault((each.standing.queue, each.client_id), []).append((each.standing.start, each.standing.end))
    for of_queue in times.values():
        assert all(before[1] <= after[0] for before, after in pairwise(sorted(of_queue)))
    found = [{(queue[:3], finding.cause) for queue in finding.evidence.queues} for finding in standing(step)]
    assert set().union(*found) <= causes, found
    return sum(map(len, found))


def bottlenecks_of_status(step: EvaluatedStep) -> int:
    """If nothing but queues that stand is wrong, the bottleneck is that of a line, and if all of them stand as an
    ERROR, more consumers do not help; whether bottlenecks were compared.
    """
    wrong = [finding for finding in step.findings if finding.severity != "INFO"]
    if step.status is None or not wrong:
        return 0
    if all(finding.severity == "ERROR" and finding in [*standing(step)] for finding in wrong):
        assert step.status.more_members_help is not True, (wrong, step.status.advice)
    if any(finding.rule not in STANDING_RULES for finding in wrong) or step.status.bottleneck in _NO_LINE:
        return 0
    lines = {LINE_OF[StandingCause(finding.cause)].bottleneck for finding in wrong if finding.cause in _LINES}
    assert step.status.bottleneck in lines, (step.status.bottleneck, wrong)
    return 1


def backlogs_of_findings(step: EvaluatedStep) -> int:
    """What waits at the end is what the series of the topics end with, and no finding names more than their peak; the
    number of findings with a backlog.
    """
    if step.status is None:
        return 0
    filled = [backlog.messages[-1] for backlog in step.backlogs if not backlog.is_empty]
    ends = [int(messages) for messages in filled or [0] * len(step.backlogs) if messages != UNKNOWN]
    assert step.status.backlog_end == known_sum(ends), (step.step.history.consumer_group, step.status)
    peaks = [
        (finding.evidence.backlog_max, finding)
        for finding in step.findings
        if finding.rule not in NOT_IN_THE_SERIES and finding.evidence.backlog_max
    ]
    for peak, finding in peaks:
        assert step.status.backlog_max is not None
        assert peak <= step.status.backlog_max, (finding, step.status)
    return len(peaks)
