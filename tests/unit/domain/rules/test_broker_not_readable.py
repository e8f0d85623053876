"""When a broker cannot be read, and what it holds then."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.history import Membership, Place
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.rules.broker_not_readable import RULE, not_readable_spans
from spark_jobs.domain.rules.findings import findings
from tests.support.builders import allocation, audited_step, broker_said, interval, members, route, span, with_samples
from tests.support.kernel import series_of
from tests.support.samples import offsets
from tests.support.tables import cells
from tests.support.times import micros, second_of

#: Permission of broker `b` in route spans of 10 s (`-`: not in the route) | when it cannot be read, and why
_ROUTES = """
    6 6 6   |
    6 - 6   | 10-20 LEFT_ROUTE
    6 - -   | 10-30 LEFT_ROUTE
    - - 6   |
    - 6 -   | 20-30 LEFT_ROUTE
    6 4 6   |
    6 2 6   | 10-20 NO_READ_PERMISSION
    2 2     | 0-20 NO_READ_PERMISSION
    2 - 4   | 0-10 NO_READ_PERMISSION, 10-20 LEFT_ROUTE
    0 7     | 0-10 NO_READ_PERMISSION
    - 2 -   | 10-20 NO_READ_PERMISSION, 20-30 LEFT_ROUTE
    6 - 6 - | 10-20 LEFT_ROUTE, 30-40 LEFT_ROUTE
