"""Client reports of listeners that take longer than `consumeTimeout`: a client that does not consume in order sends
such messages back, while the listener continues with them (`ProcessQueue.cleanExpiredMsg`).
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.consume_statuses import rows_in, status_samples

MINUTE_MS = 60_000


class Reported(NamedTuple):
    """Reports of a group's clients in a step's window. `longest_ms`: by client id, the longest response time of its
    listener (an average of a minute), NaN: unknown; `fails`: any reports a failed message; `slow`: by client id, the
    longest response time (ms) of a listener, and its timeout (minutes), which it exceeds.
    """

    longest_ms: Mapping[str, float]
    fails: bool
    slow: Mapping[str, tuple[float, int]]


def reported(step: AuditedStep) -> Reported:
    """The reports of the group's listeners."""
    longest, fails, slow = dict[str, float](), False, dict[str, tuple[float, int]]()
    for client_id, client in sorted(step.history.clients.items()):
        samples, rows = status_samples(client), rows_in(client, step.window.read_from, step.window.end)
        if len(rows):
            longest[client_id] = float(np.fmax.reduce(samples.consume_rt_ms[rows]))
        fails = fails or bool((samples.failed_tps[rows] > 0).any())
        excess = [
            (float(samples.consume_rt_ms[row]), minutes)
            for row in rows.tolist()
            for state in [client.series.states[client.series.codes[samples.snapshot[row]]]]
            for minutes in [None if state.consume_orderly else state.consume_timeout_minutes]
            if minutes is not None and samples.consume_rt_ms[row] > minutes * MINUTE_MS
        ]
        if excess:
            slow[client_id] = max(excess)
    return Reported(longest, fails, slow)
