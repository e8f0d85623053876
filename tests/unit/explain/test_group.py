"""Explanations of situations that the recording does not have."""

from typing import Any

import pytest

from spark_jobs.domain.model.message_queue import queue_ranges
from spark_jobs.domain.model.statuses import Reason, Status
from spark_jobs.domain.phrases import joined_names
from spark_jobs.errors import NothingPublishedError
from spark_jobs.show.explain import explain, wanted_intervals
from spark_jobs.show.text.phrases import positions_text
from tests.support.rows import (
    all_lines,
    allocation,
    finding,
    group_step,
    interval,
    member,
    progress,
    topic_lines,
    unobserved,
)
from tests.support.tables import cases
from tests.support.times import at

C1, C2 = member("c1", "10.0.0.1:1"), member("c2", None)


def owned(row: dict[str, Any]) -> dict[str, Any]:
    """Each of two members owns one of two queues, of which one is not known."""
    unread = dict.fromkeys(("lag_first", "lag_last", "produced", "consumed", "verdict", "last_reading_at"))
    return {
        "allocations": [allocation(row, "a:0", C1), allocation(row, "a:1", C2)],
        "progress": [progress(row, "a:0"), progress(row, "a:1", lag_quality="NO_READING", **unread)],
    }


def test_an_interval_that_reaches_over_the_step() -> None:
    row = interval(0, 3600, C1, C2, triggers=None, strategy_source="DEFAULT")
    assert topic_lines(group_step(60, row, **owned(row))) == [
        "T",
        "  Unchanged from 2026-03-01T10:00Z or earlier (the step begins there) to 2026-03-01T11:00Z or later (the step "
        "ends there) (1 h 00 min).",
        "  Its trigger is unknown: the interval began before this step.",
        "  2 members, as clients sort them:",
        "    0  c1  10.0.0.1:1",
        "    1  c2  address unknown",
        "  2 queues, as clients sort them: a:0-1",
        "  If it is AVG: neither clients nor the configuration name the strategy, and no client reports its queues:",
        "    2 queues, 2 members: 2 % 2 = 0, so every index gets 1, in consecutive slices.",
        "  Owners and backlogs, in messages from the first to the last sample:",
        "    Index 0 owned a:0 (1 queue). Backlog 10 → 4; 1,000 produced, 1,006 consumed; verdict OK.",
        "    Index 1 owned a:1 (1 queue). Backlog unknown: no offset was read; messages produced are unknown, too.",
        "  Whole topic: backlog 10 → 4; 1,000 produced, 1,006 consumed. Backlog of a:1 unknown: no offset was read; "
        "messages produced are unknown, too.",
    ]


def test_queues_that_the_group_may_not_read_have_the_backlog_of_their_finding() -> None:
    """Of a:2-3 a finding counts what they hold; of a:4 none does. The finding of the next half hour counts others."""
    row = interval(0, 3600, C1)
    unread = dict.fromkeys(("lag_first", "lag_last", "produced", "consumed", "verdict", "last_reading_at"))
    unassigned = {"unassigned_cause": "BEYOND_READ_QUEUES"}
    of_all = {"topic": "T", "started_at": at(0), "ended_at": at(3600)}
    stranded = [
        {"broker_name": "a", "queue_id": number, "backlog_start": first, "backlog_end": last} | of_all
        for number, first, last in ((2, 100, 2000), (3, 85, 1000), (4, None, None))
    ]
    findings = [
        finding(rule="STRANDED_WRITE_QUEUES", topic="T", started_at=at(start), ended_at=at(end), evidence=evidence)
        for start, end, evidence in (
            (0, 1800, {"queues": stranded, "backlog_start": 185, "backlog_end": 3000}),
            (1800, 3600, {"queues": [stranded[0] | {"backlog_end": 9}]}),
        )
    ]
    names = [f"a:{number}" for number in range(2, 5)]
    rows = {
        "allocations": [allocation(row, "a:0", C1), *(allocation(row, name, **unassigned) for name in names)],
        "progress": [
            progress(row, "a:0"),
            *(progress(row, each, lag_quality="NO_READING", **unread) for each in names),
        ],
        "findings": findings,
    }
    lines = topic_lines(group_step(60, row, **rows))
    held = "Backlog of a:2-3 185 → 3,000: messages in the queues over the time of the finding. No offset of the group "
    assert lines[-2:] == [
        "    No member owned a:2-4 (3 queues): clients skip queues beyond readQueueNums (writeQueueNums is larger). "
        f"Backlog of a:4 unknown: no offset was read; messages produced are unknown, too. {held}was read.",
        "  Whole topic: backlog 10 → 4; 1,000 produced, 1,006 consumed. Backlog of a:4 unknown: no offset was read; "
        f"messages produced are unknown, too. {held}was read.",
    ]


