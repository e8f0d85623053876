"""Members that subscribe differently, by what they say or by what a broker's list does."""

from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.domain.kernel.audited_step import Disagreement
from spark_jobs.domain.model.finding import ConflictingValue, RuleHit
from spark_jobs.domain.model.history import ClientHistory, ClientState, Membership, Subscriptions, normal_expression
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.rules.conflicting_values import flaps
from spark_jobs.domain.rules.subscription_mismatch import RULE, mismatch
from tests.support.builders import audited_step, broker_said, interval, span
from tests.support.findings import rule_hit
from tests.support.kernel import series_of
from tests.support.tables import cells
from tests.support.times import micros, second_of
from tests.unit.domain.test_locks import NO_NUMBERS

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

#: What a broker said of its clients (`c`, `d`), as `_said` has it | the spans (from second) that are flaps
_FLAPS = """
    0 c A, 20 c B, 40 c A                 | 20
    0 c A, 20 c B, 40 c A, 60 c B         | 20 40
    0 c A, 20 c B, 40 c B                 |
    0 c A, 20 c A, 40 c A                 |
    0 c A, 20 c B                         |
    0 c A, 20 c B, 40 c C                 |
    0 c A, 20 c,d B, 40 c,d A             | 20
    0 c A, 20 c,d B, 40 c A               | 20
    0 c,d A, 20 d,c B, 40 c,d A           | 20
    0 c,d A, 20 c B, 40 c,d A             |
    0 c A, 20 d B, 40 c A                 |
    0 d A, 20 c B, 40 c A                 |
    0 c A, 20 c B, 40 d A                 |
    0 c A, 20 - -, 40 c A                 |
    0 - A, 20 - B, 40 - A                 |
    0 c A, 20 c B gap, 40 c A             |
    0 c A gap, 20 c B, 40 c A             |
"""


def _none(text: str) -> str | None:
    return None if text == "-" else text


@pytest.mark.parametrize("line", _EXPRESSIONS.strip().splitlines())
def test_expressions_that_mean_the_same_have_one_form(line: str) -> None:
    kind, text, normal = (cell.strip() for cell in line.split(" | "))
    assert normal_expression(_none(kind), _none(text)).strip() == normal


def _sets(text: str) -> list[Subscriptions]:
    if text == "-":
        return []
    each = [[] if member.strip() == "nothing" else member.split(",") for member in text.split(";")]
    return [frozenset((text.split()[0], text.split()[1]) for text in member) for member in each]


@pytest.mark.parametrize(("sets", "cause"), cells(_MISMATCHES))
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


def _said(text: str, until: int) -> list[Span[Membership]]:
    """`20 c1,c2 t,u:A`: from 20 s on, clients c1 and c2 with all of topic t and A of topic u, as long as nothing else
    is said; `gap`: but for the last 10 s.
    """
    states = [each.split() for each in text.strip().split(", ")]
    ends = [*(int(second) for second, *_ in states[1:]), until]
    return [
        broker_said(
            int(second), end - 10 * len(gap), _words(ids), frozenset(map(_subscription, _words(topics).split()))
        )
        for (second, ids, topics, *gap), end in zip(states, ends, strict=True)
    ]


def _words(text: str) -> str:
    return "" if text == "-" else text.replace(",", " ")


def _subscription(text: str) -> tuple[str, str]:
    topic, _, expression = text.partition(":")
    return topic, expression or "*"


def _found(text: str, until: int) -> list[RuleHit]:
    return list(RULE.hits(audited_step(memberships={"b": _said(text, until)})))


@pytest.mark.parametrize(("said", "starts"), cells(_FLAPS))
def test_a_change_back_while_all_clients_of_before_stay(said: str, starts: str) -> None:
    found = flaps(_said(said, 20 * len(said.split(", "))), lambda membership: membership.subscriptions)
    assert [second_of(now.start) for _, now in found] == [int(start) for start in starts.split()]


def test_a_flap_names_both_texts_and_not_whose_they_are() -> None:
    lists = _said("0 c1,c2 t:B, 20 c1,c2 t:A, 40 c1,c2 t:B", until=60)
    (hit,) = RULE.hits(audited_step(memberships={"b1": lists, "b2": lists[:2]}))
    values = ConflictingValue("t: A", None), ConflictingValue("t: B", None)
    hint = "Which client has which subscription is not known: record the clients' running info."
    about: dict[str, Any] = {"severity": "ERROR", "measures": {"changes": 2}, "hint": hint}
    assert hit == rule_hit(20, 60, "DIFFERENT_EXPRESSIONS", conflicting_values=values, **about)


