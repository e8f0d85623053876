"""Members that come and go so often that they flap."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from spark_jobs.domain.kernel.audited_step import Rebalance
from spark_jobs.domain.model.finding import ConflictingValue, FindingQueue, RuleHit
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.rules.flapping_member import RULE
from tests.support.builders import allocation, audited_step, interval, members, rebalance, span
from tests.support.kernel import SETTINGS
from tests.support.samples import offsets
from tests.support.tables import cells
from tests.unit.domain.test_reconnects import step_of

#: `+id` came, `-id` went, per rebalance; `*n`: so many members of its host then; 2 times are flapping
#: | who, comings, goings
_PASSAGES = """
    -x +x -x +x                            | SAME_ID x 2 2
    -x +x -x                               |
    -x +x -x +x -x                         | SAME_ID x 2 3
    -h@1 +h@2 -h@2 +h@3                    | NEW_ID_EACH_TIME h 2 2
    -h@1 +h@2 -h@2                         |
    -h@1 +h@1 -h@1 +h@1                    | SAME_ID h@1 2 2
    -h@1*1 +h@3*2 -h@2*1 +h@4*2            |
    -h@1*1 +h@3*2 -h@2*1 +h@4*2 -h@3*1 +h@5*2 -h@4*1 +h@6*2 | NEW_ID_EACH_TIME h 4 4
    -h@1*2 +h@3*1 -h@2*1 +h@4*1            |
    -h@1 +g@2 -h@2 +g@3                    |
    -x +y -y +z                            |
