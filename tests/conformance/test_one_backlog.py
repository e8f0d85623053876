"""Every answer names one backlog, in all recordings that are no public report: of live clusters, of brokers of other
versions, of incidents. `test_field.py` has the public reports. No Spark.
"""

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spark_jobs.cli.main import main
from spark_jobs.domain.model.intervals import Interval
from tests.support.look import audit_into
from tests.support.one_backlog import assert_one_backlog
from tests.unit.project.test_layers import ROOT

DATA = ROOT / "tests" / "data"
RECORDINGS = sorted(
    [ROOT / "examples" / "recording.jsonl.gz", *DATA.glob("*.jsonl.gz"), *DATA.glob("[cl]*/*.jsonl.gz")]
)
HOUR = timedelta(hours=1)


def recorded(recording: Path) -> tuple[list[datetime], int]:
    """The times of its lines, and the seconds between two rounds."""
    with gzip.open(recording) as text:
        lines = [json.loads(line) for line in text]
    cadence = round(next((line["cadence_s"] for line in lines if "cadence_s" in line), 20))
    return [datetime.fromtimestamp(line["at"] / 1000, UTC) for line in lines if "at" in line], cadence


@pytest.mark.slow
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_answer_names_one_backlog(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the step with the middle of the recording."""
    times, cadence = recorded(recording)
    middle = min(times) + (max(times) - min(times)) / 2
    start = middle.replace(minute=0, second=0, microsecond=0)
    audit_into(tmp_path, Interval(start, start + HOUR), cadence, [recording])

    def said(command: str, *options: str) -> str:
        main([command, "--warehouse", str(tmp_path), *options])
        return capsys.readouterr().out

    assert assert_one_backlog(said, middle.isoformat()) > 0
