"""What becomes of shares that their position does not take: twins, members that do not subscribe, mixed strategies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from spark_jobs.domain.allocation import KeepsWhatItHad
from spark_jobs.domain.message_queue import MessageQueue, sort_client_ids
from spark_jobs.domain.phrases import count
from spark_jobs.domain.strategies import CONFIG, CONSISTENT_HASH, Strategy, Variant, is_popped
from spark_jobs.errors import StrategyError
from spark_jobs.explain.arithmetic import arithmetic, sizes
from spark_jobs.explain.phrases import VARIANTS, positions_text


class AllocatingMember(NamedTuple):
    """One connection of the group with the strategy that it runs, settings and all; twins share `client_id`."""

    client_id: str
    client_addr: str | None
    strategy: Strategy
    subscribes: bool


def how_it_was_cut(members: Sequence[AllocatingMember], topic: str, queues: Sequence[MessageQueue]) -> list[str]:
    """The arithmetic of every strategy that a member runs, then what keeps shares from being taken.

    Sentences; `members` come as every client sorts them, duplicates kept.
    """
    client_ids = [member.client_id for member in members]
    strategies = sorted({member.strategy for member in members}, key=lambda strategy: (strategy.name, strategy.variant))
    if len(strategies) < 2:
        strategy = strategies[0] if strategies else Strategy("AVG")
        return [*arithmetic(strategy, queues, client_ids), *_losses(strategy, members, topic, queues)]
    what = "its own strategy" if len({one.name for one in strategies}) > 1 else "the rules of its language and version"
    told = [f"Each member computes with {what}, and takes only the share of its own position."]
    for strategy in strategies:
        who = positions_text([place for place, member in enumerate(members) if member.strategy == strategy])
        name, how = f"{strategy.name}{VARIANTS[strategy.variant]}", arithmetic(strategy, queues, client_ids)
        told += [f"By {name} ({who}): {' '.join(how)}"]
    return [*told, *_losses(None, members, topic, queues)]


def _losses(
    strategy: Strategy | None, members: Sequence[AllocatingMember], topic: str, queues: Sequence[MessageQueue]
) -> Iterator[str]:
    client_ids = [member.client_id for member in members]
    twins = sort_client_ids(client_id for client_id, times in Counter(client_ids).items() if times > 1)
    got = _sizes(strategy, queues, client_ids) if twins and strategy else None
    for client_id in twins:
        yield _twins(client_id, strategy, client_ids, got)
    strangers = [place for place, member in enumerate(members) if not member.subscribes]
    if strangers and len(strangers) < len(members):
        where, one = positions_text(strangers).capitalize(), len(strangers) == 1
        told = "counts: nobody owns its share" if one else "count: nobody owns their shares"
        yield f"{where} {'does' if one else 'do'} not subscribe to {topic}, but still {told}."


def _twins(client_id: str, strategy: Strategy | None, client_ids: Sequence[str], got: Mapping[int, int] | None) -> str:
    places = [place for place, one in enumerate(client_ids) if one == client_id]
    first, later = places[0], places[1:]
    told = f"{client_id} is listed {len(places)} times, at {positions_text(places)}"
    if strategy and strategy.name == CONSISTENT_HASH:
        points = strategy.virtual_node_cnt * (1 if strategy.variant == Variant.GO else len(places))
        return (
            f"{told}: it has {count(points, 'point')} and one share, which each of its connections takes. No queue "
            "loses its owner, but the whole share is consumed more than once."
        )
    if strategy and strategy.name == CONFIG:
        return f"{told}: each of its connections owns the queues of the same list."
    if strategy and is_popped(strategy.name):
        return f"{told}: each of its connections may pop the same queues as the first of them, position {first}."
    told += f": each of its connections computes the share of the first of them, position {first}."
    if got is None:
        return f"{told} Nobody owns the shares of its other positions."
    lost = sum(got[place] for place in later)
    what = f"{'the share' if len(later) == 1 else 'the shares'} of {positions_text(later)}"
    if not lost:
        return f"{told} {what.capitalize()} would be empty, so no queue loses its owner."
    return f"{told} Nobody owns {what} ({count(lost, 'queue')})."


def _sizes(strategy: Strategy, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> Mapping[int, int] | None:
    try:
        return sizes(strategy, queues, client_ids)
    except (KeepsWhatItHad, StrategyError):
        return None
