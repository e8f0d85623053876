"""Times in which no consumer of a group is connected, and whether consumers come at even distances."""

from collections.abc import Sequence
from itertools import pairwise

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.history import RETRY
from spark_jobs.domain.model.statuses import Status
from spark_jobs.domain.model.window import Time, offline_times

#: Consumers come at even distances, if so many times at least, and none is so many times another one.
_RUNS, _EVEN = 3, 1.5


@cached_with_value
def absences(step: AuditedStep) -> Sequence[Time]:
    """The maximal times of the window without a connection, in order (microseconds)."""
    empty = [interval for interval in step.intervals if interval.status == Status.REPLAYED and not interval.members]
    memberships = (span for spans in step.memberships.values() for span in spans)
    connected = [(span.start, span.end) for span in memberships if empty and span.state.connections]
    return offline_times(((interval.start, interval.end) for interval in empty), connected)


@cached_with_value
def is_between_runs(step: AuditedStep) -> bool:
    """Return whether consumers left at even distances, until the end of the step, and nothing waited each time."""
    first = min((interval.start for interval in step.intervals if interval.members), default=step.window.end)
    left_at = [start for start, _ in absences(step) if start > first]
    apart = [later - earlier for earlier, later in pairwise(left_at)]
    is_even = len(left_at) >= _RUNS and max(*apart, step.window.end - left_at[-1]) < _EVEN * min(apart)
    return is_even and not any(_waits(step, at) for at in left_at)


def _waits(step: AuditedStep, at: int) -> bool:
    """Return whether more than the allowed lag waits in a queue at the last sample until then, or there is none."""
    for samples in (samples for topic, samples in step.history.offsets.items() if not topic.startswith(RETRY)):
        seen = samples.inside(step.window.read_from, at + 1)
        if seen.start == seen.stop or (samples.lag[seen.stop - 1] > step.settings.thresholds.allowed_lag).any():
            return True
    return False
