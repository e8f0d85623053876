"""Answers about synthetic groups, by hand: in each pair one group has it, and the other one only looks like it."""

import re
from collections.abc import Sequence
from random import Random

import pytest

from schemas import ALLOCATIONS, FINDINGS, QUEUE_PROGRESS, REBALANCE_INTERVALS
from spark_jobs.domain.evaluate import EvaluatedStep, evaluate
from spark_jobs.domain.incidents.fold import fold
from spark_jobs.domain.incidents.values import AuditedTime, Incident, PublishedFinding
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import HOUR, SECOND, from_micros
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.pipeline.publish.rows import tables
from spark_jobs.show.explain import explain
from spark_jobs.show.text.explanation_text import lines
from spark_jobs.show.text.intervals import GroupStep
from tests.support.kernel import SETTINGS
from tests.support.synthetic_groups.lives import ALWAYS, EVER, Life, Standing, Time, routes_of
from tests.support.synthetic_groups.planted import BOTH, FIRST, ON_8, THIRD, listing, reporting, without_7
from tests.support.synthetic_groups.planted import SECOND as SECOND_ONE
from tests.support.synthetic_groups.recorder import recorded
from tests.support.synthetic_groups.samples import START, micros

EIGHT = {"topic": [(ALWAYS, ON_8)]}
FAULT = Time(600, 1200)
#: One round until a snapshot shows it, and one until the next source does.
TOLERANCE = 2 * SETTINGS.cadence // SECOND
three_times = pytest.mark.parametrize("seed", range(3))


