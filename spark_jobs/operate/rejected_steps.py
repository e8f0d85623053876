"""Steps of which nothing was published of a cluster: its data-quality gate closed, or no run audits them. `notify`
reports both.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from operator import itemgetter
from typing import Any, NamedTuple

from schemas import AUDIT_RUNS
from spark_jobs.domain.incidents.notices import BACK, MISSING, REJECTED, Notice, audit_notice
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.domain.model.window import to_micros
from spark_jobs.operate.missing import RecordedSteps, Why
from spark_jobs.store.read.stored import Filter, StoredTables, rows

#: In place of the rule of an incident.
_QUALITY_GATE, _AUDIT_MISSING = "QUALITY_GATE", "AUDIT_MISSING"
_NAMES = ("cluster", "consumer_group", "topic")
_RUN = (*_NAMES, "outcome", "interval_start", "interval_end", "finished_at", "message")
_Run = Mapping[str, Any]
_IS_REJECTED = Filter("outcome", "NOT IN", ["published"])


class RejectedStep(NamedTuple):
    """The steps of a rejected run of a cluster, its message, and how it is remembered that they were reported."""

    cluster: str
    interval: Interval
    message: str

    @property
    def notice(self) -> Notice:
        """The same for all runs of these steps."""
        headline = f"The data-quality gate is closed: nothing was published of {self.interval}"
        time = to_micros(self.interval.start), to_micros(self.interval.end)
        return audit_notice(self.cluster, REJECTED, _QUALITY_GATE, headline, time, f"{self.cluster}\n{self.interval}")


def rejected_steps(stored: StoredTables, recent: timedelta) -> list[RejectedStep]:
    """Each once, the oldest first: those that no later run has published, and that ended less than so long before the
    newest step of their cluster that was published or rejected.
    """
    if not stored.exists(AUDIT_RUNS) or not stored.read(AUDIT_RUNS, ["outcome"], [_IS_REJECTED]):
        return []
    runs = sorted(rows(stored.read(AUDIT_RUNS, _RUN)), key=itemgetter("finished_at"), reverse=True)
    rejected: dict[Notice, RejectedStep] = {}
    for place, run in enumerate(runs):
        cluster, interval = run["cluster"], Interval(run["interval_start"], run["interval_end"])
        if run["outcome"] == "published" or cluster is None or _is_published(run, runs[:place]):
            continue
        newest = max(other["interval_end"] for other in runs if other["cluster"] in (None, cluster))
        if interval.end > newest - recent:
            step = RejectedStep(cluster, interval, run["message"])
            rejected.setdefault(step.notice, step)
    return sorted(rejected.values(), key=lambda step: (step.interval.start, step.cluster))


def _is_published(rejected: _Run, later: Sequence[_Run]) -> bool:
    return any(
        run["outcome"] == "published"
        and run["interval_start"] <= rejected["interval_start"]
        and run["interval_end"] >= rejected["interval_end"]
        and all(run[name] in (None, rejected[name]) for name in _NAMES)
        for run in later
    )


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
    return audit_notice(cluster, MISSING, _AUDIT_MISSING, headline, time, f"{_AUDIT_MISSING}\n{cluster}\n{time[0]}")


def _back(missing: Notice, audited: Sequence[Interval]) -> Notice:
    start, end = audited[0].start, audited[-1].end
    headline = f"The audit is back from {format_utc(start)} on"
    return missing._replace(event=BACK, headline=headline, resolved_at=to_micros(start), last_seen_at=to_micros(end))
