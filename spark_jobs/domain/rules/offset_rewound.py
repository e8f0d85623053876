"""OFFSET_REWOUND: a group's offset went back, so messages are consumed again."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, AuditedStep, IntervalProgress, Switch
from spark_jobs.domain.kernel.reconnects import reconnects
from spark_jobs.domain.model.causes import DoubleOwnedCause
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import UNKNOWN, OffsetSamples, Place
from spark_jobs.domain.model.message_queue import queue_ranges
from spark_jobs.domain.model.severities import WARN
from spark_jobs.domain.model.window import MINUTE, SECOND, moment_text, second_text
from spark_jobs.domain.phrases import count
from spark_jobs.domain.rules.queue_owners import queue_at
from spark_jobs.domain.rules.rule import Cause, Rule, counting
from spark_jobs.domain.status.time_left import COMMIT_SECONDS

REWOUND = "REWOUND"
_FROM_THE_OLDEST = "They are at the oldest messages now, where clients begin if they find no offset."
_ALL_NEW = (
    "All members were new, as after a restart of all: they may have begun there themselves, from a state that the "
    "application saved (Flink, Connect), or the offset was reset while they were away."
)
_ALL_NEW_AT_THE_OLDEST = (
    "All members were new, as after a restart of all: an application that chooses by itself where it begins (Flink, "
    "Connect) began at the earliest. Start it from the group's offsets, or from the state that it saved."
)
#: Why a consumer offset went back; the first that applies, in this order.
DUPLICATE_CLIENT_ID, BEYOND_END, BROKER_SWITCHED = "DUPLICATE_CLIENT_ID", "BEYOND_END", "BROKER_SWITCHED"
OVERWRITTEN, OFFSETS_LOST, BROKER_RESTARTED = "OVERWRITTEN", "OFFSETS_LOST", "BROKER_RESTARTED"
TO_MINIMUM, HAND_OVER, RESET = "TO_MINIMUM", "HAND_OVER", "RESET"


class Rewind(NamedTuple):
    """The greatest rewind of the queue at a `place` of an interval's lists: the sample at `at` (microseconds) showed
    it, with the offset `to`, `by` so many messages less. `minimum`: the oldest offset that the broker had, None:
    unknown. `switch`: another process began to serve the broker around it. `lost_end`: the end offset fell, too.
    `beyond_end`: the offset of before was beyond the end. `could_consume`: messages that it may have consumed since.
    `falls`: the samples at which the offset fell to just the same one, after it had returned at once. `again_at`: the
    first sample of the step that shows it where it was, None: there is none. `left`: messages by which it is below that
    at the first known sample a minute later, None: unknown.
    """

    place: int
    at: int
    to: int
    by: int
    minimum: int | None
    switch: Switch | None
    lost_end: bool
    beyond_end: bool
    could_consume: int
    falls: Sequence[int]
    again_at: int | None
    left: int | None

    @property
    def above_minimum(self) -> float:
        """Messages from the oldest to the new offset that cannot have been consumed since; infinite: unknown."""
        return np.inf if self.minimum is None else self.to - self.minimum - self.could_consume


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (interval, queue whose offset went back), until it is where it was; a condition per topic and cause."""
    rewind_hits: list[RuleHit] = []
    for progress in step.progress:
        places = (progress.rewound_max > step.settings.thresholds.rewind_tolerance).nonzero()[0].tolist()
        rewinds = [_rewind(step, progress, place) for place in places]
        together = by_key(rewinds, lambda rewind: rewind.at)
        rewind_hits += [_hit(step, progress, rewind, together[rewind.at], rewinds) for rewind in rewinds]
    for (_, cause), same in by_key(rewind_hits, lambda hit: (hit.topic, hit.cause)).items():
        rewound = "rewound_max" if cause == OVERWRITTEN else "rewound"  # which is consumed again once at most
        in_all = sum(int((hit.measures or {})[rewound] or 0) for hit in same)
        yield from (replace(hit, measures={**(hit.measures or {}), "rewound_in_all": in_all}) for hit in same)


