"""Features that standing queues share, by hand."""

from dataclasses import replace

import pytest

from spark_jobs.domain.model.history import GroupHistory, Place
from spark_jobs.domain.rules.in_common import shared_by, standing_broker, standing_to_the_end, with_what_they_share
from tests.support.builders import allocation, audited_step, interval, members
from tests.support.findings import finding, rule_hit
from tests.support.kernel import series_of
from tests.support.times import START, micros

BROKER_A = "They are all queues of a, and no queue of another broker stands: look at a."
OF_C1 = "They are all queues of c1, and no queue of another member stands."
FROM_2 = "They are all queues from index 2 on, and no queue below stands."


NOT_REPORTED = (
    "The running info of the owner is not recorded, so that another client may hold the queue, or none: members whose "
    "name servers know other brokers share the queues differently. Record it, and compare the name servers' routes."
)


def places(text: str) -> list[Place]:
    return [(broker, int(number)) for word in text.split() for broker, number in [word.split(":")]]


@pytest.mark.parametrize(
    ("queues", "owners", "standing", "expected"),
    [
        ("a:0 a:1 b:0 b:1", "0 1 0 1", "a:0 a:1", BROKER_A),
        ("a:0 a:1 b:0 b:1", "0 0 1 1", "a:0 a:1", f"{BROKER_A} {OF_C1}"),
        ("a:0 a:1 b:0 b:1", "0 1 1 0", "a:0 b:1", OF_C1),
        ("a:0 a:1 a:2 a:3", "0 0 1 0", "a:0 a:1 a:3", OF_C1),
        ("a:0 a:1 a:2 a:3", "0 1 0 1", "a:2 a:3", FROM_2),
        ("a:1 a:2 b:0 b:2", "0 1 1 0", "a:2 b:2", FROM_2),
        # Nothing that tells them apart from the others: some of each, one queue, all queues, those in between.
        ("a:0 a:1 b:0 b:1", "0 1 0 1", "a:0 b:1", None),
        ("a:0 a:1 b:0 b:1", "0 0 1 1", "a:0", None),
        ("a:0 a:1 b:0 b:1", "0 1 0 1", "a:0 a:1 b:0 b:1", None),
        ("a:0 a:1 b:0 b:1", "0 1 0 1", "a:0 a:1 b:0", None),
        ("a:0 a:1 a:2 a:3", "0 1 0 1", "a:1 a:2", None),
        # No owners are known, or one queue is not in the route.
        ("a:0 a:1 b:0 b:1", "", "a:0 a:1", BROKER_A),
        ("a:0 a:1 b:0 b:1", "", "a:0 c:1", None),
    ],
)
def test_what_standing_queues_share(queues: str, owners: str, standing: str, expected: str | None) -> None:
    listed = members("c1 c2")
    owned = allocation(listed, owners) if owners else None
    of_topic = interval(0, 600, listed, owned and replace(owned, queues=places(queues)))
    assert shared_by(places(standing), replace(of_topic, queues=tuple(places(queues)))) == expected


def test_a_broker_that_gave_the_messages_is_not_named() -> None:
    owned = replace(allocation(members("c1 c2"), "0 0 1 1"), queues=places("a:0 a:1 b:0 b:1"))
    step = audited_step(replace(interval(0, 600, members("c1 c2"), owned), queues=tuple(owned.queues)))
    hits = [rule_hit(0, 100, "LISTENER_HANGS", f"t {place} BEHIND", topic="t") for place in ("a:0", "a:1")]
    assert [(hit.hint, hit.measures) for hit in with_what_they_share(step, hits)] == [(OF_C1, None)] * 2


@pytest.mark.parametrize(("standing", "broker"), [("a:0 a:1", "a"), ("a:0 b:0", None), ("a:0 a:1 b:0", None)])
def test_that_all_queues_of_one_broker_stand_is_a_measure(standing: str, broker: str | None) -> None:
    listed, queues = members("c1 c2"), places("a:0 a:1 b:0 b:1")
    owned = replace(allocation(listed, "0 1 1 0"), queues=queues)
    step = audited_step(replace(interval(0, 600, listed, owned), queues=tuple(queues)))
    hits = [
        rule_hit(0, 100, "SUSPENDED", f"t {place} BEHIND", topic="t", measures={"age_ms": 1})
        for place in standing.split()
    ]
    for hit in with_what_they_share(step, hits):
        assert hit.measures == ({"age_ms": 1, "all_of_one_broker": 1} if broker else {"age_ms": 1})
    queues_named = [("t", *place, "") for place in places(standing)]
    found = finding("f", "CONSUMER_STOPPED", 0, 100, queues=queues_named)
    assert standing_broker(found) is None
    measured = found.evidence._replace(measures=[("all_of_one_broker", 1.0)])
    assert standing_broker(found._replace(evidence=measured)) == broker


