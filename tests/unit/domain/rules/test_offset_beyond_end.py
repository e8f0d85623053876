"""OFFSET_BEYOND_END: offsets of a topic's former life, on samples written by hand; and what only looks like it."""

from dataclasses import replace

import pytest

from schemas import TOPIC_SNAPSHOTS
from spark_jobs.domain.kernel.audited_step import Switch
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.rules.offset_beyond_end import RULE
from tests.support.client_steps import recorded_step
from tests.support.snapshots import offsets
from tests.support.times import DAY, at, micros, second_of

_NOW = int(DAY.timestamp() * 1000)


def hits(*samples: str, oldest: int = 0, switch: Switch | None = None) -> list[RuleHit]:
    """Every 20 s a sample of each queue, `end offset`: of one queue, or of several by a comma."""
    rows, topics = [], []
    for number, sample in enumerate(samples):
        queues = [tuple(map(int, queue.split())) for queue in sample.split(",")]
        stored = _NOW + 20_000 * number
        rows.append(offsets(20 * number, *((end, offset, stored) for end, offset in queues)))
        entries = [
            {"broker_name": "b", "queue_id": place, "min_offset": oldest, "max_offset": end}
            for place, (end, _) in enumerate(queues)
        ]
        topics.append({"cluster": "c", "topic": "t", "captured_at": at(20 * number), "queues": entries})
    step = recorded_step([], read=rows, more={TOPIC_SNAPSHOTS: topics})
    return list(RULE.hits(replace(step, switches={"t": [switch]} if switch else {})))


def spans(*samples: str, oldest: int = 0, switch: Switch | None = None) -> list[tuple[str, str | None, float | None]]:
    """(time, severity, messages that were skipped) of each hit."""
    return [
        (f"{second_of(hit.start)}-{second_of(hit.end)}", hit.severity, dict(hit.measures or {})["skipped"])
        for hit in hits(*samples, oldest=oldest, switch=switch)
    ]


def test_an_offset_of_the_former_life_that_the_group_commits_above_has_skipped_the_messages_below() -> None:
    life = ("5000 5000", "100 5000", "2000 5000", "4000 5000", "6000 5000", "7000 6900", "7100 7050")
    assert spans(*life) == [("20-100", "WARN", None), ("100-120", "ERROR", 5000)]
    # The broker has deleted some of the new messages.
    assert spans(life[0], "500 5000", *life[2:], oldest=400) == [("20-100", "WARN", None), ("100-120", "ERROR", 4600)]
    assert [hit.measures["beyond_end"] for hit in hits(*life) if hit.measures] == [4900, 4900]


def test_an_offset_that_goes_beyond_an_end_that_has_not_fallen_is_of_no_former_life() -> None:
    """A client commits 5,000 where the queue ends with 1,100: the 3,900 that come until then are skipped."""
    ahead = hits("1000 990", "1100 5000", "1200 5000", "4000 5000", "5100 5050", "5200 5150")
    expected = [("COMMITTED_AHEAD", "WARN", None), ("COMMITTED_AHEAD", "ERROR", 3900)]
    assert [(hit.cause, hit.severity, dict(hit.measures or {})["skipped"]) for hit in ahead] == expected
    assert {hit.cause for hit in hits("5000 4990", "100 5000", "200 5000", "300 5000")} == {"FORMER_LIFE"}
    assert {hit.cause for hit in hits("100 5000", "200 5000", "300 5000")} == {"FORMER_LIFE"}


def test_it_lasts_as_long_as_the_offset_stands() -> None:
    """A snapshot holds for 60 s. For 150 s the offset may still go back; then the group does not get what came."""
    life = ("5000 5000", "100 5000", "1000 5000", "2000 5000", "4000 5000", "5500 5000", "6000 5000")
    assert spans(*life) == [("20-180", "ERROR", None)]
    nothing_came = ("5000 5000", *["100 5000"] * 6)
    assert spans(*nothing_came) == [("20-180", "WARN", None)]
    assert spans(*life[:-1]) == [("20-160", "INFO", None)]
    assert spans("100 5000", "200 5000") == [("0-80", "INFO", None)]


def test_a_queue_whose_oldest_offset_is_above_its_end_gives_nothing_until_the_end_has_passed_it() -> None:
    """Commits go to and fro between both; what came meanwhile, up to the oldest offset, is not consumed."""
    fro = ("200 1000", "400 400", "600 1000", "800 800", "1100 1050", "1200 1150")
    assert spans(*fro, oldest=1000) == [("0-80", "WARN", 800)]
    assert {hit.cause for hit in hits(*fro, oldest=1000)} == {"OLDEST_BEYOND_END"}
    long = ("200 1000", "300 300", "400 1000", "500 500", "600 600", "700 700", "750 1000", "800 800", "900 900")
    assert spans(*long, oldest=1000) == [("0-220", "ERROR", 700)]  # the last sample holds for 60 s
    assert spans(*["1000 1000"] * 9, oldest=1000) == []  # an empty queue


def test_all_queues_count_together() -> None:
    found = spans(
        "5000 5000, 900 900",
        "100 5000, 100 900",
        "2000 5000, 400 900",
        "4000 5000, 700 900",
        "6000 5000, 1000 950",
        "7000 6900, 1050 990",
    )
    assert found == [
        ("20-100", "WARN", None),
        ("100-120", "ERROR", 5900),
        ("20-80", "WARN", None),
        ("80-100", "ERROR", 900),
    ]


@pytest.mark.parametrize(
    "samples",
    [
        ("5000 5000", "100 5000", "200 150", "300 250"),
        ("5000 5000", "4990 5054", "4990 5054", "5100 5080"),
        ("5000 5000", "5100 5100", "5200 5180", "5300 5290"),
        ("0 0", "0 0", "0 0", "100 90"),
        # A slave serves, whose messages end earlier; the master is back.
        ("5000 5000", "100 5000", "200 5000", "5200 5150", "5300 5250"),
    ],
)
def test_one_sample_a_race_health_and_a_slave_are_none(samples: tuple[str, ...]) -> None:
    assert spans(*samples) == []


def test_a_group_that_goes_back_begins_with_the_new_messages() -> None:
    assert spans("5000 5000", "100 5000", "200 5000", "300 0", "400 390") == [("20-60", "INFO", None)]


@pytest.mark.parametrize(
    ("switch", "is_found"),
    [
        (Switch("b", micros(0), micros(20), "h:1", "h:2"), False),
        (Switch("a", micros(0), micros(20), "h:1", "h:2"), True),
        (Switch("b", micros(0), micros(20), "h:1", None), True),
        (Switch("b", micros(200), micros(220), "h:1", "h:2"), True),
    ],
)
def test_another_process_that_serves_the_broker_has_the_same_messages(switch: Switch, is_found: bool) -> None:
    samples = ("5000 5000", "100 5000", "2500 5000", "2600 5000")
    assert bool(spans(*samples, switch=switch)) is is_found
