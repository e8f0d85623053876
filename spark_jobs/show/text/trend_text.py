"""Trends in plain English: what a week of a group was like, and what got worse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from spark_jobs.domain.incidents.trends import GroupTrend, GroupWeek
from spark_jobs.domain.model.intervals import duration_text
from spark_jobs.domain.phrases import UNKNOWN, count, number_text, rate_text


def trends_text(found: Sequence[GroupTrend]) -> str:
    """How many groups there are, how many of them can be compared, and how many of these got worse."""
    compared = [one for one in found if is_compared(one)]
    if not compared:
        none = "none was observed in the last week and the one before: unknown what got worse"
        return f"{count(len(found), 'group')}; {none}."
    worse = sum(1 for one in compared if one.worsening > (0, 0, 0))
    others = f" of {len(compared):,} that can be compared" if len(compared) < len(found) else ""
    return f"{count(len(found), 'group')}; {worse:,}{others} got worse in the last week."


def is_told(week: GroupWeek) -> bool:
    """Whether anything is known of the week."""
    return bool(week.incidents) or week.wrong_minutes is not None


def is_compared(one: GroupTrend) -> bool:
    """Whether the group was observed in the last two weeks."""
    return len(one.weeks) > 1 and all(week.wrong_minutes is not None for week in one.weeks[-2:])


def week_texts(week: GroupWeek) -> Iterator[str]:
    """Incidents, wrong minutes, rebalances, queues moved, time to resolve, share of time observed."""
    yield number_text(week.incidents)
    yield rate_text(week.wrong_minutes)
    yield number_text(week.rebalances)
    yield number_text(week.queues_moved)
    seconds = week.seconds_to_resolve
    yield UNKNOWN if seconds is None else duration_text(timedelta(seconds=seconds))
    yield "<1%" if 0 < week.observed_share < 0.005 else f"{week.observed_share:.0%}"


def change_text(one: GroupTrend) -> str:
    """How its last week differs from the one before; empty where one of them was not observed, or nothing differs."""
    minutes, incidents, rebalances = one.worsening
    parts = (
        (round(minutes, 1), "minutes with wrong owners"),
        (incidents, "incident{s}"),
        (rebalances, "rebalance{s}"),
    )
    return ", ".join(_more(more, things) for more, things in parts if more)


def _more(more: float, things: str) -> str:
    return f"{abs(more):,} {'more' if more > 0 else 'fewer'} {things.format(s='' if abs(more) == 1 else 's')}"
