"""When another process began to serve a broker: a master stopped, came back, or gave way to another one.

It does not begin a rebalance interval: no queue comes or goes, and a client that sees it asks at another address, but
does not rebalance for it (`MQClientInstance.updateTopicRouteInfoFromNameServer`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spark_jobs.domain.model.history import Serving
from spark_jobs.domain.model.series import Series
from spark_jobs.domain.model.window import StepWindow


class Switch(NamedTuple):
    """A broker was asked at the address `old` until the route snapshot `before`, and at `new` from the one `at` on,
    both in microseconds; None: the route did not name it.
    """

    broker_name: str
    before: int
    at: int
    old: str | None
    new: str | None


def switches(serving: Series[Serving | None], window: StepWindow) -> list[Switch]:
    """Those inside the step's window, in the order of time; what was not recorded tells of none."""
    seen = serving.inside(window.read_from, window.end)
    times, codes = serving.times[seen], serving.codes[seen]
    found: list[Switch] = []
    for place in np.flatnonzero(np.diff(codes)).tolist():
        before, after = (serving.states[code] for code in codes[place : place + 2])
        if before is not None and after is not None:
            old, new = dict(before), dict(after)
            moved = sorted({name for name, _ in before ^ after})
            at = int(times[place]), int(times[place + 1])
            found += [Switch(name, *at, old.get(name), new.get(name)) for name in moved]
    return found
