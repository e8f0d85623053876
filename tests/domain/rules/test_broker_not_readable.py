"""When a broker cannot be read, and what it holds then."""

from __future__ import annotations

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rules.broker_not_readable import RULE, NotReadable, NotReadableCause, not_readable_spans
from tests.domain.rules.builders import QueueReading, audited_step, offsets, route, span, with_readings

#: permission of broker `b` in route spans of 10 s (`-`: not in the route) | why it cannot be read in each
_ROUTES = """
    6 6 6   | . . .
    6 - 6   | . L .
    6 - -   | . L L
    - - 6   | . . .
    - 6 -   | . . L
    6 4 6   | . . .
    6 2 6   | . P .
    2 2     | P P
    2 - 4   | P L .
    0 7     | P .
    - 2 -   | . P L
    6 - 6 - | . L . L
"""
_CAUSES = {"L": NotReadableCause.LEFT_ROUTE, "P": NotReadableCause.NO_READ_PERMISSION}
LEFT, NO_PERMISSION = _CAUSES.values()
QUEUES = [("a", 0), ("b", 0), ("b", 1), ("b", 2)]


def spans(perms: str, length: int = 10) -> list[Span[tuple[RouteEntry, ...]]]:
    """Broker `a` is always there."""
    found = []
    for place, perm in enumerate(perms.split()):
        brokers = {"a": 6} | ({} if perm == "-" else {"b": int(perm)})
        found.append(route(length * place, length * (place + 1), **brokers))
    return found


def test_when_a_broker_cannot_be_read() -> None:
    for line in _ROUTES.strip().splitlines():
        perms, _, causes = line.partition("|")
        found = not_readable_spans(spans(perms))
        each = [
            (place * 10 * SECOND, _CAUSES[letter]) for place, letter in enumerate(causes.split()) if letter in _CAUSES
        ]
        covered = [(at, one.cause) for one in found.get("b", ()) for at in range(one.start, one.end, 10 * SECOND)]
        assert covered == each, perms
        assert found["a"] == []


def test_neighbouring_spans_of_one_cause_are_one() -> None:
    def at(start: int, end: int, cause: NotReadableCause) -> NotReadable:
        return NotReadable(start * SECOND, end * SECOND, cause)

    assert not_readable_spans(spans("6 - -"))["b"] == [at(10, 30, LEFT)]
    assert not_readable_spans(spans("2 2"))["b"] == [at(0, 20, NO_PERMISSION)]
    assert not_readable_spans(spans("2 - 4"))["b"] == [at(0, 10, NO_PERMISSION), at(10, 20, LEFT)]
    # Nobody knows what the route was in between.
    assert not_readable_spans([route(0, 10, b=2), route(11, 20, b=2)])["b"] == [
        at(0, 10, NO_PERMISSION),
        at(11, 20, NO_PERMISSION),
    ]


def step_with(perms: str, readings: dict[float, list[QueueReading | None]], length: int = 100) -> AuditedStep:
    """Per reading, and queue of `a`, then of `b`: end offset, consumer offset."""
    said = {at: [one and (*one, one[1], 5) for one in row] for at, row in readings.items()}
    return with_readings(audited_step(), {"t": offsets(QUEUES, said)}, routes={"t": spans(perms, length)})


def told(hits: object) -> list[tuple[str, str | None, int, float]]:
    """Span, cause, queue of `b`, last known backlog of the broker."""
    found = []
    assert isinstance(hits, list)
    for hit in hits:
        assert isinstance(hit, RuleHit)
        assert hit.queue
        assert hit.measures == {"last_known_backlog": hit.weight}
        assert (hit.queue.broker_name, hit.queue.role) == ("b", "NOT_READABLE")
        assert (hit.severity, hit.topic, hit.queue.topic) == ("ERROR", "t", "t")
        found.append((span(hit), hit.cause, hit.queue.queue_id, hit.weight or 0))
    return found


