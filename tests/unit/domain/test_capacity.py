"""Would more consumers have helped?"""

from dataclasses import replace
from itertools import product
from typing import get_args

import pytest

from spark_jobs.domain.diagnosis.facts import Owner
from spark_jobs.domain.status import capacity
from spark_jobs.domain.status.capacity import SIGNS, GroupInStep, GrowthFacts, HeldBack, Limit, limit_of
from tests.support.tables import described


def held(limit: str, waited: int = 1, members: int = 2, readable: int = 8, slow: int = 0, **threads: int) -> HeldBack:
    """The backlog reached 1,200 messages in 4 queues."""
    return HeldBack(Limit(limit), 4, 1200, waited, readable, members, slow, **threads)


def group(*held_back: HeldBack, members: int | None = 2, known: bool = True, unknown: int = 0) -> GroupInStep:
    return GroupInStep(members, 8, known, unknown, held_back)


@pytest.mark.parametrize(
    ("found", "limit", "helps"),
    [
        (group(), "NO_BACKLOG", False),
        (group(known=False), "UNKNOWN_BACKLOG", None),
        # Of one queue it is not known: nobody can say that nothing waits.
        (group(unknown=1), "UNKNOWN_BACKLOG", None),
        (group(held("NO_MEMBERS"), unknown=1), "NO_MEMBERS", True),
        (group(held("DUPLICATE_IDS")), "DUPLICATE_IDS", False),
        (group(held("LISTENER")), "LISTENER", True),
        (group(held("LISTENER_AND_QUEUES")), "LISTENER_AND_QUEUES", False),
        (group(held("QUEUES")), "QUEUES", False),
        (group(held("UNEXPLAINED"), known=False), "UNEXPLAINED", None),
        # Messages waited longer under the second.
        (group(held("DUPLICATE_IDS", 5), held("LISTENER", 6)), "LISTENER", True),
        (group(held("DUPLICATE_IDS", 6), held("LISTENER", 6)), "DUPLICATE_IDS", False),
        # What only fell is said where nothing else held any queue back, and none is unknown.
        (group(held("WORKED_OFF", 9), held("UNEXPLAINED", 1)), "UNEXPLAINED", None),
        (group(held("WORKED_OFF", 9)), "WORKED_OFF", False),
        (group(held("WORKED_OFF", 9), unknown=1), "UNKNOWN_BACKLOG", None),
    ],
)
def test_what_limits_a_group(found: GroupInStep, limit: str, helps: bool | None) -> None:
    assert capacity.limit(found) == limit
    assert capacity.more_members_help(capacity.limit(found)) is helps


#: the finding's limit, or what the samples show | owner (nobody: no member owns it) | facts | limit
_LINES = """
a sound group                            | -               | CLIENT       | room        | UNEXPLAINED
… with a queue for each member           | -               | CLIENT       |             | QUEUES
… by POP                                 | -               | CLIENT       | popped      | UNEXPLAINED
busy threads                             | LISTENER        | CLIENT       | room        | LISTENER
… with a queue for each member           | LISTENER        | CLIENT       |             | LISTENER_AND_QUEUES
… by POP                                 | LISTENER        | CLIENT       | popped      | POP_MEMBERS
… whether it has room or not             | LISTENER        | HANDED_OUT   | popped room | POP_MEMBERS
… and more members consumed no more      | LISTENER        | CLIENT       | fixed room  | DEPENDENCY
… nor would they by POP                  | LISTENER        | CLIENT       | fixed popped | DEPENDENCY
… whatever else limits it                | STUCK_CONSUMER  | CLIENT       | fixed room  | STUCK_CONSUMER
what a finding says                      | STUCK_CONSUMER  | CLIENT       | room        | STUCK_CONSUMER
… also if no member owns the queue       | ALLOCATION      | nobody       | room        | ALLOCATION
a call that takes as long as it stood    | LISTENER_AND_QUEUES | CLIENT   | room        | LISTENER_AND_QUEUES
a group takes its time to agree          | -               | nobody       |             | NO_BACKLOG
what only falls                          | WORKED_OFF      | UNSEEN       |             | WORKED_OFF
members that no broker lists             | -               | UNSEEN       | room        | UNKNOWN_MEMBERS
… whose threads nobody can count         | LISTENER        | UNSEEN       | room        | UNKNOWN_MEMBERS
… nor whether one is stuck               | STUCK_CONSUMER  | UNSEEN       | room        | UNKNOWN_MEMBERS
… nor who asks                           | UNKNOWN_OWNERS  | UNSEEN       | room        | UNKNOWN_MEMBERS
… but messages that come back            | FAILURES        | UNSEEN       | room        | FAILURES
owners that are not known                | -               | NOT_REPLAYED |             | UNKNOWN_OWNERS
… nor their shares                       | LISTENER        | NOT_REPLAYED | room        | UNKNOWN_OWNERS
… but that one is stuck                  | STUCK_CONSUMER  | NOT_REPLAYED | room        | STUCK_CONSUMER
no finding about all that pop            | -               | HANDED_OUT   | popped room | UNKNOWN_OWNERS
a finding of owners that are not known   | UNKNOWN_OWNERS  | CLIENT       | room        | UNKNOWN_OWNERS
"""


