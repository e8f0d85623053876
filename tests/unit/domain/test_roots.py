"""Which findings are consequences of which, by hand; and what the rules' links say together."""

from __future__ import annotations

import pytest

from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.domain.rules.roots import with_roots
from tests.support.findings import finding


def roots(*found: Finding) -> dict[str, str | None]:
    links = {rule.name: rule.follows for rule in RULES}
    return {finding.finding_id: finding.root_finding_id for finding in with_roots(found, links)}


TWINS = finding("twins", "DUPLICATE_CLIENT_ID", 0, 600, client_id="c1", client_ids=["c1"])


def test_what_follows_shares_a_client_with_its_root_and_stands_at_the_same_time() -> None:
    unowned = finding("u", "UNASSIGNED_QUEUE", 0, 600, "DUPLICATE_CLIENT_ID", client_ids=["c1"])
    assert roots(TWINS, unowned) == {"twins": None, "u": "twins"}
    assert roots(unowned, TWINS) == {"u": "twins", "twins": None}
    assert roots(TWINS, unowned._replace(cause="CONFIG_HOLE"))["u"] is None
    assert roots(TWINS, unowned._replace(started_at=unowned.ended_at, ended_at=unowned.ended_at + 9))["u"] is None
    other = finding("u", "UNASSIGNED_QUEUE", 0, 600, "DUPLICATE_CLIENT_ID", client_ids=["c2"])
    assert roots(TWINS, other)["u"] is None
    # A group whose name is the client id is no client.
    assert roots(TWINS, other._replace(subject="c1"))["u"] is None


def test_near_its_capacity_follows_from_busy_threads_and_hot_keys_and_comes_before_falling_behind() -> None:
    queue = [("t", "b", 0, "HOT")]
    near = finding("n", "NEAR_CAPACITY", 0, 900, "HOT_QUEUE", client_id="c1", client_ids=["c1"], queues=queue)
    slow = finding("s", "SLOW_LISTENER", 0, 900, client_id="c1", client_ids=["c1"])
    skew = finding("p", "PRODUCER_SKEW", 0, 900, "HOT_QUEUES", queues=queue)
    lag = finding("l", "CONSUMER_LAGGING", 60, 900, client_ids=["c1"])
    assert roots(near, slow, skew)["n"] == "s"
    assert roots(near, skew)["n"] == "p"
    assert roots(near, lag) == {"n": None, "l": "n"}
    assert roots(near, slow._replace(evidence=slow.evidence._replace(client_ids=["c2"]), client_id="c2"))["n"] is None


def test_a_retry_topic_that_fills_with_what_was_sent_back_follows_from_it() -> None:
    retry = [("%RETRY%g", "b", 0, "RETRIED")]
    failing = finding("f", "CONSUME_FAILING", 0, 900, "SENT_BACK", queues=retry)
    lag = finding("l", "CONSUMER_LAGGING", 60, 900, topic="%RETRY%g", queues=retry)
    assert roots(failing, lag) == {"f": None, "l": "f"}


def test_a_popped_topic_falls_behind_because_its_messages_come_again() -> None:
    again = finding("p", "POP_REDELIVERING", 0, 900, topic="t", queues=[("%RETRY%g_t", "b", 0, "REDELIVERED")])
    assert roots(again, finding("l", "CONSUMER_LAGGING", 60, 900, topic="t"))["l"] == "p"
    assert roots(again, finding("l", "CONSUMER_LAGGING", 60, 900, topic="u"))["l"] is None


@pytest.mark.parametrize("rule", ["UNASSIGNED_QUEUE", "DOUBLE_OWNED_QUEUE"])
def test_what_clients_of_several_languages_did_to_queues_follows_from_them(rule: str) -> None:
    mixture = finding("m", "MIXED_CLIENTS", 0, 600, "DIFFERENT_RULES")
    assert roots(mixture, finding("q", rule, 0, 600, "MIXED_CLIENTS"))["q"] == "m"
    assert roots(mixture, finding("q", rule, 0, 600, "CONFIG_HOLE"))["q"] is None


@pytest.mark.parametrize(("began", "root"), [(1, "twins"), (601, None)])
def test_what_stood_long_before_is_no_consequence(began: int, root: str | None) -> None:
    """The twins come so many seconds after the uneven shares."""
    uneven = finding("l", "LOAD_IMBALANCE", 0, 3600, "HASH_RING", conflicting_values=[("4 queues", ("c1", "c2"))])
    later = finding("twins", "DUPLICATE_CLIENT_ID", began, 3000, client_id="c1", client_ids=["c1"])
    assert roots(uneven, later)["l"] == root


@pytest.mark.parametrize(("cause", "begins", "root"), [("ALL_THREADS_BUSY", 419, "r"), ("ALL_THREADS_BUSY", 420, None)])
def test_who_consumes_again_what_went_back_is_busy_because_of_it(cause: str, begins: int, root: str | None) -> None:
    rewind = finding("r", "OFFSET_REWOUND", 280, 300, "RESET", client_ids=["c1"])
    busy = finding("s", "SLOW_LISTENER", begins, 900, cause, client_id="c1", client_ids=["c1"])
    other = finding("o", "SLOW_LISTENER", begins, 900, cause, client_id="c2", client_ids=["c2"])
    assert roots(rewind, busy, other) == {"r": None, "s": root, "o": None}


