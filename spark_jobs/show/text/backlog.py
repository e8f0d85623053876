"""What waited in some queues, and what went in and out, over one interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.domain.model.message_queue import queue_ranges
from spark_jobs.domain.model.statuses import LagQuality, Verdict
from spark_jobs.domain.phrases import count, known_sum, number_text, sum_before
from spark_jobs.show.rows import Row

_WHY_UNKNOWN: Mapping[str, str] = {
    LagQuality.NEVER_COMMITTED: "the group has never committed an offset there",
    LagQuality.NO_READING: "no offset was read",
}


#: Said instead of OK of a queue that ends behind by more than is allowed, and by more than it began with: it was caught
#: up a while before, so that no window of readings says otherwise.
GROWING = "GROWING"


def with_growth(row: Row, allowed_lag: int) -> Row:
    """A row of `queue_progress` with the verdict that is told."""
    is_behind = row["verdict"] == Verdict.OK and row["lag_last"] > max(row["lag_first"] or 0, allowed_lag)
    return {**row, "verdict": GROWING} if is_behind else row


@dataclass(frozen=True)
class Unknown:
    """Queues without a known backlog, why, and messages produced to them (None: unknown)."""

    queues: str
    queue_count: int
    quality: str
    produced: int | None


@dataclass(frozen=True)
class ViewBacklog:
    """Messages of the queues whose backlog is known: at the interval's first and last reading, and what came and went
    (None: no pair of readings); `verdicts` counts these queues by verdict, given two readings (`GROWING`: none of those
    that are not OK, yet); `last_reading_at`: the last reading of any of them. `unknown_at_first`: those whose
    first reading does not tell, so that the sum at first is unknown. `is_unfiltered`: messages that the group does not
    subscribe count, too.
    """

    queue_count: int
    first: int | None
    unknown_at_first: str
    last: int | None
    produced: int | None
    consumed: int | None
    verdicts: dict[str, int]
    last_reading_at: datetime | None
    unknown: list[Unknown]
    is_unfiltered: bool = False


def backlog_of(rows: Sequence[Row]) -> ViewBacklog | None:
    """The rows of `queue_progress` added up; None without any."""
    if not rows:
        return None
    known = [row for row in rows if row["lag_last"] is not None]
    unread = [row for row in rows if row["lag_last"] is None]
    counted = Counter(row["verdict"] for row in known if row["verdict"] and row["readings"] > 1)
    return ViewBacklog(
        queue_count=len(known),
        first=sum_before((row["lag_first"], row["lag_last"]) for row in known),
        unknown_at_first=_ranges(row for row in known if row["lag_first"] is None),
        last=known_sum(row["lag_last"] for row in known),
        produced=known_sum(row["produced"] for row in known),
        consumed=known_sum(row["consumed"] for row in known),
        verdicts={verdict: counted[verdict] for verdict in (*map(str, Verdict), GROWING) if counted[verdict]},
        last_reading_at=max((row["last_reading_at"] for row in known if row["last_reading_at"]), default=None),
        unknown=[_unknown(quality, unread) for quality in sorted({row["lag_quality"] for row in unread})],
        is_unfiltered=any(row["lag_quality"] == LagQuality.UNFILTERED for row in known),
    )


def _unknown(quality: str, rows: Sequence[Row]) -> Unknown:
    rows = [row for row in rows if row["lag_quality"] == quality]
    return Unknown(_ranges(rows), len(rows), quality, known_sum(row["produced"] for row in rows))


def _ranges(rows: Iterable[Row]) -> str:
    return queue_ranges((row["broker_name"], row["queue_id"]) for row in rows)


def backlog_text(backlog: ViewBacklog | None, *, owned: bool = True) -> str:
    """One or more sentences, such as `Backlog 27 → 6,120; 6,193 produced, 76 consumed.` With `owned` the verdicts too:
    of a queue that nobody consumes they say nothing.
    """
    if backlog is None:
        return "Backlog unknown: no offset was read."
    alone = not backlog.queue_count and len(backlog.unknown) == 1
    known = [_known(backlog, owned)] if backlog.queue_count else []
    return " ".join([*known, *(_unknown_text(one, alone) for one in backlog.unknown)])


def _known(backlog: ViewBacklog, owned: bool) -> str:
    moved = "messages produced and consumed are unknown"
    if backlog.produced is not None or backlog.consumed is not None:
        moved = f"{number_text(backlog.produced)} produced, {number_text(backlog.consumed)} consumed"
    if not backlog.verdicts and backlog.last_reading_at:
        return (
            f"Backlog {number_text(backlog.last)} at the only reading, {format_utc(backlog.last_reading_at)}; {moved}."
        )
    told = f"Backlog {number_text(backlog.first)} → {number_text(backlog.last)}; {moved}"
    if backlog.unknown_at_first:
        told += f"; at first the group had not committed an offset in {backlog.unknown_at_first}"
    return f"{told}; {_verdicts(backlog.verdicts)}." if owned and backlog.verdicts else f"{told}."


def _verdicts(verdicts: Mapping[str, int]) -> str:
    if list(verdicts) == [GROWING]:
        return "growing, but not for long enough for a verdict"
    if len(verdicts) == 1:
        return f"verdict {next(iter(verdicts))}"
    return "verdicts " + ", ".join(f"{verdict} on {count(queues, 'queue')}" for verdict, queues in verdicts.items())


def _unknown_text(unknown: Unknown, alone: bool) -> str:
    where = "" if alone else f" of {unknown.queues}"
    why = _WHY_UNKNOWN.get(unknown.quality, unknown.quality)
    produced = "messages produced are unknown, too" if unknown.produced is None else f"{unknown.produced:,} produced"
    return f"Backlog{where} unknown: {why}; {produced}."
