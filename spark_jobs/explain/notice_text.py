"""The notice of the incidents of one cluster: a title and lines of plain text; names cannot break out of them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

from spark_jobs.domain.incidents.notices import OPENED, RESOLVED, WITHDRAWN, WORSE, Notice
from spark_jobs.domain.intervals import format_utc
from spark_jobs.domain.phrases import count, printable
from spark_jobs.domain.window import from_micros

#: Incidents in one message, at most; the others are counted.
_NAMED = 50
#: In the order in which the title counts them.
_NEWS = {OPENED: "opened", WORSE: "got worse", RESOLVED: "resolved", WITHDRAWN: "withdrawn"}


def notice_title(cluster: str, notices: Sequence[Notice]) -> str:
    """Such as `rebalance-audit eu: 2 incidents opened, 1 resolved`."""
    counts = Counter(one.told for one in notices)
    first, *others = ((counts[told], words) for told, words in _NEWS.items() if counts[told])
    told = [f"{count(first[0], 'incident')} {first[1]}", *(f"{number} {words}" for number, words in others)]
    return printable(f"rebalance-audit {cluster}: {', '.join(told)}")


def notice_text(warehouse: str, notices: Sequence[Notice]) -> str:
    """A line for each in the order given, and below them how to see one in full."""
    return "\n".join(map(printable, _lines(warehouse, notices)))


def _lines(warehouse: str, notices: Sequence[Notice]) -> Iterator[str]:
    yield from map(_line, notices[:_NAMED])
    if notices[_NAMED:]:
        yield f"... and {len(notices) - _NAMED} more"
    yield f"In full: rebalance-audit incidents --warehouse {shlex.quote(warehouse)} --id ID"


def _line(one: Notice) -> str:
    where = f"{count(len(one.groups), 'group')}, {_time(one)}, id {one.incident_id}"
    return f"{_NEWS[one.told].upper()} {one.severity} {one.headline} ({where})"


def _time(one: Notice) -> str:
    opened, seen = format_utc(from_micros(one.opened_at)), format_utc(from_micros(one.last_seen_at))
    if one.told == WITHDRAWN:
        return f"from {opened}: a later audit no longer finds it"
    return f"from {opened} to {seen}" if one.told == RESOLVED else f"since {opened}"
