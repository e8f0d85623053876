"""DUPLICATE_CLIENT_ID: two connections of a group with one client id, which RocketMQ takes for one client."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from spark_jobs.domain.kernel.allocations import Allocation
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.model.causes import DoubleOwnedCause, UnassignedCause
from spark_jobs.domain.model.finding import Condition, ConflictingValue, RuleHit
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import Connection, Membership
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.severities import ERROR, INFO
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.model.window import common
from spark_jobs.domain.rocketmq.strategies import UNIQUE_INSTANCE_NAME_VERSION
from spark_jobs.domain.rules.commands import CONNECTIONS
from spark_jobs.domain.rules.links import own_client
from spark_jobs.domain.rules.queue_owners import connections_of, double_owned_queues, unassigned_queues
from spark_jobs.domain.rules.rule import Cause, Rule

#: Probable reason why two connections carry one client id.
STALE_CONNECTION, CONTAINER_IDENTITY, FRAMEWORK_NAME = "STALE_CONNECTION", "CONTAINER_IDENTITY", "FRAMEWORK_NAME"
FIXED_INSTANCE_NAME, CLONED_PROCESS = "FIXED_INSTANCE_NAME", "CLONED_PROCESS"
#: Nothing is allocated by the ids of consumers that broadcast.
SHARED_OFFSET_FILE = "SHARED_OFFSET_FILE"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (interval, client id of several connections), and per queue that it harms; a condition per client id."""
    repeated_ids = []
    for span in step.membership_spans:
        connections = by_key(span.state.connections, lambda connection: connection.client_id)
        if repeated := {client_id: same_id for client_id, same_id in connections.items() if len(same_id) > 1}:
            repeated_ids.append((span, repeated))
    for interval in step.intervals:
        if interval.allocation is None:
            yield from _hits_without_owners(interval, repeated_ids)
        elif interval.allocation.duplicate_ids:
            yield from _client_hits(interval, interval.allocation)
            yield from _queue_hits(interval)


def _client_hits(interval: RebalanceInterval, allocation: Allocation) -> Iterator[RuleHit]:
    for client_id in allocation.duplicate_ids:
        yield RuleHit(
            *(interval.start, interval.end, None, None, client_id, interval.view, interval.seen_at),
            implicated=client_id,
            connections=connections_of(interval, client_id),
            if_deduplicated=allocation.if_deduplicated,
            if_unique=allocation.if_unique,
            # What is known of some queues is shown rather than that others' fate is unknown.
            weight=1.0,
        )


def _hits_without_owners(
    interval: RebalanceInterval, repeated_ids: Sequence[tuple[Span[Membership], Mapping[str, Sequence[Connection]]]]
) -> Iterator[RuleHit]:
    """The hits of an interval that is not replayed: the brokers' lists show when a client id was repeated."""
    for span, repeated in repeated_ids:
        time = common((interval.start, interval.end), (span.start, span.end))
        if time is None:
            continue
        for client_id, connections in repeated.items():
            yield RuleHit(
                *time,
                cause=SHARED_OFFSET_FILE if interval.reason == Reason.BROADCASTING else None,
                client_id=client_id,
                view=interval.view,
                seen_at=min(span.seen_at, time[1]),
                implicated=client_id,
                connections=tuple(connections),
                conflicting_values=(
                    ConflictingValue(f"owners of queues are unknown: {interval.reason}", (client_id,)),
                ),
            )


def _queue_hits(interval: RebalanceInterval) -> Iterator[RuleHit]:
    """All connections of an id consume the share of its first index, and none those of its other indexes."""
    unassigned = (
        (queue, client_id)
        for queue, cause, client_id in unassigned_queues(interval)
        if cause == UnassignedCause.DUPLICATE_CLIENT_ID
    )
    shared = (
        (queue, owner_ids[0])
        for queue, cause, owner_ids in double_owned_queues(interval)
        if cause == DoubleOwnedCause.DUPLICATE_CLIENT_ID
    )
    for queue, client_id in chain(unassigned, shared):
        time = (interval.start, interval.end)
        yield RuleHit(*time, client_id=client_id, view=interval.view, seen_at=interval.seen_at, queue=queue)