def _rewind(step: AuditedStep, progress: IntervalProgress, place: int) -> Rewind:
    topic, queue, at = progress.interval.topic, progress.queues[place], int(progress.rewound_at[place])
    samples, by = step.history.offsets[topic], int(progress.rewound_max[place])
    row, column = int(samples.times.searchsorted(at)), samples.columns[queue]
    consumed, ends = samples.consumed_to[:, column], samples.end_offset[:, column]
    before = int(np.flatnonzero(samples.present[:row, column] & (consumed[:row] != UNKNOWN))[-1])
    to = int(samples.consumer_offset[row, column])
    minimums = step.history.oldest_offsets(topic, queue, step.window.read_from, at + 1)
    later, a_minute_later = (samples.inside(since, step.window.end) for since in (at + 1, at + MINUTE))
    again = samples.times[later][consumed[later] >= to + by]
    known = consumed[a_minute_later][consumed[a_minute_later] != UNKNOWN]
    return Rewind(
        *(place, at, to, by),
        minimum=minimums[-1] if minimums else None,
        switch=_switch(step, topic, queue, int(samples.times[before]), at),
        lost_end=bool(UNKNOWN < ends[row] < ends[before]),
        beyond_end=bool(UNKNOWN < ends[before] < consumed[before]),
        could_consume=_could_consume(step, samples, before, row, column, by),
        falls=_falls(samples, samples.inside(progress.start, at + 1), column, to),
        again_at=int(again[0]) if len(again) else None,
        left=int(to + by - known[0]) if len(known) else None,
    )


def _falls(samples: OffsetSamples, seen: slice, column: int, to: int) -> Sequence[int]:
    """The samples at which a queue's offset fell to this one, if it was again at least where it had been at the first
    sample that showed another offset. A group that consumes again gets there later.
    """
    offsets = samples.consumed_to[seen, column]
    rows = np.flatnonzero(offsets != UNKNOWN)
    known = offsets[rows]
    changes = np.flatnonzero(np.diff(known)) + 1
    falls = [row for row in changes.tolist() if known[row] == to < known[row - 1]]
    returns = (next((each for each in changes.tolist() if each > row), row) for row in falls)
    fell = [row for row, after in zip(falls, returns, strict=True) if after == row or known[after] >= known[row - 1]]
    times: Sequence[int] = samples.times[seen][rows[fell]].tolist()
    return times


