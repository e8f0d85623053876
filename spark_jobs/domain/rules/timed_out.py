"""Client reports of listeners that take longer than `consumeTimeout`: a client that does not consume in order sends
such messages back, while the listener continues with them (`ProcessQueue.cleanExpiredMsg`).
"""

from collections.abc import Mapping, Sequence, Set

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.consume_statuses import status_samples
from spark_jobs.domain.model.history import ClientHistory, ClientState
from spark_jobs.domain.model.window import StepWindow

_MINUTE_MS = 60_000


#: By client id, the longest response time (ms) of a listener, and its timeout (minutes), which it exceeds.
Slow = Mapping[str, tuple[float, int]]


def reported(step: AuditedStep) -> tuple[Set[str], bool, Slow]:
    """Reports of a group's clients in a step's window: those that report their listeners; whether any reports a failed
    message; and those whose listener takes longer.
    """
    reporting, fails, slow = set[str](), False, {}
    for client_id, client in sorted(step.history.clients.items()):
        rows, samples = _rows(client, step.window), status_samples(client)
        if rows:
            reporting.add(client_id)
        fails = fails or bool((samples.failed_tps[rows] > 0).any())
        excess = [
            (float(samples.consume_rt_ms[row]), minutes)
            for row in rows
            for minutes in [_timeout(client.series.states[client.series.codes[samples.snapshot[row]]])]
            if minutes is not None and samples.consume_rt_ms[row] > minutes * _MINUTE_MS
        ]
        if excess:
            slow[client_id] = max(excess)
    return reporting, fails, slow


def _rows(client: ClientHistory, window: StepWindow) -> Sequence[int]:
    """The rows of its status samples inside the window."""
    seen = client.series.inside(window.read_from, window.end)
    return range(*np.searchsorted(status_samples(client).snapshot, (seen.start, seen.stop)).tolist())


def _timeout(state: ClientState) -> int | None:
    """Minutes after which the client sends a message back; None: it does not, or does not say so."""
    return None if state.consume_orderly else state.consume_timeout_minutes
