"""The backlog of some queues over one interval, with messages produced and consumed: as values and as sentences."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.domain.model.message_queue import queue_ranges
from spark_jobs.domain.model.statuses import LagQuality, Verdict
from spark_jobs.domain.phrases import count, known_sum, number_text, sum_before
from spark_jobs.show.rows import Row

_WHY_UNKNOWN: Mapping[str, str] = {
    LagQuality.NEVER_COMMITTED: "the group has never committed an offset there",
    LagQuality.BEYOND_END: "the group's offset is beyond the end of the queue",
    LagQuality.END_UNKNOWN: "the logs do not say where the queue ends",
    LagQuality.NO_READING: "no offset was read",
}


#: Shown instead of OK if the last lag exceeds the first and the allowed one, while all windows of samples are OK.
GROWING = "GROWING"


def with_growth(row: Row, allowed_lag: int) -> Row:
    """The row of `queue_progress`, its verdict replaced by `GROWING` where that holds."""
    is_behind = row["verdict"] == Verdict.OK and row["lag_last"] > max(row["lag_first"] or 0, allowed_lag)
    return {**row, "verdict": GROWING} if is_behind else row


@dataclass(frozen=True)
class Unknown:
    """Queues without a known backlog, why, and messages produced to and consumed from them (None: unknown).

    `stored_first`, `stored_last`: messages that they hold when a finding about them begins and ends, by the topic's own
    offsets.
    """

    queues: str
    queue_count: int
    quality: str
    produced: int | None
    consumed: int | None
    stored_first: int | None = None
    stored_last: int | None = None


@dataclass(frozen=True)
class ViewBacklog:
    """The known backlogs of queues, added up, in messages: `first` and `last` sample of the interval, `produced` and
    `consumed` between samples (None: no queue has two).

    `unknown_at_first`: queues without a first lag, so that `first` is unknown. `verdicts`: queues with two samples by
    verdict. `is_unfiltered`: skipped messages count, too. `unconsumed`: queues with messages in, and none out.
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
    unconsumed: Sequence[str] = ()


def _unconsumed(rows: Iterable[Row]) -> list[str]:
    """Clauses: queues into which messages came, and none went out."""
    standing = [row for row in rows if row["produced"] and not row["consumed"]]
    known = [row for row in standing if row["lag_last"] is not None]
    texts = []
    for alike, wait in (
        (known, f"{known_sum(row['lag_last'] for row in known) or 0:,} wait"),
        ([row for row in standing if row["lag_last"] is None], "no offset is known there"),
    ):
        if alike:
            produced = count(known_sum(row["produced"] for row in alike) or 0, "message")
            texts.append(f"{_ranges(alike)}: {produced} produced in this interval, none consumed, {wait}")
    return texts


def backlog_of(rows: Sequence[Row]) -> ViewBacklog | None:
    """The rows of `queue_progress` added up; None without rows."""
    if not rows:
        return None
    measured = [row for row in rows if row["lag_last"] is not None]
    unmeasured = [row for row in rows if row["lag_last"] is None]
    verdicts = Counter(row["verdict"] for row in measured if row["verdict"] and row["readings"] > 1)
    return ViewBacklog(
        queue_count=len(measured),
        first=sum_before((row["lag_first"], row["lag_last"]) for row in measured),
        unknown_at_first=_ranges(row for row in measured if row["lag_first"] is None),
        last=known_sum(row["lag_last"] for row in measured),
        produced=known_sum(row["produced"] for row in measured),
        consumed=known_sum(row["consumed"] for row in measured),
        verdicts={verdict: verdicts[verdict] for verdict in (*map(str, Verdict), GROWING) if verdicts[verdict]},
        unconsumed=_unconsumed(rows),
        last_reading_at=max((row["last_reading_at"] for row in measured if row["last_reading_at"]), default=None),
        unknown=[_unknown(alike) for _, alike in sorted(by_key(unmeasured, _kind).items())],
        is_unfiltered=any(row["lag_quality"] == LagQuality.UNFILTERED for row in measured),
    )


def _kind(row: Row) -> tuple[str, bool]:
    """Queues with the same are shown together; the second: it is known how many messages they hold."""
    return row["lag_quality"], row["produced"] is None and bool(row.get("stored"))


def _unknown(rows: Sequence[Row]) -> Unknown:
    """Of rows of one `_kind`, of which there is at least one."""
    produced, consumed = (known_sum(row[name] for row in rows) for name in ("produced", "consumed"))
    stored = [row["stored"] for row in rows if _kind(row)[1]]
    sums = sum_before(stored), known_sum(last for _, last in stored)
    return Unknown(_ranges(rows), len(rows), rows[0]["lag_quality"], produced, consumed, *sums)


def _ranges(rows: Iterable[Row]) -> str:
    return queue_ranges((row["broker_name"], row["queue_id"]) for row in rows)


def backlog_text(backlog: ViewBacklog | None, *, owned: bool = True) -> str:
    """Sentences such as `Backlog 27 → 6,120; 6,193 produced, 76 consumed.`; `owned`: with verdicts."""
    if backlog is None:
        return "Backlog unknown: no offset was read."
    is_single = not backlog.queue_count and len(backlog.unknown) == 1
    known_texts = [_known_text(backlog, owned)] if backlog.queue_count else []
    return " ".join([*known_texts, *(_unknown_text(unknown, is_single) for unknown in backlog.unknown)])


def _known_text(backlog: ViewBacklog, owned: bool) -> str:
    flow = "messages produced and consumed are unknown"
    if backlog.produced is not None or backlog.consumed is not None:
        flow = f"{number_text(backlog.produced)} produced, {number_text(backlog.consumed)} consumed"
    if not backlog.verdicts and backlog.last_reading_at:
        return f"Backlog {number_text(backlog.last)} at the only sample, {format_utc(backlog.last_reading_at)}; {flow}."
    text = f"Backlog {number_text(backlog.first)} → {number_text(backlog.last)}; {flow}"
    if backlog.unknown_at_first:
        text += f"; at first the group had not committed an offset in {backlog.unknown_at_first}"
    return f"{text}; {_verdicts(backlog.verdicts)}." if owned and backlog.verdicts else f"{text}."


def _verdicts(verdicts: Mapping[str, int]) -> str:
    if list(verdicts) == [GROWING]:
        return "growing, but not for long enough for a verdict"
    if len(verdicts) == 1:
        return f"verdict {next(iter(verdicts))}"
    return "verdicts " + ", ".join(f"{verdict} on {count(queues, 'queue')}" for verdict, queues in verdicts.items())


def _unknown_text(unknown: Unknown, is_single: bool) -> str:
    queues = "" if is_single else f" of {unknown.queues}"
    if unknown.stored_last is not None:
        text = f"Backlog{queues} {number_text(unknown.stored_first)} → {unknown.stored_last:,}"
        return f"{text}: messages in the queues over the time of the finding. No offset of the group was read."
    if unknown.quality == LagQuality.NO_READING and unknown.produced is not None:
        return f"Backlog{queues} at least {unknown.produced:,}, which were produced: brokers report no offset there."
    reason = _WHY_UNKNOWN.get(unknown.quality, unknown.quality)
    produced = "messages produced are unknown, too" if unknown.produced is None else f"{unknown.produced:,} produced"
    consumed = "" if unknown.consumed is None else f"; {unknown.consumed:,} consumed"
    return f"Backlog{queues} unknown: {reason}; {produced}{consumed}."