@pytest.mark.parametrize(("named", "owner", "of", "limit"), described(_LINES))
def test_the_first_line_that_fits_is_the_limit(named: str, owner: str, of: str, limit: str) -> None:
    assert limit_of(facts(named, owner, of)) == limit


def facts(named: str, owner: str, of: str) -> GrowthFacts:
    known: Owner | None = next((each for each in get_args(Owner) if each == owner), None)
    room, popped, fixed = (fact in of.split() for fact in ("room", "popped", "fixed"))
    return GrowthFacts(None if named == "-" else Limit(named), known, room, popped, not fixed)


def test_every_combination_has_a_limit_and_more_members_help_only_if_threads_are_busy_or_nobody_is_there() -> None:
    bools = (False, True)
    combinations = (
        GrowthFacts(*values) for values in product((None, *Limit), (None, *get_args(Owner)), bools, bools, bools)
    )
    limits = {facts: limit_of(facts) for facts in combinations}
    assert set(limits.values()) == set(Limit)
    # LISTENER depends on the shares; all other limits of a finding are that of the queue.
    for named in {*SIGNS, Limit.UNKNOWN_MEMBERS, Limit.WORKED_OFF} - {Limit.LISTENER}:
        assert limit_of(GrowthFacts(named)) is named
    helped = {facts.named for facts, limit in limits.items() if capacity.more_members_help(limit)}
    assert helped <= {Limit.LISTENER, Limit.POP_MEMBERS, Limit.NO_MEMBERS}


def test_what_is_unknown_and_where_more_members_help() -> None:
    answers = {limit.value: capacity.more_members_help(limit) for limit in Limit}
    assert {limit for limit, helps in answers.items() if helps} == {"LISTENER", "POP_MEMBERS", "NO_MEMBERS"}
    assert {limit for limit, helps in answers.items() if helps is None} == {
        *("UNKNOWN_BACKLOG", "UNKNOWN_MEMBERS", "UNKNOWN_OWNERS", "COMMITS_SELDOM", "FILTERED", "IMBALANCE"),
        "UNEXPLAINED",
    }


@pytest.mark.parametrize(("readable", "members", "more"), [(16, 3, 1), (4, 2, 2), (5, 2, 1), (4, 4, 1)])
def test_so_many_more_members_leave_the_busiest_a_queue_less(readable: int, members: int, more: int) -> None:
    assert capacity.more_members(held("LISTENER", readable=readable, members=members)) == more


@pytest.mark.parametrize(("members", "shares"), [(None, (None, None)), (0, (None, 8)), (3, (3, 2)), (9, (1, 1))])
def test_the_shares_at_the_end_of_the_step(members: int | None, shares: tuple[int | None, int | None]) -> None:
    assert tuple(capacity.busiest_member_queues(8, members, more) for more in (0, 1)) == shares


