"""Client reports of listeners that take longer than `consumeTimeout`: a client that does not consume in order sends
such messages back, while the listener continues with them (`ProcessQueue.cleanExpiredMsg`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.consume_statuses import status_samples
from spark_jobs.domain.model.history import ClientHistory, ClientState
from spark_jobs.domain.model.window import SECOND, StepWindow

_MINUTE_MS = 60_000


@dataclass(frozen=True)
class Reported:
    """Reports of a group's clients in a step's window: whether any answered, or reports a failed message; `slow`: by
    client id, the longest response time (ms) and its timeout (minutes) of those that take longer.
    """

    answered: bool
    fails: bool
    slow: Mapping[str, tuple[float, int]]

    @property
    def only_time_out(self) -> bool:
        """Return whether time is why messages are sent back: no client reports a failure."""
        return bool(self.slow) and not self.fails

    @property
    def timeout(self) -> int:
        """The longest timeout of those that take longer, in microseconds; 0: none does."""
        return max((minutes * 60 * SECOND for _, minutes in self.slow.values()), default=0)

    @property
    def measures(self) -> Mapping[str, float]:
        """Response time and timeout of the slowest client; empty: none takes longer."""
        if not self.slow:
            return {}
        consume_rt_ms, minutes = max(self.slow.values())
        return {"consume_rt_ms": consume_rt_ms, "consume_timeout_minutes": minutes}


def reported(step: AuditedStep) -> Reported:
    """Return what the group's clients report in the window of the step."""
    answered, fails, slow = False, False, {}
    for client_id, client in sorted(step.history.clients.items()):
        rows = _rows(client, step.window)
        samples = status_samples(client)
        answered = answered or bool(rows)
        fails = fails or bool((samples.failed_tps[rows] > 0).any())
        excess = [
            (float(samples.consume_rt_ms[row]), minutes)
            for row in rows
            for minutes in [_timeout(client.series.states[client.series.codes[samples.snapshot[row]]])]
            if minutes is not None and samples.consume_rt_ms[row] > minutes * _MINUTE_MS
        ]
        if excess:
            slow[client_id] = max(excess)
    return Reported(answered, fails, slow)


def _rows(client: ClientHistory, window: StepWindow) -> Sequence[int]:
    """The rows of its status samples inside the window."""
    seen = client.series.inside(window.read_from, window.end)
    return range(*np.searchsorted(status_samples(client).snapshot, (seen.start, seen.stop)).tolist())


def _timeout(state: ClientState) -> int | None:
    """Minutes after which the client sends a message back; None: it does not, or does not say so."""
    return None if state.consume_orderly else state.consume_timeout_minutes
