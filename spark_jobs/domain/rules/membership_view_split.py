"""MEMBERSHIP_VIEW_SPLIT: the brokers that host a topic list different members of a group."""

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from itertools import combinations, groupby, pairwise
from typing import Any, NamedTuple

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.client_spans import client_spans
from spark_jobs.domain.kernel.members import is_grpc
from spark_jobs.domain.kernel.unseen import by_proxies
from spark_jobs.domain.model.finding import ConflictingValue, Finding, RuleHit
from spark_jobs.domain.model.severities import ERROR
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.model.window import Time, common, islands, overlaps
from spark_jobs.domain.phrases import count, names_text
from spark_jobs.domain.rules.commands import CLUSTER_LIST, CONNECTIONS_OF_A_BROKER
from spark_jobs.domain.rules.conflicting_values import changing_within
from spark_jobs.domain.rules.links import brokers_that_list_fewer
from spark_jobs.domain.rules.name_servers import unknown_to
from spark_jobs.domain.rules.rule import Cause, Rule

BROKERS_DISAGREE = "BROKERS_DISAGREE"
LIST_CHANGES = "LIST_CHANGES"
TWO_BROKERS = "TWO_BROKERS"
PROXIES_DISAGREE = "PROXIES_DISAGREE"
STALE_LIST = "STALE_LIST"
MISSES_BROKERS = "MISSES_BROKERS"


class Split(NamedTuple):
    """Views in force when some of them begin (`begun`), sorted by name, and until when (microseconds) those may last.
    `seen_at`: the last snapshots that showed them to differ, which they must do for `minimum_seen_seconds`.
    """

    start: int
    end: int
    views: Sequence[RebalanceInterval]
    begun: Sequence[RebalanceInterval]
    seen_at: int
    minimum_seen_seconds: float

    @property
    def not_everywhere(self) -> Set[str]:
        """The client ids that some of the views list, and others do not."""
        ids = [frozenset(view.client_ids) for view in self.views]
        return frozenset[str]().union(*ids) - frozenset.intersection(*ids)

    def hit(self, cause: str, **more: Any) -> RuleHit:
        """A hit of the topic for all of that time."""
        return RuleHit(
            *(self.start, self.end, cause, self.begun[0].topic),
            seen_at=self.seen_at,
            minimum_seen_seconds=self.minimum_seen_seconds,
            **more,
        )


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (topic, moment at which views of single brokers begin), or two proxies and a time in which they differ;
    one condition per group, topic and cause.
    """
    yield from _proxy_hits(step)
    for topic, of_topic in groupby(split_views(step), key=lambda split: split.begun[0].topic):
        for splits in islands(of_topic):
            brokers = {view.view for split in splits for view in split.views}
            time = splits[0].start, max(split.end for split in splits)
            changes, in_turn = _changes(step, brokers, time), _addresses_in_turn(step, topic, brokers)
            hint = in_turn or unknown_to(step, topic, brokers, time)
            for split in splits:
                cause = TWO_BROKERS if in_turn else LIST_CHANGES if changes else _disagreement(step, split)
                yield split.hit(
                    cause,
                    weight=len(split.not_everywhere),
                    measures={"changes": changes} if changes else None,
                    conflicting_values=tuple(
                        ConflictingValue(view.view, tuple(dict.fromkeys(view.client_ids))) for view in split.views
                    ),
                    hint=hint,
                )


def _disagreement(step: AuditedStep, split: Split) -> str:
    """Why brokers list different members, if their lists and addresses change no more than usual."""
    if split.begun[0].reason is Reason.BROADCASTING:
        return MISSES_BROKERS
    spans = [span for each in split.not_everywhere for span in client_spans(step).get(each, ())]
    answers = any(span.state.answered and span.seen_at > split.start for span in spans)
    return STALE_LIST if spans and not answers else BROKERS_DISAGREE


def _proxy_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (time in which two proxies differ, interval of an ordinary topic that is consumed through proxies)."""
    for time, values in _differing_proxies(step):
        for interval in step.intervals:
            shared = common(time, (interval.start, interval.end))
            if shared and interval.is_ordinary and interval.reason is Reason.CONSUMED_THROUGH_PROXY:
                yield RuleHit(
                    *(*shared, PROXIES_DISAGREE, interval.topic),
                    minimum_seconds=step.settings.thresholds.settled_seconds,
                    conflicting_values=values,
                )


