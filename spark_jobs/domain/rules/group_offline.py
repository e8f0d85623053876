"""GROUP_OFFLINE: no consumer of the group is connected, and there are messages for it."""

from collections.abc import Iterator

from spark_jobs.domain.diagnosis.absences import absences, is_between_runs
from spark_jobs.domain.diagnosis.unused import is_unused
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.handed_out import may_be_behind_proxies
from spark_jobs.domain.model.finding import FindingQueue, QueueEvidence, RuleHit
from spark_jobs.domain.model.severities import ERROR, WARN
from spark_jobs.domain.phrases import known_sum
from spark_jobs.domain.rules.evidence import QueueSpan, queue_evidence
from spark_jobs.domain.rules.rule import Cause, Rule

NO_MEMBERS, UNUSED, BETWEEN_RUNS = "NO_MEMBERS", "UNUSED", "BETWEEN_RUNS"
START_OR_DELETE = "Start a consumer, or delete the group if it is not needed."
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
    for start, end in absences(step):
        if end <= step.window.start:
            continue
        # A step that sees only the end of it may have too few samples to show messages.
        if not any(queue.produced or queue.backlog_max for queue in _queues(step, start, end)):
            continue
        queues = _queues(step, max(start, step.window.start), end)
        produced = known_sum(queue.produced for queue in queues)
        empty = (each for each in step.replayed if not each.members and each.start < end and each.end > start)
        cause = UNUSED if is_unused(step, end) else BETWEEN_RUNS if is_between_runs(step) else NO_MEMBERS
        yield RuleHit(
            *(start, end, cause),
            seen_at=min(max((each.seen_at for each in empty if each.seen_at is not None), default=start), end),
            minimum_seen_seconds=step.settings.thresholds.settled_seconds,
            measures={"backlog_end": known_sum(queue.backlog_end for queue in queues), "produced": produced},
            hint=None if cause == BETWEEN_RUNS else _hint(step, start, end),
        )


_ALL_LEFT = (
    "{} left between two snapshots. If processes of the group still run, brokers do not take their heartbeats: look at "
    "the network, and in the logs for refused ones (access control refuses a heartbeat that names one topic or group "
    "without permission)."
)


def _hint(step: AuditedStep, start: int, end: int) -> str | None:
    """Sentences on consumers that may run all the time."""
    if may_be_behind_proxies(step):
        return _BEHIND_PROXIES
    spans = [span for spans in step.memberships.values() for span in spans if span.state.connections]
    before = {member.client_id for span in spans if span.end <= start for member in span.state.connections}
    after = {member.client_id for span in spans if span.start >= end for member in span.state.connections}
    if before & after:
        return _SAME_IDS
    round_before = start - step.settings.cadence
    last = {member.client_id for span in spans if round_before < span.end <= start for member in span.state.connections}
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
    meaning="No consumer of the group is connected. Its topics receive messages or have a backlog.",
    decided_by="No broker lists a member for 50 s, and offset samples show messages. Not for BROADCASTING, POP "
    "without recorded request modes, or MEMBERS_UNSEEN. ERROR, but WARN for `UNUSED` and `BETWEEN_RUNS`.",
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
)
