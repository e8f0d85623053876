"""The table of diagnosis: every combination of facts has one line, and no line says what its facts do not show."""

from enum import StrEnum
from itertools import combinations, product
from random import Random
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from spark_jobs.domain.diagnosis.facts import Facts
from spark_jobs.domain.diagnosis.table import LINE_OF, LINES, StandingCause, line_of
from spark_jobs.domain.status.capacity import SIGNS, Limit, more_members_help
from tests.support.tables import described


def values_of(kind: Any) -> list[Any]:
    """Every value of a fact; None: unknown."""
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    if kind in (bool, type(None)):
        return [False, True] if kind is bool else [None]
    return [value for each in get_args(kind) for value in values_of(each)]


VALUES = {name: values_of(kind) for name, kind in get_type_hints(Facts).items()}


def facts(text: str) -> Facts:
    """`in_hand=NOTHING pulls=CONTINUE filtered`: the facts that differ from those of which nothing is known."""
    words = (word.partition("=") for word in text.split())
    yes_no = {"": True, "YES": True, "NO": False}
    values: dict[str, Any] = {name: yes_no.get(value, value) for name, _, value in words}
    assert all(value in VALUES[name] for name, value in values.items())
    return Facts(**values)


@pytest.mark.parametrize(
    ("text", "cause"),
    described("""
        nothing is known                     |                                                  | NOT_REPORTED
        the owner answers                    | process=ANSWERS                                  | UNEXPLAINED
        a broker without a master            | masterless process=ANSWERS lock=MISSING          | NO_MASTER
        higher priorities                    | starved owner=HANDED_OUT                         | PRIORITY_STARVATION
        POP                                  | owner=HANDED_OUT process=ANSWERS                 | NOT_CONSUMED
        … in order, and others are consumed  | owner=HANDED_OUT blocked                         | NOT_ACKNOWLEDGED
        … behind a proxy                     | owner=UNSEEN blocked                             | NOT_ACKNOWLEDGED
        … of a client that owns the queue    | owner=CLIENT blocked process=ANSWERS             | UNEXPLAINED
        behind a proxy                       | owner=UNSEEN                                     | NOT_CONSUMED
        a ghost                              | process=NOT_IN_GROUP listed=NO                   | NOT_IN_GROUP
        a process that does not answer       | process=SILENT                                   | NO_ANSWER
        it does not reach the broker         | process=ANSWERS listed=NO holds=NO               | NOT_LISTED
        it took another share                | process=ANSWERS holds=NO                         | NOT_TAKEN
        an orderly one without the lock      | process=ANSWERS holds=YES lock=MISSING           | NO_LOCK
        it pulls as seldom as it is set to   | process=ANSWERS pulls=SELDOM in_hand=NOTHING     | PULLS_SELDOM
        it pulls no more                     | process=ANSWERS pulls=STOPPED in_hand=NOTHING    | NO_PULL
        commits as seldom as ever            | commits=SELDOM                                   | COMMITS_SELDOM
        … but messages are in hand           | commits=SELDOM in_hand=SOME                      | NOT_REPORTED
        … and now none any more              | commits=OVERDUE                                  | NOT_COMMITTED
        it reads on, by hand                 | reads_on=YES by_hand                             | NOT_COMMITTED
        it reads on, with nothing in hand    | reads_on=YES in_hand=NOTHING pulls=CONTINUE         | NOT_COMMITTED
        it reads on, what it holds unknown   | reads_on=YES                                     | NOT_REPORTED
        it finished what is not committed    | in_hand=SOME oldest=ANOTHER orderly=NO listener=FINISHES | NOT_COMMITTED
        never committed                      | commits=NEVER in_hand=NOTHING                    | NEVER_COMMITTED
        … and its pulls bring nothing        | commits=NEVER process=ANSWERS pulls=CONTINUE in_hand=NOTHING | NOTHING_PULLED
        … of any of its queues               | commits=NEVER pulls=CONTINUE in_hand=NOTHING extent=ALL_OF_OWNER | SUSPENDED
        … or it has the first message        | commits=NEVER pulls=CONTINUE in_hand=SOME        | NEVER_COMMITTED
        … nor pulled, by hand                | commits=NEVER reads_on=NO by_hand                | NOT_PULLED
        … or it is not known, by hand        | commits=NEVER by_hand                            | NEVER_COMMITTED
        … nor pulled, not by hand            | commits=NEVER reads_on=NO                        | NEVER_COMMITTED
        a filter, and it reads on            | filtered process=ANSWERS in_hand=NOTHING reads_on=YES | FILTERED
        a filter, and nothing in hand        | filtered process=ANSWERS in_hand=NOTHING         | FILTERED
        … of which messages fail             | filtered process=ANSWERS in_hand=NOTHING listener=FAILS pulls=CONTINUE | NOTHING_PULLED
        a filter of another language         | filtered java=NO                                 | FILTERED
        a filter of Java                     | filtered java=YES                                | NOT_REPORTED
        … and nothing in hand                | filtered java=YES process=ANSWERS in_hand=NOTHING pulls=CONTINUE | NOTHING_PULLED
        … of an application that polls       | filtered java=YES by_hand process=ANSWERS in_hand=NOTHING | FILTERED
        an unknown strategy                  | owner=STRATEGY_UNKNOWN                           | OWNERS_UNKNOWN
        nothing in hand in all its queues    | process=ANSWERS in_hand=NOTHING pulls=CONTINUE extent=ALL_OF_OWNER | SUSPENDED
        … in all of the topic                | process=ANSWERS in_hand=NOTHING extent=ALL_OF_TOPIC | SUSPENDED
        … in some of them                    | process=ANSWERS in_hand=NOTHING pulls=CONTINUE      | NOTHING_PULLED
        … and the broker deleted what waits  | expired process=ANSWERS in_hand=NOTHING pulls=CONTINUE extent=ALL_OF_OWNER | EXPIRED
        … of what is in hand                 | expired process=ANSWERS in_hand=SOME             | UNEXPLAINED
        a wrong count of what is in hand     | process=ANSWERS in_hand=MISCOUNTED pulls=CONTINUE extent=ALL_OF_OWNER | MISCOUNTED
        an orderly message that fails        | process=ANSWERS in_hand=SOME orderly=YES lock=FRESH oldest=COMMITTED listener=FAILS | RETRIED_IN_PLACE
        … or is tried without a failure      | in_hand=SOME orderly=YES oldest=COMMITTED listener=FINISHES | RETRIED_IN_PLACE
        one that the client cannot send back | in_hand=SOME orderly=NO oldest=COMMITTED listener=FAILS sent_back=NO | NOT_SENT_BACK
        … until it may hold no later ones    | in_hand=SPAN_LIMIT orderly=NO oldest=COMMITTED listener=FAILS sent_back=NO extent=ALL_OF_OWNER | NOT_SENT_BACK
        … or others come back                | in_hand=SOME orderly=NO oldest=COMMITTED listener=FAILS sent_back=YES | NOT_REPORTED
        … or it is unknown whether any does  | in_hand=SOME orderly=NO oldest=COMMITTED listener=FAILS | NOT_REPORTED
        the limit of the span                | in_hand=SPAN_LIMIT oldest=COMMITTED listener=DOES_NOT_RETURN | SPAN_LIMIT
        … in all queues of the client        | in_hand=SPAN_LIMIT listener=DOES_NOT_RETURN extent=ALL_OF_OWNER | LISTENER_HANGS
        … which has this one only            | in_hand=SPAN_LIMIT listener=DOES_NOT_RETURN extent=ONLY_OF_OWNER | SPAN_LIMIT
        … of which nothing is reported       | in_hand=SPAN_LIMIT extent=ALL_OF_OWNER           | SPAN_LIMIT
        … between pulls: later ones finish   | in_hand=SPAN_LIMIT orderly=NO oldest=COMMITTED listener=FINISHES | HELD_BACK
        one message, and later ones finish   | in_hand=SOME orderly=NO oldest=COMMITTED listener=FINISHES | HELD_BACK
        the application pulls as it likes    | process=ANSWERS by_hand                          | NOT_PULLED
        … and holds what it does not finish  | process=ANSWERS by_hand in_hand=SOME             | UNEXPLAINED
        a call that takes as long            | in_hand=SOME listener=SLOW                       | SLOW_CALLS
        a call that does not return          | in_hand=SOME listener=DOES_NOT_RETURN            | LISTENER_HANGS
    """),  # noqa: E501 - a table
)
def test_the_first_line_that_fits_is_the_cause(text: str, cause: str) -> None:
    assert line_of(facts(text)).cause == cause


