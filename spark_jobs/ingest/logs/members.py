"""Who was connected to a broker, from what it logged: forward from a moment at which that is known, and back."""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from spark_jobs.domain.model.message_queue import MessageModel
from spark_jobs.ingest.logs import events
from spark_jobs.ingest.logs.read import Logged
from spark_jobs.ingest.logs.sources import Process

#: The line that a group is new follows the first connection by less than this, in milliseconds.
_JUST: Final = 2_000
#: Logs write times to the second, in milliseconds.
_SECOND: Final = 1_000

Members = Mapping[str, events.LoggedConnection]
#: The events about a group's members and subscriptions.
OF_GROUP: Final = (
    events.Connected,
    events.Disconnected,
    events.Expired,
    events.Empty,
    events.Born,
    events.Subscribed,
    events.Unsubscribed,
    events.Registered,
    events.Listed,
)


class Changed(NamedTuple):
    """The state of a group from this time (milliseconds) on; None: unknown."""

    at: int
    state: events.GroupState | None


def groups_of(process: Process) -> dict[str, list[Changed]]:
    """Each group's known states over time, from the log of a broker or a proxy.

    A log begins in the middle, and again after a gap. Members are known from moments without any (the broker started,
    knows no consumer of the group, or the group is new), and from there forward and back through each connection.
    Without such a moment between two starts or gaps they are unknown.
    """
    begins = deque(process.begins)
    lives: list[tuple[int, bool, dict[str, list[Logged]]]] = [(begins.popleft(), False, defaultdict(list))]
    for logged in process.logged:
        while begins and begins[0] <= logged.at:
            lives.append((begins.popleft(), False, defaultdict(list)))
        if isinstance(logged.event, events.Booted):
            lives.append((logged.at, True, defaultdict(list)))
        elif isinstance(logged.event, OF_GROUP):
            lives[-1][2][logged.event.group].append(logged)
    lives += ((at, False, defaultdict(list)) for at in begins)
    groups = dict.fromkeys([*(group for _, _, of_groups in lives for group in of_groups), *sorted(process.groups)])
    return {
        group: [
            change
            for number, (at, booted, of_groups) in enumerate(lives)
            for change in _life(at, booted, of_groups.get(group, []), is_first=number == 0)
        ]
        for group in groups
    }


def _life(begins: int, booted: bool, own: Sequence[Logged], *, is_first: bool) -> Iterator[Changed]:
    """A group from a start of the broker, the log's beginning or the end of a gap on; `own`: the events about it."""
    if not own and not booted:
        if not is_first:
            yield Changed(begins, None)
        return
    own = [logged for place, logged in enumerate(own) if not _is_ambiguous(place, own)]
    states = [events.GroupState() if booted else first_known([event for _, event in own])]
    for _, event in own:
        states.append(updated(states[-1], event))
    members = _members(own, booted)
    for at, state, known in zip([begins, *(at for at, _ in own)], states, members, strict=True):
        yield Changed(at, None if known is None else state._replace(members=tuple(known.values())))


def _is_ambiguous(place: int, own: Sequence[Logged]) -> bool:
    """Return whether a list of members is of a second in which they changed: nothing says which was first."""
    at, event = own[place]
    neighbors = (*own[max(place - 1, 0) : place], *own[place + 1 : place + 2])
    changed = (logged.at for logged in neighbors if not isinstance(logged.event, events.Listed))
    return isinstance(event, events.Listed) and any(abs(moment - at) < _SECOND for moment in changed)


def _members(own: Sequence[Logged], booted: bool) -> list[Members | None]:
    """Before the first event, and after each, the members by address; None: unknown."""
    after: list[Members | None] = [None] * (len(own) + 1)
    known = 0 if booted else _known_before(own)
    if known is None:
        return after
    after[known] = {} if booted or not isinstance(own[known].event, events.Listed) else _after({}, own[known].event)
    for place in range(known, len(own)):
        after[place + 1] = _after(after[place] or {}, own[place].event)
    for place in range(known - 1, -1, -1):
        earlier = _before(after[place + 1] or {}, own, place)
        if earlier is None:
            break
        after[place] = earlier
    return after


def _known_before(own: Sequence[Logged]) -> int | None:
    """The place of an event before which the members are known: recorded, or no consumer was connected."""
    for place, (at, event) in enumerate(own):
        if isinstance(event, events.Listed | events.Empty):
            return place
        if isinstance(event, events.Born) or (place == 1 and isinstance(event, events.Subscribed) and event.is_new):
            first = place
            while (
                first and at - own[first - 1].at <= _JUST and not isinstance(own[first - 1].event, events.Disconnected)
            ):
                first -= 1
            return first
    return None


def _after(members: Mapping[str, events.LoggedConnection], event: events.Event) -> dict[str, events.LoggedConnection]:
    changed = dict(members)
    match event:
        case events.Connected(connection=connection):
            changed[connection.address] = connection
        case events.Disconnected(connection=connection):
            changed.pop(connection.address, None)
        case events.Expired(address=address):
            changed.pop(address, None)
        case events.Empty():
            changed.clear()
        case events.Listed(state=listed):
            return {connection.address: connection for connection in listed.members}
    return changed


def _before(members: Members, own: Sequence[Logged], place: int) -> Members | None:
    """The members before the event at this place; None: unknown (an expired connection whose beginning is missing)."""
    match own[place].event:
        case events.Connected(connection=connection):
            return {address: member for address, member in members.items() if address != connection.address}
        case events.Disconnected(connection=connection):
            return {**members, connection.address: connection}
        case events.Expired(address=address):
            earlier = (event.connection for _, event in reversed(own[:place]) if isinstance(event, events.Connected))
            began = next((connection for connection in earlier if connection.address == address), None)
            return None if began is None else {**members, address: began}
    return members


def first_known(own: Sequence[events.Event]) -> events.GroupState:
    """The broker's knowledge of the group before the first line about it, by what its lines say first."""
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
