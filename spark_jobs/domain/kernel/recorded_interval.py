"""The collection interval by which a group was recorded, if its snapshots show another one than is configured."""

import numpy as np

from spark_jobs.domain.model.history import GroupHistory
from spark_jobs.domain.model.series import Timed
from spark_jobs.domain.model.window import SECOND, AuditSettings, StepWindow

#: So many times between two snapshots of one thing, and this part of all times alike, show how often a recorder takes
#: them: neither a broker that answers now and then, nor a recording that has just begun.
_ENOUGH, _PART = 10, 0.9
#: Two times are alike if they differ by no more than this part.
_TOLERANCE = 0.25


def as_recorded(history: GroupHistory, window: StepWindow, settings: AuditSettings) -> AuditSettings:
    """The settings with the interval that the snapshots of the window show, if it is far from the configured one."""
    polled: list[Timed] = [*history.memberships.values(), *history.routes.values(), *history.offsets.values()]
    of_series = [np.diff(series.times[series.inside(window.read_from, window.end)]) for series in polled]
    if max(map(len, of_series), default=0) < _ENOUGH:
        return settings
    between = np.concatenate(of_series)
    usual = float(np.median(between))
    is_alike = np.abs(between - usual) <= _TOLERANCE * usual
    if is_alike.mean() < _PART or settings.is_about(usual):
        return settings
    return settings.recorded_every(max(round(usual / SECOND), 1) * SECOND)
