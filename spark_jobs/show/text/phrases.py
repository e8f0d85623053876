"""Lines of text, and the phrases that sentences are made of."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import groupby
from typing import NamedTuple

from spark_jobs.domain.model.causes import DoubleOwnedCause, UnassignedCause
from spark_jobs.domain.model.intervals import duration_text
from spark_jobs.domain.model.severities import WORST_FIRST
from spark_jobs.domain.model.statuses import Reason, Trigger
from spark_jobs.domain.phrases import joined_names, percent_text
from spark_jobs.domain.rocketmq.strategies import Variant


class TextLine(NamedTuple):
    """One line of text; `indent`: levels; `part`: title, heading, advice, a severity, or empty."""

    text: str
    indent: int
    part: str = ""


#: Different shares that are listed, at most; of more only the smallest and largest are given.
_MOST_PARTS = 8

#: Why queues had no owner; `{}` is the client id to which they are assigned.
UNASSIGNED: Mapping[str, str] = {
    UnassignedCause.BROKER_NOT_READABLE: "clients skip queues of a broker without read permission",
    UnassignedCause.BEYOND_READ_QUEUES: "clients skip queues beyond readQueueNums (writeQueueNums is larger)",
    UnassignedCause.GROUP_OFFLINE: "no member was connected",
    UnassignedCause.MIXED_STRATEGIES: "assigned to {} by a strategy that it does not use",
    UnassignedCause.MIXED_CLIENTS: "assigned to {} as clients of another language or version compute it",
    UnassignedCause.DUPLICATE_CLIENT_ID: "assigned to a later index of {}, which no connection computes",
    UnassignedCause.MEMBER_BROADCASTS: "assigned to {}, which broadcasts: it consumes for itself only",
    UnassignedCause.MEMBER_NOT_SUBSCRIBED: "assigned to {}, which does not subscribe to the topic",
    UnassignedCause.MACHINE_ROOM_BUG: "MACHINE_ROOM in Go, and in Java up to 4.7.1, takes queues of other rooms "
    "instead",
    UnassignedCause.ROOM_FILTER: "MACHINE_ROOM skips brokers outside the configured rooms, by design",
    UnassignedCause.CONFIG_HOLE: "in no configured list",
    UnassignedCause.WAITS_FOR_LOCK: "{} waits for the broker's lock, which a broker frees 60 s after the last renewal",
    UnassignedCause.ROUTE_OUTDATED: "{} still has the former route, without this",
    UnassignedCause.NO_VIRTUAL_NODES: "no member is on the hash ring (virtualNodeCnt is 0)",
    UnassignedCause.NOT_LISTED: "all members report their queues, without this",
}
#: Why several connections owned some queues.
DOUBLE_OWNED: Mapping[str, str] = {
    DoubleOwnedCause.POP_SHARED: "each message goes to one of them",
    DoubleOwnedCause.DUPLICATE_CLIENT_ID: "the owners share one client id",
    DoubleOwnedCause.MIXED_STRATEGIES: "the owners use different strategies",
    DoubleOwnedCause.MIXED_CLIENTS: "the owners' languages or versions compute the same strategy differently",
    DoubleOwnedCause.CONFIG_OVERLAP: "in several configured lists",
    DoubleOwnedCause.ROUTE_OUTDATED: "some of the owners still have the former route",
}
#: Whose rules a member computes its strategy by.
VARIANTS: Mapping[Variant, str] = {
    Variant.JAVA: "",
    Variant.JAVA_TO_4_7_1: " in Java up to 4.7.1",
    Variant.GO: " of Go",
}
#: What set off a rebalance; `{}` is whom or what it is about.
TRIGGERS: Mapping[str, str] = {
    # Out of the route, or without read permission.
    Trigger.BROKER_GONE: "no queue of {} was readable any more",
    Trigger.BROKER_BACK: "queues of {} were readable again",
    Trigger.BROKER_SWITCHED: "another process began to serve {}",
    Trigger.QUEUES_REMOVED: "the queues {} were removed",
    Trigger.QUEUES_ADDED: "the queues {} were added",
    Trigger.MEMBER_RESTARTED: "{} restarted",
    Trigger.MEMBER_EXPIRED: "{} stopped answering and expired",
    Trigger.MEMBER_LEFT: "{} left",
    Trigger.MEMBER_JOINED: "{} joined",
    Trigger.STRATEGY_CHANGED: "{} changed strategy",
    Trigger.SUBSCRIPTION_CHANGED: "{} changed subscription",
}
#: Why nothing was replayed.
REASONS: Mapping[str, str] = {
    Reason.NO_ROUTE_SNAPSHOT: "no route of the topic",
    Reason.NO_MEMBERSHIP_SNAPSHOT: "no list of the group's members",
    Reason.DELETED: "The group was deleted: no broker listed it any more.",
    Reason.TOPIC_DELETED: "The topic was deleted: no broker had it any more.",
    Reason.NO_ROUTE: "The topic had no broker in its route, so clients keep the queues they had.",
    Reason.STATIC_TOPIC: "The topic is a static one: its clients divide logical queues, which are mapped to queues of "
    "several brokers. That is not replayed, and its backlog is not measured.",
    Reason.LITE: "The topic is the parent of lite topics: each client subscribes to some of them at the broker, "
    "which keeps a queue for each of them. No strategy divides them, and their backlog is not recorded.",
    Reason.BROADCASTING: "The group broadcasts: every member consumes every queue, nothing is allocated, and the "
    "brokers keep no offsets.",
    Reason.BROKER_REBALANCE: "The broker assigns the queues (POP), and the recording does not say how: record its "
    "message request modes (`request_modes`). With gRPC clients no queue has an owner.",
    Reason.POP_ALL_QUEUES: "The members use POP, and each of them may pop every queue (popShareQueueNum is 0 or less, "
    "or covers all other members), so no queue has an owner.",
    Reason.CONSUMED_THROUGH_PROXY: "No broker lists a member, and the cluster has a proxy: only the proxy knows its "
    "clients, so the owners cannot be replayed.",
    Reason.CONSUMED_BY_UNSEEN: "No broker lists a member, but committed offsets advance: the consumers were not "
    "recorded, so the owners cannot be replayed.",
    Reason.ASSIGNED_BY_HAND: "No member subscribes to the topic, and the offsets of these queues advance: members "
    "assign queues to themselves (`assign()`), so their owners are not known. Other queues are not theirs.",
    Reason.NOT_SUBSCRIBED: "No member subscribes to the topic (any more), so no strategy divides its queues. A "
    "consumer that assigns queues to itself may consume them; the backlog is not measured.",
    Reason.NO_READABLE_QUEUE: "The topic has no readable queue, so clients keep the queues they had, and new ones get "
    "none.",
    Reason.UNKNOWN_STRATEGY: "The owners are unknown: a member runs a class that is none of RocketMQ's strategies, or "
    "the members report queues that no strategy explains. Configure `strategy` of the group.",
    Reason.BROKER_LACKS_STRATEGY: "The broker assigns the queues, and has only AVG and AVG_BY_CIRCLE: a member that "
    "uses another strategy gets none (`clientRebalance` is false).",
    Reason.SETTINGS_MISSING: "The strategy cannot be replayed without its rooms or queue lists, so who owned the "
    "queues is unknown: configure them (STRATEGY_UNKNOWN names the key).",
    Reason.ROOM_UNRESOLVABLE: "The configured patterns find no room for a client or broker, so clients keep the queues "
    "they had.",
}


def severity_counts(severities: Iterable[str] | Mapping[str, int]) -> list[str]:
    """How often each severity occurs, the worst first: `1 ERROR`, `2 WARN`; a mapping says how often."""
    counts = Counter(severities)
    return [f"{counts[severity]} {severity}" for severity in WORST_FIRST if counts[severity]]


def positions_text(positions: Sequence[int]) -> str:
    """Ascending positions: `index 0`, `indexes 0 and 1`, `indexes 0 to 3 and 5`."""
    runs = [
        [position for _, position in run]
        for _, run in groupby(enumerate(positions), lambda placed: placed[1] - placed[0])
    ]
    parts = [
        text
        for run in runs
        for text in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(position) for position in run])
    ]
    return f"index{'' if len(positions) == 1 else 'es'} {joined_names(parts)}"


def shares_text(sizes: Mapping[int, int], member_count: int | None = None) -> str:
    """Queues per position: `index 0 gets 6, indexes 1 and 2 get 5`; `every index gets 4` for all `member_count`."""
    positions_per_size: dict[int, list[int]] = {}
    for position, size in sorted(sizes.items()):
        positions_per_size.setdefault(size, []).append(position)
    if len(positions_per_size) > _MOST_PARTS:
        return f"an index gets from {min(positions_per_size):,} to {max(positions_per_size):,}"
    if len(positions_per_size) == 1 and len(sizes) == member_count and len(sizes) > 1:
        return f"every index gets {_size(next(iter(positions_per_size)))}"
    return ", ".join(
        f"{positions_text(positions)} {'gets' if len(positions) == 1 else 'get'} {_size(size)}"
        for size, positions in positions_per_size.items()
    )


def _size(size: int) -> str:
    return f"{size:,}" if size else "none"


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
    "different_per_second": "at most {} different ones/s",
    "failed_per_second": "{} messages/s failed",
    "failed_percent": "{} % of all",
    "sent_back": "{:message} sent back",
    "redelivered": "{:message} delivered again",
    "not_retried": "about {:message} did not come back",
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
    "has_backlog": "the group falls behind there",
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
