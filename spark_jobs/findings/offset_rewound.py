"""OFFSET_REWOUND: a group's offset went back, so messages are consumed again."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.causes import DoubleOwnedCause
from spark_jobs.domain.progress_rules import RewindCause
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import REWOUND, measures, nothing, queue, touches
from spark_jobs.replay.steps import duration, seconds_between

NAME = "OFFSET_REWOUND"


def rewind_cause(rewound: Column, tolerance: Column, twins: Column, to_rebalance: Column, settled: Column) -> Column:
    """Why an offset went back; the reasons are with the plain twin, `progress_rules.rewind_cause`."""
    cause = (
        F.when(twins, RewindCause.TWINS.value)
        .when(to_rebalance <= settled, RewindCause.HAND_OVER.value)
        .otherwise(RewindCause.RESET.value)
    )
    return F.when(rewound > tolerance, cause)


def offsets_rewound(audited: Audited) -> DataFrame:
    """One touch per (interval, queue whose offset went back): from the reading that showed the greatest rewind, for a
    cadence; one condition per group, topic and cause.
    """
    thresholds, cadence = audited.configuration.thresholds, audited.configuration.cadence
    settled = F.lit(thresholds.convergence_seconds + cadence.total_seconds())
    twins = F.col("double_owned_cause").eqNullSafe(DoubleOwnedCause.DUPLICATE_CLIENT_ID.value)
    cause = rewind_cause(
        F.col("rewound_max"), F.lit(thresholds.rewind_tolerance), twins, _seconds_to_rebalance(audited), settled
    )
    return touches(
        audited.progress.where("rewinds > 0").withColumn("cause", cause).where("cause IS NOT NULL"),
        NAME,
        start=F.col("rewound_at"),
        end=F.least(F.col("rewound_at") + duration(cadence), "interval_end"),
        client_id=nothing(),
        blamed=F.try_element_at("owners.client_id", F.lit(1)),
        severity=F.lit("WARN"),
        patience=F.lit(0),
        queue=queue(REWOUND),
        weight=F.col("rewound_max"),
        measures=measures(rewinds=F.col("rewinds"), rewound=F.col("rewound"), rewound_max=F.col("rewound_max")),
    )


def _seconds_to_rebalance(audited: Audited) -> Column:
    """From the rewind to the nearer end of its interval; an interval that the step cuts does not end there."""
    begins, ends = F.col("interval_start") > F.col("step_start"), F.col("interval_end") < audited.window.step_end
    since = F.when(begins, seconds_between("interval_start", "rewound_at"))
    until = F.when(ends, seconds_between("rewound_at", "interval_end"))
    return F.least(since, until)


RULE = Rule(
    name=NAME,
    meaning="The consumer offset of a queue went back, so its messages are consumed again. The measures are those of "
    "the queue that went back furthest: `rewound_max` messages at once, `rewound` in all, in `rewinds` times.",
    decided_by="two readings, of which the later has an offset smaller by more than `rewind_tolerance`. A topic that "
    "was deleted and made anew is none. The finding begins with the reading that shows it.",
    causes={
        RewindCause.TWINS: Cause(
            "twins own the queue: each commits how far it has come itself",
            "Twins overwrite each other's commits: give every consumer its own client id.",
        ),
        RewindCause.HAND_OVER: Cause(
            "within a convergence time and a cadence of a rebalance",
            "A consumer that had lost the queue without knowing it (frozen, cut off) committed what it had: look for "
            "long pauses of its process, and let the listener tolerate repeats.",
        ),
        RewindCause.RESET: Cause(
            "otherwise: somebody set it",
            "If the reset was meant, nothing; else find who set it. The listener gets these messages again.",
        ),
    },
    example="`batch-export`: reset at 02:18:54 to a time four minutes before, 539 messages a queue; `audit-service`: "
    "the consumer that was frozen commits its old offsets when it is thawed at 02:16:54, 507 messages back.",
    touches=offsets_rewound,
)
