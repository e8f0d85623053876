"""LOAD_IMBALANCE: the queues of a group, or the messages in them, are shared unevenly."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from operator import itemgetter

from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.client_spans import busy_spans
from spark_jobs.domain.model.finding import Finding, RuleHit
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.severities import INFO, WARN
from spark_jobs.domain.model.window import SECOND, AuditSettings, Time, common, islands
from spark_jobs.domain.phrases import NAMED, count, names_text
from spark_jobs.domain.rocketmq.strategies import CONFIG, CONSISTENT_HASH, UNKNOWN_STRATEGY, is_popped
from spark_jobs.domain.rules.conflicting_values import conflicting_values
from spark_jobs.domain.rules.member_loads import (
    MemberTraffic,
    agreed_intervals,
    member_loads,
    member_traffic,
    subscribed_loads,
)
from spark_jobs.domain.rules.rule import Cause, Rule

#: Number of queues, client id.
_Load = tuple[int, str]
#: Why shares differ by more than one queue.
HASH_RING, CONFIGURED, ROOMS, REMAINDERS = "HASH_RING", "CONFIGURED", "ROOMS", "REMAINDERS"
UNEQUAL_TRAFFIC = "UNEQUAL_TRAFFIC"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per interval with uneven shares of a topic, one per time with uneven shares over all topics, and one if
    members got far from equal traffic in the step; one condition per group, topic and cause.
    """
    agreed = agreed_intervals(step)
    for hit in chain(*map(_in_topic, agreed), _across_topics(agreed)):
        yield from _with_overloaded(step, hit)
    yield from _by_traffic(step)


def _with_overloaded(step: AuditedStep, hit: RuleHit) -> Iterator[RuleHit]:
    """The hit, one per client with most queues that has nearly all its threads busy while one with fewest has not."""
    values = hit.conflicting_values or ()
    most, fewest = (
        [client_id for client_id in values[end].client_ids or () if _is_busy(step, client_id, hit)] for end in (0, -1)
    )
    if not most or len(fewest) == len(values[-1].client_ids or ()):
        yield hit
    else:
        yield from (replace(hit, severity=WARN, implicated=client_id) for client_id in most)


def _is_busy(step: AuditedStep, client_id: str, hit: RuleHit) -> bool:
    busy = islands(busy_spans(step).get(client_id, ()))
    times = (common((hit.start, hit.end), (spans[0].start, spans[-1].end)) for spans in busy)
    least = step.settings.thresholds.busy_after_seconds * SECOND
    return any(time is not None and time[1] - time[0] >= least for time in times)


def _in_topic(interval: RebalanceInterval) -> Iterator[RuleHit]:
    """One hit for uneven shares of an interval's connections, unless members differ, pop or have no known strategy."""
    if not (interval.allocation and is_imbalanced(interval.allocation.queues_per_member)):
        return
    loads = list(subscribed_loads(interval))
    in_use = {member.implementation for member in interval.members or ()}
    if not is_imbalanced([queues for queues, _ in loads]) or len(in_use) > 1:
        return
    strategy = in_use.pop().strategy
    if not is_popped(strategy) and strategy != UNKNOWN_STRATEGY:
        time, has_duplicate_ids = (interval.start, interval.end), len(set(map(itemgetter(1), loads))) < len(loads)
        yield _uneven(time, topic_cause(strategy), loads, has_duplicate_ids, interval.topic)


def _across_topics(agreed: Sequence[RebalanceInterval]) -> Iterator[RuleHit]:
    """One per time in which members of the same number of topics, all by AVG or AVG_BY_CIRCLE, own unequal numbers of
    queues. Intervals begin and end for all members at once, and so do these times.
    """
    if len({interval.topic for interval in agreed}) < 2:
        return
    for start, member_spans in by_key(member_loads(agreed), lambda load: load.start).items():
        topics = member_spans[0].topics
        comparable = topics > 1 and {(load.topics, load.even_topics) for load in member_spans} == {(topics, topics)}
        if comparable and is_imbalanced([load.queues for load in member_spans]):
            loads = sorted((load.queues, load.client_id) for load in member_spans)
            time = start, max(load.end for load in member_spans)
            yield _uneven(time, REMAINDERS, loads, member_spans[0].member_count > len(member_spans))


def _uneven(
    time: Time, cause: str, loads: Sequence[_Load], has_duplicate_ids: bool, topic: str | None = None
) -> RuleHit:
    queues = [count for count, _ in loads]
    return RuleHit(
        *(*time, cause, topic),
        severity=INFO if has_duplicate_ids else severity(cause, queues),
        weight=max(queues) - min(queues),
        measures={"fewest_queues": min(queues), "most_queues": max(queues)},
        conflicting_values=conflicting_values(loads, lambda queues: count(queues, "queue"), descending=True),
    )


