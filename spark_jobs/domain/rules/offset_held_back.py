"""OFFSET_HELD_BACK: one message that is not finished holds back the offset of a queue that its client consumes."""

from collections.abc import Iterator

from spark_jobs.domain.diagnosis.diagnoses import diagnoses
from spark_jobs.domain.diagnosis.measure import finished
from spark_jobs.domain.diagnosis.table import LINE_OF, StandingCause
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.severities import WARN
from spark_jobs.domain.rules.rule import CLIENT_SNAPSHOTS, Rule
from spark_jobs.domain.rules.standing import cause_of

HELD_BACK = "HELD_BACK"
ONE_MESSAGE = "ONE_MESSAGE"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per queue and time; one condition per topic. The measures are those of the queue with most messages."""
    for each in diagnoses(step):
        standing = each.standing
        done = finished(step, standing, each.client_id) if each.cause is StandingCause.HELD_BACK else None
        if done is not None:
            queue, offset = standing.queue, standing.span.offset
            yield RuleHit(
                *(standing.start, standing.end, ONE_MESSAGE, queue.topic),
                queue=FindingQueue(*queue, HELD_BACK),
                implicated=each.client_id,
                weight=done.messages,
                measures={"consumer_offset": offset, "consumed_again": done.messages},
                hint=f"The message at offset {offset} of {queue.broker_name}:{queue.queue_id} is not finished; "
                f"{done.messages:,} behind it are consumed again after a restart.",
            )


RULE = Rule(
    name="OFFSET_HELD_BACK",
    headline="One message holds back the offset of {queues} in {groups}, while the client consumes the queue",
    meaning="One unfinished message holds back the committed offset of its queue. The client consumes the messages "
    "behind it: the backlog that brokers show is not real, and a restart consumes them again.",
    decided_by="For `verdict_window_seconds` (300) the offset stands while messages are produced, and client "
    "snapshots show its message as the oldest cached one, while later ones are consumed. It replaces CONSUMER_STOPPED "
    "and CONSUMER_STALLED. WARN.",
    causes={
        ONE_MESSAGE: cause_of(LINE_OF[StandingCause.HELD_BACK]),
    },
    evaluate=hits,
    hit_severity=WARN,
    lasts="verdict_window_seconds",
    needs=(CLIENT_SNAPSHOTS,),
)