"""
TWICE = replace(SETTINGS, thresholds=Thresholds(flapping_times=2))


def passages(text: str, topics: Iterable[str] = ("t",)) -> list[Rebalance]:
    """One rebalance every 100 s."""
    found = []
    for number, word in enumerate(text.split()):
        client_id, _, at_once = word[1:].partition("*")
        host = client_id.partition("@")[0]
        ids = {"joined": [client_id]} if word[0] == "+" else {"left": [client_id]}
        now = " ".join(["other@1", "x", *(f"{host}@{peer}" for peer in range(int(at_once or 0)))])
        found += [rebalance(100 * number, topic=topic, now=now, **ids) for topic in topics]  # type: ignore[arg-type]
    return found


def hits(rebalances: list[Rebalance]) -> list[RuleHit]:
    return list(RULE.hits(replace(audited_step(settings=TWICE), rebalances=rebalances)))


def test_members_that_leave_and_join_often_flap() -> None:
    for text, expected in cells(_PASSAGES):
        flaps = [(hit.cause, hit.client_id, hit.measures or {}) for hit in hits(passages(text))]
        words = [f"{cause} {who} {counts['comings']:g} {counts['goings']:g}" for cause, who, counts in flaps]
        assert ", ".join(words) == expected, text


def test_a_rebalance_of_two_topics_counts_once_and_what_it_moved_twice() -> None:
    (hit,) = hits(passages("-x +x -x +x", topics=("t", "u")))
    moved = {"queues_moved": 16, "minimum_moves": 8, "moved_per_least_move": 2}
    assert hit.measures == {"comings": 2, "goings": 2, **moved}
    assert span(hit) == "0-300"
    assert (hit.severity, hit.minimum_seconds, hit.topic) == ("WARN", 0, None)
    assert hit.conflicting_values == (ConflictingValue("x", ("x",)),)


def test_what_moved_as_one_id_took_the_place_of_another_counts_once() -> None:
    swaps = [
        rebalance(0, left=["h@1"], joined=["h@2"], now="h@2"),
        rebalance(100, left=["h@2"], joined=["h@3"], now="h@3"),
    ]
    (hit,) = hits(swaps)
    assert hit.measures
    assert (hit.measures["queues_moved"], hit.measures["comings"], hit.measures["goings"]) == (4, 2, 2)
    assert hit.conflicting_values == (ConflictingValue("h", ("h@1", "h@2", "h@3")),)


def test_where_nothing_had_to_move_there_is_no_ratio() -> None:
    still = [change._replace(moves=replace(change.moves, least=0)) for change in passages("-x +x -x +x")]
    (hit,) = hits(still)
    assert (hit.measures or {})["moved_per_least_move"] is None
    (hit,) = hits([*still[:3], passages("-x +x -x +x")[3]])
    assert (hit.measures or {})["moved_per_least_move"] == 8


def test_moments_and_not_topics_are_counted() -> None:
    shifted = [
        *(rebalance(start, moment=0, topic=topic, left=["x"]) for start, topic in ((0, "t"), (3, "u"))),
        *(rebalance(start, moment=50, topic=topic, joined=["x"]) for start, topic in ((50, "t"), (53, "u"))),
    ]
    assert hits(shifted) == []


def hits_of_connections(text: str, starts: Sequence[int | None] = ()) -> list[RuleHit]:
    """The hits where a broker lists `id:port` every 100 s, and `x` owns the queues 1 and 2 of `t`."""
    listed = members("y x")
    owned = [interval(0, 3600, listed, allocation(listed, "0 1 1"), topic=topic) for topic in ("t", "%RETRY%g")]
    step = replace(step_of({"b": text}, starts), intervals=owned, rebalances=passages("-x +x -x +x -x +x"))
    return list(RULE.hits(step))


def test_an_id_with_a_new_connection_each_time_is_reported_once_with_its_queues() -> None:
    first, second = hits_of_connections("x:1+y:1 x:2+y:1 x:3+y:1 y:1 x:4+y:1")
    assert [(hit.queue, hit.cause, span(hit)) for hit in (first, second)] == [
        (FindingQueue("t", "b", 1, "MOVED"), "RECONNECTS", "100-500"),
        (FindingQueue("t", "b", 2, "MOVED"), "RECONNECTS", "100-500"),
    ]
    assert first.measures == {"new_connections": 3, "seconds_apart": 100}
    assert (first.client_id, first.implicated, first.topic, first.hint) == ("x", "x", None, None)


def test_the_process_may_restart_or_not() -> None:
    text = "x:1+y:1 x:2+y:1 x:3+y:1 x:4+y:1"
    (same, *_), (anew, *_) = hits_of_connections(text, (-60,) * 4), hits_of_connections(text, (-60, 90, 190, 290))
    assert (same.cause, same.hint) == ("RECONNECTS", "The process does not restart: it runs since 2026-03-01T09:59Z.")
    assert (anew.cause, anew.hint) == ("SAME_ID", None)
    assert (anew.explanation or "").startswith("The process started 4 times meanwhile: check its exit code")


@pytest.mark.parametrize(("text", "is_short"), [("x:1 x:2 x:3 x:4", True), ("x:1 x:1 x:2 x:2 x:3 x:3 x:4", False)])
def test_connections_of_a_single_list_are_closed_by_something_at_once(text: str, is_short: bool) -> None:
    (hit, *_) = hits_of_connections(text)
    assert ("gone by the broker's next list" in (hit.explanation or "")) is is_short


@pytest.mark.parametrize(
    ("last", "severity", "says"),
    [("30/10", "ERROR", "no message of the group is consumed, and 20 messages wait"), ("30/11", "WARN", None)],
)
def test_it_is_an_error_if_the_group_consumes_nothing_meanwhile(last: str, severity: str, says: str | None) -> None:
    """New connections from 100 s to 300 s."""
    step = step_of({"b": "x:1+y:1 x:2+y:1 x:3+y:1 x:4+y:1"})
    read = {"t": offsets([("b", 0)], {100: ["10/10"], 200: ["20/10"], 300: [last]})}
    (hit,) = RULE.hits(replace(step, history=replace(step.history, offsets=read)))
    assert (hit.severity, (says or "is consumed") in (hit.explanation or "")) == (severity, says is not None)


def test_without_addresses_the_joins_count() -> None:
    (hit,) = hits_of_connections("x+y:1 y:1 x+y:1 y:1 x+y:1")
    assert (hit.cause, (hit.measures or {})["comings"]) == ("SAME_ID", 3)


def test_three_times_are_flapping_by_default() -> None:
    def count(text: str) -> int:
        return len(list(RULE.hits(replace(audited_step(), rebalances=passages(text)))))

    assert count("-x +x -x +x") == 0
    assert count("-x +x -x +x -x +x") == 1
    assert count("") == 0
