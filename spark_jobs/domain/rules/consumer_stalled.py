"""CONSUMER_STALLED: a queue that has an owner has a backlog, and its consumer offset never moves."""

from __future__ import annotations

from functools import partial

from spark_jobs.domain.model.severities import ERROR
from spark_jobs.domain.model.statuses import Verdict
from spark_jobs.domain.rules.behind import DECIDED_BY, EXAMPLE, FOLLOWS, PRIORITY_STARVATION, STARVED, verdict_hits
from spark_jobs.domain.rules.filtered import FILTERED, FILTERED_OUT
from spark_jobs.domain.rules.rule import Cause, Rule

NAME = "CONSUMER_STALLED"
NO_PROGRESS = "NO_PROGRESS"

RULE = Rule(
    name=NAME,
    headline="Consumers of {groups} make no progress in {queues}",
    meaning="The queue has a backlog and should be consumed, but its consumer offset did not advance, neither in the "
    "window nor since its interval began. One finding per group and topic; the evidence names its queues with "
    "their backlog.",
    decided_by=DECIDED_BY.format("STALL"),
    causes={
        NO_PROGRESS: Cause(
            "the consumer offset is the same in all readings of the window, and the lag is always above `allowed_lag`",
            "Check the queue's owner: one message that is never acknowledged holds back the offset (a listener that "
            "hangs, or an orderly one that suspends forever).",
        ),
        PRIORITY_STARVATION: STARVED,
        FILTERED: FILTERED_OUT,
    },
    example=EXAMPLE,
    hits=partial(verdict_hits, verdict=Verdict.STALL, severity=ERROR, cause=NO_PROGRESS),
    follows=FOLLOWS,
)