def _by_traffic(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit if members consumed far from equal numbers of messages; INFO, as being too slow has rules of its own."""
    members = member_traffic(step.progress)
    unequal = unequal_traffic(members, step.settings) if members else None
    if unequal:
        consumed = [(member.consumed or 0, member.client_id) for member in unequal]
        yield RuleHit(
            min(member.start for member in members),
            max(member.end for member in members),
            UNEQUAL_TRAFFIC,
            measures={"least_consumed": unequal[1].consumed, "most_consumed": unequal[0].consumed},
            conflicting_values=conflicting_values(
                consumed, lambda messages: count(messages, "message"), descending=True
            ),
        )


def is_imbalanced(queues: Sequence[int]) -> bool:
    """Return whether one member owns at least two queues more than another."""
    return bool(queues) and max(queues) - min(queues) > 1


def severity(cause: str, queues: Sequence[int]) -> str:
    """WARN if the busiest member owns more than twice the queues of the least busy plus two; INFO for a hash ring."""
    uneven = max(queues) > 2 * min(queues) + 2
    return WARN if uneven and cause != HASH_RING else INFO


def topic_cause(strategy: str) -> str:
    """Why the shares of one topic differ: the other strategies divide evenly what they divide."""
    if strategy == CONSISTENT_HASH:
        return HASH_RING
    return CONFIGURED if strategy == CONFIG else ROOMS


def unequal_traffic(
    members: Sequence[MemberTraffic], settings: AuditSettings
) -> tuple[MemberTraffic, MemberTraffic] | None:
    """The members that consumed most and least, if their traffic is far from equal; else None. Both owned queues all
    the time (± `max_gap`), and all of it is known. One consumed `skew_ratio` times as much, and so much more was
    produced to each of its queues, at least `skew_messages_per_queue`: it has not just more queues, a backlog, or a
    slow peer.
    """
    start, end = min(member.start for member in members), max(member.end for member in members)
    latest_start, earliest_end = start + settings.max_gap, end - settings.max_gap
    all_along = [member for member in members if member.start <= latest_start and member.end >= earliest_end]
    known = [member for member in all_along if member.consumed is not None and member.produced is not None]
    if not known:
        return None
    in_order = sorted(known, key=lambda member: (member.consumed or 0, member.client_id))
    least, most = in_order[0], in_order[-1]
    ratio, least_messages = settings.thresholds.skew_ratio, settings.thresholds.skew_messages_per_queue
    far_more = (most.consumed or 0) >= max((least.consumed or 0) * ratio, 1)
    hotter = (most.pace or 0) >= (least.pace or 0) * ratio
    enough = (most.pace or 0) * ((end - start) / SECOND) >= least_messages
    return (most, least) if far_more and hotter and enough else None


def _detail(finding: Finding) -> str:
    """Who has how much, and who cannot keep up with it."""
    named = [
        f"{names_text(party.client_ids or ())} {party.name}" for party in finding.evidence.conflicting_values or ()
    ]
    overloaded = finding.evidence.client_ids
    ends = named if len(named) < NAMED else [named[0], named[-1]]
    return ", ".join(ends) + (f"; {names_text(overloaded)} cannot keep up" if overloaded else "")


RULE = Rule(
    name="LOAD_IMBALANCE",
    headline="Members of {groups} have uneven shares of queues or messages",
    detail=_detail,
    meaning="One member owns at least two queues more than another. It counts per topic, and over all except retry "
    "topics. Or one member consumes far more messages without more queues.",
    decided_by="The replay shows it; not with POP. WARN if the busiest member owns more than twice the queues of the "
    "least busy one plus two, or only its threads are nearly all busy; INFO otherwise, and for a hash ring or a shared "
    "client id.",
    causes={
        HASH_RING: Cause(
            "CONSISTENT_HASH", "Raise virtualNodeCnt, or use AVG: a hash ring never divides queues evenly."
        ),
        ROOMS: Cause(
            "MACHINE_ROOM_NEARBY: rooms differ in queues per client",
            "Start consumers in the rooms with more queues, or spread the queues like the consumers.",
        ),
        CONFIGURED: Cause(
            "CONFIG: the lists differ in length", "Even the lists out if the difference is not intended."
        ),
        REMAINDERS: Cause(
            "AVG and AVG_BY_CIRCLE give the remainder of every topic to the first client ids",
            "Make the number of queues a multiple of the number of members, or use one group per topic.",
        ),
        UNEQUAL_TRAFFIC: Cause(
            "over the whole step, one member consumed `skew_ratio` (2.0) times as much as another, in all and per "
            "queue (INFO)",
            "More consumers do not help. With a PRODUCER_SKEW finding, spread the keys over more queues. Otherwise "
            "busy topics have fewer queues than members: give them more queues, or a separate group.",
        ),
    },
    evaluate=hits,
    hit_severity=INFO,
)
