"""Logs of any size, of real lines whose times are shifted, and how fast they are read: the JSON file of a task in, its
result as the last line out.
"""

import json
import os
import re
import sys
import tarfile
import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from benchmarks.process import PROJECT
from spark_jobs.ingest.logs.entries import LogZone
from spark_jobs.ingest.logs.read import read_files

_LINES: Final = PROJECT / "tests" / "data" / "logs" / "live2.tar.gz"
_FILE: Final = "home/broker-a/logs/rocketmqlogs/broker.log"
_ENTRY = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)( .*)")
#: The lines are of so much time.
_SPAN: Final = timedelta(minutes=20)
_FILES: Final = 4


def make(folder: Path, megabytes: int) -> None:
    """Writes a broker's log in four rotated files, which follow each other."""
    with tarfile.open(_LINES) as tar:
        text = tar.extractfile(_FILE).read().decode()  # type: ignore[union-attr]  # it is a file
    lines = [match.groups() for match in map(_ENTRY.fullmatch, text.splitlines()) if match]
    times = 1 + megabytes * 1_000_000 // _FILES // len(text)
    folder.mkdir(parents=True)
    for number in range(_FILES):
        with (folder / f"broker.log.{number}").open("w") as file:
            for turn in range(number * times, (number + 1) * times):
                for at, rest in lines:
                    file.write(f"{datetime.fromisoformat(at) + turn * _SPAN}{rest}\n")


def perform(task: Mapping[str, Any]) -> dict[str, Any]:
    """The seconds in which the files of a folder are read on so many cores, and how many bytes and events they have."""
    os.sched_setaffinity(0, range(task["cores"]))
    paths = sorted(Path(task["folder"]).iterdir())
    began = time.perf_counter()
    events = sum(len(log.events) for log in read_files(paths, LogZone(None), 0 if task["cores"] > 1 else sys.maxsize))
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "bytes": sum(path.stat().st_size for path in paths), "events": events}


if __name__ == "__main__":
    print(json.dumps(perform(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))))
