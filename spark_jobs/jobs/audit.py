"""From sources to output tables: the way of the data, on one page."""

from __future__ import annotations

import logging
from collections.abc import Callable

from pyspark.sql import DataFrame

from schemas import ALLOCATIONS, FINDINGS, GROUP_STATUS, OUTPUTS, QUEUE_PROGRESS, REBALANCE_INTERVALS, Table
from spark_jobs.config import Configuration
from spark_jobs.findings.finding import findings
from spark_jobs.findings.loads import member_loads
from spark_jobs.findings.looks import client_looks
from spark_jobs.findings.rebalances import rebalances
from spark_jobs.findings.rule import Audited
from spark_jobs.progress.queue_progress import queue_progress
from spark_jobs.publish.request import RunRequest
from spark_jobs.replay.history import changes, rebalance_intervals
from spark_jobs.replay.moves import with_moves
from spark_jobs.replay.settings import group_settings
from spark_jobs.replay.sources import Sources
from spark_jobs.replay.states import (
    clipped,
    cures,
    owned_queues,
    published_allocations,
    published_intervals,
    replayed_states,
)
from spark_jobs.replay.steps import StepWindow
from spark_jobs.side_by_side import side_by_side
from spark_jobs.status.attribution import attribution, pace_before
from spark_jobs.status.group_status import group_status

_LOG = logging.getLogger(__name__)
Progress = Callable[[str], None]


def keep(frame: DataFrame) -> DataFrame:
    """The frame, computed once and without its history: plans that are built on it stay small."""
    return frame.localCheckpoint()


def window_of(request: RunRequest, configuration: Configuration) -> StepWindow:
    """The steps of the request, with the warm-up and look-back that each reads before itself."""
    return StepWindow(request.interval, configuration.grid.length, configuration.warm_up, configuration.look_back)


def audit(
    sources: Sources, window: StepWindow, configuration: Configuration, progress: Progress
) -> dict[Table, DataFrame]:
    """The output tables of the window's steps; without rows, at once, where nothing was recorded."""
    if all(frame.isEmpty() for frame in sources.tables):
        session = sources.memberships.sparkSession
        return {table: session.createDataFrame([], table.schema) for table in OUTPUTS}
    audited = _replayed(sources, window, configuration, progress)
    progress("looking for what was wrong")
    found = keep(findings(audited))
    inside = clipped(audited.intervals)
    grown = attribution(audited.progress, inside, pace_before(sources.offsets, window))
    _LOG.info("%s: replayed", window.run)
    return {
        REBALANCE_INTERVALS: published_intervals(inside),
        ALLOCATIONS: published_allocations(clipped(audited.owned)),
        QUEUE_PROGRESS: audited.progress.select(*QUEUE_PROGRESS.columns),
        GROUP_STATUS: group_status(inside, audited.progress, grown, found),
        FINDINGS: found,
    }


def _replayed(sources: Sources, window: StepWindow, configuration: Configuration, progress: Progress) -> Audited:
    """What the rules look at."""
    progress("compressing the snapshots to their changes")
    changed = changes(sources, window, configuration.max_gap, keep)
    progress("cutting the rebalance intervals")
    settings, cadence = group_settings(configuration), configuration.cadence
    intervals = keep(rebalance_intervals(changed, window, cadence, settings, keep))
    progress("replaying every distinct state")
    states = keep(replayed_states(intervals))
    moves = keep(with_moves(intervals, states, sources.clients, window, cadence))
    progress("measuring what went in and out")
    allowed_lag = configuration.thresholds.allowed_lag
    measured, owned, moved, loads, looks = side_by_side(
        lambda: keep(queue_progress(intervals, states, sources.offsets, window, allowed_lag)),
        lambda: keep(owned_queues(intervals, states)),
        lambda: keep(rebalances(moves, cadence)),
        lambda: keep(member_loads(moves)),
        lambda: keep(client_looks(sources.clients, window, configuration, keep)),
    )
    return Audited(
        sources=sources,
        changes=changed,
        intervals=moves,
        states=states,
        owned=owned,
        cures=cures(states),
        rebalances=moved,
        loads=loads,
        looks=looks,
        progress=measured,
        window=window,
        configuration=configuration,
        keep=keep,
    )