def hits(step: AuditedStep) -> list[tuple[str, str | None, int, float]]:
    return told(list(RULE.hits(step)))


def test_its_queues_with_a_backlog_are_found_with_what_all_of_them_hold() -> None:
    step = step_with("6 - 6", {90: [(9, 0), (10, 7), (4, 4), (20, 15)]})
    assert hits(step) == [("100-200", "LEFT_ROUTE", 0, 8), ("100-200", "LEFT_ROUTE", 2, 8)]


def test_readings_count_from_one_gap_before_to_the_end() -> None:
    one: list[QueueReading | None] = [None, (10, 7), None, None]
    assert hits(step_with("6 - 6", {39: one})) == []
    assert hits(step_with("6 - 6", {40: one})) == [("100-200", "LEFT_ROUTE", 0, 3)]
    assert hits(step_with("6 - 6", {199: one})) == [("100-200", "LEFT_ROUTE", 0, 3)]
    assert hits(step_with("6 - 6", {200: one})) == []


def test_the_last_backlog_that_is_known_counts() -> None:
    unknown: list[QueueReading | None] = [(9, 9), (10, None), (None, 3), None]
    step = step_with("6 - 6", {60: [(9, 9), (10, 7), (9, 9), (5, 4)], 80: unknown, 120: [(9, 0), None, None, None]})
    assert hits(step) == [("100-200", "LEFT_ROUTE", 0, 4), ("100-200", "LEFT_ROUTE", 2, 4)]
    assert hits(step_with("6 - 6", {60: [None, (10, 7), None, None], 80: [None, (10, 10), None, None]})) == []
    assert hits(step_with("6 - 6", {80: unknown})) == []


def test_a_reading_counts_for_the_last_span_that_it_may_count_for() -> None:
    """The second span begins 50 s behind the first one's end: its readings begin 10 s before that end."""
    routes = [route(0, 100, b=6), route(100, 200, a=6), route(200, 250, b=6), route(250, 300, a=6)]
    early, late = [None, (10, 7), None, None], [None, (10, 5), None, None]
    readings = offsets(QUEUES, {180: [(*one, 0, 5) if one else None for one in early]})
    later = offsets(QUEUES, {190: [(*one, 0, 5) if one else None for one in late]})
    assert hits(with_readings(audited_step(), {"t": readings}, routes={"t": routes})) == [
        ("100-200", "LEFT_ROUTE", 0, 3)
    ]
    assert hits(with_readings(audited_step(), {"t": later}, routes={"t": routes})) == [("250-300", "LEFT_ROUTE", 0, 5)]


def test_two_causes_are_two_conditions() -> None:
    readings: dict[float, list[QueueReading | None]] = {at: [None, (10, 7), None, None] for at in range(0, 300, 20)}
    assert hits(step_with("2 - 6", readings)) == [
        ("0-100", "NO_READ_PERMISSION", 0, 3),
        ("100-200", "LEFT_ROUTE", 0, 3),
    ]


def test_a_topic_without_offsets_and_a_broker_that_can_be_read_are_left_alone() -> None:
    readings: dict[float, list[QueueReading | None]] = {90: [(9, 0), (10, 7), None, None]}
    assert hits(step_with("6", readings)) == []
    assert hits(step_with("6 4 6", readings)) == []
    assert hits(with_readings(audited_step(), {}, routes={"t": spans("6 -")})) == []
    assert hits(step_with("0", readings)) == [("0-100", "NO_READ_PERMISSION", 0, 3)]


def test_what_was_read_before_the_step_counts_too() -> None:
    step = with_readings(
        audited_step(),
        {"t": offsets([("b", 0)], {-30: [(10, 7, 7, 5)]})},
        routes={"t": [route(-210, -20, b=6, a=6), route(-20, 40, a=6)]},
    )
    assert hits(step) == [("-20-40", "LEFT_ROUTE", 0, 3)]