"""
QUEUES = [("a", 0), ("b", 0), ("b", 1), ("b", 2)]


def spans(perms: str, length: int = 10) -> list[Span[tuple[RouteEntry, ...]]]:
    """Broker `a` is always there."""
    brokers = [{"a": 6} | ({} if perm == "-" else {"b": int(perm)}) for perm in perms.split()]
    return [route(length * place, length * (place + 1), **perms) for place, perms in enumerate(brokers)]


def not_readable(route_spans: list[Span[tuple[RouteEntry, ...]]]) -> str:
    """When any broker cannot be read, and why."""
    spans_of_broker = not_readable_spans(route_spans)
    assert spans_of_broker.get("a", []) == []
    of_b = spans_of_broker.get("b", ())
    return ", ".join(f"{second_of(each.start)}-{second_of(each.end)} {each.cause}" for each in of_b)


def test_when_a_broker_cannot_be_read() -> None:
    """Neighboring spans of one cause are one, unless the route in between is unknown."""
    for perms, expected in cells(_ROUTES):
        assert not_readable(spans(perms)) == expected, perms
    apart = [route(0, 10, b=2), route(11, 20, b=2)]
    assert not_readable(apart) == "0-10 NO_READ_PERMISSION, 11-20 NO_READ_PERMISSION"


def step_of(
    routes: list[Span[tuple[RouteEntry, ...]]], samples: Mapping[int, str], queues: Sequence[Place] = QUEUES
) -> AuditedStep:
    """Per sample, and queue: `end offset/consumer offset`."""
    read = offsets(queues, {at: row.split() for at, row in samples.items()})
    return with_samples(audited_step(), {"t": read}, routes={"t": routes})


def step_with(perms: str, samples: Mapping[int, str]) -> AuditedStep:
    return step_of(spans(perms, 100), samples)


def hits(step: AuditedStep) -> list[tuple[str, str | None, int, float]]:
    """Span, cause, queue of `b`, last known backlog of the broker."""
    found = []
    for hit in RULE.hits(step):
        assert hit.queue
        assert hit.measures == {"last_known_backlog": hit.weight}
        assert (hit.queue.broker_name, hit.queue.role) == ("b", "NOT_READABLE")
        assert (hit.severity, hit.topic, hit.queue.topic) == ("ERROR", "t", "t")
        found.append((span(hit), hit.cause, hit.queue.queue_id, hit.weight or 0))
    return found


def test_samples_after_the_step_do_not_say_when_it_was_consumed_again() -> None:
    """Broker `b` is back 10 s before the step ends, and its messages are consumed 10 s after it."""
    routes = [route(0, 3300, a=6, b=6), route(3300, 3590, a=6), route(3590, 3600, a=6, b=6)]
    samples = {3290: "9/9 9/4", 3595: "9/9 9/4", 3610: "9/9 9/9"}
    assert hits(step_of(routes, samples, [("a", 0), ("b", 0)])) == [("3300-3590", "LEFT_ROUTE", 0, 5)]
    samples[3598] = samples.pop(3610)
    in_order = dict(sorted(samples.items()))
    assert hits(step_of(routes, in_order, [("a", 0), ("b", 0)])) == [("3300-3598", "LEFT_ROUTE", 0, 5)]


@pytest.mark.parametrize(("leaves", "expected"), [(3580, ["3580-3600"]), (3581, [])])
def test_the_next_step_decides_on_a_broker_that_leaves_in_the_last_round(leaves: int, expected: list[str]) -> None:
    """Other snapshots of that round may show that it is up."""
    both, alone = route(0, leaves, a=6, b=6), route(leaves, 3600, a=6)
    assert [span(hit) for hit in RULE.hits(step_of([both, alone], {3570: "- 10/3 - -"}))] == expected


@pytest.mark.parametrize(("lasts", "severity"), [(59, "WARN"), (60, "ERROR")])
def test_a_restart_is_no_error(lasts: int, severity: str) -> None:
    routes = [route(0, 100, a=6, b=6), route(100, 100 + lasts, a=6), route(100 + lasts, 3600, a=6, b=6)]
    (hit,) = RULE.hits(step_of(routes, {90: "9/0 10/7 - -"}))
    assert hit.severity == severity


@pytest.mark.parametrize(
    ("back", "end"),
    [
        ("10/7 10/7", 200),
        ("10/7 10/8", 220),
        ("10/8 10/9", 220),
        ("10/10 11/10", 210),
        ("10/7 10/7 10/8", 230),
        ("- 10/7 10/8", 230),
        ("- 10/8", 200),
        # Clients have asked for the route by then.
        ("10/7 10/7 10/7 10/7 10/8", 200),
    ],
)
def test_a_queue_cannot_be_read_until_its_clients_have_asked_for_the_route(back: str, end: int) -> None:
    read = {90: "10/7"} | {210 + 10 * place: cell for place, cell in enumerate(back.split())}
    (hit,) = RULE.hits(step_of(spans("6 - 6", 100), read, [("b", 0)]))
    assert span(hit) == f"100-{end}"


def test_queues_with_a_backlog_are_named_with_what_all_of_the_broker_hold() -> None:
    step = step_with("6 - 6", {90: "9/0 10/7 4/4 20/15"})
    assert hits(step) == [("100-200", "LEFT_ROUTE", 0, 8), ("100-200", "LEFT_ROUTE", 2, 8)]


def test_samples_count_from_one_gap_and_130_seconds_before_to_the_end() -> None:
    """A host that loses its network does not answer, and the name servers drop it 130 s later at most."""
    for at, is_known in ((-91, False), (-90, True), (199, True), (200, False)):
        assert hits(step_with("6 - 6", {at: "- 10/7 - -"})) == [("100-200", "LEFT_ROUTE", 0, 3)] * is_known, at


def test_the_last_backlog_that_is_known_counts() -> None:
    unknown = "9/9 10/? ?/3 -"
    step = step_with("6 - 6", {60: "9/9 10/7 9/9 5/4", 80: unknown, 120: "9/0 - - -"})
    assert hits(step) == [("100-200", "LEFT_ROUTE", 0, 4), ("100-200", "LEFT_ROUTE", 2, 4)]
    assert hits(step_with("6 - 6", {60: "- 10/7 - -", 80: "- 10/10 - -"})) == []
    assert hits(step_with("6 - 6", {80: unknown})) == []


def test_a_sample_counts_for_the_last_span_that_it_may_count_for() -> None:
    """The second span begins 50 s behind the first one's end: its samples begin 10 s before that end."""
    routes = [route(0, 100, b=6), route(100, 200, a=6), route(200, 250, b=6), route(250, 310, a=6)]
    assert hits(step_of(routes, {180: "- 10/7 - -"})) == [("100-200", "LEFT_ROUTE", 0, 3)]
    assert hits(step_of(routes, {190: "- 10/5 - -"})) == [("250-310", "LEFT_ROUTE", 0, 5)]