def _could_consume(step: AuditedStep, samples: OffsetSamples, before: int, row: int, column: int, by: int) -> int:
    """Messages that may have been consumed of a queue from the row `before` to this one, and in the 5 s that a sample
    may miss between two commits, at the pace of the rows around it that show most; 0: unknown. In a collection interval
    at most, where that is no less than the offset went back `by`: then it need not have fallen to the oldest one.
    """
    seen, consumed = samples.inside(step.window.read_from, step.window.end), samples.consumed_to[:, column]
    known = seen.start + np.flatnonzero(consumed[seen] != UNKNOWN)
    here = int(known.searchsorted(row))
    pairs = (rows for rows in (known[max(here - 2, 0) : here], known[here : here + 2]) if len(rows) == 2)
    moves = [(max(int(np.diff(consumed[rows])[0]), 0), int(np.diff(samples.times[rows])[0])) for rows in pairs]
    lasting = int(samples.times[row] - samples.times[before]) + COMMIT_SECONDS * SECOND
    since = max((moved * lasting // gap for moved, gap in moves), default=0)
    if since < by:
        return since
    return max((moved * min(step.settings.cadence, gap) // gap for moved, gap in moves), default=0)


def _switch(step: AuditedStep, topic: str, queue: Place, since: int, at: int) -> Switch | None:
    """The nearest switch of the queue's broker that may lie between the two samples. The recorder reads routes and
    offsets one after the other, and asks only every third time where a broker is served (`max_gap` by default).
    """
    latest, earliest = at + step.settings.cadence, since - step.settings.max_gap
    broker_switches = [switch for switch in step.switches.get(topic, ()) if switch.broker_name == queue[0]]
    in_time = [switch for switch in broker_switches if switch.before <= latest and switch.at >= earliest]
    return min(in_time, key=lambda switch: abs(switch.at - at), default=None)


def _cause(step: AuditedStep, progress: IntervalProgress, rewind: Rewind, highest: float) -> str:
    """The first cause that fits. Members with one client id overwrite each other's commits. Of a broker that lost its
    last messages, clients ask for some that it does not have. A process that begins to
    serve a broker has older offsets, and so has one that was restarted. An offset that returns and falls to the same
    one again and again is another consumer's. A consumer without an offset starts at the
    oldest message; a reset to a time takes only young queues there, so `highest` counts: the most above it of all
    queues at that sample. A consumer that was frozen or cut off commits its old offset around a rebalance. Otherwise
    an operator reset the offset.
    """
    if _owners_share_id(progress, rewind.place):
        return DUPLICATE_CLIENT_ID
    is_oldest = highest <= step.settings.thresholds.rewind_tolerance
    if is_oldest and rewind.beyond_end:
        return BEYOND_END
    left = _last_left(step, progress.interval.topic, rewind.switch) if rewind.switch else None
    if rewind.switch and not rewind.lost_end and left and left.old == rewind.switch.new:  # the same process
        kept = _others_stayed(step, progress, rewind)
        if not is_oldest or progress.interval.is_shared_out or kept is None:
            return BROKER_RESTARTED
        return TO_MINIMUM if kept else OFFSETS_LOST
    if rewind.switch or rewind.lost_end:
        return BROKER_SWITCHED
    if len(rewind.falls) >= step.settings.thresholds.flapping_times:
        return OVERWRITTEN
    if is_oldest:
        return TO_MINIMUM
    # The rebalance at an end of the interval; one that the step cuts does not end there.
    settled_after = step.settings.thresholds.convergence_seconds * SECOND + step.settings.cadence
    after_start = progress.start > step.window.start and rewind.at - progress.start <= settled_after
    before_end = progress.end < step.window.end and progress.end - rewind.at <= settled_after
    reconnected = any(abs(rewind.at - at) <= settled_after for each in reconnects(step).values() for at in each.times)
    # While brokers list different members, a client may not know that its queue is another one's.
    is_split = progress.interval.view != ALL_HOSTS
    is_rebalance = after_start or before_end or reconnected or is_split
    return HAND_OVER if is_rebalance and not _are_all_new(step, progress) else RESET


def _are_all_new(step: AuditedStep, progress: IntervalProgress) -> bool:
    """Return whether no member of before is there any more, who could commit an old offset."""
    before = (
        set(interval.client_ids)
        for interval in step.intervals
        if interval.topic == progress.interval.topic and interval.end <= progress.interval.start and interval.members
    )
    former = [*before][-1:]
    return bool(former) and former[0].isdisjoint(progress.interval.client_ids)


def _others_stayed(step: AuditedStep, progress: IntervalProgress, rewind: Rewind) -> bool | None:
    """Return whether the offset of another queue of the broker stayed above the oldest message: the broker has kept
    the group's offsets, and a client did not get this one. None: it is not known of one that did not go back.
    """
    topic, broker_name = progress.interval.topic, progress.queues[rewind.place][0]
    samples, tolerance = step.history.offsets[topic], step.settings.thresholds.rewind_tolerance
    row = int(samples.times.searchsorted(rewind.at))

    def stayed(queue: Place) -> bool | None:
        oldest = step.history.oldest_offsets(topic, queue, step.window.read_from, rewind.at + 1)
        offset = int(samples.consumed_to[row, samples.columns[queue]]) if queue in samples.columns else UNKNOWN
        return None if offset == UNKNOWN or not oldest else offset - oldest[-1] > tolerance

    every = zip(progress.queues, progress.rewound_max.tolist(), strict=True)
    known = {stayed(queue) for queue, rewound in every if queue[0] == broker_name and rewound <= 0}
    return True if True in known else None if None in known else False


def _last_left(step: AuditedStep, topic: str, switch: Switch) -> Switch | None:
    """The switch before this one, if the broker left the route by it."""
    of_broker = [each for each in step.switches[topic] if each.broker_name == switch.broker_name]
    left = next((each for each in reversed(of_broker) if each.at <= switch.before), None)
    return left if left and left.new is None else None


def _hit(
    step: AuditedStep, progress: IntervalProgress, rewind: Rewind, together: Sequence[Rewind], rewinds: Sequence[Rewind]
) -> RuleHit:
    """The hit of one of the `rewinds` of an interval, of which some are seen at one sample (`together`)."""
    place, since, until, hint = rewind.place, rewind.at, rewind.again_at, None
    cause = _cause(step, progress, rewind, max(each.above_minimum for each in together))
    if cause in (BEYOND_END, BROKER_SWITCHED, OFFSETS_LOST, BROKER_RESTARTED, OVERWRITTEN):
        hint = _what_happened(step, progress, rewind, together)
    if cause == RESET:
        hint = _ALL_NEW if _are_all_new(step, progress) else _not_reached(step, progress, rewinds)
    if cause == TO_MINIMUM and _are_all_new(step, progress):
        hint = _ALL_NEW_AT_THE_OLDEST
    if cause == OVERWRITTEN:
        since, until = rewind.falls[0], rewind.falls[-1] + step.settings.cadence
    measures = {name: int(getattr(progress, name)[place]) for name in ("rewinds", "rewound", "rewound_max")}
    if cause == TO_MINIMUM and rewind.minimum is not None:
        measures |= {"consumer_offset": rewind.to, "min_offset": rewind.minimum}
    return RuleHit(
        since,
        step.window.end if until is None else min(until, step.window.end),
        *(cause, progress.interval.topic),
        queue=queue_at(progress, place, REWOUND),
        implicated=_first_owner(progress, place),
        weight=rewind.by,
        measures=measures,
        hint=hint,
    )


def _what_happened(step: AuditedStep, progress: IntervalProgress, rewind: Rewind, together: Sequence[Rewind]) -> str:
    """Sentences: who served the broker, how many messages all queues went back, and whether they are consumed again."""
    tolerance, consumed = step.settings.thresholds.rewind_tolerance, ""
    messages = count(sum(each.by for each in together), "message")
    went_back = f"{count(len(together), 'queue')} went back by {messages} together."
    left = [each.left for each in together if each.left is not None]
    again = [each.again_at for each in together if each.again_at is not None]
    if any(messages > tolerance for messages in left):
        consumed = "After a minute they have not recovered: the group really consumes these messages again."
        if len(again) == len(together):
            until = second_text(max(again))
            consumed = (
                "After a minute they have not recovered: the group really consumes these messages again, until "
                f"{until}."
            )
    elif left and progress.end < min(rewind.at + MINUTE, step.window.end):
        consumed = (
            "After a minute the offsets are where they were, but members changed meanwhile: those that began then "
            "consumed these messages again."
        )
    elif left:
        consumed = "After a minute the offsets are where they were, so consumers that kept running repeat few messages."
    are_oldest = max(each.above_minimum for each in together) <= tolerance
    served = _served(step, progress.interval.topic, rewind.switch) if rewind.switch else ""
    return " ".join(filter(None, (served, went_back, _FROM_THE_OLDEST if are_oldest else "", consumed)))


def _not_reached(step: AuditedStep, progress: IntervalProgress, rewinds: Sequence[Rewind]) -> str | None:
    """A sentence on the queues that no sample shows to have gone back, though they had consumed newer messages than
    those halfway to which the others went back. None: there are none, or it is not known.
    """
    samples = step.history.offsets[progress.interval.topic]
    row = max(int(samples.times.searchsorted(rewind.at)) for rewind in rewinds)
    stored = {queue: samples.last_timestamp[: row + 1, column] for queue, column in samples.columns.items()}
    moved = [progress.queues[rewind.place] for rewind in rewinds]
    went_back = [(int(stored[queue].max()), int(stored[queue][-1])) for queue in moved]
    if min(after for _, after in went_back) <= 0:
        return None
    halfway = max((before + after) // 2 for before, after in went_back)
    unmoved = [
        queue for queue in progress.queues if queue not in moved and queue in stored and stored[queue][-1] > halfway
    ]
    if not unmoved:
        return None
    return (
        f"Not seen to go back, though as new messages were consumed: {queue_ranges(unmoved)}. If all queues were "
        "meant, the reset may not have reached these (RocketMQ issue #2298): stop the consumers, and reset them again."
    )


def _served(step: AuditedStep, topic: str, switch: Switch) -> str:
    """A sentence: which addresses served the broker, with the times of the snapshots that show it."""
    addresses = (switch.old, switch.new)
    old, new = (f"was asked at {address}" if address else "was not in the route" for address in addresses)
    until, since = (moment_text(at) for at in (switch.before, switch.at))
    left = _last_left(step, topic, switch)
    if left and left.old not in addresses:
        old = f"was asked at {left.old}, was not in the route"
    return f"{switch.broker_name} {old} until {until}, and {new} from {since} on."


def _owners_share_id(progress: IntervalProgress, place: int) -> bool:
    """Return whether the owners share a client id, or may: the group has such members, and the owner is unknown."""
    interval = progress.interval
    if interval.allocation is not None:
        return interval.allocation.double_owned_causes[place] == DoubleOwnedCause.DUPLICATE_CLIENT_ID
    return not interval.is_shared_out and len(set(interval.client_ids)) < len(interval.client_ids)


def _first_owner(progress: IntervalProgress, place: int) -> str | None:
    """The client id of the queue's first owner, in allocation order; None: it has no owner, or it is unknown."""
    allocation, members = progress.interval.allocation, progress.interval.members
    owners = allocation.owners[place] if allocation else ()
    return members[owners[0]].client_id if owners and members else None


RULE = Rule(
    name="OFFSET_REWOUND",
    headline="Consumer offsets of {groups} went back in {queues}",
    detail=counting("by {} in all", rewound_in_all="message"),
    meaning="The consumer offset of a queue went back, so its messages are consumed again.",
    decided_by="A sample is below the one before by more than `rewind_tolerance`, until the offset is where it was. "
    "Not for a topic that was created again.",
    ended="the offsets were where they had been, or the audit step ended",
    causes={
        DUPLICATE_CLIENT_ID: Cause(
            "consumers with one client id own the queue, or may own it",
            "Give every consumer its own client id: with one id they overwrite each other's offsets.",
        ),
        BEYOND_END: Cause(
            "the offset was beyond the queue's end, and went to the oldest message",
            "The broker came back without its last messages, so that clients asked for one that it does not have. "
            "An older broker then sends them to the oldest message of a queue that begins at 0 (RocketMQ issue "
            "#2181): upgrade it. Let the listener tolerate duplicates. To lose no message in a crash, use "
            "`flushDiskType=SYNC_FLUSH`, or slaves that take over.",
        ),
        BROKER_SWITCHED: Cause(
            "another process began to serve the broker at about this time, or the end offset fell, too",
            "The process that now serves the broker had older offsets: a slave copies its master's every 10 to 60 s. "
            "Running consumers commit their own within a minute; those that start or rebalance before consume these "
            "messages again, at worst from the oldest one. Let the listener tolerate duplicates. With "
            "`enableSlaveActingMaster` a master fetches its slave's offsets first.",
        ),
        OFFSETS_LOST: Cause(
            "the broker had left the route and came back at the same address, and all queues of the group there fell "
            "to their oldest message",
            "The broker lost all offsets of the group: its `consumerOffset.json` is empty, missing, or of another "
            "store. Other groups of the broker lost theirs, too. The listeners get all its messages again: let them "
            "tolerate duplicates, or reset the groups to the time of the crash.",
            headline="A broker lost the consumer offsets of {groups}, so {queues} begin at the oldest message",
        ),
        BROKER_RESTARTED: Cause(
            "the broker had left the route and came back at the same address, and the end offset did not fall",
            "Either the broker lost the group's last offsets at its restart: it writes them every 5 s "
            "(`flushConsumerOffsetInterval`). Or, with POP, it could not read the message at an offset after its "
            "start, and began at its oldest: check whether its version has the fix of RocketMQ issue #3503. Let the "
            "listener tolerate duplicates.",
        ),
        OVERWRITTEN: Cause(
            "the offset fell to the same one at least `flapping_times` times, and returned at once each time",
            "Another consumer commits its own, old offset again and again, and the owner corrects it. Look for a "
            "second consumer of the group that lives on in the owner's process after its shutdown (RocketMQ issue "
            "#3066), or elsewhere: the broker's log names its address (`update consumer offset less than store`). "
            "Restart that process. A member that takes the queue meanwhile may begin at the old offset.",
        ),
        TO_MINIMUM: Cause(
            "each queue that went back fell to its oldest message",
            "A client began at the oldest message that is stored, although an offset was committed. If it was not "
            "reset to the earliest, look for errors in the client's log: a Java LitePull consumer that cannot read "
            "its offset pulls from -1, for which a broker takes its oldest (RocketMQ issue 10176). Let the listener "
            "tolerate duplicates.",
        ),
        HAND_OVER: Cause(
            "within `convergence_seconds` and one collection interval of a rebalance, or of a new connection of a "
            "member that comes with new ones again and again (FLAPPING_MEMBER); or while brokers list different "
            "members",
            "A consumer that had lost the queue without noticing (frozen, or cut off from the network) committed its "
            "old offset. Check its process for long pauses, and let the listener tolerate duplicates. If the offset "
            "stays back, a member began at its own one, as a job does from an old checkpoint (Flink).",
        ),
        RESET: Cause(
            "otherwise: somebody reset the offset",
            "If the reset was intended, do nothing; otherwise find out who did it. The listener receives these "
            "messages again.",
        ),
    },
    evaluate=hits,
    hit_severity=WARN,
    lasts=0,
)
