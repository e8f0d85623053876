"""Audits each step of a warehouse soon after its end, in one Spark session, and maintains the tables daily."""

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from resource import RUSAGE_SELF, getrusage
from threading import Event

from pyspark.sql import SparkSession

from schemas import AUDIT_RUNS, OPTIONAL_SOURCES, SIGHTINGS, SOURCES
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import IncompleteError, QualityError, RebalanceAuditError, UnexpectedError
from spark_jobs.operate.arrivals import LATE_AFTER, awaited_sources
from spark_jobs.operate.backfill import StepProgress, VersionsRead, backfill, failed, filling
from spark_jobs.operate.late import changed_steps, late_steps
from spark_jobs.operate.maintain import maintain
from spark_jobs.operate.retention import Keep, delete_expired
from spark_jobs.runtime.faults import own_error
from spark_jobs.runtime.session import end_session
from spark_jobs.store.read.stored import Filter, StoredTables
from spark_jobs.store.read.through_spark import readable_tables
from spark_jobs.store.warehouse import Warehouse

_LOG = logging.getLogger(__name__)
_NEEDED = tuple(table for table in SOURCES if table not in OPTIONAL_SOURCES)
#: Steps that ended longer ago are not looked for (docs/schedule.md).
_LOOKED_BACK = timedelta(days=7)
#: Seconds until the next look while snapshots are awaited, and after an error.
_WHILE_AWAITED, _AFTER_ERROR = 10.0, 30.0
#: After so many turns in a row that failed the process ends: whoever supervises it begins a new one.
_TURNS = 10
#: Bytes that Python may hold: measured 0.45 GiB, and 1.7 MB more with each step.
_MEMORY = 2 * 2**30
#: The hour of the day, UTC, from which on late steps are audited again and the tables are maintained.
_UPKEEP_HOUR = 3

_TOO_LARGE = (
    f"this process ends between two steps, as it holds more than {_MEMORY // 2**30} GiB without Java: start it again, "
    "or let systemd, Docker or Kubernetes do so"
)


def memory_held() -> int:
    """The most bytes that this process, without Java, has held at a time."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * getrusage(RUSAGE_SELF).ru_maxrss


@dataclass
class Watch:
    """The audits of a warehouse by a process that stays. `session` starts Spark; `tell` says what is new after them;
    `now`: the clock, UTC.
    """

    warehouse: Warehouse
    configuration: Configuration
    session: Callable[[], SparkSession]
    keep: Keep
    retention: timedelta
    tell: Callable[[StoredTables], None]
    progress: StepProgress
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    stopped: Event = field(default_factory=Event)
    _audited_until: datetime | None = None
    _kept_up_on: date | None = None

    @cached_property
    def _spark(self) -> SparkSession:
        return self.session()

    @property
    def _stored(self) -> StoredTables:
        return readable_tables(self.warehouse, lambda: self._spark)

    def run(self) -> None:
        """Until `stopped` is set: a step that is under way then ends at its next stage, and stays as it was.

        An error ends a turn, and is logged; after one of Spark or the machine a new session begins. Raises the tenth in
        a row, and `IncompleteError` between two turns if Python holds too much memory.
        """
        errors = 0
        while not self.stopped.is_set():
            try:
                pause = self.turn()
                errors = 0
            except CancelledError:
                return
            except Exception as error:
                errors, pause = errors + 1, _AFTER_ERROR
                self._failed(error, is_last=errors == _TURNS)
            if memory_held() > _MEMORY:
                raise IncompleteError(_TOO_LARGE)
            self.stopped.wait(pause)

    def _failed(self, error: Exception, *, is_last: bool) -> None:
        own = error if isinstance(error, RebalanceAuditError) else own_error(error, self.warehouse.local_path)
        if is_last:
            raise own from error
        _LOG.error("%s", own)
        if isinstance(own, UnexpectedError):
            end_session()
            self.__dict__.pop("_spark", None)

    def turn(self) -> float:
        """Audit missing steps whose snapshots have come, send notifications; return the seconds until the next turn.

        Steps of the last seven days; none before its snapshots and those of all earlier steps are there, or ten minutes
        after its end. Raises the first error of a step but a closed gate, after all others.
        """
        now, grid = self.now(), self.configuration.grid
        if self._audited_until is None and not all(map(self._stored.exists, _NEEDED)):
            _LOG.warning("waiting for the first snapshots in %s", self.warehouse.location)
            return _AFTER_ERROR
        ended_at = grid.floor(now)
        until = next(self._awaited(now), ended_at)
        since = self._since(now)
        if since < until != self._audited_until:
            interval = Interval(since, until)
            read_since = since - timedelta(days=1)
            steps = filling(self._stored, self.configuration, now, self._changed, interval, read_since=read_since).steps
            self._audit(steps)
            self._audited_until = until
        if until < ended_at:
            return _WHILE_AWAITED
        if now.hour >= _UPKEEP_HOUR and now.date() != self._kept_up_on:
            self._kept_up_on = now.date()
            self._keep_up(Interval(since, until))
        return max(0.0, (ended_at + grid.length - self.now()).total_seconds())

    def _since(self, now: datetime) -> datetime:
        """The start of the first step that may be missing; without sightings, of the last minutes."""
        stored, grid = self._stored, self.configuration.grid
        week = [Filter("hour", ">=", now - _LOOKED_BACK)]
        _, first = stored.count(SIGHTINGS, "first_at", week) if stored.exists(SIGHTINGS) else (0, None)
        return grid.floor(now - LATE_AFTER) - grid.length if first is None else grid.floor(first)

    def _awaited(self, now: datetime) -> Iterator[datetime]:
        """The starts of the steps whose snapshots are awaited."""
        grid = self.configuration.grid
        for step in grid.steps(Interval(grid.floor(now - LATE_AFTER) - grid.length, grid.floor(now))):
            if now < step.end + LATE_AFTER and awaited_sources(self._stored, self.configuration, step, now) != []:
                yield step.start

    def _changed(self, versions: VersionsRead) -> set[Interval]:
        return changed_steps(self._spark, self.warehouse, self._stored, self.configuration, versions)

    def _audit(self, steps: Sequence[Interval]) -> None:
        outcomes = {}
        if steps:
            outcomes = backfill(self._spark, self.warehouse, steps, self.configuration, progress=self._say)
        if self._stored.exists(AUDIT_RUNS):  # not before the first step has ended
            self.tell(self._stored)
        for error in failed(outcomes).values():
            if not isinstance(error, QualityError):
                raise error

    def _say(self, step: Interval, message: str, has_ended: bool) -> None:
        if self.stopped.is_set():
            raise CancelledError
        self.progress(step, message, has_ended)

    def _keep_up(self, interval: Interval) -> None:
        self._audit(late_steps(self._spark, self.warehouse, self.configuration, interval))
        delete_expired(self._spark, self.warehouse, self.keep)
        maintain(self._spark, self.warehouse, self.retention)