def _differing_proxies(step: AuditedStep) -> Iterator[tuple[Time, tuple[ConflictingValue, ...]]]:
    """The times in which two proxies list members, and not the same ones, with both lists. Proxies exchange
    them (`HeartbeatSyncer`); those of gRPC do not count, as they allocate no queues.
    """
    lists = by_proxies(step.memberships)
    for first, second in combinations(sorted(lists), 2):
        for span in lists[first]:
            for other, start, end in overlaps(span.start, span.end, lists[second]):
                ids = [dict.fromkeys(each.state.client_ids) for each in (span, other)]
                if all(ids) and ids[0].keys() != ids[1].keys() and not any(map(is_grpc, ids[0] | ids[1])):
                    yield (start, end), tuple(map(ConflictingValue, (first, second), map(tuple, ids)))


def split_views(step: AuditedStep) -> Iterator[Split]:
    """One per (ordinary topic, moment at which intervals of single brokers begin), if brokers were seen to list
    different members since. If they agree only for moments, a hit lasts until they differ again.
    """
    listed = (each for each in step.intervals if each.reason in (None, Reason.BROADCASTING) and each.is_ordinary)
    views = [interval for interval in listed if interval.view != ALL_HOSTS]
    for _, topic_intervals in groupby(views, key=lambda interval: interval.topic):
        yield from _without_pauses(step, list(_splits(step, topic_intervals)))


def _splits(step: AuditedStep, topic_intervals: Iterable[RebalanceInterval]) -> Iterator[Split]:
    last: dict[str, RebalanceInterval] = {}
    for start, began_together in groupby(topic_intervals, key=lambda interval: interval.start):
        begun = {interval.view: interval for interval in began_together}
        last |= begun
        lists = [last[name] for name in sorted(last) if last[name].end > start]
        seen_at = _seen_to_differ(step, lists, start)
        if seen_at is not None:
            begun_lists = [begun[name] for name in sorted(begun)]
            end = max(interval.end for interval in begun_lists)
            thresholds = step.settings.thresholds
            # They must be seen to differ for longer, if only in duplicates.
            only_duplicates = len(lists) > 1 and len({frozenset(interval.client_ids) for interval in lists}) == 1
            minimum = thresholds.persistent_after_seconds if only_duplicates else thresholds.settled_seconds
            yield Split(start, end, lists, begun_lists, seen_at, minimum)


def _without_pauses(step: AuditedStep, splits: Iterable[Split]) -> Iterator[Split]:
    """The splits of a topic; from `flapping_times` on with pauses of a heartbeat or less, each lasts until the next."""
    longest = changing_within(step.settings)
    for near in islands(splits, longest):
        end = max(split.end for split in near)
        comes_back = len(list(islands(near))) >= step.settings.thresholds.flapping_times
        pause = longest if comes_back else 0
        yield from (split._replace(end=min(split.end + pause, end)) for split in near)


def _seen_to_differ(step: AuditedStep, views: Sequence[RebalanceInterval], start: int) -> int | None:
    """Until when (microseconds) two brokers were seen to differ since `start`, or one view was seen; None: never."""
    if len(views) == 1:
        return views[0].seen_at
    differ_until = []
    for interval, other in combinations(views, 2):
        until = min(interval.seen_at or start, other.seen_at or start)
        both_known = all(_is_known(step, broker_name, start, until) for broker_name in (interval.view, other.view))
        if interval.client_ids != other.client_ids and both_known:
            differ_until.append(until)
    return max(differ_until, default=None)


def _is_known(step: AuditedStep, broker_name: str, start: int, until: int) -> bool:
    """Return whether a broker was asked from `start` to `until`, or before and after both with no round missed."""
    series, window = step.history.memberships[broker_name], step.window
    inside = series.inside(start, until + 1)
    if inside.start < inside.stop:
        return True
    known = series.inside(window.read_from, window.end)
    if not known.start < inside.start < known.stop or until < start:
        return False
    before, after = series.times[inside.start - 1 : inside.start + 1].tolist()
    return bool(after - before < 2 * step.settings.cadence)


def _changes(step: AuditedStep, brokers: Collection[str], time: Time) -> int:
    """How often the list of one broker changed meanwhile; 0: less than `flapping_times` more often than another's."""
    changes = [
        sum(time[0] <= now.start < time[1] and now.state.client_ids != before.state.client_ids for before, now in pairs)
        for pairs in (pairwise(step.memberships.get(broker, ())) for broker in brokers)
    ]
    return max(changes) if max(changes) - min(changes) >= step.settings.thresholds.flapping_times else 0


def _addresses_in_turn(step: AuditedStep, topic: str, brokers: Collection[str]) -> str | None:
    """A sentence on a broker that came back to a former address at least `flapping_times`; None: none did. A name
    server keeps the address of whichever broker registered last under the name (every 30 s, `RouteInfoManager`).
    """
    for broker in sorted(brokers):
        moves = [each for each in step.switches.get(topic, ()) if each.broker_name == broker and each.old and each.new]
        returns = sum(each.new in {move.old for move in moves[:place]} for place, each in enumerate(moves))
        if returns >= step.settings.thresholds.flapping_times:
            addresses = sorted({str(address) for each in moves for address in (each.old, each.new)})
            return f"{broker} was at {names_text(addresses)} in turn: {count(len(moves), 'change')} of its address."
    return None