def evaluated(life: Life, seed: int) -> EvaluatedStep:
    history = recorded("c", life, Random(f"{seed}"), SETTINGS.cadence // SECOND)
    (step,) = evaluate(history, StrategySettings(), SETTINGS, START, START + HOUR)
    return step


def incident_of(life: Life, seed: int) -> Incident:
    """The only one."""
    published = [PublishedFinding("c", life.group, START, each) for each in evaluated(life, seed).findings]
    (incident,) = fold(published, AuditedTime([("c", life.group, START)], HOUR), RULES).incidents
    return incident


@three_times
@pytest.mark.parametrize(
    ("stands_until", "resolved"),
    [(1200, 1200), (1800, 1800), (4000, None)],
    ids=["no longer than the cause", "longer", "to the end"],
)
def test_an_incident_lasts_as_long_as_its_queues_stand(stands_until: int, resolved: int | None, seed: int) -> None:
    """The first member does not answer for ten minutes, and its queues stand until then."""
    fault = Time(FAULT.start, stands_until)
    standing = [Standing("topic", range(4), fault)]
    life = Life(EIGHT, [(ALWAYS, BOTH)], silent={FIRST: FAULT}, standing=standing, fault=fault)
    incident = incident_of(life, seed)
    assert [incident.rule, *(part.rule for part in incident.symptoms)] == ["CLIENT_HUNG", "CONSUMER_STOPPED"]
    (root,) = incident.root_causes
    near = TOLERANCE * SECOND
    assert root.ended_at == pytest.approx(micros(1200), abs=near)
    assert incident.opened_at == pytest.approx(micros(600), abs=near)
    assert incident.resolved_at == (resolved and pytest.approx(micros(resolved), abs=near))
    assert resolved or incident.last_seen_at == START + HOUR


#: Both members leave for ten minutes, in which 3,000 messages come into each of 16 queues, in two topics.
OFFLINE = Life(
    dict.fromkeys(("orders", "returns"), EIGHT["topic"]),
    [(ALWAYS, BOTH), (FAULT.start, ()), (FAULT.end, BOTH)],
    standing=[Standing(topic, range(8), FAULT) for topic in ("orders", "returns")],
    fault=FAULT,
)
#: The second member loses queue 7 for ten minutes, in which 3,000 messages come into it.
LACKS_A_QUEUE = Life(
    EIGHT,
    [(ALWAYS, BOTH)],
    says={SECOND_ONE: (FAULT, without_7)},
    standing=[Standing("topic", [7], FAULT)],
    fault=FAULT,
)


@three_times
@pytest.mark.parametrize(
    ("life", "rule", "findings", "messages"),
    [
        (OFFLINE, "GROUP_OFFLINE", ["UNASSIGNED_QUEUE orders", "UNASSIGNED_QUEUE returns"], 48_000),
        (LACKS_A_QUEUE, "ALLOCATION_DRIFT", ["CONSUMER_STOPPED topic"], 3000),
    ],
    ids=["two topics", "one topic"],
)
def test_backlogs_of_topics_are_added_and_those_of_findings_are_not(
    life: Life, rule: str, findings: Sequence[str], messages: int, seed: int
) -> None:
    """The drift and the stop are about the messages of the same queue."""
    incident = incident_of(life, seed)
    assert incident.rule == rule
    assert sorted(f"{part.rule} {part.topic}" for part in incident.symptoms) == findings
    assert incident.peak_backlog_messages == pytest.approx(messages, rel=0.05)


def wrong_at(life: Life, second: int, seed: int) -> list[str]:
    """The part of `explain` before the topics, of that second."""
    outputs = {name: rows.to_pylist() for name, rows in tables([evaluated(life, seed)]).items()}
    step = Interval(from_micros(START), from_micros(START + HOUR))
    published = (outputs[table.name] for table in (REBALANCE_INTERVALS, ALLOCATIONS, QUEUE_PROGRESS, FINDINGS))
    story = explain(GroupStep("c", life.group, from_micros(micros(second)), step, *published))
    texts = [line.text for line in lines(story)]
    return texts[texts.index("") + 1 : texts.index("topic") - 1]


#: Five messages a second for 80 s, in four queues; those that wait came a little earlier, too.
QUEUES_4_TO_7 = r"topic broker-a:4-7: 1,600 messages produced in this interval, none consumed, (1,[6-9]|2,0)\d\d wait\."


@three_times
@pytest.mark.parametrize(
    ("rate", "standing", "title", "queues"),
    [
        (5, range(4, 8), "No finding above INFO.", [QUEUES_4_TO_7]),
        (5, (), "No finding above INFO.", []),
        (0, range(4, 8), "No finding.", []),
    ],
    ids=["consumes none", "consumes all", "gets none"],
)
def test_without_a_finding_queues_of_which_none_is_consumed_are_named(
    rate: int, standing: Sequence[int], title: str, queues: Sequence[str], seed: int
) -> None:
    """A second member is there for 80 s, too short for a stall. The only finding is INFO: queues move while messages
    are in flight.
    """
    members, stands = (
        [(ALWAYS, BOTH[:1]), (1200, BOTH), (1280, BOTH[:1])],
        [Standing("topic", standing, Time(1190, 1300))],
    )
    life = Life(routes_of(ON_8), members, rate=rate, standing=stands, fault=Time(1200, 1280))
    first, *rest = wrong_at(life, 1240, seed)
    assert first == title
    assert len(rest) == len(queues)
    assert all(re.fullmatch(pattern, text) for pattern, text in zip(queues, rest, strict=True))


def test_unassigned_queues_and_double_owned_ones_are_one_incident() -> None:
    """When the third member joins, the second one keeps 4 to 7: 3 is unassigned, and the third one has 6 and 7, too.
    The first one takes 3 ten minutes before the second one follows.
    """
    kept = reporting([SECOND_ONE], Time(600, 1800), owned=listing(4, 5, 6, 7))
    kept |= reporting([FIRST], Time(1200, 1800), owned=listing(0, 1, 2, 3))
    life = Life(EIGHT, [(ALWAYS, BOTH), (600, (*BOTH, THIRD))], says=kept)
    incident = incident_of(life, 1)
    assert (incident.rule, incident.causes, len(incident.root_causes)) == ("ALLOCATION_DRIFT", ("HOLDS_LESS",), 1)
    (drift,) = (each for each in evaluated(life, 1).findings if each.rule == "ALLOCATION_DRIFT")
    roles = {(queue.queue_id, queue.role) for queue in drift.evidence.queues}
    assert roles == {(3, "HOLDS_LESS"), (6, "HOLDS_MORE"), (7, "HOLDS_MORE")}


def test_no_client_is_blamed_if_the_owners_are_unknown() -> None:
    """Queue 3 is in both lists, and no strategy gives them. 2 and 3 stand."""
    says = reporting([FIRST], EVER, owned=listing(0, 3, 5, 6), strategy_class=None)
    says |= reporting([SECOND_ONE], EVER, owned=listing(1, 2, 3, 7), strategy_class=None)
    standing = [Standing("topic", (2, 3), Time(900, 2400))]
    step = evaluated(Life(EIGHT, [(ALWAYS, BOTH)], language="GO", says=says, standing=standing), 1)
    (stopped,) = (each for each in step.findings if each.severity != "INFO")
    assert (stopped.rule, stopped.cause, stopped.evidence.client_ids) == ("CONSUMER_STOPPED", "OWNERS_UNKNOWN", [])
    assert "the queue's owner" not in stopped.advice
    assert step.status
    assert step.status.advice.startswith("Unknown: the owners of the queues are not known")
