"""A broker's knowledge of a group, from event to event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spark_jobs.ingest.logs.events import (
    Connected,
    Empty,
    Event,
    Listed,
    LoggedConnection,
    Registered,
    Subscribed,
    Subscription,
    Unsubscribed,
)


@dataclass(frozen=True)
class GroupState:
    """A broker's knowledge of a group: its connections, and what consumers said of the group."""

    members: tuple[LoggedConnection, ...] = ()
    consume_type: str | None = None
    message_model: str | None = None
    consume_from_where: str | None = None
    subscriptions: tuple[Subscription, ...] = ()


def _listed(event: Listed) -> GroupState:
    return GroupState(
        consume_type=event.consume_type,
        message_model=event.message_model,
        consume_from_where=event.consume_from_where,
        subscriptions=event.subscriptions,
    )


def first_known(own: Sequence[Event]) -> GroupState:
    """Return what the broker knew of the group before the first line about it, by what its lines say first."""
    state, topics = GroupState(), set[str]()
    for event in own:
        if isinstance(event, Listed):
            added = [entry for entry in event.subscriptions if entry.topic not in topics]
            listed = replace(_listed(event), subscriptions=tuple(sorted([*state.subscriptions, *added])))
            return listed if event.members else state
        match event:
            case Connected(consume_type=consume_type, message_model=model) if state.message_model is None:
                state = replace(state, consume_type=consume_type, message_model=model)
            case Registered(consume_from_where=where) if state.consume_from_where is None:
                state = replace(state, consume_from_where=where)
            case Subscribed(subscription=subscription, is_new=False) if subscription.topic not in topics:
                state = replace(state, subscriptions=tuple(sorted([*state.subscriptions, subscription])))
        if isinstance(event, Subscribed):
            topics.add(event.subscription.topic)
    return state


def updated(state: GroupState, event: Event) -> GroupState:
    """The broker's knowledge of the group after the event, without members; the last member's leaving clears it."""
    match event:
        case Empty():
            return GroupState()
        case Listed(members=members) if not members:
            return GroupState()
        case Listed():
            return _listed(event)
        case Connected(consume_type=consume_type, message_model=model):
            return replace(state, consume_type=consume_type, message_model=model)
        case Registered(consume_from_where=where):
            return replace(state, consume_from_where=where)
        case Subscribed(subscription=subscription):
            kept = [entry for entry in state.subscriptions if entry.topic != subscription.topic]
            return replace(state, subscriptions=tuple(sorted([*kept, subscription])))
        case Unsubscribed(topic=topic):
            return replace(state, subscriptions=tuple(entry for entry in state.subscriptions if entry.topic != topic))
    return state
