"""STRANDED_WRITE_QUEUES: queues that producers write to and no consumer may read."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.causes import UnassignedCause
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import UNASSIGNED, nothing, queue, touches

NAME = "STRANDED_WRITE_QUEUES"


def stranded_write_queues(audited: Audited) -> DataFrame:
    """One touch per (interval, queue beyond the read queues); one condition per group and topic."""
    stranded = audited.owned.where(F.col("unassigned_cause") == UnassignedCause.BEYOND_READ_QUEUES.value)
    return touches(stranded, NAME, cause=F.col("unassigned_cause"), client_id=nothing(), queue=queue(UNASSIGNED))


RULE = Rule(
    name=NAME,
    meaning="The topic has more write queues than read queues: messages go to queues that are in no client's list. "
    "One finding per group and topic; `subject` names the queues, `backlog_end` says how many messages they hold, "
    "where topic snapshots were recorded.",
    decided_by="the topic's route: `readQueueNums < writeQueueNums` on a broker that may be read. ERROR; INFO if "
    "nothing was produced to these queues and they hold nothing.",
    causes={
        UnassignedCause.BEYOND_READ_QUEUES: Cause(
            "`readQueueNums < writeQueueNums`",
            "The topic has more write queues than read queues, and messages in the surplus can be read by nobody: "
            "raise readQueueNums to writeQueueNums.",
        ),
    },
    example="`legacy-import`: `legacy` has 8 write queues and 4 read queues, for the whole recording.",
    touches=stranded_write_queues,
)