def test_a_brief_change_back_counts_though_members_change_meanwhile() -> None:
    """Nodes are replaced one by one, and each kind sends its heartbeats; the last run is no change back."""
    found = _found("0 c1,c2 t, 100 c2 t, 120 c2,c3 t,u, 140 c2,c3 t, 160 c3,c4 t,u", until=400)
    assert [(span(hit), hit.cause) for hit in found] == [
        ("120-160", "DIFFERENT_TOPICS"),
        ("140-160", "DIFFERENT_TOPICS"),
    ]
    assert _found("0 c1 t, 100 c2 t,u, 300 c3 t", until=400) == []


@pytest.mark.parametrize(
    ("second", "spans"), [(420, ["60-420", "420-540", "480-540"]), (421, ["60-120", "421-541", "481-541"])]
)
def test_only_old_nodes_send_heartbeats_for_300_s_at_most_while_three_are_replaced(
    second: int, spans: list[str]
) -> None:
    """From 120 s on none but old ones do, until this second."""
    first = "0 c1,c2,d3 t, 60 c1,c2,d3 t,u, 100 c1,c2,d3 t, 120 c1,d2,d3 t"
    then = f"{second} c1,d2,d3 t,u, {second + 60} c1,d2,d3 t, {second + 120} d1,d2,d3 t,u"
    assert [span(hit) for hit in _found(f"{first}, {then}", until=900)] == spans


#: What a broker said of its clients from each second on, the last until 2000 s | two subscriptions in these times
_LASTING = """
    0 c1,c2 t:A, 300 c1,c2 t:B, 600 c1,c2 t:A                               | 300-1200
    0 c1,c2 t:A, 300 c1,c2 t:B, 600 c1,c2 t:A, 900 c1,c2 t:B                | 300-1200 600-1500
    0 c1,c2 t:A, 300 c1,c2 t:B, 600 c1,c2 t:A, 700 c1 t:A                   | 300-700
    0 c1,c2 t:A, 300 c1,c2 t:B, 600 c1,c2 t:A, 700 c1,c2,c3 t:A             | 300-1200
    0 c1,c2 t:A, 300 c1,c2 t:B, 310 c1,c2 t:A, 610 c1,c2 t:B, 920 c1,c2 t:A | 300-910 310-1210 610-1520
"""


@pytest.mark.parametrize(("said", "times"), cells(_LASTING))
def test_two_subscriptions_last_until_a_client_is_gone_or_nothing_changes_for_long(said: str, times: str) -> None:
    """Twice as long as it usually takes to change, which is 300 s in each of these."""
    found = _found(said, until=2000)
    assert [span(hit) for hit in found] == times.split()
    assert {hit.measures["changes"] for hit in found if hit.measures} == {len(found) + 1}


#: Every 20 s what each client reports of topic t (`-`: it lists another topic, `?`: no answer) | times of the findings;
#: the broker filters by A from 0 s to 400 s
_REPORTED = """
    c1 B, c2 B | 20-400
    c1 B, c2 C | 20-400
    c1 B, c2 A |
    c1 A, c2 A |
    c1 B, c2 - |
    c1 B, c2 ? |
    c1 B       |
"""


@pytest.mark.parametrize(("reports", "times"), cells(_REPORTED))
def test_a_broker_that_filters_by_an_expression_of_no_client(reports: str, times: str) -> None:
    answers = dict(each.split() for each in reports.split(", "))
    subscribed = {"-": frozenset({("u", "*")}), "?": None}
    clients = {
        client_id: ClientHistory(
            series_of([(micros(at), _state(subscribed, text)) for at in range(20, 420, 20)]), NO_NUMBERS
        )
        for client_id, text in answers.items()
    }
    step = audited_step(memberships={"b": _said("0 c1,c2 t:A", until=400)})
    hits = list(RULE.hits(replace(step, history=replace(step.history, clients=clients))))
    assert [span(hit) for hit in hits] == times.split()
    for hit in hits:
        assert (hit.cause, hit.topic, hit.hint) == ("BROKER_DIFFERS", "t", "The broker filters t by A.")
        values = {value.name: value.client_ids for value in hit.conflicting_values or ()}
        assert {name: [*ids] for name, ids in values.items() if ids} == {
            f"t: {text}": [each for each in answers if answers[each] == text] for text in sorted(set(answers.values()))
        }
        # A deployment that replaces members needs as long until the next heartbeats.
        assert hit.minimum_seconds == step.settings.thresholds.settled_seconds + 20


def test_a_broker_that_lists_no_client_filters_for_none() -> None:
    assert _found("0 - t:A", until=400) == []


def _state(subscribed: dict[str, Subscriptions | None], text: str) -> ClientState:
    return ClientState(True, subscriptions=subscribed.get(text, frozenset({("t", text)})))
