"""A small report by hand: what the sections found of two groups, without Spark."""

from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

import numpy as np

from spark_jobs.domain.incidents.values import GroupCost, Incident, IncidentPart
from spark_jobs.domain.model.finding import Evidence
from spark_jobs.domain.model.window import to_micros
from spark_jobs.show.measured import Minutes, SampledTopic
from spark_jobs.show.page.groups import GroupRows
from spark_jobs.show.page.page import PageContent
from tests.support.times import HOUR, at, ms


def fleet_row(group: str, **facts: Any) -> dict[str, Any]:
    """What `report.fleet` says of a group: nothing found, nothing known, unless told otherwise."""
    found = ("busiest", "rank", "errors", "backlog_max", "rules", "line")
    backlog = ("backlog_start", "backlog_end", "catches_up", "catch_up_seconds", "retention_left_seconds")
    row = dict.fromkeys((*found, *backlog, "member_count", "queue_count", "double_owned_queues", "unassigned_queues"))
    row |= {"cluster": "c", "consumer_group": group, "bottleneck": "NO_BACKLOG", "advice": "Nothing to help."}
    return row | facts


def finding(start: float, end: float, **facts: Any) -> dict[str, Any]:
    """A finding of that time, by default queue 1 without owner."""
    key = {"finding_id": "f1", "rule": "UNASSIGNED_QUEUE", "severity": "ERROR", "topic": "t", "subject": "b:1"}
    cause = {"cause": "DUPLICATE_CLIENT_ID", "advice": "Make it unique.", "silenced_because": None, "team": None}
    evidence = dict.fromkeys(Evidence._fields) | {"backlog_max": 1234, "queues": [], "member_count": 2}
    return key | cause | {"evidence": evidence, "started_at": at(start), "ended_at": at(end)} | facts


def span(start: float, end: float, queue_id: int, *owners: str, **facts: Any) -> dict[str, Any]:
    """Who owned a queue of `b` in that time; an owner `a` has the address `a:1`."""
    connections = [{"client_id": owner.split(":")[0], "client_addr": owner} for owner in owners]
    causes = {"unassigned_cause": None if owners else "DUPLICATE_CLIENT_ID", "double_owned_cause": None}
    place = {"topic": "t", "membership_view": "*", "broker_name": "b", "queue_id": queue_id, "readable": True}
    lags = {"lag_first": 10, "lag_last": 20, "lag_max": 1500}
    return place | causes | lags | {"owners": connections, "start": at(start), "end": at(end)} | facts


def state(start: float, end: float, trigger: str | None, **facts: Any) -> dict[str, Any]:
    """A replayed state of the topic; a trigger moved one of two queues."""
    interval = {"topic": "t", "membership_view": "*", "status": "REPLAYED", "reason": None, "trigger_type": trigger}
    moves = {"trigger_subject": "a", "queues_moved": 1, "queues_preserved": 1, "minimum_moves": 1}
    return interval | moves | {"start": at(start), "end": at(end)} | facts


def member(start: float, end: float, connection: str, *, twins: bool = False) -> dict[str, Any]:
    """A connection of that time."""
    client_id = connection.split(":")[0]
    facts = {"client_id": client_id, "client_addr": connection, "shares_id": twins, "strategy": "AVG", "version": 493}
    return facts | {"start": at(start), "end": at(end)}


def lag(start: float, end: float, queue_id: int, first: int | None, last: int | None) -> dict[str, Any]:
    """The backlog of a queue, and one message a second in and out."""
    place = {"topic": "t", "broker_name": "b", "queue_id": queue_id}
    seconds = end - start
    rates = {"produced": seconds, "consumed": seconds / 2, "seconds": seconds}
    lags = {"lag_first": first, "lag_last": last, "lag_max": None if last is None else max(first or 0, last)}
    return place | rates | lags | {"start": at(start), "end": at(end)}


def sampled(lags: Mapping[int, Sequence[int | None]], produced: float = 2, consumed: float = 1) -> SampledTopic:
    """The samples of the queues of `b` by second; since the one before as many messages a second in and out."""
    unknown = [[nan if lag is None else float(lag) for lag in row] for row in lags.values()]
    rates = (np.array([nan, *[rate] * (len(lags) - 1)]) for rate in (produced, consumed))
    queues = [("b", queue_id) for queue_id in range(len(unknown[0]))]
    return SampledTopic(np.array([ms(second) for second in lags], float), queues, np.array(unknown), *rates)


def minutes(entries: Mapping[float, tuple[int | None, int | None, int]]) -> Minutes:
    """Published minutes by second: messages at the last sample, at the highest, and unknown queues."""
    unknown = [[nan if number is None else float(number) for number in entry] for entry in entries.values()]
    messages, most, queues = np.array(unknown).T
    return Minutes(np.array([ms(second) for second in entries], float), messages, most, queues.astype(int))


