"""Members that come and go so often that they flap."""

from collections.abc import Iterable
from dataclasses import replace

from spark_jobs.domain.kernel.audited_step import Rebalance
from spark_jobs.domain.model.finding import ConflictingValue, RuleHit
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.rules.flapping_member import RULE
from tests.support.builders import audited_step, rebalance, span
from tests.support.kernel import SETTINGS
from tests.support.tables import cells

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


def test_three_times_are_flapping_by_default() -> None:
    def count(text: str) -> int:
        return len(list(RULE.hits(replace(audited_step(), rebalances=passages(text)))))

    assert count("-x +x -x +x") == 0
    assert count("-x +x -x +x -x +x") == 1
    assert count("") == 0
