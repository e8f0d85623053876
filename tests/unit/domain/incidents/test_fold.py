"""Findings of synthetic days, folded: what is one incident and what are two. Times are hours:minutes of the day."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.domain.incidents.facts import part_headline
from spark_jobs.domain.incidents.fold import fold
from spark_jobs.domain.incidents.values import AuditedTime, GroupCost, Incident, IncidentPart, PublishedFinding
from spark_jobs.domain.model.finding import QueueEvidence
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rules.catalog import RULES
from tests.support.findings import finding
from tests.support.tables import described, time_spans
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


def published(
    span: str, rule: str, cause: str | None = None, group: str = "g", since: str = "", queue: str = "", **more: Any
) -> list[PublishedFinding]:
    """A condition `from-to` as hourly steps publish it: a finding each; `since`: when the first one became active;
    `queue`: `topic:broker:id`, or several of one topic with `+`.
    """
    if queue:
        places = [
            (topic, broker, int(number), "x") for topic, broker, number in (one.split(":") for one in queue.split("+"))
        ]
        more |= {"topic": places[0][0], "queues": places}
    if "client_id" in more:
        more = {"client_ids": [more["client_id"]]} | more
    begin, end = map(seconds, span.split("-"))
    findings = []
    for step in range(begin // HOUR * HOUR, end, HOUR):
        start, until = max(begin, step), min(end, step + HOUR)
        name = "/".join(map(str, (rule, cause, group, more.get("topic"), more.get("client_id"), start)))
        one = finding(name, rule, start - TEN, until - TEN, cause, **{"subject": group, **more})
        findings.append(PublishedFinding("c", group, START + (step - TEN) * SECOND, one))
    if since:
        findings[0] = changed(findings[0], active_since=moment(since))
    return findings


def following(roots: Iterable[PublishedFinding], rest: Iterable[PublishedFinding]) -> list[PublishedFinding]:
    """`rest` as symptoms of the root of their step, if it has one."""
    of_step = {one.step_start: one.finding.finding_id for one in roots}
    return [changed(one, root_finding_id=of_step.get(one.step_start)) for one in rest]


def changed(one: PublishedFinding, **values: Any) -> PublishedFinding:
    return one._replace(finding=one.finding._replace(**values))


def written(text: str) -> list[PublishedFinding]:
    """Between `;` the `published` findings of a condition: `RULE:CAUSE from-to name=value …`, behind `>` a symptom of
    those before it.
    """
    found: list[PublishedFinding] = []
    for words in map(str.split, text.split(";")):
        is_symptom = words[0] == ">"
        kind, span, *options = words[is_symptom:]
        rule, _, cause = kind.partition(":")
        values: dict[str, Any] = dict(option.split("=") for option in options)
        new = published(span, rule, cause, **values)
        found += following(found, new) if is_symptom else new
    return found


def folded(
    *found: Sequence[PublishedFinding], hours: Iterable[int] = range(48), deleted: str = "", silent: str = ""
) -> list[Incident]:
    """These hours were audited for the groups that have findings; `deleted`: `group@10:00 group/topic@10:00`; `silent`:
    `04:30-05:00`, when nothing of the cluster was recorded.
    """
    flat = [one for some in found for one in some]
    groups = {one.consumer_group for one in flat}
    steps = [("c", group, moment(f"{hour}:00")) for group in groups for hour in hours]
    deletions = [
        ("c", group, topic or None, moment(at))
        for what, _, at in (word.partition("@") for word in deleted.split())
        for group, _, topic in [what.partition("/")]
    ]
    times = [(moment(start), moment(end)) for start, _, end in (word.partition("-") for word in silent.split())]
    return fold(flat, AuditedTime(steps, HOUR * SECOND, deletions, {"c": times}), RULES).incidents


def summary(one: Incident) -> str:
    return (
        f"{one.rule} {clock(one.opened_at)}-{clock(one.resolved_at)} {','.join(one.consumer_groups)} "
        f"{'+'.join(one.causes)} {one.severity} {len(one.root_causes)} {len(one.symptoms)}"
    )


OFFLINE, NOBODY = "GROUP_OFFLINE", "NO_MEMBERS"

#: what | findings | hours that were audited (nothing: all) | incidents, the newest first: rule, time, groups, causes,
#: severity, and numbers of root causes and symptoms
_INCIDENTS = """
a fault over 20 hours is one                   | GROUP_OFFLINE:NO_MEMBERS 02:30-22:40; > UNASSIGNED_QUEUE:GROUP_OFFLINE 02:30-22:40 topic=t | | GROUP_OFFLINE 02:30-22:40 g NO_MEMBERS ERROR 1 1
… also into the next day                       | GROUP_OFFLINE:NO_MEMBERS 20:00-31:15 | | GROUP_OFFLINE 20:00-31:15 g NO_MEMBERS ERROR 1 0
… and one that lasts is open                   | GROUP_OFFLINE:NO_MEMBERS 20:00-48:00 | | GROUP_OFFLINE 20:00-open g NO_MEMBERS ERROR 1 0
back within ten minutes, it never went away    | GROUP_OFFLINE:NO_MEMBERS 03:00-03:10; GROUP_OFFLINE:NO_MEMBERS 03:20-03:30; GROUP_OFFLINE:NO_MEMBERS 03:40-03:50 | | GROUP_OFFLINE 03:00-03:50 g NO_MEMBERS ERROR 1 0
… later it is another incident                 | GROUP_OFFLINE:NO_MEMBERS 03:10-03:20; GROUP_OFFLINE:NO_MEMBERS 04:10-04:20; GROUP_OFFLINE:NO_MEMBERS 05:10-05:20 | | GROUP_OFFLINE 05:10-05:20 g NO_MEMBERS ERROR 1 0; GROUP_OFFLINE 04:10-04:20 g NO_MEMBERS ERROR 1 0; GROUP_OFFLINE 03:10-03:20 g NO_MEMBERS ERROR 1 0
a cause that changes is one                    | CLIENT_HUNG:NO_PULL 03:00-05:30 client_id=h@1 severity=WARN; CLIENT_HUNG:NO_ANSWER 05:30-06:00 client_id=h@1 | | CLIENT_HUNG 03:00-06:00 g NO_PULL+NO_ANSWER ERROR 1 0
… two causes at once are two                   | UNASSIGNED_QUEUE:CONFIG_HOLE 03:00-05:00 topic=t; UNASSIGNED_QUEUE:ROOM_FILTER 04:00-06:00 topic=t | | UNASSIGNED_QUEUE 04:00-06:00 g ROOM_FILTER ERROR 1 0; UNASSIGNED_QUEUE 03:00-05:00 g CONFIG_HOLE ERROR 1 0
… one that goes on did not change              | UNASSIGNED_QUEUE:NO_VIRTUAL_NODES 03:00-05:00 topic=t; UNASSIGNED_QUEUE:CONFIG_HOLE 04:00-05:00 topic=t | | UNASSIGNED_QUEUE 04:00-05:00 g CONFIG_HOLE ERROR 1 0; UNASSIGNED_QUEUE 03:00-05:00 g NO_VIRTUAL_NODES ERROR 1 0
a broker that leaves is one event of its groups | BROKER_NOT_READABLE:LEFT_ROUTE 03:00-03:30 group=g1 queue=t1:b:0; BROKER_NOT_READABLE:LEFT_ROUTE 03:05-03:30 group=g2 queue=t2:b:0 | | BROKER_NOT_READABLE 03:00-03:30 g1,g2 LEFT_ROUTE ERROR 2 0
… another broker is another event              | BROKER_NOT_READABLE:LEFT_ROUTE 03:00-03:30 group=g1 queue=t1:b:0; BROKER_NOT_READABLE:LEFT_ROUTE 03:05-03:30 group=g3 queue=t3:b2:0 | | BROKER_NOT_READABLE 03:05-03:30 g3 LEFT_ROUTE ERROR 1 0; BROKER_NOT_READABLE 03:00-03:30 g1 LEFT_ROUTE ERROR 1 0
… half an hour later, too                      | BROKER_NOT_READABLE:LEFT_ROUTE 03:00-03:30 group=g1 queue=t1:b:0; BROKER_NOT_READABLE:LEFT_ROUTE 04:00-04:30 group=g2 queue=t2:b:0 | | BROKER_NOT_READABLE 04:00-04:30 g2 LEFT_ROUTE ERROR 1 0; BROKER_NOT_READABLE 03:00-03:30 g1 LEFT_ROUTE ERROR 1 0
a process that hangs is one event of its groups | CLIENT_HUNG:NO_ANSWER 03:00-03:30 group=g1 client_id=10.0.0.1@7#1; CLIENT_HUNG:NO_ANSWER 03:00-03:30 group=g2 client_id=10.0.0.1@7#2; CLIENT_HUNG:NO_ANSWER 03:00-03:30 group=g3 client_id=10.0.0.1@7#3 | | CLIENT_HUNG 03:00-03:30 g1,g2,g3 NO_ANSWER ERROR 3 0
a stall of another group as a broker is back   | BROKER_NOT_READABLE:LEFT_ROUTE 03:00-03:30 group=g1 queue=t1:b:0; CONSUMER_STALLED:NO_PROGRESS 03:31-04:30 group=g2 queue=t2:b:0 | | BROKER_NOT_READABLE 03:00-03:30 g1,g2 LEFT_ROUTE ERROR 1 1
… a minute before at the soonest               | BROKER_NOT_READABLE:LEFT_ROUTE 03:00-03:30 group=g1 queue=t1:b:0; CONSUMER_STALLED:NO_PROGRESS 03:29-04:30 group=g2 queue=t2:b:0 | | BROKER_NOT_READABLE 03:00-03:30 g1,g2 LEFT_ROUTE ERROR 1 1
… a minute after at the latest                 | BROKER_NOT_READABLE:LEFT_ROUTE 03:00-03:30 group=g1 queue=t1:b:0; CONSUMER_STALLED:NO_PROGRESS 03:32-04:30 group=g2 queue=t2:b:0 | | CONSUMER_STALLED 03:32-04:30 g2 NO_PROGRESS ERROR 1 0; BROKER_NOT_READABLE 03:00-03:30 g1 LEFT_ROUTE ERROR 1 0
… not while it is away                         | BROKER_NOT_READABLE:LEFT_ROUTE 03:00-03:30 group=g1 queue=t1:b:0; CONSUMER_STALLED:NO_PROGRESS 03:05-04:30 group=g2 queue=t2:b:0 | | CONSUMER_STALLED 03:05-04:30 g2 NO_PROGRESS ERROR 1 0; BROKER_NOT_READABLE 03:00-03:30 g1 LEFT_ROUTE ERROR 1 0
… of queues of another broker                  | BROKER_NOT_READABLE:LEFT_ROUTE 03:00-03:30 group=g1 queue=t1:b:0; CONSUMER_STALLED:NO_PROGRESS 03:31-04:30 group=g2 queue=t2:b2:0 | | CONSUMER_STALLED 03:31-04:30 g2 NO_PROGRESS ERROR 1 0; BROKER_NOT_READABLE 03:00-03:30 g1 LEFT_ROUTE ERROR 1 0
… or of others, too                            | BROKER_NOT_READABLE:LEFT_ROUTE 03:00-03:30 group=g1 queue=t1:b:0; CONSUMER_STALLED:NO_PROGRESS 03:31-04:30 group=g2 queue=t2:b:0+t2:b2:0 | | CONSUMER_STALLED 03:31-04:30 g2 NO_PROGRESS ERROR 1 0; BROKER_NOT_READABLE 03:00-03:30 g1 LEFT_ROUTE ERROR 1 0
topics of a group with one cause are one       | CONSUMER_LAGGING:FALLING_BEHIND 03:00-03:30 topic=a; CONSUMER_LAGGING:FALLING_BEHIND 03:00-03:30 topic=b | | CONSUMER_LAGGING 03:00-03:30 g FALLING_BEHIND ERROR 2 0
before and after hours not audited, it stood   | GROUP_OFFLINE:NO_MEMBERS 03:30-05:00; GROUP_OFFLINE:NO_MEMBERS 08:00-08:20 | 0-5 8-48 | GROUP_OFFLINE 03:30-08:20 g NO_MEMBERS ERROR 1 0
… what is gone afterwards was gone then        | GROUP_OFFLINE:NO_MEMBERS 03:30-05:00 | 0-5 8-48 | GROUP_OFFLINE 03:30-08:00 g NO_MEMBERS ERROR 1 0
… and is resolved when snapshots are back      | GROUP_OFFLINE:NO_MEMBERS 03:30-04:30; UNOBSERVED:NO_SNAPSHOTS 04:30-06:15 severity=WARN | | UNOBSERVED 04:30-06:15 g NO_SNAPSHOTS WARN 1 0; GROUP_OFFLINE 03:30-06:15 g NO_MEMBERS ERROR 1 0
… not by silence since just before the step    | GROUP_OFFLINE:NO_MEMBERS 02:30-02:59; UNOBSERVED:NO_SNAPSHOTS 03:00-05:00 since=02:59 severity=INFO | 0-5 | UNOBSERVED 02:59-open g NO_SNAPSHOTS INFO 1 0; GROUP_OFFLINE 02:30-open g NO_MEMBERS ERROR 1 0
the recorder stops for all groups at once      | UNOBSERVED:NO_SNAPSHOTS 04:30-05:00 group=a severity=INFO; UNOBSERVED:NO_SNAPSHOTS 04:30-05:00 group=b severity=INFO; UNOBSERVED:NO_SNAPSHOTS 04:30-05:00 group=c severity=INFO | 0-5 | UNOBSERVED 04:30-open a,b,c NO_SNAPSHOTS INFO 3 0
what stopped in one step stalls in the next    | CONSUMER_STOPPED:NO_PULL 02:20-03:00 topic=t; CONSUMER_STALLED:NO_PULL 03:00-05:10 topic=t | | CONSUMER_STOPPED 02:20-05:10 g NO_PULL ERROR 1 0
… for another cause that is another            | CONSUMER_STOPPED:NO_PULL 02:20-03:00 topic=t; CONSUMER_STALLED:NO_ANSWER 03:00-05:10 topic=t | | CONSUMER_STALLED 03:00-05:10 g NO_ANSWER ERROR 1 0; CONSUMER_STOPPED 02:20-03:00 g NO_PULL ERROR 1 0
… nor what begins in the next                  | CONSUMER_STOPPED:NO_PULL 02:20-03:00 topic=t; CONSUMER_STALLED:NO_PULL 03:01-05:10 topic=t | | CONSUMER_STALLED 03:01-05:10 g NO_PULL ERROR 1 0; CONSUMER_STOPPED 02:20-03:00 g NO_PULL ERROR 1 0
… nor what was over before its end             | CONSUMER_STOPPED:NO_PULL 02:20-02:59 topic=t; CONSUMER_STALLED:NO_PULL 03:00-05:10 topic=t | | CONSUMER_STALLED 03:00-05:10 g NO_PULL ERROR 1 0; CONSUMER_STOPPED 02:20-02:59 g NO_PULL ERROR 1 0
… nor what had stalled before                  | CONSUMER_STALLED:NO_PULL 02:10-05:10 topic=t; CONSUMER_STOPPED:NO_PULL 02:20-03:00 topic=t | | CONSUMER_STOPPED 02:20-03:00 g NO_PULL ERROR 1 0; CONSUMER_STALLED 02:10-05:10 g NO_PULL ERROR 1 0
INFO opens nothing                             | LOAD_IMBALANCE:HASH_RING 03:00-04:00 severity=INFO topic=t | |
… except a rollout                             | ROLLOUT:MEMBERS_REPLACED 03:00-03:10 severity=INFO | | ROLLOUT 03:00-03:10 g MEMBERS_REPLACED INFO 1 0
… also with symptoms                           | ROLLOUT:MEMBERS_REPLACED 03:00-03:10 severity=INFO; > REBALANCE_STORM:MEMBER_CHANGES 03:00-03:08 severity=INFO | | ROLLOUT 03:00-03:10 g MEMBERS_REPLACED INFO 1 1
nor does what is silenced, with its symptoms   | GROUP_OFFLINE:NO_MEMBERS 03:00-06:00 silenced_because=known; > UNASSIGNED_QUEUE:GROUP_OFFLINE 03:00-06:00 topic=t | |
… until the silence ends                       | GROUP_OFFLINE:NO_MEMBERS 03:00-05:00 silenced_because=known; GROUP_OFFLINE:NO_MEMBERS 05:00-06:00; > UNASSIGNED_QUEUE:GROUP_OFFLINE 03:00-06:00 topic=t | | GROUP_OFFLINE 05:00-06:00 g NO_MEMBERS ERROR 1 1
it began before its first step could report it | GROUP_OFFLINE:NO_MEMBERS 03:00-03:30 since=02:58 | | GROUP_OFFLINE 02:58-03:30 g NO_MEMBERS ERROR 1 0
… if the step before was audited               | GROUP_OFFLINE:NO_MEMBERS 03:00-03:30 since=02:58 | 0-2 3-48 | GROUP_OFFLINE 03:00-03:30 g NO_MEMBERS ERROR 1 0
… and its findings are not silenced            | GROUP_OFFLINE:NO_MEMBERS 02:58-03:00 silenced_because=known; GROUP_OFFLINE:NO_MEMBERS 03:00-03:30 since=02:58 | | GROUP_OFFLINE 03:00-03:30 g NO_MEMBERS ERROR 1 0
ten minutes count from when it was active again | GROUP_OFFLINE:NO_MEMBERS 02:30-02:49; GROUP_OFFLINE:NO_MEMBERS 03:00-03:30 since=02:58 | | GROUP_OFFLINE 02:30-03:30 g NO_MEMBERS ERROR 1 0
… and not from when it was reported            | GROUP_OFFLINE:NO_MEMBERS 02:30-02:49; GROUP_OFFLINE:NO_MEMBERS 03:00-03:30 | | GROUP_OFFLINE 03:00-03:30 g NO_MEMBERS ERROR 1 0; GROUP_OFFLINE 02:30-02:49 g NO_MEMBERS ERROR 1 0
what stood long before its root is no symptom  | DUPLICATE_CLIENT_ID:FIXED_INSTANCE_NAME 08:30-10:00 client_id=c1; > LOAD_IMBALANCE:ROOMS 02:00-11:00 topic=t severity=WARN | | DUPLICATE_CLIENT_ID 08:30-10:00 g FIXED_INSTANCE_NAME ERROR 1 0; LOAD_IMBALANCE 02:00-11:00 g ROOMS WARN 1 0
what stays for another cause is no symptom     | MIXED_STRATEGIES:DIFFERENT_STRATEGIES 02:15-02:16; > UNASSIGNED_QUEUE:MIXED_STRATEGIES 02:15-02:16 topic=t; UNASSIGNED_QUEUE:MACHINE_ROOM_BUG 02:16-02:50 topic=t | | MIXED_STRATEGIES 02:15-02:16 g DIFFERENT_STRATEGIES ERROR 1 0; UNASSIGNED_QUEUE 02:15-02:50 g MIXED_STRATEGIES+MACHINE_ROOM_BUG ERROR 1 0
… unless that is the lesser part               | MIXED_STRATEGIES:DIFFERENT_STRATEGIES 02:15-02:16; > UNASSIGNED_QUEUE:MIXED_STRATEGIES 02:15-02:16 topic=t; UNASSIGNED_QUEUE:MACHINE_ROOM_BUG 02:16-02:50 topic=t severity=WARN | | MIXED_STRATEGIES 02:15-02:16 g DIFFERENT_STRATEGIES ERROR 1 1
an incident lasts as long as its symptoms      | CLIENT_HUNG:NO_PULL 02:10-02:20 queue=t:b:0; > CONSUMER_STALLED:NO_PROGRESS 02:12-04:20 queue=t:b:0 | 0-6 | CLIENT_HUNG 02:10-04:20 g NO_PULL ERROR 1 1
… and as they are open                         | CLIENT_HUNG:NO_PULL 02:10-02:20 queue=t:b:0; > CONSUMER_STALLED:NO_PROGRESS 02:12-04:00 queue=t:b:0 | 0-4 | CLIENT_HUNG 02:10-open g NO_PULL ERROR 1 1
… not those of other queues                    | CLIENT_HUNG:NO_PULL 02:10-02:20 queue=t:b:0; > CONSUMER_STALLED:NO_PROGRESS 02:12-04:20 queue=t:b:1 | 0-6 | CLIENT_HUNG 02:10-02:20 g NO_PULL ERROR 1 1
… and began with the first of them             | CLIENT_HUNG:NO_PULL 02:16-02:30 queue=t:b:0; > CONSUMER_STALLED:NO_PROGRESS 02:10-02:30 queue=t:b:0 | | CLIENT_HUNG 02:10-02:30 g NO_PULL ERROR 1 1
… not with one that was INFO then              | CLIENT_HUNG:NO_PULL 02:16-02:30 queue=t:b:0; > CONSUMER_STALLED:NO_PROGRESS 02:10-02:15 queue=t:b:0 severity=INFO; > CONSUMER_STALLED:NO_PROGRESS 02:16-02:30 queue=t:b:0 | | CLIENT_HUNG 02:16-02:30 g NO_PULL ERROR 1 1
… nor those that are INFO                      | CLIENT_HUNG:NO_PULL 02:10-02:20 queue=t:b:0; > CONSUMER_STALLED:NO_PROGRESS 02:12-04:20 queue=t:b:0 severity=INFO | 0-6 | CLIENT_HUNG 02:10-02:20 g NO_PULL ERROR 1 1
"""  # noqa: E501 - a table


@pytest.mark.parametrize(("findings", "audited", "expected"), described(_INCIDENTS))
def test_findings_of_one_event_are_one_incident(findings: str, audited: str, expected: str) -> None:
    hours = [hour for start, end in time_spans((audited or "0-48").replace("-", "..")) for hour in range(start, end)]
    assert "; ".join(map(summary, folded(written(findings), hours=hours))) == expected


#: what | findings | deletions | when and why the incident is over, or not
_ENDS = """
another group is deleted             | GROUP_OFFLINE:NO_MEMBERS 02:30-04:20 | h@04:20 | 04:20 CLEARED
its group is deleted                 | GROUP_OFFLINE:NO_MEMBERS 02:30-04:20 | g@04:20 h@04:20 | 04:20 DELETED
… while it may have come back        | GROUP_OFFLINE:NO_MEMBERS 02:30-04:20 | g@04:30 h@04:20 | 04:30 DELETED
… ten minutes after it was over      | GROUP_OFFLINE:NO_MEMBERS 02:30-04:20 | g@04:31 h@04:20 | 04:20 CLEARED
… before it was over                 | GROUP_OFFLINE:NO_MEMBERS 02:30-04:20 | g@04:00 h@04:20 | 04:20 CLEARED
nothing is deleted                   | CONSUMER_STALLED:NO_PROGRESS 02:30-04:20 queue=t:b:0 | | 04:20 CLEARED
its topic is deleted                 | CONSUMER_STALLED:NO_PROGRESS 02:30-04:20 queue=t:b:0 | g/t@04:20 | 04:20 TOPIC_DELETED
… while it may have come back        | CONSUMER_STALLED:NO_PROGRESS 02:30-04:20 queue=t:b:0 | g/t@04:25 | 04:25 TOPIC_DELETED
another topic, or that of a group    | CONSUMER_STALLED:NO_PROGRESS 02:30-04:20 queue=t:b:0 | g/u@04:20 h/t@04:20 | 04:20 CLEARED
a group takes its topics with it     | CONSUMER_STALLED:NO_PROGRESS 02:30-04:20 queue=t:b:0 | g@04:25 g/t@04:20 | 04:25 DELETED
it is open                           | GROUP_OFFLINE:NO_MEMBERS 02:30-05:00 | | open None
the last of several groups is deleted | DUPLICATE_CLIENT_ID:CLONED_PROCESS 03:00-03:40 client_id=c1; DUPLICATE_CLIENT_ID:CLONED_PROCESS 03:00-04:10 client_id=c1 group=h | g@03:40 h@04:10 | 04:10 DELETED
… another one                        | DUPLICATE_CLIENT_ID:CLONED_PROCESS 03:00-03:40 client_id=c1; DUPLICATE_CLIENT_ID:CLONED_PROCESS 03:00-04:10 client_id=c1 group=h | g@03:40 | 04:10 CLEARED
… another one, and it is open        | DUPLICATE_CLIENT_ID:CLONED_PROCESS 03:00-03:40 client_id=c1; DUPLICATE_CLIENT_ID:CLONED_PROCESS 03:00-05:00 client_id=c1 group=h | g@03:40 | open None
"""  # noqa: E501 - a table


@pytest.mark.parametrize(("findings", "deleted", "expected"), described(_ENDS))
def test_an_incident_is_over_when_its_group_or_topic_is_deleted(findings: str, deleted: str, expected: str) -> None:
    """The steps after that are not audited for the group."""
    found = written(findings)
    (one,) = folded(found, hours=range(5), deleted=deleted)
    assert f"{clock(one.resolved_at)} {one.resolution}" == expected
    assert one.last_seen_at == max(each.finding.ended_at for each in found)


def test_brokers_are_conditions_of_their_own_and_an_open_incident_names_those_that_last() -> None:
    """A and B may not be read since 02:20. A is read again at 02:30, B at 04:30 or not yet."""

    def of(until: str, hours: Iterable[int]) -> Incident:
        broker_a, broker_b = (
            published(f"{span}", "BROKER_NOT_READABLE", "BROKER_PERMISSION", queue=f"t:{name}:0", backlog_max=most)
            for name, span, most in (("a", "02:20-02:30", 70), ("b", f"02:21-{until}", 500))
        )
        (one,) = folded(broker_a, broker_b, hours=hours)
        assert [(part.subject, clock(part.ended_at)) for part in one.root_causes] == [("g", "02:30"), ("g", until)]
        return one

    last, over = of("05:00", range(5)), of("04:30", range(5))
    assert (clock(last.opened_at), clock(last.resolved_at), last.peak_backlog_messages) == ("02:20", "open", 500)
    assert [clock(part.resolved_at) for part in last.root_causes] == ["02:30", "open"]
    assert (last.headline, last.queues) == ("Consumers cannot read b, which holds messages for g", (("t", "b", 0),))
    assert (over.headline, len(over.queues)) == ("Consumers cannot read a and b, which hold messages for g", 2)


def test_a_fault_over_20_hours_has_a_finding_in_each_of_them() -> None:
    offline = published("02:30-22:40", OFFLINE, NOBODY)
    queues = [("t", "b", 0, "UNASSIGNED")]
    (one,) = folded(offline, following(offline, published("02:30-22:40", "UNASSIGNED_QUEUE", OFFLINE, queues=queues)))
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


def test_each_cause_of_a_condition_has_its_time() -> None:
    """The latest is that of the incident."""
    found = "CLIENT_HUNG:NO_PULL 03:00-03:10 client_id=c1 severity=WARN; CLIENT_HUNG:NO_ANSWER 03:12-04:30 client_id=c1"
    (one,) = folded(written(found))
    spans = [f"{cause} {clock(start)}-{clock(end)}" for cause, start, end in one.root_causes[0].cause_spans]
    assert (spans, one.cause) == (["NO_PULL 03:00-03:10", "NO_ANSWER 03:12-04:30"], "NO_ANSWER")


def unseen(span: str, group: str) -> list[PublishedFinding]:
    """Nothing is recorded of the group."""
    members = [("membership_snapshots", None)]
    return published(span, "UNOBSERVED", "NO_SNAPSHOTS", group, severity="INFO", conflicting_values=members)


def test_a_cluster_of_which_nothing_is_recorded_is_an_error() -> None:
    both = unseen("04:30-06:00", "a"), unseen("04:30-06:00", "b")
    (one,) = folded(*both, hours=range(6), silent="04:30-06:00")
    assert summary(one) == "UNOBSERVED 04:30-open a,b NO_SNAPSHOTS+NOTHING_RECORDED ERROR 2 0"
    assert one.headline == "Nothing is recorded of the cluster c"
    assert one.advice.startswith("Check the recorder first")
    # Other clusters, and times in which it was recorded.
    (other,) = folded(*both, hours=range(6), silent="03:00-04:30 06:00-07:00")
    assert summary(other) == "UNOBSERVED 04:30-open a,b NO_SNAPSHOTS INFO 2 0"
    (touched,) = folded(*both, hours=range(6), silent="05:59-07:00")
    assert touched.severity == "ERROR"


def test_silence_is_no_error_of_what_went_wrong_before_it() -> None:
    """It changes incidents of missing snapshots only."""
    offline, unknown = published("03:00-05:00", OFFLINE, NOBODY, "b"), unseen("05:00-06:00", "b")
    found = folded(offline, unknown, hours=range(6), silent="04:00-06:00")
    assert [(one.rule, one.cause, one.severity) for one in found] == [
        ("UNOBSERVED", "NOTHING_RECORDED", "ERROR"),
        ("GROUP_OFFLINE", "NO_MEMBERS", "ERROR"),
    ]


def test_a_transient_finding_that_proves_persistent_gives_the_incident_no_cause() -> None:
    def duplicate(span: str, cause: str, persistence: str, since: str = "") -> list[PublishedFinding]:
        evidence = {"persistence": persistence}
        return published(span, "DUPLICATE_CLIENT_ID", cause, since=since, client_id="c1", evidence=evidence)

    stale = duplicate("02:58-03:00", "STALE_CONNECTION", "TRANSIENT")
    fixed, other = (duplicate("03:00-03:30", "FIXED_INSTANCE_NAME", "PERSISTENT", f"02:{at}") for at in (58, 59))
    assert [one.causes for one in folded(stale, fixed)] == [("FIXED_INSTANCE_NAME",)]
    # Others that came within ten minutes: they were what they seemed to be.
    assert [one.causes for one in folded(stale, other)] == [("STALE_CONNECTION", "FIXED_INSTANCE_NAME")]


def test_the_peak_backlog_is_the_sum_of_that_of_each_group() -> None:
    found = [
        published("03:00-05:00", "CLIENT_HUNG", "NO_ANSWER", group, client_id="h@1", backlog_max=most)
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
        ("03:10", (2, 3), "THROTTLED", 90),
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
    (one,) = folded(slow, following(slow, behind))
    assert (one.peak_backlog_messages, one.topics) == (57, ("t1", "t2"))
    whole = published("03:00-05:00", OFFLINE, NOBODY, backlog_max=60)
    assert folded(whole, following(whole, behind))[0].peak_backlog_messages == 60


@pytest.mark.parametrize("seed", range(5))
def test_out_of_order_and_repeated_backfills_change_nothing(seed: int) -> None:
    offline = "GROUP_OFFLINE:NO_MEMBERS 02:30-22:40; > UNASSIGNED_QUEUE:GROUP_OFFLINE 02:30-22:40 topic=t"
    hung = [
        f"CLIENT_HUNG:{cause} 03:00-05:30 group={group} client_id=h@1"
        for group in ("g", "g2")
        for cause in ("NO_PULL", "NO_ANSWER")
    ]
    found = written("; ".join([offline, *hung]))
    shuffled = found * 2
    random.Random(seed).shuffle(shuffled)
    assert folded(shuffled) == folded(found)


def test_a_client_is_itself_whatever_its_name() -> None:
    """Its id may be the name of its group or its topic, or read like queues. An older version published no client."""
    names, hung = ("g", "t", "b:0", "c1"), "CLIENT_HUNG:NO_PULL 03:00-03:30 queue=t:b:0"
    found = written("; ".join(f"{hung} client_id={name}" for name in names))
    parts = [part for one in folded(found) for part in one.root_causes]
    assert sorted((part.client_id, part.subject) for part in parts) == sorted(zip(names, names, strict=True))
    assert [one.root_causes[0].client_id for one in folded(written(hung))] == [None]


def test_two_of_a_kind_in_one_step_have_two_ids() -> None:
    """The id of the first is that which it had before the second began."""
    first, second = (published(time, OFFLINE, NOBODY) for time in ("03:05-03:10", "03:40-03:50"))
    alone = folded(first)[0].incident_id
    (later, earlier) = folded(first, second)
    assert earlier.incident_id == alone != later.incident_id


def test_the_id_stays_when_more_is_audited() -> None:
    early, whole = (folded(published(span, OFFLINE, NOBODY))[0] for span in ("02:30-03:00", "02:30-22:40"))
    assert early.incident_id == whole.incident_id
    assert folded(published("03:30-22:40", OFFLINE, NOBODY))[0].incident_id != whole.incident_id


@pytest.mark.parametrize(
    ("headline", "topic", "subject", "brokers", "sentence"),
    [
        ("{groups}|{topics}|{queues}|{brokers}", "t", "b:0-3, a:1", ("a", "b"), "g|t|t b:0-3, a:1|a and b"),
        ("{groups}|{topics}|{queues}|{brokers}", "t", "t", (), "g|t|t|"),
        ("{groups}|{topics}|{queues}|{brokers}", None, "g", (), "g||its queues|"),
        # The subject of a client's condition is no queue.
        ("{subjects}|{groups}|{queues}", None, "c1", (), "c1|g|its queues"),
        ("{subjects}|{groups}|{queues}", "t", "c1", (), "c1|g|t"),
    ],
)
def test_one_condition_in_a_sentence(
    headline: str, topic: str | None, subject: str, brokers: tuple[str, ...], sentence: str
) -> None:
    part = IncidentPart("g", "R", "C", "ERROR", topic, subject, 0, 1, ("f",), brokers=brokers)
    assert part_headline(part, replace(RULES[0], headline=headline)) == sentence


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


def test_groups_whose_processes_ran_on_while_brokers_dropped_them_point_to_all_brokers() -> None:
    def offline(span: str, group: str, cause: str) -> list[PublishedFinding]:
        return published(span, "GROUP_OFFLINE", cause, group)

    incidents = folded(
        offline("03:10-03:50", "g1", "NO_HEARTBEATS"),
        offline("03:11-03:40", "g2", "NO_HEARTBEATS"),
        offline("03:11-03:40", "g3", "NO_MEMBERS"),
    )
    sentence = "Incidents of {} point to the brokers, too: look at the brokers first. Do it."
    assert {one.consumer_groups[0]: one.advice for one in incidents} == {
        "g1": sentence.format("g2"),
        "g2": sentence.format("g1"),
        "g3": "Do it.",
    }