def test_who_begins_with_the_history_of_a_topic_is_busy_with_it() -> None:
    begins = finding("b", "BEGINS_AT_OLDEST", 100, 900, "FIRST_COMMIT")
    busy = finding("s", "SLOW_LISTENER", 160, 900, "ALL_THREADS_BUSY", client_id="c1", client_ids=["c1"])
    slower = finding("t", "SLOW_LISTENER", 160, 900, "RESPONSE_TIME_ROSE", client_id="c1", client_ids=["c1"])
    assert roots(begins, busy, slower) == {"b": None, "s": "b", "t": None}


def test_a_consequence_of_a_consequence_names_the_root() -> None:
    slow = finding("s", "SLOW_LISTENER", 0, 900, client_id="c1", client_ids=["c1"])
    behind = finding("l", "CONSUMER_LAGGING", 60, 900, client_ids=["c1"], queues=[("t", "b", 0, "BEHIND")])
    lost = finding("r", "RETENTION_RISK", 300, 900, "LOST", queues=[("t", "b", 0, "AT_RISK")])
    elsewhere = finding("r2", "RETENTION_RISK", 300, 900, "LOST", queues=[("t", "b", 1, "AT_RISK")])
    assert roots(lost, elsewhere, behind, slow) == {"r": "s", "r2": None, "l": "s", "s": None}


def test_of_several_roots_the_rules_first_then_the_earliest_then_by_id() -> None:
    lag = finding("lag", "CONSUMER_LAGGING", 100, 900, client_ids=["c1"], queues=[("t", "b", 0, "BEHIND")])
    slow = [
        finding(name, "SLOW_LISTENER", start, 900, client_id="c1", client_ids=["c1"])
        for name, start in (("b", 50), ("c", 50), ("a", 60))
    ]
    assert roots(lag, *reversed(slow))["lag"] == "b"
    hung = finding("h", "CLIENT_HUNG", 90, 900, client_id="c1", queues=[("t", "b", 0, "HUNG")])
    assert roots(lag, *slow, hung)["lag"] == "h"


@pytest.mark.parametrize("rule", ["CONSUMER_STOPPED", "CONSUMER_STALLED", "CONSUMER_LAGGING", "RETENTION_RISK"])
def test_the_queues_of_a_ghost_stand_still_because_of_it(rule: str) -> None:
    ghost = finding("g", "GHOST_MEMBER", 100, 900, client_id="c1", queues=[("t", "b", 0, "GHOST")])
    of_it, elsewhere = (
        finding(name, rule, 200, 900, queues=[("t", "b", queue, "")]) for queue, name in enumerate("xy")
    )
    assert roots(ghost, of_it, elsewhere) == {"g": None, "x": "g", "y": None}


def test_the_links_of_the_rules_name_rules_and_causes_that_exist_and_make_no_circle() -> None:
    follows = {rule.name: [link.root for link in rule.follows] for rule in RULES}
    causes = {rule.name: set(rule.causes) for rule in RULES}
    for rule in RULES:
        for link in rule.follows:
            assert link.root in follows
            assert set(link.causes or ()) <= causes[rule.name]
            assert set(link.root_causes or ()) <= causes[link.root]
    settled: set[str] = set()
    while waiting := [name for name, above in follows.items() if name not in settled and settled.issuperset(above)]:
        settled.update(waiting)
    assert settled == set(follows)


@pytest.mark.parametrize(("cause", "root"), [("QUEUES_REMOVED", "b"), ("LEFT_ROUTE", None)])
def test_queues_that_can_still_be_written_are_stranded_by_their_removal(cause: str, root: str | None) -> None:
    removed = finding("b", "BROKER_NOT_READABLE", 100, 900, cause, queues=[("t", "b", 4, "NOT_READABLE")])
    stranded = finding("s", "STRANDED_WRITE_QUEUES", 100, 900, queues=[("t", "b", 4, "UNASSIGNED")])
    assert roots(removed, stranded)["s"] == root


@pytest.mark.parametrize(("cause", "root"), [("SENT_BACK", "f"), ("LISTENER_FAILS", None)])
def test_a_group_lags_because_messages_that_nobody_reports_as_failed_come_again(cause: str, root: str | None) -> None:
    """A listener that fails is known by its client."""
    failing = finding("f", "CONSUME_FAILING", 100, 900, cause, queues=[("%RETRY%g", "b", 0, "RETRIED")])
    lagging = finding("l", "CONSUMER_LAGGING", 100, 900, client_ids=["c1"], queues=[("t", "b", 0, "BEHIND")])
    assert roots(failing, lagging)["l"] == root


@pytest.mark.parametrize("rule", ["CONSUMER_STOPPED", "CONSUMER_STALLED"])
def test_a_queue_that_moves_again_falls_behind_because_it_stood(rule: str) -> None:
    """Not one that fell behind for long before, nor another queue."""
    stood = finding("s", rule, 1000, 1900, queues=[("t", "b", 0, "BEHIND")])
    of_it, before, elsewhere = (
        finding(name, "CONSUMER_LAGGING", start, 2000, queues=[("t", "b", queue, "BEHIND")])
        for name, start, queue in (("l", 1000, 0), ("m", 300, 0), ("n", 1000, 1))
    )
    assert roots(stood, of_it, before, elsewhere) == {"s": None, "l": "s", "m": None, "n": None}