@pytest.mark.parametrize(
    ("found", "advice"),
    [
        (group(held("UNEXPLAINED", members=3, readable=16)),
         "Unknown: nothing recorded shows what limited 3 members in 16 queues, and the backlog reached 1,200 messages "
         "in 4 queues. More consumers help only if all threads of their listeners are busy: record the clients' "
         "running info, or look at it."),
        (
            # A third member would leave the busiest its 2.
            group(held("LISTENER", members=2, readable=4)),
            "Yes, at least 2 more consumers, up to 4 in all, if what the listener calls (a database, for example) can "
            "handle it: the listener was the limit, 2 members shared 4 queues, and the backlog reached 1,200 messages "
            "in 4 queues.",
        ),
        (group(held("QUEUES", members=5, readable=4)),
         "Only after queues are added: 5 members shared 4 queues, and the backlog reached 1,200 messages in 4 queues."),
        (group(held("NO_MEMBERS", members=0)),
         "Yes, any consumer: none was connected, and the backlog reached 1,200 messages in 4 queues."),
        (group(held("DUPLICATE_IDS")),
         "No: consumers shared a client id, and the backlog reached 1,200 messages in 4 queues. Give every consumer "
         "its own."),
        (group(held("ALLOCATION"), unknown=1),
         "No: the strategy or its configuration left queues without an owner, and the backlog reached at least 1,200 "
         "messages in 4 queues. Correct it. The backlog of 1 queue is unknown."),
        (group(held("PRODUCER_SKEW")),
         "No: few of the queues received the messages, and the backlog reached 1,200 messages in 4 queues. Spread the "
         "keys over more queues."),
        (group(held("LISTENER", slow=1, threads=1), unknown=1),
         "Yes, at least 1 more consumer, up to 8 in all, if what the listener calls (a database, for example) can "
         "handle it: the listener was the limit, 2 members shared 8 queues, and the backlog reached at least 1,200 "
         "messages in 4 queues. Only 1 of 2 members was slow: look there first. The slow member has 1 consume thread. "
         "The backlog of 1 queue is unknown."),
        (group(held("POP_MEMBERS", members=8)),
         "Yes, any number more, if what the listener calls (a database, for example) can handle it: 8 members "
         "popped from 8 queues, and the backlog reached 1,200 messages in 4 queues."),
        (group(held("LISTENER_AND_QUEUES", members=8, slow=2, threads=40)),
         "No: the listener was the limit, 8 members shared 8 queues, and the backlog reached 1,200 messages in 4 "
         "queues. Make it faster, or give the clients more consume threads. Only 2 of 8 members were slow: look there "
         "first. The 2 slow members together have 40 consume threads."),
        (
            # How many threads they have is not known.
            group(held("LISTENER_AND_QUEUES", members=8, slow=2)),
            "No: the listener was the limit, 8 members shared 8 queues, and the backlog reached 1,200 messages in 4 "
            "queues. Make it faster, or give the clients more consume threads. Only 2 of 8 members were slow: look "
            "there first.",
        ),
        (
            # Four of them own no queue.
            group(held("LISTENER_AND_QUEUES", members=12, slow=8)),
            "No: the listener was the limit, 12 members shared 8 queues, and the backlog reached 1,200 messages in 4 "
            "queues. Make it faster, or give the clients more consume threads.",
        ),
        (group(held("POP_MEMBERS", members=12, slow=8)),
         "Yes, any number more, if what the listener calls (a database, for example) can handle it: 12 members "
         "popped from 8 queues, and the backlog reached 1,200 messages in 4 queues. Only 8 of 12 members were slow: "
         "look there first."),
        (group(held("LISTENER_AND_QUEUES", members=2, slow=2)),
         "No: the listener was the limit, 2 members shared 8 queues, and the backlog reached 1,200 messages in 4 "
         "queues. Make it faster, or give the clients more consume threads."),
        (group(HeldBack(Limit.UNREADABLE_QUEUES, 0, 0, 0, 0, 0), unknown=3),
         "No: consumers could not read some queues, and messages may wait in queues that were not consumed. Make "
         "them readable (readQueueNums, the topic's read permission, or the broker's brokerPermission). The "
         "backlog of 3 queues is unknown."),
        (
            # Nothing was measured: the queues are those at the end.
            group(HeldBack(Limit.NO_MEMBERS, 0, 0, 0, 0, 0), members=0, unknown=8),
            "Yes, any consumer: none was connected, and messages may wait in queues that were not consumed. The "
            "backlog of 8 queues is unknown.",
        ),
        (group(), "No: 2 members kept up with 8 queues."),
        (group(members=1), "No: 1 member kept up with 8 queues."),
        (group(members=0), "No: no consumer was connected, but no messages waited in 8 queues."),
        (group(members=None), "No: the members kept up, though the owners of the queues are not known."),
        (group(unknown=2), "Unknown: the backlog of 2 queues is not known."),
        # What is unknown is said once.
        (replace(group(unknown=2), unknown_at_first=1), "Unknown: the backlog of 2 queues is not known."),
        (group(known=False), "Unknown: the backlog of the group is not known."),
        (group(held("UNKNOWN_MEMBERS")),
         "Unknown: no broker lists the members, and the backlog reached 1,200 messages in 4 queues."),
        (replace(group(), wrong=["A", "B", "C", "D"]),
         "No: 2 members kept up with 8 queues. What was wrong is of another kind: A, B, C and 1 more."),
        (replace(group(), wrong=["A", "CONSUMER_STALLED"]),
         "No: few messages waited, in queues of which none was consumed. What was wrong is of another kind: A, "
         "CONSUMER_STALLED."),
        (replace(group(), wrong=["CONSUMER_STOPPED"]),
         "No: for a time no message of some queues was consumed. What was wrong is of another kind: "
         "CONSUMER_STOPPED."),
        (replace(group(), wrong=["MESSAGES_SKIPPED"]),
         "No: the backlog went with a jump of the consumer offsets. What was wrong is of another kind: "
         "MESSAGES_SKIPPED."),
        (replace(group(held("WORKED_OFF")), wrong=["MESSAGES_SKIPPED"]),
         "No: the backlog went with a jump of the consumer offsets. What was wrong is of another kind: "
         "MESSAGES_SKIPPED."),
        (replace(group(held("WORKED_OFF")), wrong=["MESSAGES_SKIPPED"], began_at_end=True),
         "No: the backlog only fell. 2 members worked off 1,200 messages that were there at the beginning, and 0 were "
         "left at the end. What was wrong is of another kind: MESSAGES_SKIPPED."),
        (replace(group(), wrong=["OFFSET_REWOUND"]),
         "No: consumer offsets went back, and the group worked off what it had to consume again. What was wrong "
         "is of another kind: OFFSET_REWOUND."),
        (replace(group(), wrong=["MEMBERSHIP_VIEW_SPLIT"]),
         "No: brokers listed different members, and the group worked off what waited meanwhile. What was wrong is "
         "of another kind: MEMBERSHIP_VIEW_SPLIT."),
        (replace(group(), unknown_at_first=2),
         "No: 2 members kept up with 8 queues. The backlog of 2 queues was unknown at first: the group had not "
         "committed an offset there."),
        (
            # What limited it is what was wrong.
            replace(group(held("QUEUES", members=5, readable=4), unknown=3), wrong=["A"], unknown_at_first=1),
            "Only after queues are added: 5 members shared 4 queues, and the backlog reached at least 1,200 messages "
            "in 4 queues. The backlog of 3 queues is unknown.",
        ),
    ],
)  # fmt: skip
def test_the_words_name_the_numbers(found: GroupInStep, advice: str) -> None:
    assert capacity.advice(found) == advice


