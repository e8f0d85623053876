"""Brokers that list different members."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from spark_jobs.domain.evaluate import audited_step as audited_history
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval, Switch
from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.model.finding import ConflictingValue
from spark_jobs.domain.model.history import Connection, GroupHistory, Membership, ServerRoutes, Subscriptions
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.rules.findings import findings
from spark_jobs.domain.rules.membership_view_split import RULE
from tests.support.builders import allocation, audited_step, broker_said, interval, members
from tests.support.findings import rule_hit
from tests.support.kernel import SETTINGS, series_of
from tests.support.times import START, micros, second_of

EVERY_TEN_SECONDS = {"b": range(0, 600, 10), "b2": range(0, 600, 10)}


def _view(text: str) -> RebalanceInterval:
    """`b/u 100-140 c1 c2 @120`: what broker b lists for topic u (without a word: t) from 100 s to 140 s, last seen at
    120 s (without a word: at its end).
    """
    listing, _, seen_at = text.partition(" @")
    where, time, *ids = listing.split()
    view, _, topic = where.partition("/")
    start, end = map(int, time.split("-"))
    listed = members(" ".join(ids))
    seen = int(seen_at or end)
    return interval(start, end, listed, allocation(listed, "0"), topic=topic or "t", view=view, seen_at=seen)


def _step(
    *views: str, others: Sequence[RebalanceInterval] = (), asked: Mapping[str, Iterable[int]] = EVERY_TEN_SECONDS
) -> AuditedStep:
    """`asked`: the seconds in which each broker was."""
    nothing = Membership((), frozenset(), frozenset(), None)
    series = {name: series_of([(micros(at), nothing) for at in times]) for name, times in asked.items()}
    step = audited_step(*map(_view, views), *others)
    return replace(step, history=GroupHistory("c", "g", memberships=series))


def _spans(step: AuditedStep) -> list[tuple[int, int, int | None]]:
    """Start, end, and when it was last seen."""
    return [
        (second_of(hit.start), second_of(hit.end), hit.seen_at and second_of(hit.seen_at)) for hit in RULE.hits(step)
    ]


def test_one_hit_per_moment_at_which_views_begin() -> None:
    """With all lists then, and how many ids only some of them have. A duplicate is named once; the hit lasts as long as
    the last of its views.
    """
    step = _step("* 0-100 c1 c2", "b2 100-180 c1 c1", "b 100-140 c2 c1", "b 140-180 c3", "b/u 100-140 c1")
    split: dict[str, Any] = {"cause": "BROKERS_DISAGREE", "severity": "ERROR", "minimum_seen_seconds": 50}
    assert list(RULE.hits(step)) == [
        rule_hit(start, end, topic=topic, seen_at=seen, weight=differing, conflicting_values=lists, **split)
        for start, end, topic, seen, differing, lists in (
            (100, 180, "t", 140, 1, (ConflictingValue("b", ("c2", "c1")), ConflictingValue("b2", ("c1",)))),
            (140, 180, "t", 180, 2, (ConflictingValue("b", ("c3",)), ConflictingValue("b2", ("c1",)))),
            (100, 140, "u", 140, 0, (ConflictingValue("b", ("c1",)),)),
        )
    ]


def test_a_host_that_was_not_asked_since_the_members_changed_does_not_disagree() -> None:
    """c2 is gone at 100 s; b2 was last asked at 90 s, and at 160 s lists the same as b. Then b2 does disagree."""
    asked = {"b": range(0, 300, 10), "b2": [90, *range(160, 300, 10)]}
    first, then = ("b 100-160 c1", "b2 100-160 c1 c2 @90", "* 160-200 c1"), ("b 200-260 c1 @250", "b2 200-260 c1 c2")
    assert _spans(_step(*first, *then, asked=asked)) == [(200, 260, 250)]


def test_a_host_that_was_asked_before_and_after_the_other_listed_them_does_not_disagree() -> None:
    """A connection is listed twice for 100 s. b2 missed the rounds of 60 s and 120 s: it may have listed it, too."""
    views = "b 65-185 c1 c1 c2 @125", "b2 65-185 c1 c2 @180"
    asked = {"b": [5, 65, 125, 185], "b2": [0, 180]}
    assert _spans(_step(*views, asked=asked)) == []
    assert _spans(_step(*views, asked={**asked, "b2": [0, 120, 180]})) == [(65, 185, 125)]


def test_a_list_that_changes_during_a_split_is_compared_with_those_that_stay() -> None:
    """b2 was last asked at 130 s, before b changed; that b changed says nothing of a split from then on."""
    asked = {"b": range(0, 200, 10), "b2": range(0, 131, 10)}
    step = _step("b 100-140 c1", "b2 100-180 c1 c2 @130", "b 140-180 c1 c3", asked=asked)
    assert _spans(step) == [(100, 180, 130)]
    # One change more than the other list's is no reason of its own.
    nothing: Subscriptions = frozenset()
    of_b = [broker_said(100, 140, "c1", nothing), broker_said(140, 180, "c1 c3", nothing)]
    lists = {"b": of_b, "b2": [broker_said(100, 180, "c1 c2", nothing)]}
    assert {hit.cause for hit in RULE.hits(replace(step, memberships=lists))} == {"BROKERS_DISAGREE"}


@pytest.mark.parametrize(
    ("ids", "seconds", "counts"),
    [("c1", 49, False), ("c1", 50, True), ("c1 c2 c2", 149, False), ("c1 c2 c2", 150, True)],
)
def test_a_split_lasts_until_heartbeats_came_and_stale_connections_went(ids: str, seconds: int, counts: bool) -> None:
    """The other broker lists c1 and c2, for longer."""
    step = _step(f"b 100-500 {ids} @{100 + seconds}", "b2 100-500 c1 c2")
    assert bool(findings(step, [RULE])) is counts


def test_neither_agreement_nor_retry_topics_nor_what_was_not_replayed() -> None:
    unreplayed = interval(100, 140, members("c1"), None, view="b")
    assert list(RULE.hits(_step("* 0-100 c1", "b/%RETRY%g 100-140 c1", others=[unreplayed]))) == []


@pytest.mark.parametrize(
    ("lists", "spans"),
    [
        (("c1 c2", "c3 c4"), [(60, 300)]),
        (("c1 c2", "c2 c1"), []),
        (("c1", ""), []),  # nobody asks it
        (("h@1@0@a", "h@2@0@b"), []),  # gRPC: they allocate nothing
    ],
)
def test_proxies_that_list_different_members(lists: tuple[str, str], spans: list[tuple[int, int]]) -> None:
    """The second one is asked from 60 s on. Brokers list nobody."""
    through = [interval(0, 300, reason=Reason.CONSUMED_THROUGH_PROXY, topic=topic) for topic in ("t", "%RETRY%g")]
    first, second = (broker_said(start, 300, ids, frozenset()) for start, ids in zip((0, 60), lists, strict=True))
    step = audited_step(*through, memberships={"proxy p1:8080": [first], "proxy p2:8080": [second]})
    found = list(RULE.hits(step))
    assert [(second_of(hit.start), second_of(hit.end)) for hit in found] == spans
    assert {(hit.cause, hit.topic, hit.minimum_seconds) for hit in found} <= {("PROXIES_DISAGREE", "t", 50)}


def _flickering(*, other_changes: bool = False, every: int = 1) -> GroupHistory:
    """In every such round b2 lists one of three members, another each time; b lists all of them, unless its list
    changes with every round, too.
    """
    rounds = range(0, 300, 20)
    one = {at: f"c{number % 3 + 1}" if number % every == 0 else "c1 c2 c3" for number, at in enumerate(rounds)}
    lists = {
        "b": {at: f"c1 c2 c{at}" if other_changes else "c1 c2 c3" for at in rounds},
        "b2": {at + 1: one[at] for at in rounds},
    }
    series = {name: series_of([(micros(at), listed(ids)) for at, ids in of.items()]) for name, of in lists.items()}
    hosts: tuple[RouteEntry, ...] = (RouteEntry("b", 6, 1, 1), RouteEntry("b2", 6, 1, 1))
    route = series_of([(micros(at), hosts) for at in rounds])
    return GroupHistory("c", "g", memberships=series, routes={"t": route})


def listed(ids: str) -> Membership:
    return Membership(tuple(map(Connection, ids.split())), frozenset({"t"}), frozenset({("t", "*")}), "CLUSTERING")


@pytest.mark.parametrize(
    ("every", "end", "missing", "changes"), [(1, 340, "c1, c3", 14), (2, 261, "c2, c3", 12), (3, 261, "c2, c3", 8)]
)
def test_a_list_that_changes_with_each_snapshot_differs_from_one_that_stays(
    every: int, end: int, missing: str, changes: int
) -> None:
    """b2 is asked last at 281 s, and b before. So of b it is not known whether its list stays, but where b2 does not
    agree in between, the split that began at 1 s is not over. Named is what b2 lacked last: c2 is all that it lists in
    its 14th round, c1 in the 13th.
    """
    (found,) = findings(audited(_flickering(every=every)), [RULE])
    assert (second_of(found.started_at), second_of(found.ended_at), found.cause) == (1, end, "LIST_CHANGES")
    assert RULE.detail
    assert RULE.detail(found) == f"b2 does not list {missing}, and its list changed {changes} times"


def test_lists_that_both_change_with_every_snapshot_are_those_of_one_group_that_changes() -> None:
    """Each was asked once while the other one listed these members: a second later, or before."""
    assert findings(audited(_flickering(other_changes=True)), [RULE]) == []


def test_two_splits_that_last_for_a_moment_are_those_of_two_reconnects() -> None:
    """A minute apart: no heartbeat was missing for 50 s."""
    assert findings(audited(_flickering(every=10)), [RULE]) == []


def audited(history: GroupHistory) -> AuditedStep:
    return audited_history(history, Replays(StrategySettings(strategy="AVG")), SETTINGS, START)


def test_the_name_server_that_lacks_a_broker_is_named() -> None:
    """Of both brokers the first name server knows one, until the second route that it gives; the second knows both."""
    step = _step("b 0-100 c1 c2", "b2 0-100 c1")
    b, b2 = (RouteEntry(name, 6, 4, 4) for name in ("b", "b2"))
    said: ServerRoutes = (("n1:9876", (b,)), ("n2:9876", (b, b2)))
    later: ServerRoutes = (("n2:9876", ()),)
    routes = {"t": series_of([(START, said), (micros(110), later)])}
    hits_of = list(RULE.hits(replace(step, history=replace(step.history, server_routes=routes))))
    assert {hit.hint for hit in hits_of} == {
        "Name server n1:9876 does not know b2: clients that ask it for the route do not connect there."
    }
    assert {hit.hint for hit in RULE.hits(step)} == {None}


@pytest.mark.parametrize(
    ("addresses", "broker", "cause"),
    [
        # It comes back to a former address three times.
        ("h1 h2 h1 h2 h1", "b", "TWO_BROKERS"),
        ("h1 h2 h1 h2", "b", "BROKERS_DISAGREE"),
        ("h1 h2 h3 h4 h5 h6", "b", "BROKERS_DISAGREE"),
        # While it is not in the route, no other one has its name.
        ("h1 - h1 - h1 - h1 - h1", "b", "BROKERS_DISAGREE"),
        ("h1 h2 h1 h2 h1", "b3", "BROKERS_DISAGREE"),
    ],
)
def test_two_brokers_of_one_name_have_its_address_in_turn(addresses: str, broker: str, cause: str) -> None:
    in_turn = [None if each == "-" else each for each in addresses.split()]
    switches = [
        Switch(broker, micros(10 * n), micros(10 * n + 5), *pair) for n, pair in enumerate(pairwise(in_turn), start=1)
    ]
    step = replace(_step("b 100-180 c1", "b2 100-180 c1 c2"), switches={"t": switches})
    (hit,) = RULE.hits(step)
    assert (hit.cause, hit.hint) == (
        cause,
        "b was at h1, h2 in turn: 4 changes of its address." if cause == "TWO_BROKERS" else None,
    )
