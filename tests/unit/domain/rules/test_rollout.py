"""Members that others replace, and what that costs: two or more members of `AVG`, 4 queues, a snapshot every 20 s."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.rocketmq.strategies import AVG, StrategySettings
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.domain.rules.findings import findings
from spark_jobs.domain.rules.rollout import RULE
from tests.support.builders import span
from tests.support.tables import described
from tests.support.what_if import Messages, client_row, rate, steps

#: What is true | since which second who is a member | span, members replaced, waves, queues moved of how many that had
#: to, or nothing.
_ROLLOUTS = """
    host by host               | 0 a@1 b@1; 100 b@1; 140 a@2 b@1; 200 a@2; 240 a@2 b@2 | 100-260 2 2 8/4
    processes of one host      | 0 h@1 h@2; 100 h@1 h@2 h@3; 120 h@2 h@3; 200 h@2 h@3 h@4; 220 h@3 h@4 | 100-240 2 2 8/4
    new first, on new hosts    | 0 a@1 b@1; 100 a@1 b@1 c@1 d@1; 160 c@1 d@1 | 100-180 2 1 6/4
    all at once                | 0 a@1 b@1; 100 a@2 b@2 | 100-120 2 1 4/4
    all leave, and others come | 0 a@1 b@1; 100; 140 a@2 b@2 | 100-160 2 1 8/4
    half of the group          | 0 a@1 b@1 c@1 d@1; 100 a@2 b@2 c@1 d@1 | 100-120 2 1 2/2
    less than half of it       | 0 a@1 b@1 c@1 d@1 e@1; 100 a@2 b@2 c@1 d@1 e@1 |
    one member                 | 0 a@1; 100 a@2 |
    one of two                 | 0 a@1 b@1; 100 b@1; 140 a@2 b@1 |
    fewer than before          | 0 a@1 b@1 c@1 d@1; 100 a@2 b@2 | 100-120 2 1 4/4
    ten minutes apart          | 0 a@1 b@1; 100 a@2 b@1; 700 a@2 b@2 | 100-720 2 2 4/4
    ten minutes and more       | 0 a@1 b@1; 100 a@2 b@1; 720 a@2 b@2 |
    the group grows            | 0 a@1 b@1; 100 a@1 b@1 c@1; 140 a@1 b@1 c@1 d@1 |
    the group shrinks          | 0 a@1 b@1 c@1 d@1; 100 a@1 b@1 c@1; 140 a@1 b@1 |
    all leave                  | 0 a@1 b@1; 100 b@1; 140 |
    the same ids come back     | 0 a@1 b@1; 100 b@1; 140 a@1 b@1; 200 a@1; 240 a@1 b@1 |
    twins and another one      | 0 a@1 a@1 b@1; 100 a@2 a@2 b@2 | 100-120 2 1 3/3
    twins alone                | 0 a@1 a@1; 100 a@2 a@2 |
    two that flap              | 0 a@1 b@1; 100 a@2 b@2; 140 a@3 b@3; 180 a@4 b@4 |
    one flaps meanwhile        | 0 a@1 b@1 f@1; 60 a@1 b@1 f@2; 100 a@2 b@2 f@2; 180 a@2 b@2 f@3 | 100-120 2 1 3/3
    two of a kind              | 0 a@1 b@1; 100 a@2 b@2; 720 a@3 b@3 | 100-120 2 1 4/4, 720-740 2 1 4/4
