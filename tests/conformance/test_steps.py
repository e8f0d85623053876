"""Where a step ends does not matter: public reports in two steps of half an hour have the incidents of one hour."""

from pathlib import Path

import pytest

from schemas import FINDINGS, GROUP_STATUS
from spark_jobs.domain.model.severities import INFO
from spark_jobs.pipeline.publish.rows import tables
from spark_jobs.store.read.stored import rows
from tests.conformance.recording.test_incidents import sorted_incidents
from tests.conformance.test_field import HOUR, INTERVAL_SECONDS, RECORDINGS
from tests.support.kernel import evaluated, recorded_rows, settings

#: The next step knows neither the queues that were removed before it, nor how far apart commits were, that an offset
#: moved before, or how fast a listener usually was.
NOT_KNOWN_LATER = ("33", "v46", "138", "153")
FILES = [file for file in sorted(RECORDINGS.glob("*.jsonl.gz")) if file.name.split("_")[0] not in NOT_KNOWN_LATER]


def incidents(recording: Path, step_seconds: int) -> list[tuple[object, ...]]:
    published = tables(evaluated(recorded_rows(recording), HOUR, settings(INTERVAL_SECONDS, step=step_seconds)))
    found = sorted_incidents({table: rows(published[table.name]) for table in (FINDINGS, GROUP_STATUS)}, step_seconds)
    return [
        (one.rule, one.causes, one.severity, one.consumer_groups, one.opened_at, one.resolved_at)
        for one in found
        if one.severity != INFO
    ]


@pytest.mark.slow
@pytest.mark.parametrize("recording", FILES, ids=lambda file: file.name.split("_")[0])
def test_an_hour_in_two_steps_has_the_same_incidents(recording: Path) -> None:
    assert incidents(recording, 1800) == incidents(recording, 3600)
