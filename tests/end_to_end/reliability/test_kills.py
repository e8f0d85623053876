"""SIGKILL at random moments: no reader sees half a step, the same command again completes, and nothing stays behind."""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.publish.claims import drop_dead_claims
from spark_jobs.pipeline.publish.turns import undo_unfinished
from spark_jobs.store.delta_log import LocalLog
from spark_jobs.store.warehouse import Warehouse
from tests.end_to_end.reliability.killing import ended, started
from tests.end_to_end.reliability.reader import Reader, Steps, published_steps
from tests.end_to_end.reliability.small_fleet import (
    EXIT_CODES,
    Contents,
    Prepared,
    arguments,
    contents,
    prepare,
    quietly,
)

pytestmark = pytest.mark.reliability

#: By default every victim of every command at least once.
CASES, SEED = int(os.environ.get("KILL_CASES", "24")), int(os.environ.get("KILL_SEED", "24"))
#: How often each comes, of a round of eight; `maintain` and `ingest` start no Python worker.
COMMANDS = ("run", "backfill", "late", "ingest", "run", "backfill", "late", "maintain")
VICTIMS = ("jvm", "driver", "all", "worker")
WITH_WORKERS = ("run", "backfill", "late")
#: After each how many kills the whole of `maintain` is run.
EVERY = 8
#: Seconds within which Java goes after its driver, and the driver after its Java.
GONE_WITHIN = 60.0


@dataclass(frozen=True)
class Undisturbed:
    """What a command leaves, and how long it works once it has started Spark."""

    contents: Contents
    published: Steps
    seconds: float


@dataclass
class Case:
    """A kill: `moment` is a share of the undisturbed work."""

    number: int
    command: str
    victim: str
    moment: float
    hit: bool = False
    code: int | None = None
    looks: int = 0
    outcome: str = ""


def cases() -> Iterator[Case]:
    """The same every time; the victims of each command in turn."""
    chance = random.Random(SEED)
    victims = {name: cycle(VICTIMS if name in WITH_WORKERS else VICTIMS[:-1]) for name in COMMANDS}
    for number, command in enumerate(islice(cycle(COMMANDS), CASES)):
        yield Case(number, command, next(victims[command]), chance.random())


@pytest.fixture(scope="module")
def prepared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(spark, tmp_path_factory.mktemp("prepared"))


def undisturbed(prepared: Prepared, command: str, folder: Path) -> Undisturbed:
    warehouse = prepared.copy(command, folder / "warehouse")
    with started(arguments(command, warehouse, prepared), folder) as process:
        begun = process.begins()
        assert process.process.wait(600) == EXIT_CODES[command], process.said()
        seconds = time.monotonic() - begun
    print(f"{command}: {seconds:.1f} s of work", flush=True)
    return Undisturbed(contents(warehouse), published_steps(warehouse.location), seconds)


def killed(case: Case, prepared: Prepared, warehouse: Warehouse, seconds: float, folder: Path) -> list[str]:
    """Kills; what is wrong with how the command ends."""
    with started(arguments(case.command, warehouse, prepared), folder) as process:
        moment = process.begins() + case.moment * seconds
        time.sleep(max(0.0, moment - time.monotonic()))
        family, before = process.family(), len(process.said())
        case.hit = process.kill(case.victim)
        alive = ended(process, family, GONE_WITHIN if case.hit else 600)
        case.code = process.process.returncode
        said = process.said()[before:]
    wrong = [f"{one.name()} still runs" for one in alive]
    ended_early = case.code != EXIT_CODES[case.command]  # a worker that has done its work is not missed
    if "Traceback" in said or "this is a bug" in said or (ended_early and said.count("\n") > 4):
        wrong.append(f"it said: {said}")
    if case.hit and case.victim == "jvm" and ended_early and case.code != 4:
        wrong.append(f"exit code {case.code}: {said}")
    return wrong


def left_behind(warehouse: Warehouse) -> list[str]:
    """Claims, staged results and unfinished files, but for data files, which VACUUM removes after the retention."""
    root = warehouse.local_path
    assert root is not None
    claims = [path for path in root.glob("_claims/*") if path.name != "all.lock"]
    unfinished = [path for path in root.rglob("*") if path.suffix == ".tmp" or path.name == "_temporary"]
    return [str(path.relative_to(root)) for path in (*claims, *root.glob("_staging/*"), *unfinished)]


def temporary_files(scratch: Path) -> list[str]:
    """What is left of Java's, once another process has begun where the killed one was."""
    another = "from spark_jobs.runtime.scratch import scratch_folder; print(scratch_folder())"
    begun = subprocess.run(
        [sys.executable, "-c", another], env=os.environ | {"TMPDIR": str(scratch)}, check=True, capture_output=True
    )
    own = Path(begun.stdout.decode().strip())
    return [path.name for path in scratch.iterdir() if path.stem != own.name]


def evaluated(case: Case, spark: SparkSession, prepared: Prepared, expected: Undisturbed, folder: Path) -> list[str]:
    """What is wrong after a case: the same command, and `maintain`, run in the session of the tests."""
    warehouse = prepared.copy(case.command, folder / "warehouse")
    with Reader(warehouse.location, [published_steps(warehouse.location), expected.published]) as reader:
        wrong = killed(case, prepared, warehouse, expected.seconds, folder)
        reader.look()
        code = quietly(arguments(case.command, warehouse, prepared))
    case.looks = reader.looks
    # `late` has nothing to do where all was published before the kill.
    if code != EXIT_CODES[case.command] and not (case.command == "late" and code == 0):
        wrong.append(f"again: exit code {code}")
    found = contents(warehouse)
    wrong += [f"{name} differs" for name in found if found[name] != expected.contents[name]]
    if published_steps(warehouse.location) != expected.published:
        wrong.append("readers do not see what was published")
    if case.number % EVERY:  # the parts of `maintain` that look after killed runs, without compacting 20 tables
        undo_unfinished(spark, warehouse)
        drop_dead_claims(warehouse)
    else:
        quietly(["maintain", "--warehouse", warehouse.location])
    for log in Path(warehouse.location).glob("*/_delta_log"):  # as `maintain` a day later
        LocalLog(log.parent).drop_unfinished(datetime.now(UTC))
    left = left_behind(warehouse) + temporary_files(folder / "scratch")
    return wrong + [f"left: {one}" for one in left] + [*dict.fromkeys(reader.wrong)]


def test_commands_killed_at_random_moments_leave_nothing_half_and_complete_later(
    spark: SparkSession, prepared: Prepared, tmp_path: Path
) -> None:
    every = list(cases())
    expected: dict[str, Undisturbed] = {}
    print("number command victim moment hit code looks outcome")
    for case in every:
        name = case.command
        if name not in expected:
            expected[name] = undisturbed(prepared, name, tmp_path / name)
        wrong = evaluated(case, spark, prepared, expected[name], tmp_path / str(case.number))
        case.outcome = "; ".join(wrong) or "as undisturbed"
        print(*astuple(case), flush=True)
    hits = Counter(case.victim for case in every if case.hit)
    print(f"{sum(hits.values())} of {len(every)} were hit: {dict(hits)}")
    assert [case for case in every if case.outcome != "as undisturbed"] == []
    assert sum(hits.values()) >= len(every) // 2
