"""Why clients hold other queues than their shares: the inputs from which all of their lists follow."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import NamedTuple

from spark_jobs.domain.kernel.allocations import Member
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.ownership import Inputs
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import Place
from spark_jobs.domain.model.message_queue import queue_ranges
from spark_jobs.domain.model.window import moment_text
from spark_jobs.domain.phrases import NAMED, names_text
from spark_jobs.domain.rules.drifts import Drift
from spark_jobs.domain.rules.name_servers import server_routes

#: More members or brokers are not left out one by one: each costs a replay.
_MOST_LEFT_OUT = 16
_NOT_FOLLOWED = (
    "They have not followed the route since then. Restart all of them: one that restarts alone takes its new share, "
    "and the others keep their old ones."
)


_OTHER_LANGUAGE = (
    "All of them are {} clients, and no other member is: clients of other languages, and old versions, may sort or "
    "share the queues differently. Upgrade them, or use one kind of client in the group."
)
_NO_LIST = (
    "They hold no queue of any topic, as clients that do not get the list of members: look in their logs for `get "
    "consumer id list failed`. Versions before 4.5 ask for it at the brokers' port 10909 (`vipChannelEnabled`): open "
    "it, or switch that off (RocketMQ issue #568)."
)
_NO_LOCKS = (
    "They consume in order and hold no queue of any topic, as clients that do not get the brokers' locks: look in "
    "their logs for `lock failed`. If that began with another version of the client, go back to the one before."
)


class OtherInputs(NamedTuple):
    """Inputs that clients may have computed their shares from: `as_if`, in words, and what to do about it."""

    as_if: str
    advice: str
    members: tuple[Member, ...]
    queues: tuple[Place, ...]


#: By client id, the queues that it held in an interval in which it drifted.
_Owned = Mapping[str, frozenset[Place]]
_Source = Callable[[AuditedStep, RebalanceInterval, _Owned], Iterator[OtherInputs]]


def explained(step: AuditedStep, drifts: Sequence[Drift]) -> str | None:
    """Sentences: per topic the inputs from which all clients that drift at one time have their lists; alternatives
    if the lists fit several, but none besides the route of a name server. Without such inputs, the language
    that only these clients have. None: neither is known.
    """
    texts: dict[str, None] = {}
    for of_topic in by_key(drifts, lambda each: each.topic).values():
        reasons = list(_reasons(step, of_topic, _server_routes)) or list(
            _reasons(step, of_topic, _routes, _member_lists)
        )
        if reasons:
            as_if = " or ".join(dict.fromkeys(reason.as_if for reason in reasons[:NAMED]))
            advice = " ".join(dict.fromkeys(reason.advice for reason in reasons[:NAMED]))
            texts[f"{_who(*_drifted(of_topic))} {as_if}. {advice}"] = None
        elif not any(each.owned for each in drifts):
            clients = [step.history.clients.get(each.client_id) for each in of_topic]
            texts[_NO_LOCKS if all(each and each.consumes_orderly for each in clients) else _NO_LIST] = None
        elif language := _own_language(*_drifted(of_topic)):
            texts[_OTHER_LANGUAGE.format(language)] = None
    return " ".join([*texts][:NAMED]) or None


def follows_name_server(step: AuditedStep, drifts: Sequence[Drift]) -> bool:
    """Return whether clients that drift at one time have their lists of a topic from the route of one name server."""
    return any(any(_reasons(step, of, _server_routes)) for of in by_key(drifts, lambda each: each.topic).values())


def _drifted(drifts: Sequence[Drift]) -> tuple[RebalanceInterval, _Owned]:
    """The interval of the last drift of a topic, and the lists of its clients: they are of one time."""
    interval = max(drifts, key=lambda each: (each.start, each.client_id)).interval
    return interval, {each.client_id: each.owned for each in drifts if each.interval is interval}


def _own_language(interval: RebalanceInterval, owned: _Owned) -> str | None:
    """The one language of all clients that drift, if no other member has it."""
    own = {language for client_id, language in interval.languages.items() if client_id in owned}
    other_members = {language for client_id, language in interval.languages.items() if client_id not in owned}
    return next(iter(own)) if other_members and len(own) == 1 and not own & other_members else None


def _who(interval: RebalanceInterval, owned: _Owned) -> str:
    if not set(interval.client_ids) - owned.keys():
        return "All members share the queues"
    return f"{names_text(sorted(owned))} share{'s' * (len(owned) == 1)} the queues"


def _reasons(step: AuditedStep, drifts: Sequence[Drift], *sources: _Source) -> Iterator[OtherInputs]:
    """The inputs of these sources that give each client of one topic the queues that it holds."""
    replays, (interval, owned) = step.replays, _drifted(drifts)
    if replays is None:
        return
    for reason in chain.from_iterable(source(step, interval, owned) for source in sources):
        shares = replays.allocation(Inputs(interval.topic, reason.members, reason.queues, ())).queues_of_client
        if all(shares.get(client_id, frozenset()) == queues for client_id, queues in owned.items()):
            yield reason


def _server_routes(step: AuditedStep, interval: RebalanceInterval, _: _Owned) -> Iterator[OtherInputs]:
    """The topic as single name servers gave it in the interval, where that differs from its route."""
    known = {interval.queues or ()}
    for address, route in server_routes(step, interval.topic, (interval.start, interval.end)):
        readable = step.replays.queues_of(route).readable if step.replays else ()
        if readable not in known:
            known.add(readable)
            as_if = f"by the route of name server {address}, {_difference(readable, interval.queues or ())}"
            advice = f"Name server {address} has another route: look why these brokers do not register there."
            yield OtherInputs(as_if, advice, interval.members or (), readable)


def _routes(step: AuditedStep, interval: RebalanceInterval, _: _Owned) -> Iterator[OtherInputs]:
    """The topic as an earlier route had it, and without one broker or two."""
    members, queues = interval.members or (), interval.queues or ()
    brokers = sorted({broker for broker, _ in queues})
    earlier = [span for span in step.routes.get(interval.topic, ()) if span.start < interval.start]
    known = {queues}
    for span in reversed(earlier):
        before = step.replays.queues_of(span.state).readable if step.replays else ()
        if before and before not in known:
            known.add(before)
            until = moment_text(span.end)
            as_if = f"by the route of before {until}, {_difference(before, queues)}"
            yield OtherInputs(as_if, _NOT_FOLLOWED, members, before)
    for number in (1, 2) if len(brokers) <= _MOST_LEFT_OUT else ():
        for left_out in combinations(brokers, number):
            rest = tuple(queue for queue in queues if queue[0] not in left_out)
            if rest and rest not in known:
                known.add(rest)
                names = " and ".join(left_out)
                advice = f"Compare what each name server says of the topic: one may have lost {names}."
                yield OtherInputs(f"as if {names} were not in the route", advice, members, rest)


def _difference(before: Sequence[Place], now: Sequence[Place]) -> str:
    missing, surplus = set(now) - set(before), set(before) - set(now)
    parts = (("without", missing), ("with", surplus))
    return " and ".join(f"{word} {queue_ranges(queues)}" for word, queues in parts if queues)


def _member_lists(step: AuditedStep, interval: RebalanceInterval, owned: _Owned) -> Iterator[OtherInputs]:
    """The members of an earlier interval, all but one, and the client alone."""
    members, queues = interval.members or (), interval.queues or ()
    advice = "Compare which members each broker lists, and look for errors in the rebalance logs."
    known = {tuple(member.client_id for member in members)}
    for listed in _other_lists(step, interval):
        ids = tuple(member.client_id for member in listed)
        if listed and ids not in known and owned.keys() <= set(ids):
            known.add(ids)
            yield OtherInputs(_as_if_members(members, listed), advice, listed, queues)


def _other_lists(step: AuditedStep, interval: RebalanceInterval) -> Iterable[tuple[Member, ...]]:
    members = interval.members or ()
    before = [each for each in step.intervals if each.topic == interval.topic and each.start < interval.start]
    yield from (each.members for each in reversed(before) if each.members)
    if len(members) <= _MOST_LEFT_OUT:
        yield from (tuple(member for member in members if member is not left_out) for left_out in members)
        yield from ((member,) for member in members)


def _as_if_members(members: Sequence[Member], listed: Sequence[Member]) -> str:
    now, then = {member.client_id for member in members}, {member.client_id for member in listed}
    parts = (("were not", now - then), ("were", then - now))
    texts = (
        f"{names_text(sorted(ids))} {verb} {'members' if len(ids) > 1 else 'a member'}" for verb, ids in parts if ids
    )
    return f"as if {' and '.join(texts)}"