def test_until_when_members_may_not_have_followed_the_route() -> None:
    row = interval(0, 60, C1, C2)
    settling = owned(row) | {"allocations": [one | {"settled_at": at(50)} for one in owned(row)["allocations"]]}
    until = "  Until 2026-03-01T10:00:50Z members may have had the former queues: they ask for the route every 30 s, "
    assert f"{until}and rebalance within 20 s more." in topic_lines(group_step(30, row, **settling))


def test_how_a_strategy_was_observed_is_explained() -> None:
    """Three virtual nodes, not the ten of the configuration; what else it may be; or that it is none that is known."""
    ring = interval(0, 60, *(one | {"strategy": "CONSISTENT_HASH"} for one in (C1, C2)), strategy="CONSISTENT_HASH")
    ring |= {"strategy_source": "OBSERVED", "strategy_alternatives": ["AVG"], "observed_virtual_nodes": 3}
    lines = topic_lines(group_step(30, ring, **owned(ring)))
    place = lines.index("  Strategy CONSISTENT_HASH, as the queues that clients report show:")
    assert lines[place + 1] == "    That is ambiguous: AVG would explain them, too."
    assert lines[place + 2].startswith("    Every member has 3 points on the hash ring")
    unknown = interval(0, 60, *(one | {"strategy": "UNKNOWN"} for one in (C1, C2)), strategy=None)
    unknown |= {"strategy_source": "OBSERVED"}
    lines = topic_lines(group_step(30, unknown, **owned(unknown)))
    place = lines.index("  No strategy with the known settings explains the queues that the members report.")
    assert lines[place + 1].startswith("  Owners and backlogs")


def test_a_backlog_of_more_than_the_group_subscribes_is_called_one() -> None:
    row = interval(0, 3600, C1)
    queues = [progress(row, "a:0", lag_quality="UNFILTERED"), progress(row, "a:1")]
    assert topic_lines(group_step(60, row, progress=queues))[-1] == (
        "  The group subscribes to some of the messages only, by tags or SQL: backlog, produced and consumed messages "
        "count those that it skips, too."
    )


#: Triggers | moved, preserved, least (`-`: unknown), and the sentence.
_BEGAN = """
    | - - -
        Nothing differs from the interval before it.
    FIRST_OBSERVATION | - - -
        This is the first interval that was recorded, so its trigger is unknown.
    BROKER_BACK b; MEMBER_EXPIRED c3; MEMBER_JOINED c1, c2 | 1500 300 1200
        It began because queues of b were readable again, c3 stopped answering and expired and c1, c2 joined. 1,500 of
        1,800 queues changed owner; 1,200 would have been enough for this allocation.
    BROKER_GONE a, b | 0 - 0
        It began because no queue of a, b was readable any more. No queue changed owner.
    QUEUES_ADDED a:8-9 | 0 - 0
        It began because the queues a:8-9 were added. No queue changed owner.
    STRATEGY_CHANGED c1 | 1 0 1
        It began because c1 changed strategy. 1 of 1 queue changed owner, the minimum for this allocation.
"""