"""
#: Members as they are after each other: of the first, a leaves and comes back with another id, and then b.
HOST_BY_HOST = "0 a@1 b@1; 100 b@1; 140 a@2 b@1; 200 a@2; 240 a@2 b@2"


def step_of(
    members: str,
    queues: Sequence[tuple[Messages, Messages]] = ((rate(1), rate(1)),) * 4,
    clients: Sequence[Mapping[str, Any]] = (),
    seconds: Sequence[int] = range(0, 1001, 20),
) -> AuditedStep:
    """Of each queue what came and what was consumed."""
    since = {int(words[0]): words[1:] for words in map(str.split, members.split(";"))}
    configured = StrategySettings(strategy=AVG)
    came, consumed = zip(*queues, strict=True)

    def listed(second: int) -> Sequence[str]:
        return next(ids for start, ids in reversed(since.items()) if start <= second)

    (step,) = steps(listed, came, consumed, seconds, configured, clients=clients)
    return step


def hits(step: AuditedStep) -> dict[str, RuleHit]:
    """One of each rollout; they have the same but for their queues."""
    return {span(hit): hit for hit in RULE.hits(step)}


def measures(step: AuditedStep) -> Mapping[str, float | None]:
    """The measures of the only rollout."""
    (hit,) = hits(step).values()
    return hit.measures or {}


@pytest.mark.parametrize(("members", "expected"), described(_ROLLOUTS))
def test_members_that_others_replace_are_a_rollout(members: str, expected: str) -> None:
    found = [(name, hit.measures or {}) for name, hit in hits(step_of(members)).items()]
    counts = "{members_replaced:g} {waves:g} {queues_moved:g}/{minimum_moves:g}"
    assert ", ".join(f"{name} {counts.format(**measures)}" for name, measures in found) == expected


def test_it_names_who_left_and_who_joined_and_the_queues_that_moved() -> None:
    found = list(RULE.hits(step_of(HOST_BY_HOST)))
    assert [hit.queue for hit in found] == [("t", "b", number, "MOVED") for number in range(4)]
    assert {(value.name, value.client_ids) for value in found[0].conflicting_values or ()} == {
        ("joined", ("a@2", "b@2")),
        ("left", ("a@1", "b@1")),
    }
    assert (found[0].measures or {})["rebalances"] == 4
    assert (found[0].measures or {})["moved_per_least_move"] == 2


def stands(since: int, until: int) -> Messages:
    """A message a second is consumed, but for this time."""
    return lambda second: since if since <= second < until else second


@pytest.mark.parametrize(
    ("consumed", "cause", "severity", "longest"),
    [
        pytest.param(rate(1), "MEMBERS_REPLACED", "INFO", 0, id="no pause"),
        pytest.param(stands(100, 220), "MEMBERS_REPLACED", "INFO", 100, id="a short one"),
        pytest.param(stands(100, 240), "QUEUES_STOOD", "WARN", 120, id="a long one"),
        pytest.param(stands(240, 500), "QUEUES_STOOD", "WARN", 240, id="one that begins at its end"),
        pytest.param(stands(300, 500), "MEMBERS_REPLACED", "INFO", 0, id="one that begins later"),
        pytest.param(stands(20, 240), "MEMBERS_REPLACED", "INFO", 0, id="one that began before"),
        pytest.param(stands(100, 3600), "MEMBERS_REPLACED", "INFO", 0, id="one without an end is another rule's"),
    ],
)
def test_a_queue_that_stands_for_long_is_a_cost(consumed: Messages, cause: str, severity: str, longest: float) -> None:
    (hit,) = hits(step_of(HOST_BY_HOST, [(rate(1), consumed), *[(rate(1), rate(1))] * 3])).values()
    assert (hit.cause, hit.severity) == (cause, severity)
    assert (hit.measures or {})["longest_pause_seconds"] == longest


@pytest.mark.parametrize(
    ("until", "longest"),
    [
        pytest.param(120, 0, id="the first commit of a new member"),
        pytest.param(220, 90, id="a listener that does not return"),
    ],
)
def test_commits_stand_for_longer_than_consumption(until: int, longest: float) -> None:
    step = step_of(HOST_BY_HOST, [(rate(1), stands(100, until))] * 4)
    samples = step.history.offsets["t"]
    pulling = {"t": replace(samples, pull_offset=samples.end_offset)}
    (hit,) = hits(replace(step, history=replace(step.history, offsets=pulling))).values()
    assert (hit.measures or {})["longest_pause_seconds"] == longest


def test_samples_hide_pauses_of_twice_the_time_between_two() -> None:
    assert measures(step_of(HOST_BY_HOST))["pause_resolution_seconds"] == 40
    with_a_gap = [*range(0, 141, 20), *range(200, 1001, 20)]
    assert measures(step_of(HOST_BY_HOST, seconds=with_a_gap))["pause_resolution_seconds"] == 120


def test_a_message_counts_once_however_often_its_queue_moves() -> None:
    stops = [(rate(1), stands(60, 500))] * 4
    # 40 of each queue wait when all leave, and 80 of the two that b@2 takes from a@2.
    assert measures(step_of("0 a@1 b@1; 100; 120 a@2; 140 a@2 b@2", stops))["consumed_again_max"] == 2 * 40 + 2 * 80


@pytest.mark.parametrize(
    ("members", "most"),
    [
        pytest.param(HOST_BY_HOST, 160, id="each of eight queues takes 20 messages with it"),
        pytest.param("0 a@1 b@1; 100 a@2 b@2", 80, id="a message counts once, also if both get its queue in turn"),
        pytest.param("0 a@1 b@1; 100; 140 a@2 b@2", 160, id="the second takes them from the first"),
    ],
)
def test_messages_of_two_samples_may_be_consumed_again(members: str, most: int) -> None:
    assert measures(step_of(members))["consumed_again_max"] == most


def test_without_samples_the_cost_is_unknown() -> None:
    step = step_of(HOST_BY_HOST, [(lambda _: 0, lambda _: -1000)] * 4)
    (hit,) = hits(step).values()
    found = hit.measures or {}
    assert (found["in_flight_total"], found["consumed_again_max"]) == (None, None)
    assert hit.severity == "INFO"


def goes_back(messages: int) -> Messages:
    """200 messages a second are consumed, and at 120 so many of them again."""
    return lambda second: 200 * second if second < 120 else 20_000 - messages + 200 * (second - 120)


@pytest.mark.parametrize(
    ("members", "messages", "cause", "severity", "again"),
    [
        (HOST_BY_HOST, 9_999, "MEMBERS_REPLACED", "INFO", 9_999),
        (HOST_BY_HOST, 10_000, "CONSUMED_AGAIN", "WARN", 10_000),
        # An operator may have reset offsets where all members are new.
        ("0 a@1 b@1 c@1; 100 a@2 b@2; 140 a@2 b@2 c@2", 10_000, "MEMBERS_REPLACED", "INFO", 0),
    ],
)
def test_offsets_that_go_back_far_are_a_cost(
    members: str, messages: int, cause: str, severity: str, again: int
) -> None:
    queues = [(rate(200), goes_back(messages)), *[(rate(1), rate(1))] * 3]
    (hit,) = hits(step_of(members, queues)).values()
    assert (hit.cause, hit.severity, (hit.measures or {})["consumed_again"]) == (cause, severity, again)


def orderly(client_id: str, since: int, until: int, queues: int) -> list[dict[str, Any]]:
    """What an orderly client reports, which has the locks of so many queues."""
    rows = [client_row(second, client_id, [], queues, consume_orderly=True) for second in range(since, until, 20)]
    return [row | {"owned_queues": [queue | {"locked": True} for queue in row["owned_queues"]]} for row in rows]


def lock_wait(step: AuditedStep) -> float | None:
    (hit,) = hits(step).values()
    return (hit.measures or {}).get("lock_wait_seconds")


def test_an_orderly_group_waits_for_locks() -> None:
    # a@2 takes its two queues 40 s after b@1 has left them to it.
    clients = chain(orderly("a@1", 0, 100, 2), orderly("a@2", 140, 180, 0), orderly("a@2", 180, 1001, 2))
    assert lock_wait(step_of(HOST_BY_HOST, clients=[*clients])) == 40
    assert lock_wait(step_of(HOST_BY_HOST)) is None
    # Nobody owns the queues from 100 to 140, and so nobody waits for their locks.
    alone = orderly("a@1", 0, 100, 2)
    assert lock_wait(step_of("0 a@1 b@1; 100; 140 a@2 b@2", [(rate(1), stands(100, 160))] * 4, alone)) == 0


def related(step: AuditedStep) -> dict[str, str | None]:
    """By rule the rule of its root; the recording ends."""
    found = [each for each in findings(step, RULES) if each.rule != "UNOBSERVED"]
    rules = {each.finding_id: each.rule for each in found}
    return {each.rule: rules.get(each.root_finding_id or "") for each in found}


def test_a_storm_belongs_to_it() -> None:
    members = "0 a@1 b@1 c@1; 60 b@1 c@1; 80 a@2 b@1 c@1; 120 a@2 c@1; 140 a@2 b@2 c@1; 180 a@2 b@2; 200 a@2 b@2 c@2"
    step = step_of(members)
    assert related(step) == {"ROLLOUT": None, "REBALANCE_STORM": "ROLLOUT"}
    (hit,) = hits(step).values()
    assert [(hit.measures or {})[name] for name in ("waves", "queues_moved", "minimum_moves")] == [3, 10, 4]
    assert {each.severity for each in findings(step, RULES)} == {"INFO"}


def test_a_group_that_is_offline_meanwhile_is_another_rules() -> None:
    stopped = [(rate(1), stands(100, 220))] * 4
    assert related(step_of("0 a@1 b@1; 100; 160 a@2 b@2", stopped)) == {"ROLLOUT": None}
    assert "ROLLOUT" not in related(step_of("0 a@1 b@1; 100; 180 a@2 b@2", stopped))


def test_a_queue_that_the_new_members_never_consume_is_no_symptom() -> None:
    roots = related(step_of(HOST_BY_HOST, [(rate(1), stands(240, 3600)), *[(rate(1), rate(1))] * 3]))
    assert (roots["CONSUMER_STOPPED"], roots["ROLLOUT"]) == (None, None)


def test_the_headline_says_what_it_cost() -> None:
    (finding,) = findings(step_of(HOST_BY_HOST), [RULE])
    assert RULE.detail is not None
    again = "160 messages consumed again at most"
    assert RULE.detail(finding) == f"2 members in 2 waves, 8 queue moves (4 needed), {again}"
    assert RULE.detail(finding._replace(evidence=finding.evidence._replace(measures=None))) == ""
