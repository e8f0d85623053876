"""Published rows of the recordings, by the kernel alone, with the configuration of the demo: no Spark."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from schemas import AUDIT_RUNS, FINDINGS, GROUP_STATUS, Table
from spark_jobs.config import audit_settings, strategy_settings
from spark_jobs.config.file import load
from spark_jobs.domain.evaluate import EvaluatedStep, evaluate
from spark_jobs.domain.model.history import GroupHistory
from spark_jobs.domain.model.intervals import Interval, as_utc
from spark_jobs.domain.model.window import to_micros
from spark_jobs.pipeline.publish.rows import tables
from spark_jobs.store.read.stored import rows
from spark_jobs.what_if.answer import advice_in_numbers
from tests.spark.recording.conftest import CONFIGURATION, EXAMPLE, ROOT
from tests.support.kernel import group_histories, recorded_rows
from tests.support.stored import audit_run, write

#: The whole hours and the day that hold the recording, and the hour of the one with a proxy.
HOUR = Interval.parse("2026-11-21T02:00/2026-11-21T03:00")
PROXIES, PROXIES_HOUR = (
    ROOT / "tests" / "data" / "proxies.jsonl.gz",
    Interval.parse("2026-11-22T14:00/2026-11-22T15:00"),
)
DAY = Interval.parse("2026-11-21/2026-11-22")
Published = dict[Table, list[dict[str, Any]]]


@cache
def recorded(recording: Path = EXAMPLE, read: Interval | None = None) -> list[GroupHistory]:
    """One per consumer group of the recording: of its snapshots in this time only, where one is given, and of the
    sightings of all time.
    """
    rows = recorded_rows(recording)
    if read is None:
        return group_histories(rows)
    return group_histories({table: [row for row in found if _is_in(read, row)] for table, found in rows.items()}, rows)


def _is_in(read: Interval, row: dict[str, Any]) -> bool:
    return bool(read.start <= row["captured_at"] < read.end)


def audited(
    step_seconds: int,
    runs: Iterable[Interval] = (HOUR,),
    wanted: Iterable[Table] = (FINDINGS, GROUP_STATUS),
    recording: Path = EXAMPLE,
    read: Interval | None = None,
) -> Published:
    """What runs over these intervals publish in the wanted tables, on a grid of such steps, as `recorded`."""
    groups = recorded(recording, read)
    evaluated = tables([step for run in runs for history in groups for step in _steps(history, step_seconds, run)])
    return {table: rows(evaluated[table.name]) for table in wanted}


def _steps(history: GroupHistory, step_seconds: int, run: Interval) -> Iterator[EvaluatedStep]:
    configuration = load(CONFIGURATION).model_copy(update={"step_seconds": step_seconds})
    key = history.cluster, history.consumer_group
    settings, configured = audit_settings(configuration, *key), strategy_settings(configuration, *key)
    return evaluate(history, configured, settings, to_micros(run.start), to_micros(run.end), advice_in_numbers)


def write_warehouse(folder: Path, published: Published, step_seconds: int) -> None:
    """The published tables that tell of incidents, as one run over all their steps leaves them that published no
    coverage.
    """
    for table, found in published.items():
        write(folder, table, found)
    configuration = load(CONFIGURATION).model_copy(update={"step_seconds": step_seconds}).model_dump_json()
    versions = {table.name: 0 for table in published}
    steps = [as_utc(row["step_start"]) for row in published.get(GROUP_STATUS, ())] or [HOUR.start]
    audited = Interval(min(steps), max(steps) + timedelta(seconds=step_seconds))
    write(folder, AUDIT_RUNS, [audit_run(audited, versions, step_seconds=step_seconds, configuration=configuration)])