@pytest.mark.parametrize(("why", "numbers", "sentence"), cases(_BEGAN))
def test_why_it_began(why: str, numbers: str, sentence: str) -> None:
    pairs = [text.partition(" ") for text in why.split("; ") if text]
    triggers = [{"trigger_type": name, "subject": subject or None} for name, _, subject in pairs]
    names = ("queues_moved", "queues_preserved", "minimum_moves")
    moves: dict[str, Any] = {n: int(text) for n, text in zip(names, numbers.split(), strict=True) if text != "-"}
    if why == "FIRST_OBSERVATION":
        moves = {"trigger_type": why, "queues_moved": None}
    row = interval(30, 90, C1, C2, triggers=triggers, **moves)
    assert topic_lines(group_step(60, row))[2].strip() == sentence


ROUTE, MEMBERS = "route of the topic", "list of the group's members"


@pytest.mark.parametrize(("seconds", "missing"), [(100, ROUTE), (110, ROUTE), (130, MEMBERS), (199.999, MEMBERS)])
def test_a_gap_between_what_is_known(seconds: float, missing: str) -> None:
    """Two kinds of silence that follow each other are one gap; of a group that came back with one member less."""
    before, after = interval(0, 100, C1, C2), interval(200, 3600, C1, unassigned_queues=1)
    rows = [before, unobserved(100, 130, "NO_ROUTE_SNAPSHOT"), unobserved(130, 200), after, unobserved(3600, 3700)]
    assert topic_lines(group_step(seconds, *rows, **owned(before))) == [
        "T",
        f"  There are no snapshots from 2026-03-01T10:01:40Z to 2026-03-01T10:03:20Z, so at this moment no {missing} "
        "is known.",
        "  Last known, until 2026-03-01T10:01:40Z: 2 members, 2 queues by AVG; 0 without owner, 0 with several owners. "
        "Backlog 10 → 4; 1,000 produced, 1,006 consumed. Backlog of a:1 unknown: no offset was read; messages produced "
        "are unknown, too.",
        "  First known again, from 2026-03-01T10:03:20Z: 1 member, 2 queues by AVG; 1 without owner, 0 with several "
        "owners.",
    ]
    assert wanted_intervals(rows, at(seconds)) == [before]
    unknown = "No finding, but unknown: who owned the queues of T; the backlog of T."
    assert unknown in all_lines(group_step(seconds, *rows))


def test_a_moment_belongs_to_the_interval_that_begins_with_it() -> None:
    rows = interval(0, 100, C1), interval(100, 200, C1, C2)
    assert topic_lines(group_step(99.999, *rows))[3].startswith("  1 member,")
    assert topic_lines(group_step(100, *rows))[3].startswith("  2 members,")
    assert wanted_intervals(rows, at(100)) == [rows[1]]


def test_nothing_is_known_of_a_whole_step() -> None:
    expected = ["  This step has no known state before that.", "  This step has no known state after that."]
    assert topic_lines(group_step(150, unobserved(0, 3600)))[-2:] == expected


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason.status is not Status.UNOBSERVED])
def test_what_cannot_be_replayed_says_why(reason: Reason) -> None:
    unknown: dict[str, Any] = {"strategy": None, "strategy_source": None, "triggers": None, "queues_moved": None}
    text = topic_lines(group_step(30, interval(0, 60, C1, status=reason.status.value, reason=reason.value, **unknown)))
    assert text[2].endswith((".", "configure them."))
    queues = "  2 queues, as clients sort them: a:0-1"
    assert text[3:] == ["  1 member, as clients sort them:", "    0  c1  10.0.0.1:1", queues]


def test_a_topic_without_subscribers_may_be_consumed_nevertheless() -> None:
    """`DefaultLitePullConsumer.assign` subscribes to nothing, and commits offsets."""
    row = interval(0, 60, C1, status="NOT_APPLICABLE", reason="NOT_SUBSCRIBED", strategy=None, triggers=None)
    assert topic_lines(group_step(30, row))[2] == (
        "  No member subscribes to the topic (any more), so no strategy divides its queues. A consumer that assigns "
        "queues to itself may consume them; the backlog is not measured."
    )


