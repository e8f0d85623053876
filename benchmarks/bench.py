"""One run of the benchmark: its fleets, made once, and what several measures share."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.errors import NotMeasuredError
from benchmarks.fleet import Fleet
from benchmarks.process import Outcome, perform
from benchmarks.sides import Side
from benchmarks.times import Times
from schemas import SOURCES
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.operate.demo import example_files

#: The parts of the groups whose audits are compared.
SIZES = (0.1, 1.0)
#: Nobody recorded anything in this hour.
EMPTY = Interval.parse("2026-01-01T00:00/2026-01-01T01:00")
#: Name of the warehouse that the recording is loaded into.
RECORDING = "recording"
#: Rounds of what takes minutes.
LONG_ROUNDS = 3


@dataclass
class Bench:
    """`full_fleet` is the fleet that the others are parts of. `sizes` of it are audited: the last one is all of it.

    `before`: the folder of the commit that this one is compared with. `history_hours`: steps of the old warehouse.
    """

    root: Path
    full_fleet: Fleet
    rounds: int
    say: Callable[[str], None]
    sizes: Sequence[float] = SIZES
    test_log: Path | None = None
    before: Path | None = None
    history_hours: int = 8_760
    _made: dict[str, Fleet] = field(default_factory=dict)
    _files: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    @property
    def is_fleet_day(self) -> bool:
        """Return whether the goals that are about a fleet-day can be evaluated."""
        day = Fleet()
        return self.full_fleet.groups >= day.groups and self.full_fleet.hours >= day.hours

    def make(self, fleets: Mapping[str, Fleet]) -> None:
        """Makes the fleets by name that are not there yet."""
        missing = {name: fleet for name, fleet in fleets.items() if name not in self._made}
        if not missing:
            return
        self.say(f"making {len(missing)} fleets: {', '.join(missing)}")
        task = {"action": "make", "fleets": {str(self.root / name): asdict(fleet) for name, fleet in missing.items()}}
        files = perform(task).result
        self._files |= {name: files[str(self.root / name)] for name in missing}
        self._made |= missing

    def two_sides(self) -> tuple[Side, Side]:
        """The present commit, and the one before it. Raises `NotMeasuredError` where none was given."""
        if self.before is None:
            raise NotMeasuredError("the commit to compare with was not given (--before)")
        sides = Side("now"), Side("before", self.before.resolve())
        for side in sides:
            side.check()
        return sides

    def load_recording(self) -> None:
        """Loads the recording that ships with the project, unless it was loaded before."""
        if not (self.root / RECORDING).exists():
            self.say("loading the recording")
            perform({"action": "load", "warehouse": str(self.root / RECORDING)})

    def loaded_by(self, side: Side) -> Path:
        """The recording, loaded by this side itself: the columns of its source tables may be others."""
        target = self.root / f"{RECORDING}-{side.name}"
        if not target.exists():
            side.cold("ingest", "--warehouse", str(target), str(example_files().recording))
        return target

    def copied(self, name: str, side: str) -> Path:
        """The source tables of a fleet or the recording, copied once for one side alone: its results go beside them."""
        target = self.root / f"{name}-{side}"
        if not target.exists():
            for table in SOURCES:
                shutil.copytree(self.root / name / table.name, target / table.name)
        return target

    def files(self, name: str) -> dict[str, list[str]]:
        """Of a fleet that was made: the Parquet files of each table, by the table's name."""
        return self._files[name]

    def target(
        self, name: str, interval: Interval | None = None, configuration: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """What a task works on: a fleet that was made, over an interval (None: all of it)."""
        return {
            "warehouse": str(self.root / name),
            "interval": str(interval or self._made[name].interval),
            "configuration": dict(configuration or {}),
        }

    def perform(
        self, action: str, targets: Sequence[Mapping[str, Any]], warm_up: int = 0, command: Sequence[str] = ()
    ) -> Outcome:
        """The task over some targets in a process of its own; its warm-up is the first hour of one of them."""
        interval = Interval.parse(targets[warm_up]["interval"])
        hour = Interval(interval.start, interval.start + timedelta(hours=1))
        first = {**targets[warm_up], "interval": str(hour)}
        task = {"action": action, "targets": targets, "warm_up": first, "rounds": self.rounds}
        return perform(task, command=command)

    def times(self, action: str, targets: Sequence[Mapping[str, Any]], command: Sequence[str] = ()) -> list[Times]:
        """Those of each target."""
        return list(map(Times, self.perform(action, targets, command=command).result["seconds"]))

    def size(self, part: float) -> str:
        """Name of the fleet that has this part of the groups."""
        return f"groups-{self.groups(part)}"

    def groups(self, part: float) -> int:
        """So many groups are this part of the whole fleet; at least one."""
        return max(round(self.full_fleet.groups * part), 1)

    @cached_property
    def full_fleet_name(self) -> str:
        """The whole fleet, made."""
        self.make({self.size(part): replace(self.full_fleet, groups=self.groups(part)) for part in self.sizes})
        return self.size(1.0)

    @cached_property
    def scan_times(self) -> Times:
        """A scan of what the audit of the whole fleet reads."""
        name = self.full_fleet_name
        self.say("scanning the whole fleet")
        return self.times("scan", [self.target(name)])[0]

    @cached_property
    def audits(self) -> Outcome:
        """Audits of every size, and before them of an empty step if there are several: in turns, `seconds` and `stages`
        per target and round.
        """
        name = self.full_fleet_name
        self.say(f"auditing {len(self.sizes)} sizes up to the whole fleet, {self.rounds} × in turns")
        sizes = [self.target(self.size(part)) for part in self.sizes]
        empty = [self.target(name, EMPTY)] if len(sizes) > 1 else []
        return self.perform("audit", [*empty, *sizes], warm_up=-1)

    @property
    def empty_times(self) -> Times:
        """A run without snapshots, in a process that has run before: paid whatever is read. Of several sizes only."""
        return self._audited(0)

    def audit_times(self, part: float = 1.0) -> Times:
        """A run over a size."""
        return self._audited(self.sizes.index(part) - len(self.sizes))

    def _audited(self, target: int) -> Times:
        return Times(self.audits.result["seconds"][target])
