"""Capacity advice as Columns; its plain twin, with the reasons, is `domain.capacity`."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.domain.capacity import ADVICE, CATCH_UP_SECONDS, SIGNS, Limit


def limit() -> Column:
    """What limits a row with `members`, `queues`, `backlog_start`, `backlog_end`, `out_rate` and `signs`."""
    shrank = F.coalesce(F.col("backlog_end") < F.col("backlog_start"), F.lit(False))
    soon_cleared = F.col("backlog_end") <= CATCH_UP_SECONDS * F.coalesce("out_rate", F.lit(0.0))
    found = (
        F.when(F.col("backlog_end").isNull(), Limit.UNKNOWN_BACKLOG)
        .when(shrank | soon_cleared, Limit.NO_BACKLOG)
        .when(F.col("members") == 0, Limit.NOBODY_ONLINE)
    )
    for name, signs in SIGNS.items():
        found = found.when(F.arrays_overlap("signs", F.array(*map(F.lit, signs))), name)
    return found.when(F.col("members") >= F.col("queues"), Limit.QUEUES).otherwise(Limit.MEMBERS)


def more_members_help() -> Column:
    """Whether more members would help a row with its `limit`; null where the question has no answer."""
    unanswered = F.col("limit").isin(Limit.UNKNOWN_BACKLOG, Limit.NO_BACKLOG)
    return F.when(~unanswered, F.col("limit").isin(Limit.MEMBERS, Limit.NOBODY_ONLINE))


def busiest_share(members: Column) -> Column:
    """Queues of the member with the most, shared evenly; null without members."""
    return F.when(members > 0, F.ceil(F.col("queues") / members).cast("int"))


def advice() -> Column:
    """The answer in words and numbers, for a row with its `limit`, `busiest_share` and `share_after`."""
    text = F.try_element_at(F.create_map(*(F.lit(part) for entry in ADVICE.items() for part in entry)), F.col("limit"))
    numbers = {"members": "members", "queues": "queues", "share": "busiest_share", "share_after": "share_after"}
    for name, column in numbers.items():
        shown = F.coalesce(F.col(column).cast("string"), F.lit("?"))
        text = F.replace(text, F.lit(f"{{{name}}}"), shown)
    return text
