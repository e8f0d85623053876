"""Findings of made days, folded: what is one incident and what are two, by hand. Times are hours:minutes of the day."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.domain.incidents.facts import part_headline
from spark_jobs.domain.incidents.fold import incidents
from spark_jobs.domain.incidents.values import AuditedTime, GroupCost, Incident, IncidentPart, PublishedFinding
from spark_jobs.domain.model.finding import QueueEvidence
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rules.catalog import RULES
from tests.support.findings import finding
from tests.support.times import START

HOUR = 3600
#: 10:00 of the day of `tests.support.times`.
TEN = 10 * HOUR


def seconds(text: str) -> int:
    """`25:30` is half past one of the next day."""
    hours, _, minutes = text.partition(":")
    return int(hours) * HOUR + int(minutes) * 60


def clock(micros: int | None) -> str:
    if micros is None:
        return "open"
    minutes, rest = divmod((micros - START) // SECOND + TEN, 60)
    assert rest == 0
    return f"{minutes // 60:02}:{minutes % 60:02}"


def moment(text: str) -> int:
    return START + (seconds(text) - TEN) * SECOND


def published(span: str, rule: str, cause: str | None = None, group: str = "g", **more: Any) -> list[PublishedFinding]:
    """A condition `from-to` as hourly steps publish it: a finding each."""
    begin, end = map(seconds, span.split("-"))
    findings = []
    for step in range(begin // HOUR * HOUR, end, HOUR):
        start, until = max(begin, step), min(end, step + HOUR)
        name = "/".join(map(str, (rule, cause, group, more.get("topic"), more.get("client_id"), start)))
        one = finding(name, rule, start - TEN, until - TEN, cause, **{"subject": group, **more})
        findings.append(PublishedFinding("c", group, START + (step - TEN) * SECOND, one))
    return findings


def following(roots: Iterable[PublishedFinding], rest: Iterable[PublishedFinding]) -> list[PublishedFinding]:
    """`rest` as consequences of the root of their step, where it has one."""
    of_step = {one.step_start: one.finding.finding_id for one in roots}
    return [changed(one, root_finding_id=of_step.get(one.step_start)) for one in rest]


def changed(one: PublishedFinding, **values: Any) -> PublishedFinding:
    return one._replace(finding=one.finding._replace(**values))


def folded(
    *found: Sequence[PublishedFinding], until: int = 48, but: Iterable[int] = (), deleted: str = ""
) -> list[Incident]:
    """All hours up to `until` were audited for the groups that have findings, but some; `deleted`: `group@10:00
    group/topic@10:00`.
    """
    flat = [one for some in found for one in some]
    groups = {one.consumer_group for one in flat}
    hours = [hour for hour in range(until) if hour not in but]
    steps = [("c", group, moment(f"{hour}:00")) for group in groups for hour in hours]
    deletions = [
        ("c", group, topic or None, moment(at))
        for what, _, at in (word.partition("@") for word in deleted.split())
        for group, _, topic in [what.partition("/")]
    ]
    return incidents(flat, AuditedTime(steps, HOUR * SECOND, deletions), RULES)


def summaries(*found: Sequence[PublishedFinding], **more: Any) -> list[str]:
    return [
        f"{one.rule} {clock(one.opened_at)}-{clock(one.resolved_at)} {','.join(one.consumer_groups)} "
        f"{'+'.join(one.causes)} {one.severity} {len(one.symptoms)}"
        for one in folded(*found, **more)
    ]


def end(*found: Sequence[PublishedFinding], **more: Any) -> str:
    """When and why their incident is over."""
    (one,) = folded(*found, **more)
    return f"{clock(one.resolved_at)} {one.resolution}, last seen {clock(one.last_seen_at)}"


OFFLINE, NOBODY = "GROUP_OFFLINE", "NO_MEMBERS"


@pytest.mark.parametrize(
    ("deletion", "resolved"),
    [
        ("h@04:20", "04:20 CLEARED"),
        ("g@04:20 h@04:20", "04:20 DELETED"),
        # Within ten minutes it might have come back; after that it was over.
        ("g@04:30 h@04:20", "04:30 DELETED"),
        ("g@04:31 h@04:20", "04:20 CLEARED"),
        ("g@04:00 h@04:20", "04:20 CLEARED"),
    ],
)
def test_an_incident_is_over_when_its_group_is_deleted(deletion: str, resolved: str) -> None:
    """The steps after that are not audited for the group."""
    offline = published("02:30-04:20", OFFLINE, NOBODY)
    assert end(offline, until=5, deleted=deletion) == f"{resolved}, last seen 04:20"


@pytest.mark.parametrize(
    ("deletion", "resolved"),
    [
        ("", "04:20 CLEARED"),
        ("g/t@04:20", "04:20 TOPIC_DELETED"),
        ("g/t@04:25", "04:25 TOPIC_DELETED"),
        ("g/u@04:20 h/t@04:20", "04:20 CLEARED"),
        ("g@04:25 g/t@04:20", "04:25 DELETED"),
    ],
)
def test_an_incident_is_over_when_its_topic_is_deleted(deletion: str, resolved: str) -> None:
    """Not with another topic of its group; and a group takes its topics with it."""
    stalled = published("02:30-04:20", "CONSUMER_STALLED", "NO_PROGRESS", topic="t", queues=[("t", "b", 0, "x")])
    assert end(stalled, until=6, deleted=deletion) == f"{resolved}, last seen 04:20"


def test_nothing_says_why_an_open_incident_is_over() -> None:
    assert end(published("02:30-05:00", OFFLINE, NOBODY), until=5) == "open None, last seen 05:00"


def test_of_several_groups_the_last_one_says_why_it_is_over() -> None:
    g, h, open_h = (
        published(span, "DUPLICATE_CLIENT_ID", "CLONED_PROCESS", group, client_id="c1")
        for group, span in (("g", "03:00-03:40"), ("h", "03:00-04:10"), ("h", "03:00-05:00"))
    )
    assert end(g, h, until=5, deleted="g@03:40 h@04:10") == "04:10 DELETED, last seen 04:10"
    assert end(g, h, until=5, deleted="g@03:40") == "04:10 CLEARED, last seen 04:10"
    assert end(g, open_h, until=5, deleted="g@03:40") == "open None, last seen 05:00"


def test_a_fault_over_20_hours_is_one() -> None:
    offline = published("02:30-22:40", OFFLINE, NOBODY)
    unowned = published("02:30-22:40", "UNASSIGNED_QUEUE", OFFLINE, topic="t", queues=[("t", "b", 0, "UNASSIGNED")])
    (one,) = folded(offline, following(offline, unowned))
    assert summaries(offline, following(offline, unowned)) == [f"{OFFLINE} 02:30-22:40 g {NOBODY} ERROR 1"]
    assert (one.unassigned_queue_minutes, one.headline) == (20 * 60 + 10, "No consumer of g is connected")
    assert one.costs == (GroupCost("g", None, 20 * 60 + 10),)
    assert len(one.root_causes[0].finding_ids) == len(one.symptoms[0].finding_ids) == 21


def test_minutes_without_owner_count_once_however_many_findings_say_so() -> None:
    queues = [("t", "b", 0, "UNASSIGNED"), ("t", "b", 1, "DOUBLE_OWNED")]
    twins = published("02:30-03:30", "DUPLICATE_CLIENT_ID", "CLONED_PROCESS", client_id="c1", queues=queues)
    unowned = published("02:30-03:30", "UNASSIGNED_QUEUE", "DUPLICATE_CLIENT_ID", topic="t", queues=queues[:1])
    (one,) = folded(twins, following(twins, unowned))
    assert (one.unassigned_queue_minutes, one.queues) == (60, (("t", "b", 0), ("t", "b", 1)))


def test_a_queue_into_which_nothing_came_is_not_missed_by_anybody() -> None:
    def minutes(*measured: int | None) -> float:
        times = [(moment("03:02"), moment("03:10")), (moment("03:15"), moment("03:30"))]
        queues = [QueueEvidence("t", "b", 0, "UNASSIGNED", *time, *measured) for time in times]
        evidence = {"queues": queues}
        (one,) = folded(published("03:00-04:00", "UNASSIGNED_QUEUE", OFFLINE, topic="t", evidence=evidence))
        return one.unassigned_queue_minutes

    assert minutes(5, 5, 5, 0, 0) == minutes(0, 0, 0, 1, 1) == minutes(None, None, None, 0, None) == 8 + 15
    assert minutes(0, 0, 0, 0, 0) == 0


def test_what_came_to_queues_without_an_offset_adds_up_and_more_may_wait() -> None:
    """Of two queues one was never committed: 300 messages came to it in the first hour, 500 in the second."""
    found = published("03:00-05:00", "UNASSIGNED_QUEUE", "DUPLICATE_CLIENT_ID", topic="t")

    def folded_with(last: int | None) -> tuple[int | None, bool]:
        steps = []
        for hour, came in zip(found, (300, 500), strict=True):
            time = hour.finding.started_at, hour.finding.ended_at
            queues = [
                QueueEvidence("t", "b", 0, "UNASSIGNED", *time, 0, 40, 40, 40, 0),
                QueueEvidence("t", "b", 1, "UNASSIGNED", *time, None, last, came, came, None),
            ]
            evidence = hour.finding.evidence._replace(queues=queues, backlog_max=came + 40, unknown_queues=1)
            steps.append(changed(hour, evidence=evidence))
        (one,) = folded(steps)
        return one.peak_backlog_messages, one.backlog_is_minimum

    assert folded_with(None) == (840, True)
    assert folded_with(0) == (540, False)


def test_nothing_that_waits_beside_something_unknown_is_unknown() -> None:
    def waiting(*found: tuple[int | None, int]) -> int | None:
        steps = [
            changed(one, evidence=one.finding.evidence._replace(backlog_max=most, unknown_queues=unknown))
            for (most, unknown), one in zip(found, published("03:00-05:00", OFFLINE, NOBODY), strict=True)
        ]
        return folded(steps)[0].peak_backlog_messages

    assert [waiting((0, 0), (None, 1)), waiting((0, 1), (0, 0)), waiting((None, 1), (None, 0))] == [None] * 3
    assert [waiting((0, 0), (0, 0)), waiting((0, 0), (7, 1)), waiting((7, 0), (None, 1))] == [0, 7, 7]


def test_what_spans_days_and_what_is_not_over() -> None:
    assert summaries(published("20:00-31:15", OFFLINE, NOBODY)) == [f"{OFFLINE} 20:00-31:15 g {NOBODY} ERROR 0"]
    assert summaries(published("20:00-48:00", OFFLINE, NOBODY)) == [f"{OFFLINE} 20:00-open g {NOBODY} ERROR 0"]


def test_what_comes_back_within_ten_minutes_never_went_away() -> None:
    often = [one for start in range(0, 60, 20) for one in published(f"03:{start}-03:{start + 10}", OFFLINE, NOBODY)]
    assert summaries(often) == [f"{OFFLINE} 03:00-03:50 g {NOBODY} ERROR 0"]
    hourly = [one for hour in (3, 4, 5) for one in published(f"{hour}:10-{hour}:20", OFFLINE, NOBODY)]
    assert summaries(hourly) == [f"{OFFLINE} 0{hour}:10-0{hour}:20 g {NOBODY} ERROR 0" for hour in (5, 4, 3)]
    assert len({one.incident_id for one in folded(hourly)}) == 3


def test_a_cause_that_changes_is_one_incident_and_two_at_once_are_two() -> None:
    asleep = published("03:00-05:30", "CLIENT_HUNG", "NO_PULL", client_id="h@1", client_ids=["h@1"], severity="WARN")
    silent = published("05:30-06:00", "CLIENT_HUNG", "NO_ANSWER", client_id="h@1", client_ids=["h@1"])
    assert summaries(asleep, silent) == ["CLIENT_HUNG 03:00-06:00 g NO_PULL+NO_ANSWER ERROR 0"]
    assert folded(asleep, silent)[0].cause == "NO_ANSWER"
    hole = published("03:00-05:00", "UNASSIGNED_QUEUE", "CONFIG_HOLE", topic="t")
    filtered = published("04:00-06:00", "UNASSIGNED_QUEUE", "ROOM_FILTER", topic="t")
    assert summaries(hole, filtered) == [
        "UNASSIGNED_QUEUE 04:00-06:00 g ROOM_FILTER ERROR 0",
        "UNASSIGNED_QUEUE 03:00-05:00 g CONFIG_HOLE ERROR 0",
    ]


def test_each_cause_of_a_condition_has_its_time() -> None:
    silent = published("03:00-03:10", "CLIENT_HUNG", "NO_ANSWER", client_id="c1")
    idle = published("03:12-04:30", "CLIENT_HUNG", "NO_PULL", client_id="c1")
    (part,) = folded(silent, idle)[0].root_causes
    spans = [f"{cause} {clock(start)}-{clock(end)}" for cause, start, end in part.cause_spans]
    assert spans == ["NO_ANSWER 03:00-03:10", "NO_PULL 03:12-04:30"]


def test_a_cause_that_goes_on_is_not_taken_for_one_that_changed() -> None:
    """At 04:00 both begin a finding: the hole goes on, whatever comes first by name."""
    hole = published("03:00-05:00", "UNASSIGNED_QUEUE", "NO_VIRTUAL_NODES", topic="t")
    new = published("04:00-05:00", "UNASSIGNED_QUEUE", "CONFIG_HOLE", topic="t")
    assert summaries(hole, new) == [
        "UNASSIGNED_QUEUE 04:00-05:00 g CONFIG_HOLE ERROR 0",
        "UNASSIGNED_QUEUE 03:00-05:00 g NO_VIRTUAL_NODES ERROR 0",
    ]


def test_one_event_in_several_groups_is_one_and_other_events_are_not() -> None:
    def gone(span: str, group: str, broker: str) -> list[PublishedFinding]:
        queue = (f"t-{group}", broker, 0, "NOT_READABLE")
        return published(span, "BROKER_NOT_READABLE", "LEFT_ROUTE", group, topic=queue[0], queues=[queue])

    both = gone("03:00-03:30", "g1", "b"), gone("03:05-03:30", "g2", "b"), gone("03:00-03:30", "g3", "b2")
    assert sorted(summaries(*both)) == [
        "BROKER_NOT_READABLE 03:00-03:30 g1,g2 LEFT_ROUTE ERROR 0",
        "BROKER_NOT_READABLE 03:00-03:30 g3 LEFT_ROUTE ERROR 0",
    ]
    assert len(summaries(gone("03:00-03:30", "g1", "b"), gone("04:00-04:30", "g2", "b"))) == 2
    frozen = [
        published("03:00-03:30", "CLIENT_HUNG", "NO_ANSWER", group, client_id=name, client_ids=[name])
        for group, name in (("g1", "10.0.0.1@7#1"), ("g2", "10.0.0.1@7#2"), ("g3", "10.0.0.1@7#3"))
    ]
    assert summaries(*frozen) == ["CLIENT_HUNG 03:00-03:30 g1,g2,g3 NO_ANSWER ERROR 0"]


@pytest.mark.parametrize(
    ("span", "brokers", "is_part"),
    [
        ("03:31-04:30", "b", True),
        ("03:29-04:30", "b", True),
        ("03:32-04:30", "b", False),
        ("03:05-04:30", "b", False),
        ("03:31-04:30", "b2", False),
        ("03:31-04:30", "b b2", False),
    ],
)
def test_stalls_of_another_group_when_a_broker_is_back_are_its_event(span: str, brokers: str, is_part: bool) -> None:
    """Within a minute of its end, and about nothing but its queues. The other group had no message there before."""
    away = published("03:00-03:30", "BROKER_NOT_READABLE", "LEFT_ROUTE", "g1", queues=[("t1", "b", 0, "NOT_READABLE")])
    behind = [("t2", broker, 0, "BEHIND") for broker in brokers.split()]
    incidents = summaries(away, published(span, "CONSUMER_STALLED", "NO_PROGRESS", "g2", topic="t2", queues=behind))
    assert len(incidents) == 2 - is_part
    assert ("BROKER_NOT_READABLE 03:00-03:30 g1,g2 LEFT_ROUTE ERROR 1" in incidents) is is_part


def test_topics_of_a_group_with_one_cause_are_one() -> None:
    found = [published("03:00-03:30", "CONSUMER_LAGGING", "FALLING_BEHIND", topic=topic) for topic in ("a", "b")]
    assert summaries(*found) == ["CONSUMER_LAGGING 03:00-03:30 g FALLING_BEHIND ERROR 0"]
    assert folded(*found)[0].topics == ("a", "b")


def test_a_group_that_is_not_audited_is_not_resolved() -> None:
    """Nothing was audited from 05:00 to 08:00: what stood before and after stood, what is gone was gone at 08:00."""
    before, after = (published(span, OFFLINE, NOBODY) for span in ("03:30-05:00", "08:00-08:20"))
    assert summaries(before, after, but=(5, 6, 7)) == [f"{OFFLINE} 03:30-08:20 g {NOBODY} ERROR 0"]
    assert summaries(before, but=(5, 6, 7)) == [f"{OFFLINE} 03:30-08:00 g {NOBODY} ERROR 0"]
    blind = published("04:30-06:15", "UNOBSERVED", "NO_SNAPSHOTS", severity="WARN")
    expected = ["UNOBSERVED 04:30-06:15 g NO_SNAPSHOTS WARN 0", f"{OFFLINE} 03:30-06:15 g {NOBODY} ERROR 0"]
    assert summaries(published("03:30-04:30", OFFLINE, NOBODY), blind) == expected


def test_the_recorder_stops_for_all_groups_at_once() -> None:
    blind = [published("04:30-05:00", "UNOBSERVED", "NO_SNAPSHOTS", group, severity="INFO") for group in "abc"]
    assert summaries(*blind, until=5) == ["UNOBSERVED 04:30-open a,b,c NO_SNAPSHOTS INFO 0"]


def unseen(span: str, group: str, source: str = "membership_snapshots") -> list[PublishedFinding]:
    """Nothing is recorded of the group, by source."""
    return published(span, "UNOBSERVED", "NO_SNAPSHOTS", group, severity="INFO", conflicting_values=[(source, None)])


def test_a_cluster_of_which_nothing_is_recorded_for_a_step_is_an_error() -> None:
    both = unseen("04:30-06:00", "a"), unseen("04:30-06:00", "b")
    assert summaries(*both, until=6) == ["UNOBSERVED 04:30-open a,b NO_SNAPSHOTS+NOTHING_RECORDED ERROR 0"]
    (one,) = folded(*both, until=6)
    assert one.headline == "Nothing is recorded of the cluster c"
    assert one.causes == ("NO_SNAPSHOTS", "NOTHING_RECORDED")
    assert one.advice.startswith("Check the recorder first")
    part, whole = unseen("04:30-05:00", "a"), unseen("04:00-06:00", "a")
    no_whole_step = folded(unseen("04:20-05:30", "a"), unseen("04:10-05:30", "b"), until=6)
    half_a_step = folded(part, unseen("04:30-05:00", "b"), until=5)
    only_offsets_of_b = folded(whole, unseen("04:00-06:00", "b", "offset_snapshots"), until=6)
    assert {each.severity for each in (*no_whole_step, *half_a_step, *only_offsets_of_b)} == {"INFO"}
    one_group = folded(whole, published("03:00-03:30", OFFLINE, NOBODY, "b"), until=6)
    assert {each.severity for each in one_group} == {"INFO", "ERROR"}


def test_info_and_muted_findings_open_nothing() -> None:
    assert summaries(published("03:00-04:00", "LOAD_IMBALANCE", "HASH_RING", severity="INFO", topic="t")) == []
    muted = published("03:00-06:00", OFFLINE, NOBODY, silenced_because="known")
    unowned = following(muted, published("03:00-06:00", "UNASSIGNED_QUEUE", OFFLINE, topic="t"))
    assert summaries(muted, unowned) == []
    # The mute ends at 05:00.
    counts = [*muted[:2], changed(muted[2], silenced_because=None)]
    assert summaries(counts, unowned) == [f"{OFFLINE} 05:00-06:00 g {NOBODY} ERROR 1"]


def since(text: str, found: Sequence[PublishedFinding]) -> list[PublishedFinding]:
    """The findings with the time since which the first of them is known to have held."""
    first, *others = found
    return [changed(first, active_since=moment(text)), *others]


def test_a_condition_that_its_first_step_could_not_report_began_there() -> None:
    """So far as that step was audited, and its findings are not muted."""
    offline = since("02:58", published("03:00-03:30", OFFLINE, NOBODY))
    assert summaries(offline) == [f"{OFFLINE} 02:58-03:30 g {NOBODY} ERROR 0"]
    assert summaries(offline, but=[2]) == [f"{OFFLINE} 03:00-03:30 g {NOBODY} ERROR 0"]
    muted = published("02:58-03:00", OFFLINE, NOBODY, silenced_because="known")
    assert summaries(muted, offline) == [f"{OFFLINE} 03:00-03:30 g {NOBODY} ERROR 0"]


def test_whether_it_never_went_away_is_counted_from_when_it_held_again() -> None:
    """Gone at 02:49, reported again from 03:00 on, but there since 02:58."""
    before, after = published("02:30-02:49", OFFLINE, NOBODY), published("03:00-03:30", OFFLINE, NOBODY)
    assert len(summaries(before, after)) == 2
    assert summaries(before, since("02:58", after)) == [f"{OFFLINE} 02:30-03:30 g {NOBODY} ERROR 0"]
    assert len(folded(before, since("02:58", after))[0].root_causes) == 1


def test_what_is_silent_since_shortly_before_the_step_is_not_resolved_there() -> None:
    offline = published("02:30-02:59", OFFLINE, NOBODY)
    blind = since("02:59", published("03:00-05:00", "UNOBSERVED", "NO_SNAPSHOTS", severity="INFO"))
    expected = ["UNOBSERVED 02:59-open g NO_SNAPSHOTS INFO 0", f"{OFFLINE} 02:30-open g {NOBODY} ERROR 0"]
    assert summaries(offline, blind, until=5) == expected


def test_a_transient_finding_that_proves_persistent_gives_the_incident_no_cause() -> None:
    def twins(span: str, cause: str, persistence: str) -> list[PublishedFinding]:
        return published(span, "DUPLICATE_CLIENT_ID", cause, client_id="c1", evidence={"persistence": persistence})

    stale = twins("02:58-03:00", "STALE_CONNECTION", "TRANSIENT")
    fixed = twins("03:00-03:30", "FIXED_INSTANCE_NAME", "PERSISTENT")
    assert [one.causes for one in folded(stale, since("02:58", fixed))] == [("FIXED_INSTANCE_NAME",)]
    # Others that came within ten minutes: they were what they seemed to be.
    assert [one.causes for one in folded(stale, since("02:59", fixed))] == [("STALE_CONNECTION", "FIXED_INSTANCE_NAME")]


def test_what_stood_long_before_its_root_is_an_incident_of_its_own() -> None:
    """In its later steps nothing tells that the uneven shares stood before the twins came."""
    twins = published("08:30-10:00", "DUPLICATE_CLIENT_ID", "FIXED_INSTANCE_NAME", client_id="c1")
    uneven = following(twins[1:], published("02:00-11:00", "LOAD_IMBALANCE", "ROOMS", topic="t", severity="WARN"))
    assert summaries(twins, uneven) == [
        "DUPLICATE_CLIENT_ID 08:30-10:00 g FIXED_INSTANCE_NAME ERROR 0",
        "LOAD_IMBALANCE 02:00-11:00 g ROOMS WARN 0",
    ]


def test_piled_up_is_the_highest_of_each_group() -> None:
    found = [
        published(
            "03:00-05:00", "CLIENT_HUNG", "NO_ANSWER", group, client_id="h@1", client_ids=["h@1"], backlog_max=most
        )
        for group, most in (("g1", 70), ("g2", 5), ("g3", None))
    ]
    (one,) = folded(*found)
    assert one.peak_backlog_messages == 75
    assert one.costs == (GroupCost("g1", 70, 0), GroupCost("g2", 5, 0), GroupCost("g3", None, 0))
    assert folded(found[2])[0].peak_backlog_messages is None


@pytest.mark.parametrize(
    ("since", "queues", "role", "messages"),
    [
        ("03:10", (2, 3), "BEHIND", 90),
        # It has a queue in common with the other one, begins when that one is over, or its queues are consumed.
        ("03:10", (1, 2), "BEHIND", 50),
        ("04:00", (2, 3), "BEHIND", 50),
        ("03:10", (2, 3), "DOUBLE_OWNED", 50),
    ],
)
def test_backlogs_of_other_queues_are_added_up(since: str, queues: Sequence[int], role: str, messages: int) -> None:
    """40 messages in the queues 0 and 1 from 03:00 to 04:00, and 50 in others."""
    cause = published("03:00-05:00", "SUBSCRIPTION_MISMATCH", "DIFFERENT_TOPICS")
    behind = [
        one
        for rule, time, of_rule, role, backlog in (
            ("UNASSIGNED_QUEUE", "03:00-04:00", (0, 1), "UNASSIGNED", 40),
            ("CONSUMER_STALLED", f"{since}-05:00", queues, role, 50),
        )
        for one in published(time, rule, topic="t", backlog_max=backlog, queues=[("t", "b", q, role) for q in of_rule])
    ]
    (one,) = folded(cause, following(cause, behind))
    assert one.peak_backlog_messages == messages


def test_what_piled_up_in_several_topics_is_added_up() -> None:
    """A finding of the group names all of it; of one topic the highest counts."""
    slow = published("03:00-05:00", "SLOW_LISTENER", "ALL_THREADS_BUSY", subject="h@1")
    behind = [
        one
        for since, topic, backlog in (("03:00", "t1", 40), ("03:10", "t1", 50), ("03:00", "t2", 7))
        for one in published(f"{since}-05:00", "CONSUMER_LAGGING", topic=topic, subject=topic, backlog_max=backlog)
    ]
    assert folded(slow, following(slow, behind))[0].peak_backlog_messages == 57
    whole = published("03:00-05:00", OFFLINE, NOBODY, backlog_max=60)
    assert folded(whole, following(whole, behind))[0].peak_backlog_messages == 60


@pytest.mark.parametrize("seed", range(5))
def test_out_of_order_and_repeated_backfills_change_nothing(seed: int) -> None:
    offline = published("02:30-22:40", OFFLINE, NOBODY)
    unowned = following(offline, published("02:30-22:40", "UNASSIGNED_QUEUE", OFFLINE, topic="t"))
    hung = [
        published("03:00-05:30", "CLIENT_HUNG", cause, group, client_id="h@1")
        for group in ("g", "g2")
        for cause in ("NO_PULL", "NO_ANSWER")
    ]
    expected = folded(offline, unowned, *hung)
    shuffled = [*offline, *unowned, *(one for some in hung for one in some)] * 2
    random.Random(seed).shuffle(shuffled)
    assert folded(shuffled) == expected


def test_a_client_is_itself_whatever_its_name() -> None:
    """Its id may be the name of its group or its topic, or read like queues. An older version published no client."""
    queues = [("t", "b", 0, "HUNG")]

    def hung(client_id: str | None) -> list[PublishedFinding]:
        return published("03:00-03:30", "CLIENT_HUNG", "NO_PULL", topic="t", queues=queues, client_id=client_id)

    names = ("g", "t", "b:0", "c1")
    parts = [part for one in folded(*map(hung, names)) for part in one.root_causes]
    assert sorted((part.client_id, part.subject) for part in parts) == sorted(zip(names, names, strict=True))
    assert [one.root_causes[0].client_id for one in folded(hung(None))] == [None]


def test_the_id_stays_when_more_is_audited() -> None:
    early, whole = (folded(published(span, OFFLINE, NOBODY))[0] for span in ("02:30-03:00", "02:30-22:40"))
    assert early.incident_id == whole.incident_id
    assert folded(published("03:30-22:40", OFFLINE, NOBODY))[0].incident_id != whole.incident_id


@pytest.mark.parametrize(
    ("topic", "subject", "brokers", "sentence"),
    [
        ("t", "b:0-3, a:1", ("a", "b"), "g|t|t b:0-3, a:1|a and b"),
        ("t", "t", (), "g|t|t|"),
        (None, "g", (), "g||its queues|"),
    ],
)
def test_one_condition_in_a_sentence(topic: str | None, subject: str, brokers: tuple[str, ...], sentence: str) -> None:
    part = IncidentPart("g", "R", "C", "ERROR", topic, subject, 0, 1, ("f",), brokers=brokers)
    rule = replace(RULES[0], headline="{groups}|{topics}|{queues}|{brokers}")
    assert part_headline(part, rule) == sentence


@pytest.mark.parametrize(("topic", "sentence"), [(None, "c1|g|its queues"), ("t", "c1|g|t")])
def test_the_subject_of_a_clients_condition_is_no_queue(topic: str | None, sentence: str) -> None:
    part = IncidentPart("g", "R", "C", "ERROR", topic, "c1", 0, 1, ("f",))
    assert part_headline(part, replace(RULES[0], headline="{subjects}|{groups}|{queues}")) == sentence


def test_an_incident_lasts_while_its_consequences_about_the_same_queues_do() -> None:
    """Not for those of other queues, and not for what is only INFO."""
    same, other = [("t", "b", 0, "x")], [("t", "b", 1, "x")]

    def resolved(
        queues: Sequence[tuple[str, str, int, str]], severity: str = "ERROR", end: str = "04:20", until: int = 6
    ) -> str:
        root = published("02:10-02:20", "CLIENT_HUNG", "NO_PULL", subject="c1", queues=same)
        about: dict[str, Any] = {"topic": "t", "queues": queues, "severity": severity}
        stalled = published(f"02:12-{end}", "CONSUMER_STALLED", "NO_PROGRESS", **about)
        (incident,) = folded(root, following(root, stalled), until=until)
        return f"{clock(incident.opened_at)}-{clock(incident.resolved_at)} {clock(incident.last_seen_at)}"

    assert resolved(same) == "02:10-04:20 04:20"
    assert resolved(other) == "02:10-02:20 02:20"
    assert resolved(same, "INFO") == "02:10-02:20 02:20"
    assert resolved(same, end="04:00", until=4) == "02:10-open 04:00"


def test_of_several_causes_the_one_with_most_messages_leads_and_of_one_cause_the_latest() -> None:
    def rewound(span: str, cause: str, backlog: int | None, topic: str = "t") -> list[PublishedFinding]:
        return published(span, "OFFSET_REWOUND", cause, severity="WARN", topic=topic, backlog_max=backlog)

    early, late = rewound("03:05-03:06", "TO_MINIMUM", 71_500), rewound("03:14-03:15", "HAND_OVER", 38_350)
    (one,) = folded(early, late)
    assert (one.cause, one.causes) == ("TO_MINIMUM", ("TO_MINIMUM", "HAND_OVER"))
    assert folded(rewound("03:05-03:06", "TO_MINIMUM", None), late)[0].cause == "HAND_OVER"
    # The same of conditions of several topics; of one cause, the latest finding speaks, whatever it cost.
    of_u = [*rewound("03:05-03:06", "TO_MINIMUM", 5, "u"), *rewound("03:14-03:15", "HAND_OVER", 99, "u")]
    assert folded(early, of_u)[0].cause == "TO_MINIMUM"
    same = [*early, *rewound("03:14-03:15", "TO_MINIMUM", 5)]
    (one,) = folded(same)
    assert one.root_causes[0].started_at // SECOND == early[0].finding.started_at // SECOND
    assert one.advice == same[-1].finding.advice


def test_incidents_of_several_groups_that_point_to_one_broker_name_each_other() -> None:
    def stalled(span: str, group: str, rule: str, broker: str = "b", alone: float = 1) -> list[PublishedFinding]:
        evidence = {"measures": [("all_of_one_broker", alone)]}
        queues = [("t", broker, 0, "BEHIND")]
        return published(span, rule, "NO_PROGRESS", group, topic="t", queues=queues, evidence=evidence)

    def split(span: str, group: str, *fewer: str) -> list[PublishedFinding]:
        values = [("a", ("c1", "c2")), *((broker, ("c1",)) for broker in fewer)]
        return published(span, "MEMBERSHIP_VIEW_SPLIT", "BROKERS_DISAGREE", group, topic="t", conflicting_values=values)

    incidents = folded(
        stalled("03:10-03:50", "g1", "CONSUMER_STALLED"),
        stalled("03:11-03:40", "g2", "CONSUMER_STOPPED"),
        split("03:12-03:40", "g3", "b"),
        # Of another broker, of queues of others, too, of two brokers, and much later.
        stalled("03:10-03:50", "g4", "CONSUMER_STALLED", "a"),
        stalled("03:10-03:50", "g5", "CONSUMER_STALLED", alone=0),
        split("03:12-03:40", "g6", "b", "c"),
        stalled("03:25-03:50", "g7", "CONSUMER_STALLED"),
    )
    advice = {one.consumer_groups[0]: one.advice for one in incidents}
    others = {"g1": "g2, g3", "g2": "g1, g3", "g3": "g1, g2"}
    pointing = {group: f"Incidents of {of} point to b, too: look at b first. Do it." for group, of in others.items()}
    assert advice == pointing | dict.fromkeys(("g4", "g5", "g6", "g7"), "Do it.")