def test_only_of_a_group_that_broadcasts_the_members_need_no_share() -> None:
    alone = C1 | {"subscribes": False}
    shown = [
        topic_lines(group_step(30, interval(0, 60, alone, status="NOT_APPLICABLE", reason=reason, triggers=None)))[4]
        for reason in ("BROADCASTING", "NOT_SUBSCRIBED")
    ]
    assert shown == ["    0  c1  10.0.0.1:1", "    0  c1  10.0.0.1:1 (does not consume this topic for the group)"]


def test_members_behind_a_proxy_are_those_that_the_proxy_lists() -> None:
    row = interval(0, 60, status="NOT_APPLICABLE", reason="CONSUMED_THROUGH_PROXY", triggers=None)
    proxies, queues = {"proxy p:1": ["n1", "n2"], "proxy q:1": []}, "  2 queues, as clients sort them: a:0-1"
    listed = ["  The proxy p:1 lists 2 members: n1, n2.", "  The proxy q:1 lists 0 members.", queues]
    assert topic_lines(group_step(30, row, proxies=proxies))[3:] == listed
    assert topic_lines(group_step(30, row, proxies={}))[3:] == [queues]
    other = row | {"reason": "NOT_SUBSCRIBED"}
    for shown in (proxies, {}):
        assert topic_lines(group_step(30, other, proxies=shown))[3:] == ["  No member was connected.", queues]


def test_brokers_that_disagree_are_explained_one_by_one() -> None:
    """Progress belongs to one of the views, and is shown of the queues under both."""
    view_a, view_b = interval(0, 60, C1, C2, membership_view="a"), interval(0, 60, C1, membership_view="b")
    owners = ((view_a, "a:0", C1), (view_a, "a:1", C2), (view_b, "a:0", C1), (view_b, "a:1", C1))
    read = [progress(view_a, queue, verdict=verdict) for queue, verdict in (("a:0", "OK"), ("a:1", "STOP"))]
    step = group_step(30, view_b, view_a, allocations=[allocation(*each) for each in owners], progress=read)
    text = topic_lines(step)
    assert text[1] == (
        "  The brokers disagreed: a and b listed different members. Each client asks a random one of them."
    )
    assert text[2] == "  As a listed them:"
    of_b = text.index("  As b listed them:")
    assert "    Listed by other brokers only: c2" in text[of_b:]
    assert "    Listed by other brokers only: c2" not in text[:of_b]
    assert text[-2:] == [
        "      Index 0 owned a:0-1 (2 queues). Backlog 20 → 8; 2,000 produced, 2,012 consumed; verdicts STOP on 1 "
        "queue, OK on 1 queue.",
        "  Whole topic: backlog 20 → 8; 2,000 produced, 2,012 consumed.",
    ]


def test_what_waits_is_shown_also_if_owners_are_not_known() -> None:
    """With its verdicts, which are told of nobody's queues else, and who joined."""
    joined = [{"trigger_type": "MEMBER_JOINED", "subject": "c1"}]
    unknown: dict[str, Any] = {"strategy": None, "strategy_source": None, "triggers": joined, "queues_moved": None}
    row = interval(0, 60, C1, status="NOT_APPLICABLE", reason="BROKER_REBALANCE", **unknown)
    text = topic_lines(group_step(30, row, progress=[progress(row, "a:0"), progress(row, "a:1", verdict="STALL")]))
    assert "It began because c1 joined." in text[2]
    assert text[-1] == (
        "  Whole topic: backlog 20 → 8; 2,000 produced, 2,012 consumed; verdicts STALL on 1 queue, OK on 1 queue."
    )


