"""The measures of a finding in words, each with its unit."""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from spark_jobs.domain.model.intervals import duration_text
from spark_jobs.domain.phrases import percent_text

#: By the name of a measure, in the order of reading: `{:message}` is a number of messages, `{:s}` a time.
_PHRASES: Mapping[str, str] = {
    "utilization": "the busiest member uses {:%} of what it can consume",
    "with_twice_the_threads": "{:%} with twice the threads",
    "with_more_members": "{:%} with more members",
    "more_members": "{:more member} would leave it a queue less",
    "with_twice_the_queues": "{:%} with twice the queues",
    "with_half_the_response_time": "{:%} with half the response time",
    "with_no_pull_interval": "{:%} without a pull interval",
    "produced_max": "{:message} came to the queue with most",
    "max_over_mean": "{} times the mean",
    "mean": "{:message} to a queue on average",
    "busy_threads": "{:thread} busy",
    "consume_threads": "of {:consume thread}",
    "consume_rt_ms": "the listener takes {} ms a message",
    "usual_consume_rt_ms": "{} ms before",
    "consume_timeout_minutes": "consumeTimeout is {:minute}",
    "per_pull": "a pull brings {:message}",
    "pull_rt_ms": "a pull takes {} ms",
    "usual_pull_rt_ms": "a pull took {} ms before",
    "pull_interval_ms": "the pull interval is {} ms",
    "cached_count": "{:message} of the queue cached",
    "cached_mib": "{} MiB of the queue cached",
    "cached_span": "the first and the last cached message are {:offset} apart",
    "limit": "the limit is {}",
    "members_replaced": "{:member} replaced",
    "waves": "in {:wave}",
    "rebalances": "{:rebalance}",
    "comings": "joined {:time}",
    "goings": "left {:time}",
    "new_connections": "{:new connection}",
    "seconds_apart": "{:s} apart",
    "changes": "{:change}",
    "queues_moved": "{:queue} changed owner",
    "minimum_moves": "the allocation needed {:move}",
    "moved_per_least_move": "that is {} times as many as needed",
    "longest_pause_seconds": "a queue paused for {:s} at most",
    "usual_pause_seconds": "usually for {:s}",
    "pause_resolution_seconds": "samples may hide {:s} of a pause",
    "lock_wait_seconds": "a queue waited {:s} for a lock",
    "queues_handed_over": "{:queue} handed over",
    "in_flight_max": "at most {:message} in flight at one time",
    "in_flight_total": "{:message} in flight in all",
    "unknown_queues": "{:queue} with an unknown offset",
    "fewest_queues": "one member owns {:queue}",
    "most_queues": "another one {:queue}",
    "least_consumed": "one member consumed {:message}",
    "most_consumed": "another one {:message}",
    "history": "{:message} waited when the group began",
    "left": "{:message} left",
    "lag_first": "{:message} waited at first",
    "lag_last": "{:message} at last",
    "lag": "{:message} waited",
    "waiting": "{:message} waited behind it",
    "last_known_backlog": "{:message} waited when the backlog was last known",
    "age_ms": "the oldest had waited {:ms}",
    "age_seconds": "the oldest had waited {:s}",
    "oldest_message_seconds": "the oldest message had waited {:s}",
    "reserved_seconds": "the broker keeps messages for {:s}",
    "came_meanwhile": "{:message} came meanwhile",
    "produced": "{:message} produced meanwhile",
    "backlog_end": "{:message} waited at the end",
    "consumed": "{:message} consumed",
    "consumed_again": "{:message} consumed again",
    "consumed_again_max": "at most {:message} with what samples do not show",
    "consumed_per_second": "{} messages/s consumed",
    "failed_per_second": "{} messages/s failed",
    "failed_percent": "{} % of all",
    "sent_back": "{:message} sent back",
    "redelivered": "{:message} delivered again",
    "dead_letters": "{:message} given up",
    "deleted_per_second": "{} messages/s deleted by the broker",
    "consumer_offset": "the consumer offset is {}",
    "min_offset": "the oldest offset of the broker is {}",
    "beyond_end": "the offset is {:message} beyond the end",
    "rewinds": "the offset of the queue went back {:time}",
    "rewound": "by {:message} in all",
    "rewound_max": "by {:message} at most at one time",
    "rewound_in_all": "offsets of all queues by {:message}",
    "skipped": "{:message} skipped",
    "skipped_together": "{:message} in all queues at that time",
    "skipped_in_all": "{:message} in all",
    "usual_seconds": "commits are usually {:s} apart",
    "clock_behind_seconds": "the clock is {:s} behind",
    "all_of_one_broker": "all of these queues, and no others, are of one broker",
}
_ORDER = {name: place for place, name in enumerate(_PHRASES)}


#: Numbers of this size are shown without decimals.
_WHOLE = 100


class _Amount(float):
    """A number that is formatted with its unit: `s`, `ms` and `%`, or the thing that is counted."""

    def __format__(self, unit: str) -> str:
        number = f"{float(self):,.0f}" if self >= _WHOLE else f"{float(self):,.2f}".rstrip("0").rstrip(".")
        if unit in ("s", "ms"):
            return duration_text(timedelta(seconds=self if unit == "s" else self / 1000))
        if unit == "%":
            return percent_text(self)
        return number if not unit else f"{number} {unit}{'' if number == '1' else 's'}"


def measures_text(measures: Iterable[tuple[str, float | None]]) -> str:
    """A sentence; a measure that is null is named, as unknown."""
    in_order = sorted(measures, key=lambda measure: _ORDER.get(measure[0], len(_ORDER)))
    text = ", ".join(_phrase(*measure) for measure in in_order)
    return f"{text[:1].upper()}{text[1:]}."


def _phrase(name: str, value: float | None) -> str:
    words = name.replace("_", " ")
    return f"{words} unknown" if value is None else _PHRASES.get(name, f"{words} {{}}").format(_Amount(value))
