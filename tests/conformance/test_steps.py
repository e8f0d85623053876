"""Where a step ends does not matter: public reports in steps of 30 or 5 minutes have the incidents of one hour."""

from pathlib import Path

import pytest

from schemas import FINDINGS, GROUP_STATUS
from spark_jobs.domain.model.severities import INFO
from spark_jobs.pipeline.publish.rows import tables
from spark_jobs.store.read.stored import rows
from tests.conformance.recording.test_incidents import sorted_incidents
from tests.conformance.test_field import HOUR, INTERVAL_SECONDS, RECORDINGS
from tests.support.kernel import evaluated, recorded_rows, settings

#: Not the same in two steps of half an hour: the next step does not know the queues that were removed before it, how
#: far apart commits were, that an offset moved before, how fast a listener usually was (244), that the same
#: processes were members before (177), that the subscription was another one (178), that offsets advanced before
#: members broadcast (218), how far an offset had been before it went back (08, 158, 188, 189, 199, 245), the usual
#: shares of producers (202), that all came back that failed (219), that other queues of the same consumers stand
#: (216), that messages came at once (242), or, as these tests read no sightings, that a group was there before
#: (228); the one before does not know who will fall behind (201), or who comes back after an absence (204). A
#: beginning is 20 s off (231).
NOT_IN_HALF_HOURS = (
    *("08", "33", "v46", "138", "153", "158", "177", "178", "188", "189", "199", "201", "202", "204"),
    *("216", "218", "219", "228", "231", "242", "244", "245"),
)
#: Nor in steps of five minutes: these know less of what was before, and of what is usual: of commits (46), of the
#: runs of a job (133), of consumers that come later (02), of past use (74), of shares of producers (27, 119, 151,
#: 170) or of failures (19, 38), that one message is all that is late (21), whose load makes a listener busy (164),
#: that a topic was there (184), where an offset had been (09, 196), or that nothing, or a part only, came back for
#: as long as it takes (200, 211, 232), or that a wait for locks lasts (235), or that who holds messages now did not
#: answer before (248). Two ends and a beginning are some seconds off (07, 80, 124), and a step that ends in an
#: absence does not know who comes back (32, 155).
NOT_IN_FIVE_MINUTES = (
    *NOT_IN_HALF_HOURS,
    *("02", "07", "09", "119", "124", "133", "151", "155", "164", "170", "184", "196", "200", "211"),
    *("19", "21", "27", "32", "38", "46", "74", "80", "232", "235", "248"),
)
FILES = {file.name.split("_")[0]: file for file in sorted(RECORDINGS.glob("*.jsonl.gz"))}


def incidents(recording: Path, step_seconds: int) -> list[tuple[object, ...]]:
    published = tables(evaluated(recorded_rows(recording), HOUR, settings(INTERVAL_SECONDS, step=step_seconds)))
    found = sorted_incidents({table: rows(published[table.name]) for table in (FINDINGS, GROUP_STATUS)}, step_seconds)
    return [
        (one.rule, one.causes, one.severity, one.consumer_groups, one.opened_at, one.resolved_at)
        for one in found
        if one.severity != INFO
    ]


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in FILES if case not in NOT_IN_HALF_HOURS])
def test_an_hour_in_two_steps_has_the_same_incidents(case: str) -> None:
    assert incidents(FILES[case], 1800) == incidents(FILES[case], 3600)


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in FILES if case not in NOT_IN_FIVE_MINUTES])
def test_an_hour_in_steps_of_five_minutes_has_the_same_incidents(case: str) -> None:
    assert incidents(FILES[case], 300) == incidents(FILES[case], 3600)


@pytest.mark.slow
def test_what_hangs_and_is_sent_back_is_not_delivered_again_by_the_broker() -> None:
    """In the second half hour nothing is consumed."""
    assert "CONSUME_FAILING" not in {rule for rule, *_ in incidents(FILES["216"], 1800)}