@pytest.mark.parametrize(
    ("perms", "other", "expected"),
    [
        ("6 - 6", "6 6 6", [("100-200", "TOPIC_GONE", "INFO")]),
        ("6 - - 6", "6 6 6 6", [("100-300", "TOPIC_GONE", "INFO")]),  # seen for 100 s
        ("6 - - - 6", "6 6 6 6 6", [("100-400", "TOPIC_GONE", "WARN")]),
        ("6 - 6", "6 - 6", [("100-200", "LEFT_ROUTE", "ERROR")]),
        ("6 - 6", "- - -", [("100-200", "LEFT_ROUTE", "ERROR")]),
    ],
)
def test_a_broker_that_is_up_lacks_the_topic(perms: str, other: str, expected: list[tuple[str, str, str]]) -> None:
    step = step_with(perms, {90: "- 10/7 - -"})
    step = replace(step, routes={**step.routes, "other": spans(other, 100)})
    assert [(span(hit), hit.cause, hit.severity) for hit in RULE.hits(step)] == expected


@pytest.mark.parametrize(("sample", "queues"), [("9/9 10/7 9/9 -", [0, 1]), ("9/9 7/7 9/9 -", [])])
def test_all_queues_of_a_topic_that_is_gone_count_if_messages_waited_in_one(sample: str, queues: list[int]) -> None:
    step = step_with("6 - - - 6", {90: sample})
    step = replace(step, routes={**step.routes, "other": spans("6 6 6 6 6", 100)})
    assert [hit.queue and hit.queue.queue_id for hit in RULE.hits(step)] == queues


@pytest.mark.parametrize(
    ("others", "cause"),
    [
        ({"%RETRY%g": "6 2 2 6"}, "BROKER_PERMISSION"),
        ({"u": "6 2 2 6", "%RETRY%g": "6 2 2 6"}, "BROKER_PERMISSION"),
        ({"u": "6 0 0 6", "%RETRY%g": "- 2 2 6"}, "BROKER_PERMISSION"),
        ({"u": "2 2 2 2", "%RETRY%g": "6 2 2 6"}, "BROKER_PERMISSION"),  # one had its own
        ({"u": "- - 2 6", "%RETRY%g": "6 2 2 6"}, "BROKER_PERMISSION"),  # created meanwhile
        ({"u": "- - - -", "%RETRY%g": "6 2 2 6"}, "BROKER_PERMISSION"),  # not there
        ({}, "NO_READ_PERMISSION"),  # it is not known of any other topic
        ({"%RETRY%g": "6 6 6 6"}, "NO_READ_PERMISSION"),
        ({"u": "6 6 6 6", "%RETRY%g": "6 2 2 6"}, "NO_READ_PERMISSION"),
        ({"u": "2 2 2 6"}, "NO_READ_PERMISSION"),  # longer ago
        ({"u": "6 6 2 6"}, "NO_READ_PERMISSION"),  # later
        ({"u": "6 2 6 6"}, "NO_READ_PERMISSION"),  # not as long
    ],
)
def test_a_broker_forbids_it_if_no_topic_may_be_read_there_since_then(others: Mapping[str, str], cause: str) -> None:
    """Routes are recorded one after the other."""
    step = step_with("6 2 2 6", {90: "- 10/7 - -"})
    routes = {topic: spans(perms, 100) for topic, perms in others.items()}
    late = {
        topic: [each._replace(start=each.start + 1000, end=each.end + 1000) for each in of]
        for topic, of in routes.items()
    }
    assert hits(replace(step, routes={**step.routes, **late})) == [("100-300", cause, 0, 3)]


