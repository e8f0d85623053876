"""GROUP_OFFLINE: no consumer of the group is connected, and there are messages for it."""

import re
from collections.abc import Iterator, Sequence, Set

from spark_jobs.domain.diagnosis.absences import absences, is_between_runs, is_brief, is_unused
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.reconnects import process_starts
from spark_jobs.domain.kernel.unseen import may_be_behind_proxies
from spark_jobs.domain.model.finding import FindingQueue, QueueEvidence, RuleHit
from spark_jobs.domain.model.severities import ERROR, WARN
from spark_jobs.domain.phrases import known_sum
from spark_jobs.domain.rules.evidence import QueueSpan, queue_evidence
from spark_jobs.domain.rules.in_common import ALL_BROKERS
from spark_jobs.domain.rules.rule import Cause, Rule

NO_MEMBERS, UNUSED, BETWEEN_RUNS, NO_HEARTBEATS = "NO_MEMBERS", "UNUSED", "BETWEEN_RUNS", "NO_HEARTBEATS"
#: The end of a client id that a process has from its start to its end: `ClientConfig.changeInstanceNameToPID`, and
#: `ClientId` of the gRPC clients.
_PID_AND_TIME = re.compile(r"@\d+#\d+(@|$)|@\d+@\d+@[0-9a-z]+$")
START_OR_DELETE = (
    "Start a consumer. If another group has replaced it (a new name, or a namespace), no group consumes what came "
    "meanwhile: reset that group to the time at which this one stopped. Delete it only if its messages are not needed."
)
_BEHIND_PROXIES = (
    "The cluster has proxies, and brokers do not list what is connected to them: consumers may run and get nothing. "
    "Look at the consumers and at the proxies, and record the group's connections from every proxy."
)
_SAME_IDS = (
    "Members with the same ids were connected before and after, so their processes may have run all the time: look at "
    "their heartbeats (`heartbeatBrokerInterval`) and at the network."
)


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per maximal time without a connection in which offset samples show messages; one condition each."""
    cause = None
    for start, end in absences(step):
        same_ids = _listed(step, step.window.read_from, start) & _listed(step, end, step.window.end)
        times = (step.window.read_from, start), (end, step.window.end)
        starts = [{(each, at) for each in same_ids for at in process_starts(step, each, *time)} for time in times]
        ran_on = any(map(_PID_AND_TIME.search, same_ids)) or not starts[0].isdisjoint(starts[1])
        cause = _cause(step, end, cause, ran_on=ran_on)
        if end <= step.window.start:
            continue
        # A step that sees only the end of it may have too few samples to show messages.
        if not any(queue.produced or queue.backlog_max for queue in _queues(step, start, end)):
            continue
        queues = _queues(step, max(start, step.window.start), end)
        produced = known_sum(queue.produced for queue in queues)
        empty = (each for each in step.replayed if not each.members and each.start < end and each.end > start)
        hints = {BETWEEN_RUNS: None, NO_HEARTBEATS: _of_broker(queues)}
        yield RuleHit(
            *(start, end, cause),
            seen_at=min(max((each.seen_at for each in empty if each.seen_at is not None), default=start), end),
            minimum_seen_seconds=step.settings.thresholds.settled_seconds,
            severity=WARN if cause == NO_MEMBERS and is_brief(step, start, end) else None,
            measures={"backlog_end": known_sum(queue.backlog_end for queue in queues), "produced": produced},
            hint=hints[cause] if cause in hints else _hint(step, start, same_ids),
        )


def _cause(step: AuditedStep, end: int, cause_before: str | None, *, ran_on: bool) -> str:
    """The cause of an absence. One that lasts to the end of the step is like the one before, if processes ran on."""
    if is_unused(step, end):
        return UNUSED
    if ran_on or (end == step.window.end and cause_before == NO_HEARTBEATS):
        return NO_HEARTBEATS
    return BETWEEN_RUNS if is_between_runs(step) else NO_MEMBERS


def _listed(step: AuditedStep, start: int, end: int) -> Set[str]:
    """The client ids that a broker listed in the time."""
    spans = (span for span in step.membership_spans if span.start < end and span.end > start)
    return {client_id for span in spans for client_id in span.state.client_ids}


_ALL_LEFT = (
    "{} left between two snapshots. If processes of the group still run, brokers do not take their heartbeats: look at "
    "the network, and in the logs for refused ones (access control refuses a heartbeat that names one topic or group "
    "without permission)."
)


def _of_broker(queues: Sequence[QueueEvidence]) -> str | None:
    """A sentence, if one broker has all of the queues."""
    brokers = {queue.broker_name for queue in queues}
    if len(brokers) != 1:
        return None
    return (
        f"All its queues are of {brokers.pop()}: if other groups of it were offline at the same time, it lost its "
        "consumers, and a restart of it ends that (RocketMQ issue #1871)."
    )


def _hint(step: AuditedStep, start: int, same_ids: Set[str]) -> str | None:
    """Sentences on consumers that may run all the time."""
    if may_be_behind_proxies(step):
        return _BEHIND_PROXIES
    if same_ids:
        return _SAME_IDS
    last = _listed(step, start - step.settings.cadence, start)
    who = {1: "The only member", 2: "Both members"}.get(len(last), f"All {len(last):,} members")
    return _ALL_LEFT.format(who) if last else None


def _queues(step: AuditedStep, start: int, end: int) -> list[QueueEvidence]:
    """The backlog and traffic of every queue of the group by the samples in `[start, end)` (microseconds)."""
    offsets = step.history.offsets.items()
    queues = (FindingQueue(topic, *place, NO_MEMBERS) for topic, samples in offsets for place in samples.queues)
    return queue_evidence(step.history, None, (QueueSpan(queue, start, end) for queue in queues), window=step.window)[0]


RULE = Rule(
    name="GROUP_OFFLINE",
    headline="No consumer of {groups} is connected",
    ended="a consumer was connected again",
    meaning="No consumer of the group is connected. Its topics receive messages or have a backlog.",
    decided_by="No broker lists a member for 50 s, and offset samples show messages. Not for BROADCASTING, POP "
    "without recorded request modes, or MEMBERS_UNSEEN. ERROR, but WARN for `UNUSED` and `BETWEEN_RUNS`, and for "
    "`NO_MEMBERS` until `stalled_after_seconds`.",
    causes={
        NO_MEMBERS: Cause(
            "the group had members, or its offsets are among the messages that brokers keep",
            START_OR_DELETE,
        ),
        UNUSED: Cause(
            "no member in the window until then, and the first offsets are below the oldest message of every queue, or "
            "none was ever committed, or no message is left (WARN)",
            "The group has not been used for longer than its messages are kept. Delete it, or silence it. If it is "
            "needed, start a consumer: what is deleted does not come again.",
            headline="{groups} is not used: no consumer is connected, and its offsets are older than all messages",
            severity=WARN,
        ),
        NO_HEARTBEATS: Cause(
            "one process was connected before and after: its client id has its process id and start time "
            "(`10.0.0.1@7#812345` of Java ≥ 4.9, `host@7@0@c6bjl3u0` of gRPC clients), or it reports the same start",
            "The processes ran meanwhile, so another consumer would not be listed either. Brokers drop a client 120 s "
            "after its last heartbeat: check that `heartbeatBrokerInterval` is 30 s as by default, look for long "
            "pauses of the processes (full GC), at the network, and in the logs for refused requests (access control). "
            "Behind a proxy, look whether it restarted.",
            headline="Brokers listed no consumer of {groups}, though its processes ran",
        ),
        BETWEEN_RUNS: Cause(
            "consumers left three times or more, at even distances, and nothing waited each time (WARN)",
            "If a scheduler starts them, nothing is wrong: silence this. Otherwise look why the process ends: its exit "
            "code, out-of-memory kills and liveness probes.",
            headline="Consumers of {groups} come at even distances, consume what waits, and leave",
            severity=WARN,
        ),
    },
    evaluate=hits,
    hit_severity=ERROR,
    broker=lambda finding: ALL_BROKERS if finding.cause == NO_HEARTBEATS else None,
)