def test_a_queue_that_ends_behind_is_not_called_ok() -> None:
    """Its last window says so where it was caught up in it: the owner may have stopped since."""
    row = interval(0, 60, C1, of="a:3")
    owned = [allocation(row, f"a:{number}", C1) for number in range(3)]

    def verdicts(*progresses: dict[str, Any], **more: Any) -> str:
        text = topic_lines(group_step(30, row, allocations=owned, progress=progresses, **more))
        return text[-2].partition("consumed; ")[2]

    growing = progress(row, "a:0", lag_first=1, lag_last=262)
    assert verdicts(growing) == "growing, but not for long enough for a verdict."
    assert verdicts(growing, allowed_lag=262) == "verdict OK."
    assert verdicts(growing, progress(row, "a:1")) == "verdicts OK on 1 queue, GROWING on 1 queue."
    assert verdicts(progress(row, "a:0", lag_first=300, lag_last=262)) == "verdict OK."
    assert verdicts(progress(row, "a:0", lag_first=1, lag_last=262, verdict="STOP")) == "verdict STOP."


def test_a_backlog_that_is_unknown_at_first_did_not_grow() -> None:
    row = interval(0, 60, C1)
    read = [progress(row, "a:0"), progress(row, "a:1", lag_first=None, lag_last=30)]
    assert topic_lines(group_step(30, row, allocations=[allocation(row, "a:0", C1)], progress=read))[-1] == (
        "  Whole topic: backlog unknown → 34; 2,000 produced, 2,012 consumed; at first the group had not committed an "
        "offset in a:1."
    )


def test_a_retry_topic_is_explained_only_if_something_is_wrong_there() -> None:
    retry = "%RETRY%G"
    rows = interval(0, 60, C1), interval(0, 60, C1, topic=retry), interval(0, 60, C1, topic="%RETRY%other")
    harmless, harm = (group_step(30, *rows, findings=[finding(topic=retry, severity=one)]) for one in ("INFO", "WARN"))
    quiet, loud = explain(harmless), explain(harm)
    assert ([explained.topic for explained in quiet.topics], quiet.quiet_topics) == (["T"], [retry, "%RETRY%other"])
    assert "2 retry topics have no finding above INFO: --topic NAME shows one of them." in all_lines(harmless)
    assert ([explained.topic for explained in loud.topics], loud.quiet_topics) == (["T", retry], ["%RETRY%other"])


def test_findings_come_the_worst_first() -> None:
    """And those of the whole group before those of its topics; of one topic only, if it is named."""
    findings = [
        finding(severity="INFO", rule="A"),
        finding(rule="B", topic="T", evidence={"backlog_end": 1234, "unknown_queues": 2}),
        finding(rule="C", evidence={"measures": [{"name": "x_max", "value": 1234.5}, {"name": "y", "value": None}]}),
        finding(severity="WARN", rule="D", topic="U", subject="U", cause=None),
        finding(
            rule="E", topic="%RETRY%G", evidence={"conflicting_values": [{"name": "p", "client_ids": ["c1", "c2"]}]}
        ),
    ]
    rows = interval(0, 60, C1), interval(0, 60, C1, topic="U")
    text = all_lines(group_step(30, *rows, findings=findings))
    assert text[1].startswith("5 findings cover this moment: 3 ERROR, 1 WARN and 1 INFO. ")
    assert text[2 : text.index("T") - 1] == [
        "",
        "What was wrong",
        "  ERROR C (NO_MEMBERS): G",
        "    From 2026-03-01T10:00Z to 2026-03-01T11:00Z (1 h 00 min).",
        "    X max 1,234, y unknown.",
        "    What to do: Start it.",
        "  ERROR B (NO_MEMBERS) in T: G",
        "    From 2026-03-01T10:00Z to 2026-03-01T11:00Z (1 h 00 min). Backlog unknown → 1,234, unknown for 2 queues.",
        "    What to do: Start it.",
        "  ERROR E (NO_MEMBERS) in %RETRY%G: G",
        "    From 2026-03-01T10:00Z to 2026-03-01T11:00Z (1 h 00 min).",
        "    p: c1, c2",
        "    What to do: Start it.",
        "  WARN D in U",
        "    From 2026-03-01T10:00Z to 2026-03-01T11:00Z (1 h 00 min).",
        "    What to do: Start it.",
    ]
    assert text[text.index("Other findings") - 1 :] == [
        "",
        "Other findings",
        "  INFO A (NO_MEMBERS): G",
        "    From 2026-03-01T10:00Z to 2026-03-01T11:00Z (1 h 00 min).",
        "    What to do: Start it.",
    ]
    only = explain(group_step(30, *rows, findings=findings, topic="U"))
    assert [shown["rule"] for shown in only.findings] == ["C", "D", "A"]
    assert [explained.topic for explained in only.topics] == ["U"]


