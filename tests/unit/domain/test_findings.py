"""From rule hits to findings: conditions, their age, their identity and their evidence."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from schemas.findings import EVIDENCE, FINDING_QUEUE, FINDINGS
from schemas.types import Struct
from spark_jobs.domain.model.finding import (
    Condition,
    ConflictingValue,
    Counts,
    Evidence,
    Finding,
    FindingQueue,
    QueueEvidence,
    RuleHit,
)
from spark_jobs.domain.model.history import Connection
from spark_jobs.domain.model.silences import Silence
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.domain.rules.findings import findings
from spark_jobs.domain.rules.rule import Cause, Rule
from tests.support.builders import allocation, audited_step, interval, members
from tests.support.samples import offsets, oldest
from tests.support.times import START, micros

CAUSES = {"BROKEN": Cause("", "Mend it."), "WORN": Cause("", "Replace it.")}
RULE = Rule(name="HARM", meaning="", decided_by="", causes=CAUSES, evaluate=lambda _: ())


def hit(begin: float, end: float, **values: Any) -> RuleHit:
    return RuleHit(micros(begin), micros(end), **{"cause": "BROKEN", **values})


def queue(queue_id: int, broker: str = "b", role: str = "UNASSIGNED", topic: str = "t") -> FindingQueue:
    return FindingQueue(topic, broker, queue_id, role)


def findings_of(*hits: RuleHit, rule: Rule = RULE, rows: Mapping[int, list[str]] | None = None) -> list[Finding]:
    """Findings of the rule; `rows`: samples of queues 0 and 1 of topic t."""
    read = {"t": offsets([("b", 0), ("b", 1)], rows)} if rows else None
    return findings(audited_step(offsets=read), [replace(rule, evaluate=lambda _: iter(hits))])


def spans(*hits: RuleHit, rows: Mapping[int, list[str]] | None = None) -> list[tuple[float, float]]:
    """Seconds of the step."""
    found = findings_of(*hits, rows=rows)
    times = [(finding.started_at - START, finding.ended_at - START) for finding in found]
    return sorted((start / SECOND, end / SECOND) for start, end in times)


def finding_of(*hits: RuleHit, **more: Any) -> Finding:
    (finding,) = findings_of(*hits, **more)
    return finding


def test_no_hit_is_no_finding() -> None:
    assert findings_of() == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_no_rule_hits_a_step_without_members_or_one_in_which_each_has_a_queue(rule: Rule) -> None:
    listed = members("c1 c2")
    healthy = audited_step(interval(0, 60, listed, allocation(listed, "0 1")))
    assert [*rule.hits(audited_step()), *rule.hits(healthy)] == []


def test_fields_are_those_of_the_table() -> None:
    keys = ("step_start", "cluster", "consumer_group")
    assert list(Finding._fields) == [name for name in FINDINGS.columns if name not in keys]
    assert Evidence._fields == EVIDENCE.names
    assert isinstance(FINDING_QUEUE.element, Struct)
    assert QueueEvidence._fields == FINDING_QUEUE.element.names


def test_hits_without_a_gap_are_one_condition() -> None:
    assert spans(hit(300, 400), hit(0, 100), hit(100, 200)) == [(0, 200), (300, 400)]
    # A long one covers the gap between short ones.
    assert spans(hit(0, 1000), hit(10, 20), hit(500, 1200)) == [(0, 1200)]


@pytest.mark.parametrize("name", ["topic", "client_id", "cause"])
def test_another_identity_is_another_condition(name: str) -> None:
    other = "WORN" if name == "cause" else "x"
    assert spans(hit(0, 100), hit(100, 200, **{name: other})) == [(0, 100), (100, 200)]


def test_what_was_over_when_the_step_began_is_left_out() -> None:
    assert spans(hit(-100, 0)) == []
    assert spans(hit(-100, 0), hit(0, 1)) == [(0, 1)]


@pytest.mark.parametrize(
    ("views", "minimum", "seconds", "counts"),
    [
        ("*", None, 19.999999, False),
        ("*", None, 20, True),
        ("", None, 20, True),
        ("b", None, 49.999999, False),
        ("b c", None, 50, True),
        ("* b", None, 20, True),
        ("b", 5, 5, True),
        ("*", 0, 0.000001, True),
        ("*", 60.5, 60.4, False),
        ("*", 60.5, 60.5, True),
    ],
)
def test_a_condition_must_stand(views: str, minimum: float | None, seconds: float, counts: bool) -> None:
    """20 s, or 30 s more where only split views show it, unless the rule says how long."""
    hits = [hit(0, seconds, view=view or None, minimum_seconds=minimum) for view in views.split(" ")]
    assert bool(findings_of(*hits)) is counts


def test_the_longest_minimum_counts() -> None:
    assert findings_of(hit(0, 50, minimum_seconds=10), hit(0, 50), hit(50, 59, minimum_seconds=60)) == []


def test_how_long_it_stood_is_measured_from_before_the_step() -> None:
    finding = finding_of(hit(-19, 1))
    assert (finding.active_since, finding.started_at, finding.ended_at) == (micros(-19), micros(0), micros(1))
    assert finding_of(hit(10, 100)).active_since == micros(10)


def test_the_id_hashes_identity_and_begin_inside_the_step() -> None:
    text = "HARM\nc\ng\nt\n\nBROKEN\n2026-03-01T10:00:10.500000"
    assert finding_of(hit(10.5, 100, topic="t")).finding_id == sha256(text.encode()).hexdigest()[:16]
    text = "HARM\nc\ng\n\nA\nBROKEN\n2026-03-01T10:00:00.000000"
    assert finding_of(hit(-10.5, 100, client_id="A")).finding_id == sha256(text.encode()).hexdigest()[:16]


def test_the_id_keeps_the_cause_of_the_hits() -> None:
    told = replace(RULE, probable_cause=lambda _: "WORN")
    finding = finding_of(hit(0, 100), rule=told)
    assert (finding.cause, finding.advice) == ("WORN", "Replace it.")
    assert finding.finding_id == finding_of(hit(0, 100)).finding_id


@pytest.mark.parametrize(
    ("hits", "subject"),
    [
        ([hit(0, 100, topic="t", client_id="A", queue=queue(0))], "A"),
        ([hit(0, 100, topic="t", queue=queue(0))], "b:0"),
        ([hit(0, 100, topic="t")], "t"),
        ([hit(0, 100)], "g"),
        ([hit(0, 100, queue=queue(number)) for number in (10, 2, 0, 3, 4)], "b:0,2-4,10"),
        ([hit(0, 100, queue=queue(0, "b2")), hit(0, 100, queue=queue(1)), hit(0, 100, queue=queue(0))], "b:0-1, b2:0"),
        (
            [
                hit(0, 100, queue=queue(1, topic="u")),
                hit(0, 100, queue=queue(1)),
                hit(0, 9, queue=queue(1, role="HOT")),
            ],
            "b:1",
        ),
        # U+FF61 is before U+10000, as bytes and here; Java sorts the other way round.
        ([hit(0, 100, queue=queue(0, "\U00010000")), hit(0, 100, queue=queue(0, "\uff61"))], "\uff61:0, \U00010000:0"),
        # The queue was left before the step began.
        ([hit(-90, -10, topic="t", queue=queue(0)), hit(-90, 100, topic="t")], "t"),
    ],
)
def test_what_it_is_about(hits: list[RuleHit], subject: str) -> None:
    assert finding_of(*hits).subject == subject


def test_a_queue_has_a_span_per_role_and_time_without_a_gap_inside_the_step() -> None:
    hits = [
        hit(-50, 500),
        hit(-50, 20, queue=queue(0)),
        hit(100, 150, queue=queue(0)),
        hit(120, 200, queue=queue(0)),
        hit(30, 40, queue=queue(0, role="DOUBLE_OWNED")),
        hit(-50, 0, queue=queue(1)),
    ]
    evidence = finding_of(*hits).evidence
    assert [(q.queue_id, q.role, q.started_at, q.ended_at) for q in evidence.queues] == [
        (0, "DOUBLE_OWNED", micros(30), micros(40)),
        (0, "UNASSIGNED", micros(0), micros(20)),
        (0, "UNASSIGNED", micros(100), micros(200)),
    ]
    assert evidence.unknown_queues == 2


def test_a_queue_is_unknown_by_the_last_of_its_times() -> None:
    hits = [hit(0, 100), hit(0, 40, queue=queue(0)), hit(60, 100, queue=queue(0))]
    rows = {0: ["9/?", "-"], 30: ["9/?", "-"], 60: ["9/?", "-"], 90: ["9/2", "-"]}
    assert finding_of(*hits, rows=rows).evidence.unknown_queues == 0
    assert finding_of(*hits, rows=rows | {90: ["9/?", "-"]}).evidence.unknown_queues == 1


def test_of_very_many_times_the_first_and_the_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_jobs.domain.rules.findings.MOST_SPANS", 3)
    often = [hit(begin, begin + 5, queue=queue(0)) for begin in (0, 10, 20)]
    whole = hit(0, 100)
    assert len(finding_of(whole, *often).evidence.queues) == 3
    (queue_0,) = finding_of(whole, *often, hit(30, 35, queue=queue(0))).evidence.queues
    assert (queue_0.started_at, queue_0.ended_at) == (micros(0), micros(35))
    # As many as there are queues are never too many.
    assert len(finding_of(whole, *(hit(0, 5, queue=queue(number)) for number in range(5))).evidence.queues) == 5


def test_what_it_cost() -> None:
    hits = [hit(0, 90, topic="t", queue=queue(0)), hit(0, 90, topic="t", queue=queue(1))]
    evidence = finding_of(*hits, rows={0: ["10/0", "9/?"], 60: ["30/5", "9/?"]}).evidence
    assert evidence[5:12] == (evidence.queues, 10, 25, 25, 20, 5, 1)
    assert [(q.backlog_start, q.backlog_end) for q in evidence.queues] == [(10, 25), (None, None)]


def test_the_cause_decides_which_samples_show_the_cost() -> None:
    held = oldest([("b", 0)], {0: ["10/30"], 60: ["15/70"]})
    rule = replace(RULE, causes={"BEYOND_READ_QUEUES": Cause("", "Read it.")})
    hits = [hit(0, 90, cause="BEYOND_READ_QUEUES", queue=queue(0))]
    (finding,) = findings(audited_step(topics={"t": held}), [replace(rule, evaluate=lambda _: hits)])
    assert (finding.evidence.backlog_start, finding.evidence.backlog_end) == (20, 55)


def test_a_finding_without_queues_costs_what_nobody_knows() -> None:
    assert finding_of(hit(0, 100)).evidence == Evidence(None, None, [], None, None, [], *[None] * 10)


@pytest.mark.parametrize(
    ("rows", "severity"),
    [
        ({0: ["10/10", "0/0"], 60: ["10/10", "0/0"]}, "INFO"),
        ({0: ["10/9", "0/0"], 60: ["10/10", "0/0"]}, "ERROR"),
        ({0: ["10/10", "0/0"], 60: ["11/11", "0/0"]}, "ERROR"),
        ({0: ["10/10", "0/0"]}, "ERROR"),
    ],
)
def test_how_bad_it_is_follows_what_it_cost(rows: Mapping[int, list[str]], severity: str) -> None:
    assert finding_of(hit(0, 90, queue=queue(0)), rows=rows).severity == severity


def test_the_worst_hit_says_how_bad_it_is() -> None:
    assert finding_of(hit(0, 50, severity="WARN"), hit(0, 50), hit(50, 90, severity="INFO")).severity == "WARN"
    assert finding_of(hit(0, 50, severity="ERROR"), hit(50, 90, severity="WARN")).severity == "ERROR"


def test_a_rule_evaluates_the_whole_condition() -> None:
    seen: list[Condition] = []

    def severity(condition: Condition) -> str:
        seen.append(condition)
        return "WARN"

    rule = replace(RULE, severity=severity, probable_cause=lambda _: "WORN")
    connection = Connection("A", "h:1")
    hits = [hit(-100, 60, client_id="A", seen_at=micros(50), connections=(connection,), queue=queue(0))]
    assert finding_of(*hits, rule=rule, rows={0: ["10/4", "-"], 30: ["13/4", "-"]}).severity == "WARN"
    assert seen == [Condition("A", "WORN", (connection,), is_persistent=True, produced=3, backlog_max=9)]


@pytest.mark.parametrize(
    ("seen_at", "persistence"), [(149.999999, "TRANSIENT"), (150, "PERSISTENT"), (None, "TRANSIENT")]
)
def test_what_lasts_was_seen_long_after_it_began(seen_at: float | None, persistence: str) -> None:
    hits = [hit(0, 100, seen_at=micros(30)), hit(100, 300, seen_at=None if seen_at is None else micros(seen_at))]
    assert finding_of(*hits, rule=replace(RULE, shows_persistence=True)).evidence.persistence == persistence
    assert finding_of(*hits).evidence.persistence is None


def test_connections_are_each_named_once_unknown_first() -> None:
    known, other, nameless = Connection("A", "h:1", "JAVA", 493), Connection("A", "h:2"), Connection("A")
    hits = [hit(0, 50, connections=(known, other)), hit(0, 90, connections=(known, nameless))]
    assert finding_of(*hits).evidence.connections == [nameless, known, other]


def test_numbers_of_the_evidence_are_the_highest_of_the_hits() -> None:
    hits = [
        hit(0, 50, implicated="b", member_count=3, if_deduplicated=Counts(0, 5), if_unique=Counts(1, 1)),
        hit(0, 60, implicated="B", queue_count=4, if_deduplicated=Counts(2, 0)),
        hit(0, 60, implicated="b", member_count=2, queue_count=9),
    ]
    evidence = finding_of(*hits).evidence
    assert (evidence.client_ids, evidence.member_count, evidence.queue_count) == (["B", "b"], 3, 9)
    assert (evidence.if_deduplicated, evidence.if_unique) == (Counts(2, 5), Counts(1, 1))


def _measures(*hits: RuleHit) -> Any:
    return finding_of(*hits).evidence.measures


def test_measures_are_those_of_the_heaviest_hit() -> None:
    heavy = hit(0, 50, weight=2, measures={"z": 1, "a": None})
    assert _measures(heavy, hit(20, 60, weight=1, measures={"a": 9})) == [("a", None), ("z", 1.0)]
    assert _measures(heavy, hit(20, 60, weight=2, measures={"a": 3})) == [("a", 3.0)]
    # No weight is none, and the latest counts.
    assert _measures(hit(0, 50, weight=-1, measures={"a": 1}), hit(0, 50, measures={"a": 0})) == [("a", 0.0)]


def test_of_equal_hits_the_greatest_measures_count_unknown_last() -> None:
    assert _measures(hit(0, 50, measures={"a": 1}), hit(0, 50, measures={"a": 2})) == [("a", 2.0)]
    assert _measures(hit(0, 50, measures={"a": None}), hit(0, 50, measures={"a": -1})) == [("a", -1.0)]
    five = hit(0, 50, measures={"a": 5})
    assert _measures(five, hit(0, 50)) == [("a", 5.0)]
    assert _measures(five, hit(0, 50, measures={"a": 5, "b": None})) == [("a", 5.0), ("b", None)]


def test_then_the_greatest_conflicting_values_count() -> None:
    a, b, unknown = (ConflictingValue("x", client_ids) for client_ids in (("A",), ("B",), None))
    hits = [hit(0, 50, conflicting_values=values) for values in ((a,), (b,), (unknown,), None)]
    assert finding_of(*hits).evidence.conflicting_values == [b]
    assert finding_of(*hits[2:]).evidence.conflicting_values == [unknown]
    assert finding_of(hits[3]).evidence.conflicting_values is None


@pytest.mark.parametrize(("cause", "message"), [(None, "HARM gave no cause"), ("UNHEARD_OF", "UNHEARD_OF")])
def test_a_rule_that_does_not_explain_its_cause_is_an_error(cause: str | None, message: str) -> None:
    with pytest.raises(KeyError, match=message):
        findings_of(hit(0, 100, cause=cause))


def test_a_silenced_finding_stays_and_names_the_reason() -> None:
    step = audited_step()
    silences = (Silence("OTHER", None, "no"), Silence("HARM", micros(60), "known"))
    step = replace(step, settings=replace(step.settings, silences=silences))
    rule = replace(RULE, evaluate=lambda _: iter([hit(0, 50, topic="a"), hit(60, 600, topic="b")]))
    assert [(one.topic, one.silenced_because) for one in findings(step, [rule])] == [("a", "known"), ("b", None)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # Messages wait, and the offset stands between two sightings: one condition.
        ({0: ["90/10"], 20: ["90/10"], 140: ["99/10"], 160: ["99/10"]}, [(0, 160)]),
        ({0: ["90/10"], 20: ["90/10"], 80: ["95/20"], 140: ["99/20"]}, [(0, 20), (140, 160)]),
        # Nothing waits.
        ({0: ["10/10"], 20: ["10/10"], 140: ["10/10"]}, [(0, 20), (140, 160)]),
    ],
)
def test_a_flicker_while_nothing_moves_is_one(rows: dict[int, list[str]], expected: list[tuple[int, int]]) -> None:
    seen = [hit(begin, end, client_id="c1", queue=queue(0), minimum_seconds=0) for begin, end in ((0, 20), (140, 160))]
    read = {second: [*cells, "0/0"] for second, cells in rows.items()}
    assert spans(*seen, rows=read) == expected
    # A queue's owner may change: only what is about one client is bridged.
    assert len(spans(*(replace(one, client_id=None, topic="t") for one in seen), rows=read)) == 2