def step(**facts: Any) -> dict[str, Any]:
    """`group_status` of the hour."""
    numbers: dict[str, Any] = {"member_count": 2, "queue_count": 2, "backlog_start": 20, "backlog_end": 40}
    numbers |= {"produced_messages_per_second": 2.0, "consumed_messages_per_second": None}
    numbers |= {"utilization": 0.25, "headroom_messages_per_second": None}
    numbers |= {"catches_up": True, "catch_up_seconds": 90.4, "retention_left_seconds": 172_800.0}
    answer = {"bottleneck": "ALLOCATION", "advice": "No: correct the ids.", "attribution": [], "step_start": at(0)}
    return numbers | answer | facts


def incident(start: float, end: float | None, *groups: str, **facts: Any) -> Incident:
    """An incident of twins, seen until its end or, where it is open, until the hour's; by default of the group `twins`.

    Its root names the client id `twin`; the finding `f1` of the first group, queue 1 without owner, followed from it.
    """
    named = groups or ("twins",)
    opened, seen = to_micros(at(start)), to_micros(at(3600 if end is None else end))
    what = ("DUPLICATE_CLIENT_ID", "FIXED_INSTANCE_NAME", "ERROR")
    root = IncidentPart(named[0], *what, None, "twin", opened, seen, ("f0",))
    unowned = root._replace(rule="UNASSIGNED_QUEUE", cause=root.rule, topic="t", subject="b:1", finding_ids=("f1",))
    fields: dict[str, Any] = {"incident_id": f"{named[0]}-{start:g}", "cluster": "c", "severity": "ERROR"}
    fields |= {"rule": root.rule, "cause": root.cause, "causes": (root.cause,), "advice": "Make it unique."}
    fields |= {"headline": f"Consumers of {named[0]} share the client id twin", "consumer_groups": named}
    fields |= {"opened_at": opened, "resolved_at": None if end is None else seen, "last_seen_at": seen}
    fields |= {"topics": ("t",), "queues": (("t", "b", 0), ("t", "b", 1)), "client_ids": ("twin",)}
    fields |= {"peak_backlog_messages": 1234, "unassigned_queue_minutes": 40.0}
    costs = tuple(GroupCost(name, 1234 if name == named[0] else None, 40.0) for name in named)
    fields |= {"root_causes": (root,), "symptoms": (unowned,), "costs": costs}
    return Incident(**(fields | facts))


def twins(fleet: Mapping[str, Any]) -> GroupRows:
    """Ten minutes of one owner each, forty of twins that own queue 0 while nobody owns queue 1, ten unobserved."""
    return GroupRows(
        fleet=fleet,
        members=[
            member(0, 600, "one:1"),
            member(0, 600, "two:1"),
            member(600, 3000, "twin:1", twins=True),
            member(600, 3000, "twin:2", twins=True),
        ],
        ownership=[
            span(0, 600, 0, "one:1"),
            span(0, 600, 1, "two:1"),
            span(600, 3000, 0, "twin:1", "twin:2", double_owned_cause="DUPLICATE_CLIENT_ID"),
            span(600, 3000, 1),
        ],
        states=[
            state(0, 600, None),
            state(600, 3000, "MEMBER_JOINED"),
            state(3000, 3600, None, status="UNOBSERVED", reason="NO_ROUTE_SNAPSHOT"),
        ],
        backlog=[
            lag(0, 600, 0, 10, 20),
            lag(0, 600, 1, 10, 20),
            lag(600, 3000, 0, 20, 20),
            lag(600, 3000, 1, 20, 1500),
        ],
        findings=[finding(600, 3000)],
        status=[step()],
        notes=[],
        samples={"t": sampled({0: (10, 10), 600: (20, 20), 3000: (20, 1500)})},
    )


def content(*groups: GroupRows, others: tuple[dict[str, Any], ...] = (), **facts: Any) -> PageContent:
    """The page of these groups, and of others without details."""
    run = {"run_id": "run-1", "finished_at": at(7200), "interval_start": at(0), "interval_end": at(3600)}
    run |= {"cluster": None, "consumer_group": None, "topic": None, "code_version": "0.1.0"}
    run |= {"source_versions": {"route_snapshots": 7}, "configuration_hash": "abcdef0123456789"}
    fields: dict[str, Any] = {"requested": HOUR, "interval": HOUR, "groups": groups, "notes": [], "runs": [run]}
    fields |= {"fleet": [*(group.fleet for group in groups), *others], "warehouse": "/data/audit"}
    fields |= {"versions": {"findings": 3}, "code_version": "0.1.0"}
    return PageContent(**(fields | facts))


def troubled(group: str = "twins") -> dict[str, Any]:
    """The fleet's row of a group with one finding."""
    line = {0: 20, 47: 1500}
    rules = [{"rule": "UNASSIGNED_QUEUE", "findings": 1}]
    return fleet_row(
        group, rank=3, errors=1, backlog_max=1234, rules=rules, line=line, member_count=2, queue_count=2,
        busiest=0.426, catches_up=False, retention_left_seconds=172_800.0,
    )  # fmt: skip
