"""FLAPPING_MEMBER: one member joins and leaves again and again, and its group rebalances every time."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from spark_jobs.domain.kernel.audited_step import AuditedStep, Rebalance
from spark_jobs.domain.kernel.matrices import known_total
from spark_jobs.domain.kernel.reconnects import Reconnects, reconnects
from spark_jobs.domain.kernel.triggers import host
from spark_jobs.domain.model.finding import ConflictingValue, Finding, RuleHit
from spark_jobs.domain.model.history import RETRY
from spark_jobs.domain.model.severities import ERROR, WARN
from spark_jobs.domain.model.window import SECOND, moment_text
from spark_jobs.domain.phrases import count
from spark_jobs.domain.rules.commands import CONNECTIONS
from spark_jobs.domain.rules.queue_owners import owned_queues
from spark_jobs.domain.rules.rule import Cause, Rule

#: How a member that joins and leaves repeatedly is recognized: by its connections, its client id, or its host.
RECONNECTS, SAME_ID, NEW_ID_EACH_TIME = "RECONNECTS", "SAME_ID", "NEW_ID_EACH_TIME"
#: `NettyDecoder` closes a connection on which more than 16 MiB come at once.
_CLOSED = (
    "Most connections are gone by the broker's next list: look first in the client's log for what closes them, such as "
    "an answer of more than 16 MiB (TooLongFrameException, RocketMQ issue #9080: pull fewer messages at once)."
)
#: The role of the queues that a member loses and gets back.
MOVED = "MOVED"


#: A rebalance of a topic, the client id that joined or left in it, and whether it joined.
_Change = tuple[Rebalance, str, bool]


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per client id or host that joined and left at least `flapping_times` each, from the first to the last time. A
    host counts by ids, as Java clients ≥ 4.9 have a new one every time, and needs that many per member that it had at
    once: a deployment that restarts all in turn is no flapping. One per queue of a client id with as many new
    connections.
    """
    times = step.settings.thresholds.flapping_times
    for client_id, connected in reconnects(step).items():
        yield from _connection_hits(step, client_id, connected)
    for (cause, subject), changes in _changes_by_subject(step.rebalances).items():
        joins, leaves = (_change_count(cause, changes, joined) for joined in (True, False))
        fewest = min(joins, leaves)
        if cause == SAME_ID and subject in reconnects(step):
            continue
        if fewest >= times and fewest >= times * _most_at_once(cause, subject, changes):
            yield _hit(cause, subject, joins, leaves, changes)


def _connection_hits(step: AuditedStep, client_id: str, connected: Reconnects) -> Iterator[RuleHit]:
    """One per queue that it owned meanwhile, no retry topic's; one without a queue if none is known."""
    start, end = connected.times[0], connected.last_until
    queues = {
        queue
        for interval in step.replayed
        if interval.is_ordinary and interval.start < end and interval.end > start
        for queue in owned_queues(interval, client_id, MOVED)
    }
    explanation, hint = _process_texts(connected)
    waiting = _waiting(step, start, end)
    consumes_nothing = f"Meanwhile no message of the group is consumed, and {count(waiting, 'message')} wait."
    hit = RuleHit(
        *(start, end, SAME_ID if connected.is_restarted else RECONNECTS),
        client_id=client_id,
        implicated=client_id,
        severity=ERROR if waiting else None,
        measures={"new_connections": len(connected.times), "seconds_apart": connected.distance / SECOND},
        explanation=" ".join(filter(None, (consumes_nothing if waiting else None, explanation))) or None,
        hint=hint,
    )
    yield from (replace(hit, queue=queue) for queue in sorted(queues)) if queues else [hit]


def _waiting(step: AuditedStep, start: int, end: int) -> int:
    """The messages that wait at the end of a time of `stalled_after_seconds` or more in which no offset of the group's
    topics moved; else 0.
    """
    every = (samples for topic, samples in step.history.offsets.items() if not topic.startswith(RETRY))
    seen = [(samples, samples.inside(start, min(end + 1, step.window.end))) for samples in every]
    is_short = end - start < step.settings.thresholds.stalled_after_seconds * SECOND
    if is_short or any(samples.forward[rows][1:].any() for samples, rows in seen):
        return 0
    return sum(known_total(samples.lag[rows][-1:]) or 0 for samples, rows in seen)


