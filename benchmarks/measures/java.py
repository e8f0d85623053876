"""RocketMQ's own classes in a loop: what it would take to ask them instead."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.duckdb_replay import connect, export_states, load
from benchmarks.errors import NotMeasuredError
from benchmarks.measure import CallResults
from benchmarks.process import MeasurementError
from benchmarks.times import Times
from spark_jobs.config import Configuration

_SOURCES = Path(__file__).parents[1] / "java"
#: At least so many equal parts: the first is gone through once more, to warm up.
_PARTS = 5
#: Where the class path of RocketMQ's client is put, once.
CLASS_PATH = Path(sys.prefix) / "share" / "rebalance-audit" / "rocketmq-client-5.4.0"


def hash_loop(bench: Bench) -> CallResults:
    """The whole audit ÷ AllocateMessageQueueConsistentHash for every snapshot, client and topic, input in memory: the
    median of the loop's equal rounds × their number.
    """
    jars = class_path(CLASS_PATH)
    states = bench.root / "states.tsv"
    with connect(threads=2) as connection:
        load(connection, bench.files(bench.full_fleet_name), bench.full_fleet.interval, Configuration())
        export_states(connection, states)
    bench.say("asking RocketMQ's own CONSISTENT_HASH")
    parts = max(bench.rounds, _PARTS)
    rounds = [line.split() for line in run_loop(jars, states, "CONSISTENT_HASH", parts)]
    loop = Times(float(seconds) * parts for seconds, _, _ in rounds)
    calls = sum(int(calls) for _, calls, _ in rounds)
    return CallResults.ratio(bench.audit_times(), loop, f"{calls:,} calls")


def run_loop(jars: Path, states: Path, strategy: str, rounds: int) -> list[str]:
    """What `AllocationLoop.java` prints: seconds, calls and a sum per round. Raises `MeasurementError`."""
    with tempfile.TemporaryDirectory() as home:  # RocketMQ's logs go there
        command = ["java", f"-Duser.home={home}", "-cp", f"{jars}/*", str(_SOURCES / "AllocationLoop.java")]
        answer = subprocess.run(
            [*command, str(states), strategy, str(rounds)], check=False, capture_output=True, text=True
        )
    if answer.returncode:
        raise MeasurementError(f"the loop of {strategy} ended with {answer.returncode}:\n{answer.stderr[-2000:]}")
    return answer.stdout.splitlines()


def class_path(directory: Path) -> Path:
    """The folder with the jars of RocketMQ's client, fetched by Maven if they are not there: all of them or none.

    Raises `NotMeasuredError` without Java, or without Maven or network where they have to be fetched.
    """
    if not shutil.which("java"):
        raise NotMeasuredError("there is no java on the PATH")
    if directory.is_dir():
        return directory
    if not shutil.which("mvn"):
        raise NotMeasuredError("there is no mvn on the PATH, which would fetch RocketMQ's client")
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".rocketmq-") as scratch:
        jars = Path(scratch, "jars")
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
        command = ["mvn", "--quiet", "--batch-mode", "--file", str(_SOURCES / "pom.xml"), *goal]
        answer = subprocess.run(command, check=False, capture_output=True, text=True)
        if answer.returncode or not any(jars.glob("rocketmq-client-*.jar")):
            raise NotMeasuredError("mvn could not fetch RocketMQ's client 5.4.0: is there network?")
        jars.rename(directory)
    return directory