def test_every_combination_has_a_line_and_every_line_is_reached() -> None:
    names, random = list(VALUES), Random(68)
    reached = set()
    for one, other in combinations(names, 2):
        for values in product(VALUES[one], VALUES[other]):
            line_of(Facts(**dict(zip((one, other), values, strict=True))))
    for _ in range(100_000):
        chosen = Facts(**{name: random.choice(VALUES[name]) for name in names})
        line = line_of(chosen)
        reached.add(line.cause)
        if line.thread_dump:
            may_be_in_a_call = chosen.in_hand in ("SOME", "SPAN_LIMIT") or chosen.oldest == "COMMITTED"
            assert may_be_in_a_call or chosen.process == "SILENT" or chosen.pulls == "STOPPED", chosen
    assert reached | {StandingCause.NOT_REPORTED} == set(StandingCause)


def test_each_cause_is_one_line_and_names_a_bottleneck_that_more_consumers_do_not_cure() -> None:
    assert [line.cause for line in LINES] == list(StandingCause)
    for line in LINE_OF.values():
        assert more_members_help(Limit(line.bottleneck)) is not True
        assert Limit(line.bottleneck) in SIGNS


def test_only_what_asks_for_one_speaks_of_a_thread_dump() -> None:
    for line in LINES:
        assert ("thread dump" in line.advice) is line.thread_dump
        assert isinstance(line.cause, StrEnum)


def test_the_known_facts_are_one_sentence() -> None:
    known = facts("process=ANSWERS holds=YES pulls=CONTINUE in_hand=NOTHING")
    assert known.in_words() == "Known: the client answers, holds the queue, continues to pull, has nothing in hand."
    assert Facts().in_words() == ""
