"""A broker's knowledge of a group, from event to event."""

from collections.abc import Sequence

from spark_jobs.domain.model.message_queue import MessageModel
from spark_jobs.ingest.logs import events


def first_known(own: Sequence[events.Event]) -> events.GroupState:
    """Return what the broker knew of the group before the first line about it, by what its lines say first."""
    state, topics = events.GroupState(), set[str]()
    for event in own:
        match event:
            case events.Listed(state=listed):
                added = [entry for entry in listed.subscriptions if entry.topic not in topics]
                every = tuple(sorted([*state.subscriptions, *added]))
                return listed._replace(subscriptions=every) if listed.members else state
            case events.Connected(consume_type=consume_type, message_model=model) if state.message_model is None:
                state = state._replace(consume_type=consume_type, message_model=model)
            case events.Registered(consume_from_where=where) if state.consume_from_where is None:
                state = state._replace(consume_from_where=where)
            case events.Subscribed(subscription=subscription, is_new=is_new):
                if not is_new and subscription.topic not in topics:
                    state = state._replace(subscriptions=tuple(sorted([*state.subscriptions, subscription])))
                topics.add(subscription.topic)
    return state


def updated(state: events.GroupState, event: events.Event) -> events.GroupState:
    """The broker's knowledge of the group after the event, without members; the last member's leaving clears it."""
    match event:
        case events.Empty():
            return events.GroupState()
        case events.Listed(state=listed):
            return listed if listed.members else events.GroupState()
        case events.Connected(consume_type=consume_type, message_model=model):
            if state.message_model == MessageModel.CLUSTERING:
                model = state.message_model  # others consume for the group: `clients` says who broadcasts
            return state._replace(consume_type=consume_type, message_model=model)
        case events.Registered(consume_from_where=where):
            return state._replace(consume_from_where=where)
        case events.Subscribed(subscription=subscription):
            kept = [entry for entry in state.subscriptions if entry.topic != subscription.topic]
            return state._replace(subscriptions=tuple(sorted([*kept, subscription])))
        case events.Unsubscribed(topic=topic):
            kept = [entry for entry in state.subscriptions if entry.topic != topic]
            return state._replace(subscriptions=tuple(kept))
    return state
