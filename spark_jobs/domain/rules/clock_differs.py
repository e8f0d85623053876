"""CLOCK_DIFFERS: a client's clock is behind the recorder's, so that its times look old."""

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.client_spans import client_spans
from spark_jobs.domain.kernel.process_queues import clock_behind_ms
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.severities import INFO
from spark_jobs.domain.rules.rule import CLIENT_SNAPSHOTS, Cause, Rule

BEHIND = "CLOCK_BEHIND"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per client whose clock is behind by more than `pull_idle_seconds`, for the time of its snapshots."""
    idle_ms = step.settings.thresholds.pull_idle_seconds * 1000
    for client_id, client in step.history.clients.items():
        late_ms = clock_behind_ms(client, step.window, idle_ms)
        spans = client_spans(step)[client_id] if late_ms > idle_ms else ()
        if spans:
            time, measures = (spans[0].start, spans[-1].end), {"clock_behind_seconds": late_ms / 1000}
            yield RuleHit(*time, BEHIND, client_id=client_id, implicated=client_id, measures=measures)


RULE = Rule(
    name="CLOCK_DIFFERS",
    headline="{subjects:The clock of|The clocks of} {subjects} in {groups} {subjects:is|are} behind",
    meaning="The client's clock is behind the recorder's by at least `clock_behind_seconds`. Only times in the "
    "client's log differ: RocketMQ does not need equal clocks.",
    decided_by="A queue's last pull advances between two snapshots, but is older than the time between them by more "
    "than `pull_idle_seconds`.",
    causes={
        BEHIND: Cause(
            "always",
            "Set the clock of the client's host (NTP). Until then subtract the difference when you compare its log.",
        )
    },
    evaluate=hits,
    hit_severity=INFO,
    lasts=0,
    needs=(CLIENT_SNAPSHOTS,),
)