def test_each_broker_has_its_own_finding_with_its_permission() -> None:
    """Nobody may read either, and one is forgotten."""
    both = [[route(0, 100, a=6, b=6), route(100, 700, a=2, b=2), route(700, 3600, a=6, b=0)] for _ in ("t", "%RETRY%g")]
    samples = offsets([("a", 0), ("b", 0)], {at: ["10/7", "9/4"] for at in range(0, 3600, 20)})
    step = with_samples(audited_step(), {"t": samples}, routes=dict(zip(("t", "%RETRY%g"), both, strict=True)))
    found = [
        (one.subject, one.cause, second_of(one.started_at), second_of(one.ended_at)) for one in findings(step, [RULE])
    ]
    assert found == [("a:0", "BROKER_PERMISSION", 100, 700), ("b:0", "BROKER_PERMISSION", 100, 3600)]
    assert len({one.finding_id for one in findings(step, [RULE])}) == 2
    (of_a, *_), (*_, of_b) = RULE.hits(step), RULE.hits(step)
    assert (of_a.explanation, of_b.explanation) == (
        "The permission of a is 2, write only.",
        "The permission of b is 0, neither read nor write.",
    )


def test_two_causes_are_two_conditions() -> None:
    both = hits(step_with("2 - 6", dict.fromkeys(range(0, 300, 20), "- 10/7 - -")))
    assert both == [("0-100", "NO_READ_PERMISSION", 0, 3), ("100-200", "LEFT_ROUTE", 0, 3)]


def test_a_topic_without_offsets_and_a_broker_that_can_be_read_are_left_alone() -> None:
    samples = {90: "9/0 10/7 - -"}
    assert hits(step_with("6", samples)) == []
    assert hits(step_with("6 4 6", samples)) == []
    assert hits(with_samples(audited_step(), {}, routes={"t": spans("6 -")})) == []
    assert hits(step_with("0", samples)) == [("0-100", "NO_READ_PERMISSION", 0, 3)]


@pytest.mark.parametrize(
    ("after", "cause"),
    [
        # All ends of `b` begin with 0 again, and that of `a` goes on.
        ("130/130 2/0 5/1 0/0", "STORE_LOST"),
        ("130/130 2/0 - -", "STORE_LOST"),
        # A slave that serves is a little behind; one queue goes on; the topic was created again; nothing is known.
        ("130/130 90/0 90/1 51/0", "LEFT_ROUTE"),
        ("130/130 2/0 100/1 0/0", "LEFT_ROUTE"),
        ("3/3 2/0 5/1 0/0", "LEFT_ROUTE"),
        ("- 2/0 5/1 0/0", "LEFT_ROUTE"),
        ("130/130 - - -", "LEFT_ROUTE"),
    ],
)
def test_a_broker_that_comes_back_with_an_empty_store_has_lost_it(after: str, cause: str) -> None:
    assert hits(step_with("6 - 6", {90: "100/100 100/97 100/100 100/100", 205: after})) == [("100-200", cause, 0, 3)]


@pytest.mark.parametrize(
    ("back", "ends"), [("9/9 12/8", 210), ("9/9 12/3", 200)], ids=["consumed again", "the offset went back"]
)
def test_it_ends_when_its_queues_are_consumed_again_or_their_offsets_went_back(back: str, ends: int) -> None:
    samples = {90: "9/9 10/7 - -", 205: f"{back} - -", 210: "9/9 12/9 - -"}
    assert [each[0] for each in hits(step_with("6 - 6", samples))] == [f"100-{ends}"]


@pytest.mark.parametrize(("answers_at", "says"), [((90, 115), "No answer of b"), ((90, 160), "b has answered since")])
def test_who_has_answered_since_it_left_the_route_is_not_down(answers_at: tuple[int, ...], says: str) -> None:
    step = step_with("6 -", {90: "9/9 10/7 - -"})
    answers = series_of([(micros(at), Membership((), frozenset(), frozenset(), None)) for at in answers_at])
    (hit,) = RULE.hits(replace(step, history=replace(step.history, memberships={"b": answers})))
    assert (hit.explanation or "").startswith(says)


