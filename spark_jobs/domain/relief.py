"""What each single change would make of the utilisation of a member that is near its limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from spark_jobs.domain.phrases import count, percent_text
from spark_jobs.domain.throughput import AS_SET, Changes


class Demand(NamedTuple):
    """What comes to a member, in messages a second: in all, and into the queue (or, on average, each of the queues of
    the topic) that gets most. Of the topic of which it owns most queues: how many it `owned`, all `readable` ones, and
    the `members`, connections; 0: unknown.
    """

    came: float
    of_queue: float
    owned: int
    readable: int
    members: int

    @property
    def more_members(self) -> int | None:
        """So many that an even share is a queue less than this member owns; None: it owns one, or it is unknown."""
        if self.owned < 2:
            return None
        return max(-(-self.readable // (self.owned - 1)) - self.members, 1)

    def used(self, listener: float, of_queue: float) -> float:
        """The part of its limit, with these `Rates`."""
        return max(self.came / listener, self.of_queue / of_queue)


#: A member's `Throughput` with changed settings: messages a second of its listener, and of each of its queues.
RatesWith = Callable[[Changes], tuple[float, float]]


def relief(demand: Demand, rates: RatesWith, response_ms: float) -> dict[str, float | None]:
    """The `utilisation`, and the one that each change would leave, by their names; None: it cannot be made.

    Twice the queues are each given half of the messages, and a member that has a queue less that part less.
    """
    as_set, more = rates(AS_SET), demand.more_members
    fewer = demand._replace(came=demand.came * (demand.owned - 1) / demand.owned) if more else None
    return {
        "utilisation": demand.used(*as_set),
        "with_twice_the_threads": demand.used(*rates(Changes(threads_times=2))),
        "with_more_members": fewer.used(*as_set) if fewer else None,
        "with_twice_the_queues": demand._replace(of_queue=demand.of_queue / 2).used(*as_set),
        "with_half_the_response_time": demand.used(*rates(Changes(response_ms=response_ms / 2))),
        "with_no_pull_interval": demand.used(*rates(Changes(pull_interval_ms=0))),
        "more_members": more,
    }


_WHAT = {
    "with_twice_the_threads": "twice the consume threads",
    "with_more_members": "{members}",
    "with_twice_the_queues": "twice the queues",
    "with_half_the_response_time": "a listener that is twice as fast",
    "with_no_pull_interval": "a pull interval of 0",
}


def best_change(measures: Mapping[str, float | None]) -> str:
    """A sentence: which of the changes of `relief` leaves the least, of equals the first."""
    now = measures["utilisation"] or 0.0
    left = {name: value for name in _WHAT if (value := measures[name]) is not None}
    best = min(left, key=lambda name: left[name])
    if percent_text(left[best]) == percent_text(now):
        return "No single change of its threads, pulls, listener, queues or members would help."
    what = _WHAT[best].format(members=count(int(measures["more_members"] or 0), "more member"))
    return f"Of all single changes, {what} would help most: {percent_text(left[best])} instead of {percent_text(now)}."