def _process_texts(connected: Reconnects) -> tuple[str | None, str | None]:
    """A sentence before and one behind the advice: the process restarts, or it does not; None: nothing to say."""
    starts = connected.process_starts
    if connected.is_restarted:
        kills = "check its exit code, out-of-memory kills and liveness probes"
        return f"The process started {len(starts)} times meanwhile: {kills}.", None
    since = moment_text(starts[-1]) if starts else None
    closed = _CLOSED if connected.are_short else None
    return closed, f"The process does not restart: it runs since {since}." if since else None


def _changes_by_subject(rebalances: Iterable[Rebalance]) -> Mapping[tuple[str, str], list[_Change]]:
    changes: dict[tuple[str, str], list[_Change]] = defaultdict(list)
    for rebalance in rebalances:
        for ids, joined in ((rebalance.moves.joined, True), (rebalance.moves.left, False)):
            for client_id in ids:
                change = rebalance, client_id, joined
                changes[SAME_ID, client_id].append(change)
                if (address := host(client_id)) is not None:
                    changes[NEW_ID_EACH_TIME, address].append(change)
    return changes


def _change_count(cause: str, changes: Iterable[_Change], joined: bool) -> int:
    """Rebalances in which one client id joined (or left), or client ids of one host that did."""
    same = [(rebalance.moment, client_id) for rebalance, client_id, has_joined in changes if has_joined == joined]
    return len({moment if cause == SAME_ID else client_id for moment, client_id in same})


def _most_at_once(cause: str, subject: str, changes: Iterable[_Change]) -> int:
    """The most members that a host had after one of the changes; 1 for an id."""
    listed = (rebalance.interval.client_ids for rebalance, _, _ in changes if cause != SAME_ID)
    return max((sum(host(client_id) == subject for client_id in client_ids) for client_ids in listed), default=1) or 1


def _hit(cause: str, subject: str, joins: int, leaves: int, changes: Sequence[_Change]) -> RuleHit:
    moments = [rebalance.moment for rebalance, _, _ in changes]
    # A rebalance of a topic counts once, also where one id left and another one joined in it.
    moves = {(interval.topic, interval.start): moves for (_, interval, moves), _, _ in changes}
    moved = sum(change.moved or 0 for change in moves.values())
    least = sum(change.least or 0 for change in moves.values())
    return RuleHit(
        min(moments),
        max(moments),
        cause,
        client_id=subject,
        measures={
            "comings": joins,
            "goings": leaves,
            "minimum_moves": least,
            "moved_per_least_move": moved / least if least > 0 else None,
            "queues_moved": moved,
        },
        conflicting_values=(ConflictingValue(subject, tuple(sorted({client_id for _, client_id, _ in changes}))),),
    )


def _detail(finding: Finding) -> str:
    """How often it comes with a new connection; empty: its connections are not known."""
    measures = finding.evidence.measured
    apart, times = measures.get("seconds_apart"), measures.get("new_connections")
    return f"about every {apart:,.0f} s, {times:,.0f} times" if apart and times else ""


RULE = Rule(
    name="FLAPPING_MEMBER",
    headline="{subjects} {subjects:keeps|keep} joining and leaving {groups}",
    meaning="One member keeps joining and leaving. The group's queues change owners every time.",
    decided_by="A client id joined and left at least `flapping_times` (3) times in the step and its look-back, or "
    "that many new ids of one machine did, or a broker listed a client id with that many new connections. Not if the "
    "broker drops several clients that keep their connections to other brokers. ERROR if a client comes with new "
    "connections, and no message of the group is consumed meanwhile.",
    causes={
        RECONNECTS: Cause(
            "one client id, from another address or port of its host each time",
            "Something closes the client's connections; its queues move each time, and some messages come twice. Look "
            "for a firewall, NAT or proxy between the client and the broker with an idle time or life time of about "
            "that long. Then check the client for late heartbeats and full garbage collections (full GC).",
            headline="{subjects} {subjects:keeps|keep} joining and leaving {groups}, each time with a new connection",
            commands=(CONNECTIONS,),
        ),
        SAME_ID: Cause(
            "one client id, and its connections are not known, or its process starts again each time",
            "The consumer loses its connection, or restarts with a fixed instanceName. Check its log, network and "
            "garbage collection pauses.",
        ),
        NEW_ID_EACH_TIME: Cause(
            "a new client id each time, as of Java ≥ 4.9",
            "Check why the process restarts: its exit code, out-of-memory kills and liveness probes.",
        ),
    },
    evaluate=hits,
    hit_severity=WARN,
    lasts=0,
    detail=_detail,
)