def read_queues(counts: str, length: int = 100) -> list[Span[tuple[RouteEntry, ...]]]:
    """Read queues of broker `b` in route spans (`-` and `x`: none); all can be written."""
    of_spans = [() if word in "-x" else (RouteEntry("b", 6, int(word), 3),) for word in counts.split()]
    times = [(micros(place * length), micros((place + 1) * length)) for place in range(len(of_spans))]
    return [Span(start, end, start, entries) for (start, end), entries in zip(times, of_spans, strict=True)]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        # Queues 1 and 2 hold 5 and 7 messages.
        ("3 1", [("100-200", 1, 12), ("100-200", 2, 12)]),
        ("3 1 1", [("100-300", 1, 12), ("100-300", 2, 12)]),
        ("3 1 3", [("100-200", 1, 12), ("100-200", 2, 12)]),
        # Queue 1 is readable for 120 s more, in which the group may consume 6 of its messages.
        ("3 2 1", [("100-300", 2, 7)]),
        ("1 3 3", []),
        ("1 1", []),
        # What is deleted with its topic (`x`) holds nothing; the name server may have had no route for a while.
        ("3 x 1", []),
        ("3 - 1", [("200-300", 2, 7)]),
    ],
)
def test_queues_that_are_removed_keep_their_messages(counts: str, expected: list[tuple[str, int, int]]) -> None:
    samples = {60: "9/0 10/4 10/2", 80: "9/0 10/5 10/3"}
    step = step_of(read_queues(counts), samples, QUEUES[1:])
    if "x" in counts:
        step = replace(step, gone_topics={"t": [(micros(100), micros(200))]})
    removed = [hit for hit in RULE.hits(step) if hit.cause == "QUEUES_REMOVED"]
    assert [(span(hit), hit.queue and hit.queue.queue_id, hit.weight) for hit in removed] == expected
    assert {hit.severity for hit in removed} <= {"ERROR"}


@pytest.mark.parametrize(
    ("consumed", "expected"),
    [
        # It consumes 4 in 20 s, so that 4 may be gone before the route changes, and 5 are not.
        ("10/1 10/5", [5]),
        ("10/2 10/6", []),
        ("10/10 10/10", []),
        ("10/? 10/?", []),
        ("10/? 10/3", [7]),
    ],
)
def test_queues_that_were_drained_are_removed_in_silence(consumed: str, expected: list[int]) -> None:
    step = step_of(read_queues("1 0"), dict(zip((60, 80), consumed.split(), strict=True)), [("b", 0)])
    assert [hit.weight for hit in RULE.hits(step)] == expected


@pytest.mark.parametrize(
    ("following", "end", "expected"),
    [
        # It consumes 4 in 20 s, and is not seen for 20 s or for 35.
        (80, 10, [5]),
        (61, 10, [5]),
        (95, 10, []),
        # The topic is created again: its ends begin at 0.
        (80, 9, []),
    ],
)
def test_a_queue_may_be_drained_until_a_snapshot_lacks_it(following: int, end: int, expected: list[int]) -> None:
    """The route shows it at 100 s."""
    samples = {40: "10/10 10/1", 60: "10/10 10/5", following: f"{end}/{end} -"}
    assert [hit.weight for hit in RULE.hits(step_of(read_queues("2 1"), samples, QUEUES[1:3]))] == expected


def test_what_was_read_before_the_step_counts_too() -> None:
    step = step_of([route(-210, -20, b=6, a=6), route(-20, 40, a=6)], {-30: "10/7"}, [("b", 0)])
    assert hits(step) == [("-20-40", "LEFT_ROUTE", 0, 3)]


@pytest.mark.parametrize(
    ("at_a", "is_cause"), [("{}/{}", True), ("100/100", True), ("{}/900", False)], ids=["moves", "empty", "stands"]
)
def test_a_broker_is_not_reached_if_members_consume_elsewhere(at_a: str, is_cause: bool) -> None:
    """Broker b lists no member, a lists c1; messages wait at b. If they wait at a, too, c1 is gone."""
    queues, listed = [("a", 0), ("b", 0)], members("c1")
    rows = {at: [at_a.format(at + 1000, at + 1000), f"{at + 2000}/1900"] for at in range(0, 300, 20)}
    of_a, of_b = broker_said(0, 300, "c1", frozenset({("t", "*")})), broker_said(0, 300, "", frozenset())
    step = audited_step(
        interval(0, 300, listed, allocation(listed, "0 0", queues=queues)),
        memberships={"a": [of_a], "b": [of_b]},
        offsets={"t": offsets(queues, rows)},
    )
    assert {hit.cause for hit in RULE.hits(step)} == ({"NOT_REACHED"} if is_cause else set())