def test_hits_of_one_condition_are_looked_at_together() -> None:
    listed = members("c1 c2")
    step = audited_step(interval(0, 600, listed, allocation(listed, "0 0 1 1")))
    hits = [
        rule_hit(start, end, "NOT_REPORTED", f"{topic} b:{queue_id} BEHIND", topic=topic)
        for topic, start, end, queue_id in (("t", 0, 100, 0), ("t", 50, 150, 1), ("t", 300, 400, 1), ("u", 0, 100, 0))
    ]
    found = list(with_what_they_share(step, hits))
    assert [hit.hint for hit in found] == [f"{OF_C1} {NOT_REPORTED}"] * 2 + [NOT_REPORTED, None]
    assert [replace(hit, hint=None) for hit in found] == hits


@pytest.mark.parametrize(("start", "is_shortly"), [(100, True), (80, True), (79, False), (200, True), (201, False)])
def test_queues_that_stand_since_the_route_names_them_may_not_have_been_taken(start: int, is_shortly: bool) -> None:
    """The route names them since 100 s; offsets are read up to a collection interval before."""
    without, listed = (("b", 0),), members("c1")
    both = interval(100, 600, listed, allocation(listed, "0 0 0"))
    step = audited_step(replace(interval(0, 100, listed, allocation(listed, "0")), queues=without), both)
    hits = [rule_hit(start, 500, "NOT_REPORTED", f"t b:{number} BEHIND", topic="t") for number in (1, 2)]
    says = "The route names them since 2026-03-01T10:01:40Z: the members may not have taken them. Restart the members."
    for hit in with_what_they_share(step, hits):
        assert (says in (hit.hint or "")) is is_shortly


def test_one_message_does_not_hold_back_all_queues() -> None:
    """Nor does it where the owners are not to blame, or where there is one queue only."""
    listed = members("c1 c2")
    step = audited_step(interval(0, 600, listed, allocation(listed, "0 1")), interval(0, 600, listed, topic="u"))
    hits = [rule_hit(0, 100, "NOT_REPORTED", f"t b:{number} BEHIND", topic="t") for number in (0, 1)]
    for hit in with_what_they_share(step, hits):
        assert (hit.hint or "").startswith("They are all queues of the topic, and one message cannot hold back all")
    assert {hit.hint for hit in with_what_they_share(step, [replace(hit, cause="SUSPENDED") for hit in hits])} == {None}
    assert [hit.hint for hit in with_what_they_share(step, hits[:1])] == [NOT_REPORTED]


@pytest.mark.parametrize(("since", "is_said"), [(60, True), (120, False)])
def test_queues_of_a_broker_that_has_no_master_may_lack_their_locks(since: int, is_said: bool) -> None:
    """From then on, while the queue stands from 50 s to 120 s; no client reports whether it consumes in order."""
    listed = members("c1 c2")
    step = audited_step(interval(0, 600, listed, allocation(listed, "0 1")))
    seen = [(START, frozenset[str]()), *((micros(at), frozenset({"b"})) for at in range(since, 300, 20))]
    step = replace(step, history=GroupHistory("c", "g", masterless={"t": series_of(seen)}))
    stands = rule_hit(50, 120, "SUSPENDED", "t b:0 BEHIND", topic="t")
    (hit,) = with_what_they_share(step, [stands])
    sentence = "b had no master meanwhile: an owner that consumes in order waits for its locks."
    assert hit.hint == (sentence if is_said else None)


@pytest.mark.parametrize(("end", "says"), [(900, "in the end only b:1"), (901, "")])
def test_of_queues_that_stood_those_to_the_end_are_named_if_others_moved_long_before(end: int, says: str) -> None:
    found = finding("f", "CONSUMER_STOPPED", 0, 1200, queues=[("t", "b", 0, ""), ("t", "b", 1, "")])
    first, second = found.evidence.queues
    queues = [first._replace(ended_at=micros(end)), second._replace(ended_at=micros(1200))]
    assert standing_to_the_end(found._replace(evidence=found.evidence._replace(queues=queues))) == says
