"""The time lines of brokers that disagree about a group's members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from spark_jobs.domain.audited_step import ALL_HOSTS, AuditedStep, RebalanceInterval


def split_views(step: AuditedStep) -> Iterator[list[RebalanceInterval]]:
    """The replayed intervals of single brokers that begin together, by their view; of ordinary topics.

    Where the lists of that time were seen to differ: a broker that was not asked since may not differ any more.
    """
    split = [one for one in step.replayed if one.view != ALL_HOSTS and one.is_ordinary]
    for _, of_topic in groupby(split, key=lambda one: one.topic):
        last: dict[str, RebalanceInterval] = {}
        for start, together in groupby(of_topic, key=lambda one: one.start):
            views = {one.view: one for one in together}
            last |= views
            if _differ([one for one in last.values() if one.end > start], start):
                yield [views[name] for name in sorted(views)]


def _differ(views: Sequence[RebalanceInterval], start: int) -> bool:
    """Whether two lists that brokers were seen to give since then are different; of one view nobody can say."""
    asked = [one for one in views if one.seen_at is None or one.seen_at >= start]
    return len(views) == 1 or len({tuple(member.client_id for member in one.members or ()) for one in asked}) > 1
