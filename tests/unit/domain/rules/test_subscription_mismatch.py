"""Members that subscribe differently, by what they say or by what a broker's list does."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.domain.kernel.audited_step import Disagreement
from spark_jobs.domain.model.finding import ConflictingValue
from spark_jobs.domain.model.history import Membership, Subscriptions, normal_expression
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.rules.conflicting_values import flaps
from spark_jobs.domain.rules.subscription_mismatch import RULE, mismatch
from tests.support.builders import audited_step, broker_said, interval
from tests.support.findings import rule_hit
from tests.support.times import micros, second_of

#: type (`-` is unknown) | text (`-` is unknown) | normal form
_EXPRESSIONS = """
    TAG   | *                | *
    TAG   |                  | *
    TAG   | -                | *
    -     | -                | *
    -     | TagA             | TagA
    TAG   | TagB || TagA     | TagA || TagB
    TAG   | TagA||TagB||TagA | TagA || TagB
    TAG   | taga             | taga
    SQL92 | b > 1 OR a = 1   | SQL92 b > 1 OR a = 1
    SQL92 | -                | SQL92
"""

#: what each known member subscribes, between `;` | cause
_MISMATCHES = """
    -                                     | -
    retail *                              | -
    retail *; retail *                    | -
    retail *, wholesale *; wholesale *, retail * | -
    retail *; wholesale *                 | DIFFERENT_TOPICS
    retail *; retail *, wholesale *       | DIFFERENT_TOPICS
    retail TagA; wholesale TagA           | DIFFERENT_TOPICS
    retail TagA; retail TagB              | DIFFERENT_EXPRESSIONS
    retail TagA; retail TagA; retail *    | DIFFERENT_EXPRESSIONS
    retail TagA; retail TagB; wholesale * | DIFFERENT_TOPICS
    nothing; retail *                     | DIFFERENT_TOPICS
    nothing; nothing                      | -
"""

#: What a broker said of its clients (`c`, `d`) from each second on | the spans (from second) that are flaps
_FLAPS = """
    0 c A, 20 c B, 40 c A                 | 20
    0 c A, 20 c B, 40 c A, 60 c B         | 20 40
    0 c A, 20 c B, 40 c B                 |
    0 c A, 20 c A, 40 c A                 |
    0 c A, 20 c B                         |
    0 c A, 20 c B, 40 c C                 |
    0 c A, 20 c+d B, 40 c+d A             | 20
    0 c A, 20 c+d B, 40 c A               | 20
    0 c+d A, 20 d+c B, 40 c+d A           | 20
    0 c+d A, 20 c B, 40 c+d A             |
    0 c A, 20 d B, 40 c A                 |
    0 d A, 20 c B, 40 c A                 |
    0 c A, 20 c B, 40 d A                 |
    0 c A, 20 - -, 40 c A                 |
    0 - A, 20 - B, 40 - A                 |
    0 c A, 20 c B gap, 40 c A             |
    0 c A gap, 20 c B, 40 c A             |
