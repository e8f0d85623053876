"""What `maintain` removes from Delta's logs: files that a killed Java did not finish, and nothing else."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from spark_jobs.operate.upkeep import drop_leavings
from spark_jobs.store.location import Location

UNFINISHED = ".00000000000000000003.crc.0b0d3f6e.tmp"
KEPT = ["00000000000000000003.json", "00000000000000000003.crc", "00000000000000000003.checkpoint.parquet"]


def test_unfinished_files_of_the_log_go_after_a_day(tmp_path: Path) -> None:
    log = tmp_path / "findings" / "_delta_log"
    log.mkdir(parents=True)
    for name in (UNFINISHED, f"{UNFINISHED}.tmp", *KEPT):
        (log / name).touch()
    old = (datetime.now(UTC) - timedelta(days=1, minutes=1)).timestamp()
    for name in (UNFINISHED, *KEPT):
        os.utime(log / name, (old, old))
    drop_leavings(Location.parse(str(tmp_path)))
    assert sorted(path.name for path in log.iterdir()) == sorted([f"{UNFINISHED}.tmp", *KEPT])
