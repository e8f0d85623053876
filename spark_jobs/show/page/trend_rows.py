"""How each group fared week by week, as rows of the page of trends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spark_jobs.domain.incidents.trends import GroupTrend, GroupWeek
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import rate_text
from spark_jobs.show.page.style import clock
from spark_jobs.show.trends import change_text, is_compared, is_known, week_texts

#: Groups that are shown, at most.
GROUPS = 500
_BARS = (96, 28)


def trend_rows(trends: Sequence[GroupTrend], groups: Mapping[tuple[str, str], str]) -> list[dict[str, Any]]:
    """A row per group in the order given; weeks in which the group was not observed are left out."""
    return [
        {
            "name": trend.consumer_group,
            "cluster": trend.cluster,
            "id": groups.get((trend.cluster, trend.consumer_group)),
            "change": _change(trend),
            "is_worse": trend.worsening > (0, 0, 0),
            "weeks": [_week(week) for week in reversed(trend.weeks) if is_known(week)],
            "bars": _bars([week.wrong_minutes for week in trend.weeks]),
        }
        for trend in trends[:GROUPS]
    ]


def _change(trend: GroupTrend) -> str:
    return change_text(trend) or "no change" if is_compared(trend) else ""


def _week(week: GroupWeek) -> dict[str, Any]:
    return {"from": clock(from_micros(week.start)), "to": clock(from_micros(week.end)), "texts": list(week_texts(week))}


def _bars(minutes: Sequence[float | None]) -> list[dict[str, Any]]:
    """A bar per week, the oldest first, in pixels; none where fewer than two weeks are known. `text`: the minutes."""
    width, height = _BARS
    highest = max((minute for minute in minutes if minute is not None), default=0) or 1
    step = width / len(minutes)
    bars = []
    for week, value in enumerate(minutes):
        tall = None if value is None else max(1.0, value / highest * height)
        bars.append(
            {
                "x": round(week * step + 1, 1),
                "width": round(step - 2, 1),
                "height": tall,
                "text": rate_text(value),
            }
        )
    return bars if any(minutes) and len(minutes) > minutes.count(None) + 1 else []
