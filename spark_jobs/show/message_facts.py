"""The published facts of a message: owners of its queue, findings about its offset, and what was retried meanwhile."""

from collections.abc import Iterable, Mapping
from itertools import chain
from operator import itemgetter

from schemas import ALLOCATIONS, FINDINGS, OFFSET_SNAPSHOTS, QUEUE_PROGRESS, REBALANCE_INTERVALS, TOPIC_SNAPSHOTS
from spark_jobs.config import Configuration, audit_settings
from spark_jobs.domain.kernel.audited_step import ALL_HOSTS
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import DEAD_LETTERS, RETRY, Place
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.statuses import LagQuality
from spark_jobs.domain.model.window import SECOND, Time, common, from_micros, islands, to_micros
from spark_jobs.domain.rules import messages_skipped, offset_rewound
from spark_jobs.show.message_outcome import MessageFacts, OwnerSpan, Passage
from spark_jobs.show.rows import Row
from spark_jobs.store.read.kept import kept_since
from spark_jobs.store.read.published import PublishedTables, Scope
from spark_jobs.store.read.stored import Filter, StoredTables, rows

_SPAN = ("consumer_group", "interval_start", "interval_end")
_RULES = (messages_skipped.RULE.name, offset_rewound.RULE.name)
#: Retry topics and dead letters are sampled less often: so many times `max_gap` lie between two samples, at most.
_TOPICS_SEEN = 3
_FINDING = ("consumer_group", "rule", "cause", "evidence")


class PublishedQueue:
    """The published rows of a queue in some time, of every group."""

    def __init__(self, tables: PublishedTables, scope: Scope, topic: str, queue: Place) -> None:
        of_topic = [Filter("topic", "=", topic)]
        of_queue = [*of_topic, *map(Filter, ("broker_name", "queue_id"), "==", queue)]
        owned = (*_SPAN, "membership_view", "owners", "double_owned_cause")
        self._queue = {"topic": topic, "broker_name": queue[0], "queue_id": queue[1]}
        self._allocations = rows(tables.read(ALLOCATIONS, scope, owned, of_queue))
        self._progress = rows(tables.read(QUEUE_PROGRESS, scope, (*_SPAN, "lag_quality"), of_queue))
        self._intervals = rows(tables.read(REBALANCE_INTERVALS, scope, (*_SPAN, "reason"), of_topic))
        self._findings = rows(tables.read(FINDINGS, scope, _FINDING, [*of_topic, Filter("rule", "IN", _RULES)]))

    def facts(self, group: str, passage: Passage, configuration: Configuration, cluster: str) -> MessageFacts:
        """The facts of one group."""
        settings = audit_settings(configuration, cluster, group)
        time = life(passage, settings.max_gap)
        owners = map(_owner, _during(self._allocations, group, time))
        skipped, rewound = (
            self._cause(group, rule, at)
            for rule, at in zip(_RULES, (passage.passed_by, passage.went_back_at), strict=True)
        )
        return MessageFacts(
            passage,
            _without_cuts(owners),
            frozenset(row["reason"] for row in _during(self._intervals, group, time) if row["reason"]),
            any(row["lag_quality"] == LagQuality.UNFILTERED for row in _during(self._progress, group, time)),
            skipped,
            rewound,
            settings.cadence,
            settings.max_gap,
            settings.thresholds.convergence_seconds * SECOND,
        )

    def _cause(self, group: str, rule: str, at: int | None) -> str | None:
        """The cause of the finding of the rule that names the queue at that time."""
        for row in self._findings:
            if at is not None and (row["consumer_group"], row["rule"]) == (group, rule):
                for queue in row["evidence"]["queues"] or ():
                    is_it = self._queue.items() <= queue.items()
                    if is_it and to_micros(queue["started_at"]) <= at < to_micros(queue["ended_at"]):
                        return str(row["cause"])
        return None


def life(passage: Passage, margin: int) -> Time:
    """From when it was stored, as far as that is known, to when it was passed or went back, with a margin around."""
    starts = (passage.stored_after, passage.passed_after, passage.passed_by, passage.newest)
    ends = (passage.stored_by, passage.passed_by or passage.newest, passage.went_back_at)
    start, end = (
        next((at for at in starts if at is not None), 0),
        max((at for at in ends if at is not None), default=0),
    )
    return start - margin, max(start, end) + margin


def _during(published: Iterable[Row], group: str, time: Time) -> Iterable[Row]:
    return (row for row in published if row["consumer_group"] == group and common(_span(row), time))


def _span(row: Row) -> Time:
    return to_micros(row["interval_start"]), to_micros(row["interval_end"])


def _owner(row: Row) -> OwnerSpan:
    ids = tuple(owner["client_id"] for owner in row["owners"])
    return OwnerSpan(*_span(row), ids, row["double_owned_cause"], row["membership_view"] == ALL_HOSTS)


def _without_cuts(owners: Iterable[OwnerSpan]) -> list[OwnerSpan]:
    """The spans in order; those of the same owners without a gap are one."""
    by_owners = by_key(sorted(owners), lambda each: each[2:])
    runs = chain.from_iterable(map(islands, by_owners.values()))
    return sorted(OwnerSpan(run[0].start, max(each.end for each in run), *run[0][2:]) for run in runs)


def retries(
    stored: StoredTables, cluster: str, facts: Mapping[tuple[str, int], MessageFacts]
) -> dict[tuple[str, int], tuple[int | None, int | None]]:
    """By group and offset of messages that were passed: the messages that the group's retry topic and dead letters got
    while a member may have had it; None: unknown.
    """
    passed = {key: each for key, each in facts.items() if each.times.passed_by}
    if not passed or not stored.exists(TOPIC_SNAPSHOTS):
        return {}
    start = min(each.holding_time[0] - _TOPICS_SEEN * each.max_gap for each in passed.values())
    end = max(each.holding_time[1] + _TOPICS_SEEN * each.max_gap for each in passed.values())
    topics = [prefix + group for group in {group for group, _ in passed} for prefix in (RETRY, DEAD_LETTERS)]
    conditions = [Filter("cluster", "=", cluster), Filter("topic", "IN", topics)]
    during = [Filter("captured_at", ">=", from_micros(start)), Filter("captured_at", "<", from_micros(end))]
    snapshots = rows(stored.read(TOPIC_SNAPSHOTS, ("topic", "captured_at", "queues"), [*conditions, *during]))
    of_topic = by_key(snapshots, itemgetter("topic"))
    return {
        (group, offset): (
            _growth(of_topic.get(RETRY + group, ()), each.holding_time),
            _growth(of_topic.get(DEAD_LETTERS + group, ()), each.holding_time),
        )
        for (group, offset), each in passed.items()
    }


def _growth(snapshots: Iterable[Row], time: Time) -> int | None:
    """By how much the ends of a topic's queues rose from the last snapshot before a time to the first one after it."""
    ends = sorted(
        (to_micros(row["captured_at"]), sum(queue["max_offset"] or 0 for queue in row["queues"])) for row in snapshots
    )
    before, after = [end for at, end in ends if at <= time[0]], [end for at, end in ends if at >= time[1]]
    return after[0] - before[-1] if before and after else None


def deleted_before(stored: StoredTables, interval: Interval) -> int | None:
    """The time before which snapshots of offsets were deleted, if that is in the interval or after it."""
    since = kept_since(stored, OFFSET_SNAPSHOTS) if stored.exists(OFFSET_SNAPSHOTS) else None
    return None if since is None or since <= interval.start else to_micros(since)
