"""Notifications as plain text: a title that counts them, and a line for each."""

import shlex
from collections import Counter
from collections.abc import Sequence

from spark_jobs.domain.incidents.notices import OPENED, RESOLVED, WITHDRAWN, WORSE, Notice
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import count, printable
from spark_jobs.show.text.incident_text import deletion_text

#: Incidents, or lines, in one message, at most; other incidents are counted.
_NAMED = 50
#: In the order in which the title counts them.
_NEWS = {OPENED: "opened", WORSE: "got worse", RESOLVED: "resolved", WITHDRAWN: "withdrawn"}


def notices_title(cluster: str, notices: Sequence[Notice]) -> str:
    """Such as `rebalance-audit eu: 2 incidents opened, 1 resolved`."""
    counts = Counter(notice.event for notice in notices)
    (number, words), *further_counts = ((counts[news], words) for news, words in _NEWS.items() if counts[news])
    parts = [f"{count(number, 'incident')} {words}", *(f"{number} {words}" for number, words in further_counts)]
    return printable(f"rebalance-audit {cluster}: {', '.join(parts)}")


def rejected_title(cluster: str, interval: Interval) -> str:
    """Such as `rebalance-audit eu: nothing was published of 2026-11-21T02:00Z/2026-11-21T03:00Z`."""
    return printable(f"rebalance-audit {cluster}: nothing was published of {interval}")


def rejected_text(warehouse: str, message: str) -> str:
    """The message of the run that was rejected, and below it how to list the runs."""
    lines = [*message.splitlines()[:_NAMED], f"In full: rebalance-audit runs --warehouse {shlex.quote(warehouse)}"]
    return "\n".join(map(printable, lines))


def audit_title(notice: Notice) -> str:
    """Such as `rebalance-audit eu: the audit is missing since 2026-11-21T02:00Z`."""
    return printable(f"rebalance-audit {notice.cluster}: {notice.headline[:1].lower()}{notice.headline[1:]}")


def audit_text(warehouse: str, notice: Notice) -> str:
    """A sentence about the audits of a cluster, and below it how to list what is missing."""
    until = format_utc(from_micros(notice.last_seen_at))
    text = (
        f"No run has audited {notice.cluster} since then, and it was recorded until {until}. Check the scheduler."
        if notice.resolved_at is None
        else f"Runs have audited {notice.cluster} until {until}. Earlier steps may still be missing."
    )
    full = f"In full: rebalance-audit runs --missing --warehouse {shlex.quote(warehouse)}"
    return "\n".join(map(printable, (text, full)))


def notices_text(warehouse: str, notices: Sequence[Notice]) -> str:
    """A line for each in the order given, and below them how to see one in full."""
    lines = [*map(_line, notices[:_NAMED])]
    if notices[_NAMED:]:
        lines.append(f"... and {len(notices) - _NAMED} more")
    lines.append(f"In full: rebalance-audit incidents --warehouse {shlex.quote(warehouse)} --id ID")
    return "\n".join(map(printable, lines))


def _line(notice: Notice) -> str:
    where = f"{count(len(notice.consumer_groups), 'group')}, {_time(notice)}, id {notice.incident_id}"
    return f"{_NEWS[notice.event].upper()} {notice.severity} {notice.headline} ({where})"


def _time(notice: Notice) -> str:
    opened, seen = format_utc(from_micros(notice.opened_at)), format_utc(from_micros(notice.last_seen_at))
    if notice.event == WITHDRAWN:
        return f"from {opened}: a later audit no longer finds it"
    if notice.event != RESOLVED:
        return f"since {opened}"
    return ", ".join(filter(None, (f"from {opened} to {seen}", deletion_text(notice.resolution))))
