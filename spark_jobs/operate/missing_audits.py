"""Clusters whose newest recorded steps no run has audited, or audits again: what `notify` reports."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from spark_jobs.domain.incidents.notices import BACK, MISSING, Notice, audit_notice
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.domain.model.window import to_micros
from spark_jobs.operate.missing import RecordedSteps, Why

#: In place of the rule of an incident.
_RULE = "AUDIT_MISSING"


def audit_notices(recorded: RecordedSteps, sent: Iterable[Notice], recent: timedelta, least: int) -> list[Notice]:
    """One per cluster: no run has tried its `least` newest steps or more, and the last ended less than so long before
    the newest of any cluster; or a run has tried a step since that was `sent`.
    """
    last = {notice.cluster: notice for notice in sent if notice.event in (MISSING, BACK)}
    untried = {(each.cluster, each.step) for each in recorded.missing if each.why is Why.NOT_AUDITED}
    ends = [steps[-1].end for steps in recorded.steps.values() if steps]
    notices = []
    for cluster, steps in recorded.steps.items():
        tried = [step for step in steps if (cluster, step) not in untried]
        lacking = [step for step in steps if not tried or step > tried[-1]]
        before = last.get(cluster)
        if before is None or before.event == BACK:
            if len(lacking) >= least and lacking[-1].end > max(ends) - recent:
                notices.append(_missing(cluster, lacking))
        elif len(lacking) < least and (since := [step for step in tried if to_micros(step.start) >= before.opened_at]):
            notices.append(_back(before, since))
    return notices


def _missing(cluster: str, steps: Sequence[Interval]) -> Notice:
    time = to_micros(steps[0].start), to_micros(steps[-1].end)
    headline = f"The audit is missing since {format_utc(steps[0].start)}"
    return audit_notice(cluster, MISSING, _RULE, headline, time, f"{_RULE}\n{cluster}\n{time[0]}")


def _back(missing: Notice, audited: Sequence[Interval]) -> Notice:
    start, end = audited[0].start, audited[-1].end
    headline = f"The audit is back from {format_utc(start)} on"
    return missing._replace(event=BACK, headline=headline, resolved_at=to_micros(start), last_seen_at=to_micros(end))