def test_a_backlog_that_only_fell_has_its_words_with_what_is_left_and_what_else_was_wrong() -> None:
    found = group(held("WORKED_OFF")._replace(left=200))
    text = (
        "No: the backlog only fell. 2 members worked off 1,000 messages that were there at the beginning, and 200 were "
        "left at the end."
    )
    assert capacity.advice(found) == text
    assert capacity.advice(replace(found, wrong=["A"])) == f"{text} What was wrong is of another kind: A."
    assert "Its members worked off" in capacity.advice(group(held("WORKED_OFF", members=0)))


def test_every_limit_has_its_words() -> None:
    # One thing, one plural: the words hold together with every number in them.
    for limit in set(Limit) - {Limit.BROADCASTS, Limit.NO_BACKLOG, Limit.UNKNOWN_BACKLOG, Limit.COMMITS_SELDOM}:
        advice = capacity.advice(group(held(limit)))
        peak_backlog_messages = "the backlog reached 1,200 messages in 4 queues"
        assert ("worked off 1,200 messages" if limit is Limit.WORKED_OFF else peak_backlog_messages) in advice
        answers = {True: ("Yes, ",), False: ("No: ", "Only after "), None: ("Unknown: ",)}
        assert advice.startswith(answers[capacity.more_members_help(limit)])