def test_an_explanation_begins_with_the_causes() -> None:
    """A consequence stands behind how it was computed, unless its cause does not hold at the moment, or is INFO."""
    findings = [
        finding(rule="CAUSE", finding_id="a"),
        finding(rule="CONSEQUENCE", finding_id="b", root_finding_id="a"),
        finding(rule="ORPHAN", finding_id="c", root_finding_id="z"),
        finding(rule="ASIDE", finding_id="d", severity="INFO"),
        finding(rule="OTHER", finding_id="e", root_finding_id="d"),
    ]
    text = all_lines(group_step(30, interval(0, 60, C1), findings=findings))
    marks = ("What was wrong", "T", "Other findings")
    named = [words[1] if words[0] in ("ERROR", "INFO") else line for line in text if (words := line.split())]
    assert [
        name for name in named if name in marks or name in ("CAUSE", "CONSEQUENCE", "ORPHAN", "ASIDE", "OTHER")
    ] == [*("What was wrong", "CAUSE", "ORPHAN", "OTHER", "T", "Other findings", "CONSEQUENCE", "ASIDE")]


def test_a_symptom_of_what_is_over_is_advised_as_its_root_cause() -> None:
    """Findings of the step that do not hold the moment are not shown themselves; messages that one skipped are none
    that were consumed.
    """
    skipped = {"measures": [{"name": "skipped", "value": 20.0}, {"name": "skipped_together", "value": 40.0}]}
    findings = [
        finding(rule="ROOT", finding_id="a", cause="RESET", ended_at=at(20), advice="Reset it."),
        finding(rule="SYMPTOM", finding_id="b", root_finding_id="a"),
        finding(rule="MESSAGES_SKIPPED", topic="T", started_at=at(40), ended_at=at(60), evidence=skipped),
    ]
    text = all_lines(group_step(30, interval(0, 60, C1), findings=findings))
    assert text[3:8] == [
        "What was wrong",
        "  ERROR SYMPTOM (NO_MEMBERS): G",
        "    From 2026-03-01T10:00Z to 2026-03-01T11:00Z (1 h 00 min).",
        "    Its root cause is ROOT (RESET), from 2026-03-01T10:00Z to 2026-03-01T10:00:20Z.",
        "    What to do: Reset it.",
    ]
    assert "  Of these, 40 are a jump of consumer offsets (MESSAGES_SKIPPED)." in text
    later = all_lines(group_step(70, interval(60, 90, C1), findings=findings))
    assert not any("MESSAGES_SKIPPED" in line for line in later)


def test_a_topic_that_the_group_does_not_have() -> None:
    with pytest.raises(NothingPublishedError, match=r"^G has no topic order in .*: did you mean orders"):
        explain(group_step(30, interval(0, 60, topic="orders"), topic="order"))


def test_a_member_computes_by_the_rules_of_its_language() -> None:
    hashed = [member(name, strategy="CONSISTENT_HASH", language="GO") for name in ("c1", "c2")]
    row = interval(0, 60, *hashed, strategy="CONSISTENT_HASH")
    (topic,) = explain(group_step(30, row, **owned(row))).topics
    assert "Go's hash ring" in topic.views[0].arithmetic[0]


def test_words() -> None:
    assert [joined_names(list(text)) for text in ("", "a", "ab", "abc")] == ["", "a", "a and b", "a, b and c"]
    assert positions_text([3]) == "index 3"
    assert positions_text([0, 2]) == "indexes 0 and 2"
    assert positions_text([0, 1, 4, 5, 6]) == "indexes 0, 1 and 4 to 6"
    assert queue_ranges([("b", 0), ("a", 10), ("a", 9), ("a", 2), ("a", 9)]) == "a:2,9-10, b:0"