def _detail(finding: Finding) -> str:
    """Which brokers do not list which of the clients that another broker lists, and how often a list changed."""
    views = finding.evidence.conflicting_values or ()
    listed = {client_id for view in views for client_id in view.client_ids or ()}
    if finding.cause == STALE_LIST:
        everywhere = listed.intersection(*(view.client_ids or () for view in views))
        left = ((view.name, sorted(set(view.client_ids or ()) - everywhere)) for view in views)
        return ", ".join(f"{broker} still lists {names_text(ids)}" for broker, ids in left if ids)
    missing = ((view.name, sorted(listed.difference(view.client_ids or ()))) for view in views)
    texts = [f"{broker} does not list {names_text(ids)}" for broker, ids in missing if ids]
    changes = finding.evidence.measured.get("changes")
    return ", ".join([*texts, *([f"and its list changed {count(int(changes), 'time')}"] if changes else [])])


def _broker(finding: Finding) -> str | None:
    """The broker that lists fewer, if only one does."""
    brokers = list(map(str, brokers_that_list_fewer(finding)))
    return brokers[0] if len(brokers) == 1 else None


RULE = Rule(
    name="MEMBERSHIP_VIEW_SPLIT",
    ended="all of them listed the same members again",
    headline="Brokers list different members of {groups}",
    detail=_detail,
    broker=_broker,
    meaning="Brokers of a topic, or proxies, list different members of the group. Each client asks one of them, so "
    "some queues are consumed twice and others by no consumer.",
    decided_by="Snapshots of two brokers or proxies differ for 50 s, or 150 s if only in duplicates. After "
    "`flapping_times` (3) differences, shorter agreements do not end it. A broker without members does not count while "
    "another lists some. ERROR.",
    causes={
        BROKERS_DISAGREE: Cause(
            "two brokers list different client ids",
            "Every client must send heartbeats to every broker of the topic. Check for clients that cannot reach a "
            "broker, a name server whose route lacks one, an overloaded broker, or half-open connections.",
            commands=(CONNECTIONS_OF_A_BROKER,),
        ),
        STALE_LIST: Cause(
            "the same, and no client snapshot got an answer of those that only some list, though some were asked",
            "The clients are gone, and the broker lists them until 120 s after their last heartbeat: it missed that "
            "they left. Look in its log for `drop this event CLOSE` (RocketMQ issue #6967), and at its load and "
            "network. Others that ask it for the members leave queues to clients that are gone.",
            commands=(CONNECTIONS_OF_A_BROKER,),
        ),
        MISSES_BROKERS: Cause(
            "the group broadcasts, so each member must be connected to every broker of the topic",
            "A member that a broker does not list gets none of its messages. When it is connected again it may begin "
            "at the end, and has missed what came meanwhile (RocketMQ issue #4016): let it load its state again. Check "
            "whether its host and its name server reach that broker.",
            headline="Brokers do not list all members of {groups}, which miss their messages",
            commands=(CONNECTIONS_OF_A_BROKER,),
        ),
        PROXIES_DISAGREE: Cause(
            "two proxies list members, and different ones (not of gRPC clients)",
            "Proxies exchange their clients by the topic DefaultHeartBeatSyncerTopic. Create its group "
            "CID_DefaultHeartBeatSyncerTopic on all brokers if it is missing there (RocketMQ issue #7306), and look in "
            "the proxies' logs for pulls of it that are refused.",
            headline="Proxies list different members of {groups}, so that queues are consumed twice",
        ),
        TWO_BROKERS: Cause(
            "one broker's address in the route comes back to a former one at least `flapping_times` (3) times",
            "Two brokers register under one name at the same name servers, and each registration replaces the other's. "
            "Clients heartbeat, pull and commit to whichever they saw last. Give one of them another brokerName, or "
            "separate name servers (RocketMQ issue #3991).",
            headline="Two brokers have one name, so that lists of the members of {groups} differ",
            commands=(CLUSTER_LIST,),
        ),
        LIST_CHANGES: Cause(
            "one broker's list changes at least `flapping_times` (3) times more often than another's (`changes`)",
            "The broker keeps dropping its clients' connections. Check load, pauses and network of the broker that "
            "lists fewer, and its clients' logs: heartbeats that time out (3 s) close a connection. A restart of the "
            "broker ends it.",
            commands=(CONNECTIONS_OF_A_BROKER,),
        ),
    },
    evaluate=hits,
    hit_severity=ERROR,
)
