"""A broker's knowledge of a group, from event to event."""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.ingest.logs.events import (
    Connected,
    Empty,
    Event,
    GroupState,
    Listed,
    Registered,
    Subscribed,
    Unsubscribed,
)


def first_known(own: Sequence[Event]) -> GroupState:
    """Return what the broker knew of the group before the first line about it, by what its lines say first."""
    state, topics = GroupState(), set[str]()
    for event in own:
        match event:
            case Listed(state=listed):
                added = [entry for entry in listed.subscriptions if entry.topic not in topics]
                every = tuple(sorted([*state.subscriptions, *added]))
                return listed._replace(subscriptions=every) if listed.members else state
            case Connected(consume_type=consume_type, message_model=model) if state.message_model is None:
                state = state._replace(consume_type=consume_type, message_model=model)
            case Registered(consume_from_where=where) if state.consume_from_where is None:
                state = state._replace(consume_from_where=where)
            case Subscribed(subscription=subscription, is_new=is_new):
                if not is_new and subscription.topic not in topics:
                    state = state._replace(subscriptions=tuple(sorted([*state.subscriptions, subscription])))
                topics.add(subscription.topic)
    return state


def updated(state: GroupState, event: Event) -> GroupState:
    """The broker's knowledge of the group after the event, without members; the last member's leaving clears it."""
    match event:
        case Empty():
            return GroupState()
        case Listed(state=listed):
            return listed if listed.members else GroupState()
        case Connected(consume_type=consume_type, message_model=model):
            return state._replace(consume_type=consume_type, message_model=model)
        case Registered(consume_from_where=where):
            return state._replace(consume_from_where=where)
        case Subscribed(subscription=subscription):
            kept = [entry for entry in state.subscriptions if entry.topic != subscription.topic]
            return state._replace(subscriptions=tuple(sorted([*kept, subscription])))
        case Unsubscribed(topic=topic):
            kept = [entry for entry in state.subscriptions if entry.topic != topic]
            return state._replace(subscriptions=tuple(kept))
    return state
