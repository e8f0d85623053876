"""The kernel on source rows written by hand: histories, audited steps and output rows, without Spark."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from schemas import OUTPUTS, Table
from spark_jobs.domain.evaluate import EvaluatedStep, evaluate
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.history import GroupHistory
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.series import Series, State, coded
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import SECOND, AuditSettings, to_micros
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.ingest.files import read_lines
from spark_jobs.ingest.recording import Row, outcomes
from spark_jobs.ingest.silent_brokers import without_silent_brokers
from spark_jobs.pipeline.gather.histories import histories
from spark_jobs.pipeline.publish.rows import tables
from spark_jobs.what_if.answer import advice_in_numbers
from tests.support.gathered import Rows, gathered
from tests.support.times import START

_NOTHING = StrategySettings()


def settings(cadence: int = 20, *, step: int = 3600, **thresholds: Any) -> AuditSettings:
    """Steps of an hour, a snapshot every 20 seconds that holds for three such times, the default thresholds."""
    return AuditSettings(step * SECOND, cadence * SECOND, 3 * cadence * SECOND, Thresholds(**thresholds))


#: An empty configuration's.
SETTINGS = settings()
#: The step of 10:00.
WINDOW = SETTINGS.window(START)


def group_histories(rows: Rows, sighted: Rows | None = None) -> list[GroupHistory]:
    """One per (cluster, consumer group) that any row of members, offsets or clients names, or any member of those that
    were `sighted`, in order. Without these all rows were.
    """
    return histories(*gathered(rows, sighted))


def evaluated(
    rows: Rows,
    interval: Interval,
    settings: AuditSettings = SETTINGS,
    configured: StrategySettings = _NOTHING,
    sighted: Rows | None = None,
) -> list[EvaluatedStep]:
    """Every step of every group, all configured alike."""
    first, end = to_micros(interval.start), to_micros(interval.end)
    return [
        step
        for history in group_histories(rows, sighted)
        for step in evaluate(history, configured, settings, first, end, advice_in_numbers)
    ]


def published(rows: Rows, interval: Interval, settings: AuditSettings = SETTINGS) -> dict[Table, list[dict[str, Any]]]:
    """The rows of every output table as dicts, times without their zone (UTC), as Spark would give them."""
    outputs = tables(evaluated(rows, interval, settings))
    return {table: [_without_zone(row) for row in outputs[table.name].to_pylist()] for table in OUTPUTS}


@lru_cache(maxsize=3)
def recorded_rows(*recordings: Path) -> dict[Table, list[dict[str, Any]]]:
    """The source rows that the lines of recordings are read as; tests must not change them."""
    rows: dict[Table, list[dict[str, Any]]] = defaultdict(list)
    of_files = (without_silent_brokers(outcomes(read_lines(recording))) for recording in recordings)
    for outcome in chain.from_iterable(of_files):
        if isinstance(outcome, Row):
            rows[outcome.table].append(dict(outcome.values))
    return rows


def published_hour(rows: Rows, cadence_seconds: int, **thresholds: Any) -> dict[Table, list[dict[str, Any]]]:
    """What a run over the hour of the earliest snapshot publishes, as `published`."""
    earliest = min(row["captured_at"] for snapshots in rows.values() for row in snapshots)
    start = earliest.replace(minute=0, second=0, microsecond=0)
    return published(rows, Interval(start, start + timedelta(hours=1)), settings(cadence_seconds, **thresholds))


def _without_zone(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, dict):
        return {name: _without_zone(field) for name, field in value.items()}
    return [_without_zone(item) for item in value] if isinstance(value, list) else value


def audited_steps(
    history: GroupHistory, settings: AuditSettings, interval: Interval, configured: StrategySettings = _NOTHING
) -> list[AuditedStep]:
    """The steps of one group, as the rules look at them."""
    first, end = to_micros(interval.start), to_micros(interval.end)
    return [evaluated.step for evaluated in evaluate(history, configured, settings, first, end)]


def series_of(seen: Sequence[tuple[int, State]]) -> Series[State]:
    """A series from (microseconds, state), in any order; states must be hashable. Of equal times the last stays."""
    in_order = dict(sorted(seen, key=lambda snapshot: snapshot[0]))
    codes, states = coded(in_order.values())
    return Series(np.array(list(in_order), dtype=np.int64), codes, states)