def probable_cause(condition: Condition) -> str:
    """The first cause that fits. A brief second connection from one host is the old one after a reconnect. A bare
    number is a PID (C++ and Python add `#DEFAULT`), which containers can share, unless all clients are Java ones that
    no longer use it. An address or name with a PID is a framework's. `PID#nanoTime` repeats only in a cloned process.
    Anything else was configured. Sources: `ClientConfig.changeInstanceNameToPID`, `RocketMQUtil.getInstanceName` of
    rocketmq-spring before 2.2.1, `RocketMQUtils.getInstanceName` of Spring Cloud Alibaba.
    """
    if condition.cause is not None:
        return condition.cause
    name, connections = instance_name(condition.client_id or ""), condition.connections
    hosts = {(connection.client_addr or "").rpartition(":")[0] for connection in connections}
    if not condition.is_persistent and len(hosts) == 1 and "" not in hosts:
        return STALE_CONNECTION
    if re.fullmatch("[0-9]+(#DEFAULT)?", name) and any(map(_names_itself_by_pid, connections)):
        return CONTAINER_IDENTITY
    if _OF_FRAMEWORK.fullmatch((condition.client_id or "").partition("@")[2]):
        return FRAMEWORK_NAME
    if re.fullmatch("[0-9]+#[0-9]+", name):
        return CLONED_PROCESS
    return FIXED_INSTANCE_NAME


#: Name servers, `host:port` divided by semicolons, and `@pid`; or anything and `|pid`. A unit name may follow.
_OF_FRAMEWORK = re.compile(r"([^@;|]+:[0-9]+;?)+@[0-9]+(@[^0-9].*)?|[^@]*\|[0-9]+(@.*)?")


def instance_name(client_id: str) -> str:
    """`instanceName` of `ip@instanceName[@unitName][@STREAM]`; empty if there is none."""
    return client_id.partition("@")[2].partition("@")[0]


def _names_itself_by_pid(connection: Connection) -> bool:
    is_java = connection.language == "JAVA"
    return not is_java or connection.version is None or connection.version < UNIQUE_INSTANCE_NAME_VERSION


def severity(condition: Condition) -> str:
    """INFO if nothing is allocated, or if it ends by itself: the old channel of a client that reconnects lives up to
    130 s (120 s, scan 10 s).
    """
    return ERROR if condition.is_persistent and condition.cause != SHARED_OFFSET_FILE else INFO


RULE = Rule(
    name="DUPLICATE_CLIENT_ID",
    headline="Consumers of {groups} share {subjects:the client id|client ids:} {subjects}",
    ended="each connection had a client id of its own",
    meaning="Several connections of a group share a client id. Each consumes the queues of the id's first index; no "
    "consumer owns those of its other indexes. Consumers that pop consume nothing twice. Broadcasting consumers on one "
    "machine overwrite each other's offset file. `if_unique`, `if_deduplicated`: what each fix would leave.",
    decided_by="A broker of the topic lists a client id more than once. ERROR if snapshots at least 150 s apart show "
    "it (`PERSISTENT`), else, and where all broadcast, INFO.",
    causes={
        STALE_CONNECTION: Cause(
            "transient, all from one machine",
            "Do nothing if it ends by itself: brokers list an old connection for up to 130 s after a reconnect.",
            commands=(CONNECTIONS,),
        ),
        CONTAINER_IDENTITY: Cause(
            "`ip@pid`, as of Java < 4.9.0, Go, C++ and Python",
            "Containers can share ip@pid. Upgrade to a Java client ≥ 4.9.0, or give every consumer its own "
            "instanceName.",
            commands=(CONNECTIONS,),
        ),
        FRAMEWORK_NAME: Cause(
            "an address and a PID (rocketmq-spring before 2.2.1), or ending with a bar and a PID (Spring Cloud "
            "Alibaba)",
            "The framework builds client ids that containers can share. Upgrade rocketmq-spring to 2.2.1 or later, "
            "or set a unique instanceName, for example the pod name.",
            commands=(CONNECTIONS,),
        ),
        FIXED_INSTANCE_NAME: Cause(
            "any other instanceName",
            "Several consumers have the same instanceName. Leave it unset, or make it unique, for example the pod "
            "name.",
            commands=(CONNECTIONS,),
        ),
        CLONED_PROCESS: Cause(
            "`pid#nanoTime`, and persistent",
            "Several connections have the same process id and start time. Check for a cloned or restored process, "
            "and for code that shares one id.",
            commands=(CONNECTIONS,),
        ),
        SHARED_OFFSET_FILE: Cause(
            "consumers broadcast: each gets all messages, whatever its id",
            "No queue is affected. Give consumers that run on one machine their own instanceName: they overwrite each "
            "other's file of offsets, so after a restart one misses or repeats messages.",
            commands=(CONNECTIONS,),
        ),
    },
    evaluate=hits,
    severity=severity,
    probable_cause=probable_cause,
    shows_persistence=True,
    spreads_by=own_client,
)