"""


def _cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split(" | ")] for line in table.strip().splitlines()]


def _none(text: str) -> str | None:
    return None if text == "-" else text


@pytest.mark.parametrize(("kind", "text", "normal"), _cells(_EXPRESSIONS.replace("TAG   |  ", "TAG   | ")))
def test_expressions_that_mean_the_same_have_one_form(kind: str, text: str, normal: str) -> None:
    assert normal_expression(_none(kind), _none(text)).strip() == normal


def _sets(text: str) -> list[Subscriptions]:
    if text == "-":
        return []
    each = [[] if member.strip() == "nothing" else member.split(",") for member in text.split(";")]
    return [frozenset((text.split()[0], text.split()[1]) for text in member) for member in each]


@pytest.mark.parametrize(("sets", "cause"), _cells(_MISMATCHES))
def test_what_does_not_fit_together(sets: str, cause: str) -> None:
    assert mismatch(tuple(sorted(subscriptions)) for subscriptions in _sets(sets)) == _none(cause)


def test_one_hit_per_mismatch_with_who_reported_what() -> None:
    """Also of an interval that was not replayed."""
    both, only_t, nothing = frozenset({("u", "A"), ("t", "*")}), frozenset({("t", "*")}), Subscriptions()
    reports = (("c1", only_t), ("c2", nothing), ("c3", both), ("c0", only_t))
    first = Disagreement(micros(10), micros(30), reports)
    other = Disagreement(micros(50), micros(60), (("c1", frozenset({("t", "A")})), ("c2", only_t)))
    hit, later = RULE.hits(audited_step(interval(0, 60, None, None, view="b", mismatches=[first, other])))
    named = {"nothing": ("c2",), "t: *": ("c1", "c0"), "t: *, u: A": ("c3",)}
    values = tuple(ConflictingValue(*each) for each in named.items())
    about: dict[str, Any] = {"view": "b", "severity": "ERROR", "weight": 1, "conflicting_values": values}
    assert hit == rule_hit(10, 30, "DIFFERENT_TOPICS", **about)
    assert (second_of(later.start), later.cause) == (50, "DIFFERENT_EXPRESSIONS")


def _spans(text: str) -> list[Span[Membership]]:
    spans = []
    for words in map(str.split, text.split(",")):
        second, client, topic = int(words[0]), words[1], words[2]
        said = frozenset() if topic == "-" else frozenset({(topic, "*")})
        length = 10 if words[3:] else 20
        spans.append(broker_said(second, second + length, "" if client == "-" else client.replace("+", " "), said))
    return spans


@pytest.mark.parametrize("line", _FLAPS.strip().splitlines())
def test_a_change_back_while_all_clients_of_before_stay(line: str) -> None:
    said, starts = line.split("|")
    assert [second_of(now.start) for _, now in flaps(_spans(said), lambda membership: membership.subscriptions)] == [
        int(start) for start in starts.split()
    ]


def test_a_flap_names_both_texts_and_not_whose_they_are() -> None:
    first, second = frozenset({("t", "B")}), frozenset({("t", "A")})
    lists = [broker_said(20 * n, 20 * n + 20, "c1 c2", of) for n, of in enumerate((first, second, first))]
    (hit,) = RULE.hits(audited_step(memberships={"b1": lists, "b2": lists[:2]}))
    values = ConflictingValue("t: A", None), ConflictingValue("t: B", None)
    hint = "Which client has which subscription is not known: record the clients' running info."
    about: dict[str, Any] = {
        "severity": "ERROR",
        "conflicting_values": values,
        "measures": {"changes": 2},
        "hint": hint,
    }
    assert hit == rule_hit(20, 60, "DIFFERENT_EXPRESSIONS", **about)


def test_a_brief_change_back_counts_though_members_change_meanwhile() -> None:
    """Nodes are replaced one by one, and each kind sends its heartbeats; the last run is no change back."""
    old, new = frozenset({("t", "*")}), frozenset({("t", "*"), ("u", "*")})
    said = [
        broker_said(0, 100, "c1 c2", old),
        broker_said(100, 120, "c2", old),
        broker_said(120, 140, "c2 c3", new),
        broker_said(140, 160, "c2 c3", old),
        broker_said(160, 400, "c3 c4", new),
    ]
    found = list(RULE.hits(audited_step(memberships={"b": said})))
    expected = [(120, 160, "DIFFERENT_TOPICS"), (140, 160, "DIFFERENT_TOPICS")]
    assert [(second_of(hit.start), second_of(hit.end), hit.cause) for hit in found] == expected
    assert _spans_of_a_change_of_three_nodes(gap=300) == [(60, 420), (420, 540), (480, 540)]
    assert _spans_of_a_change_of_three_nodes(gap=301) == [(60, 120), (421, 541), (481, 541)]
    rolled_back = [broker_said(0, 100, "c1", old), broker_said(100, 300, "c2", new), broker_said(300, 400, "c3", old)]
    assert list(RULE.hits(audited_step(memberships={"b": rolled_back}))) == []


def _spans_of_a_change_of_three_nodes(gap: int) -> list[tuple[int, int]]:
    """Three nodes are replaced; `gap`: seconds after the second in which only old ones send heartbeats."""
    old, new = frozenset({("t", "*")}), frozenset({("t", "*"), ("u", "*")})
    second = 120 + gap
    said = [
        broker_said(0, 60, "c1 c2 d3", old),
        broker_said(60, 100, "c1 c2 d3", new),
        broker_said(100, 120, "c1 c2 d3", old),
        broker_said(120, second, "c1 d2 d3", old),
        broker_said(second, second + 60, "c1 d2 d3", new),
        broker_said(second + 60, second + 120, "c1 d2 d3", old),
        broker_said(second + 120, 900, "d1 d2 d3", new),
    ]
    return [(second_of(hit.start), second_of(hit.end)) for hit in RULE.hits(audited_step(memberships={"b": said}))]


#: What a broker said of its clients from each second on, the last until 2000 s | two subscriptions in these times
_LASTING = """
    0 c1,c2 A, 300 c1,c2 B, 600 c1,c2 A                             | 300-1200
    0 c1,c2 A, 300 c1,c2 B, 600 c1,c2 A, 900 c1,c2 B                | 300-1200 600-1500
    0 c1,c2 A, 300 c1,c2 B, 600 c1,c2 A, 700 c1 A                   | 300-700
    0 c1,c2 A, 300 c1,c2 B, 600 c1,c2 A, 700 c1,c2,c3 A             | 300-1200
    0 c1,c2 A, 300 c1,c2 B, 310 c1,c2 A, 610 c1,c2 B, 920 c1,c2 A   | 300-910 310-1210 610-1520
"""


@pytest.mark.parametrize("line", _LASTING.strip().splitlines())
def test_two_subscriptions_last_until_a_client_is_gone_or_nothing_changes_for_long(line: str) -> None:
    """Twice as long as it usually takes to change, which is 300 s in each of these."""
    said, times = (cell.strip() for cell in line.split("|"))
    states = [(int(second), ids, topic) for second, ids, topic in map(str.split, said.split(", "))]
    ends = [*(second for second, *_ in states[1:]), 2000]
    spans = [
        broker_said(second, end, ids.replace(",", " "), frozenset({("t", topic)}))
        for (second, ids, topic), end in zip(states, ends, strict=True)
    ]
    found = list(RULE.hits(audited_step(memberships={"b": spans})))
    assert [f"{second_of(hit.start)}-{second_of(hit.end)}" for hit in found] == times.split()
    assert {hit.measures["changes"] for hit in found if hit.measures} == {len(found) + 1}
