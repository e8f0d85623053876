"""ORDERLY_LOCK_MISSING: an orderly consumer owns a queue without the broker's lock on it."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from schemas import CLIENT_SNAPSHOTS
from spark_jobs.findings.looks import symptoms
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import queue, touches

NAME = "ORDERLY_LOCK_MISSING"
UNLOCKED = "UNLOCKED"
NOT_LOCKED = "NOT_LOCKED"


def orderly_locks_missing(audited: Audited) -> DataFrame:
    """One touch per (orderly client, span, queue that it owns unlocked); one condition per client and topic."""
    return touches(
        symptoms(audited.looks, "unlocked"),
        NAME,
        queue=queue(UNLOCKED),
        cause=F.lit(NOT_LOCKED),
        blamed=F.col("client_id"),
    )


RULE = Rule(
    name=NAME,
    meaning="An orderly consumer owns a queue and does not hold the broker's lock on it: it consumes nothing there, "
    "and tries again every 3 s. One finding per client and topic.",
    decided_by="two successive looks at a client with an orderly listener (not BROADCASTING, which needs no locks) "
    "show the queue as its own and not locked. INFO if nothing was produced to the queues and no backlog is known.",
    causes={
        NOT_LOCKED: Cause(
            "the client says that it has no lock",
            "Another client holds the lock, until 60 s after it last renewed it: look for a consumer that was stopped "
            "without shutdown, for twins, and for members whose views of the group differ.",
        ),
    },
    example="nothing: `ledger`, the orderly group, holds all its locks at every look.",
    touches=orderly_locks_missing,
    needs=(CLIENT_SNAPSHOTS,),
)
