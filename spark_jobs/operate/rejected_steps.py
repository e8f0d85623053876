"""Steps of which nothing was published of a cluster, because its data-quality gate closed: what `notify` reports."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from operator import itemgetter
from typing import Any, NamedTuple

from schemas import AUDIT_RUNS
from spark_jobs.domain.incidents.notices import REJECTED, Notice, audit_notice
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import to_micros
from spark_jobs.store.read.stored import StoredTables, rows

#: In place of the rule of an incident.
_RULE = "QUALITY_GATE"
_NAMES = ("cluster", "consumer_group", "topic")
_RUN = (*_NAMES, "outcome", "interval_start", "interval_end", "finished_at", "message")
_Run = Mapping[str, Any]


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
        return audit_notice(self.cluster, REJECTED, _RULE, headline, time, f"{self.cluster}\n{self.interval}")


def rejected_steps(stored: StoredTables, recent: timedelta) -> list[RejectedStep]:
    """Each once, the oldest first: those that no later run has published, and that ended less than so long before the
    newest step of their cluster that was published or rejected.
    """
    recorded = rows(stored.read(AUDIT_RUNS, _RUN)) if stored.exists(AUDIT_RUNS) else []
    runs = sorted(recorded, key=itemgetter("finished_at"), reverse=True)
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
