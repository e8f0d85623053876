"""Notifications as plain text: a title that counts them, and some lines for each."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from spark_jobs.domain.incidents.notices import OPENED, RESOLVED, WITHDRAWN, WORSE, News, Notice
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import Interval, duration_text, format_utc
from spark_jobs.domain.model.window import from_micros, second_text
from spark_jobs.domain.phrases import UNKNOWN, count, known_sum, names_text, printable
from spark_jobs.show.language import translated, word
from spark_jobs.show.rows import Key
from spark_jobs.show.text.incident_text import advice_text, cost_texts, deletion_text

#: Incidents, or lines, in one message, at most; other incidents are counted.
_NAMED = 50
#: In the order in which the title counts them.
_NEWS = {OPENED: "opened", WORSE: "got worse", RESOLVED: "resolved", WITHDRAWN: "withdrawn"}


def _shown(text: str) -> str:
    """A line in the language, in which nothing is hidden."""
    return translated(printable(text))


def notices_title(cluster: str, notices: Iterable[Notice], day: datetime | None = None) -> str:
    """Such as `rebalance-audit eu: 2 incidents opened, 1 resolved`; `day`: of which it is the digest."""
    counts = Counter(notice.event for notice in notices)
    (number, words), *further_counts = ((counts[news], words) for news, words in _NEWS.items() if counts[news])
    parts = [f"{count(number, 'incident')} {words}", *(f"{number} {words}" for number, words in further_counts)]
    digest = f", digest of {day:%Y-%m-%d}" if day else ""
    return _shown(f"rebalance-audit {cluster}{digest}: {', '.join(parts)}")


def rejected_title(cluster: str, interval: Interval) -> str:
    """Such as `rebalance-audit eu: nothing was published of 2026-11-21T02:00Z/2026-11-21T03:00Z`."""
    return _shown(f"rebalance-audit {cluster}: nothing was published of {interval}")


def rejected_text(warehouse: str, message: str) -> str:
    """The message of the run that was rejected, and below it how to list the runs."""
    lines = [*message.splitlines()[:_NAMED], f"In full: rebalance-audit runs --warehouse {shlex.quote(warehouse)}"]
    return "\n".join(map(_shown, lines))


def audit_title(notice: Notice) -> str:
    """Such as `rebalance-audit eu: the audit is missing since 2026-11-21T02:00Z`."""
    return _shown(f"rebalance-audit {notice.cluster}: {notice.headline[:1].lower()}{notice.headline[1:]}")


def audit_text(warehouse: str, notice: Notice) -> str:
    """A sentence about the audits of a cluster, and below it how to list what is missing."""
    until = format_utc(from_micros(notice.last_seen_at))
    text = (
        f"No run has audited {notice.cluster} since then, and it was recorded until {until}. Check the scheduler."
        if notice.resolved_at is None
        else f"Runs have audited {notice.cluster} until {until}. Earlier steps may still be missing."
    )
    full = f"In full: rebalance-audit runs --missing --warehouse {shlex.quote(warehouse)}"
    return "\n".join(map(_shown, (text, full)))


def notices_text(warehouse: str, texts: Sequence[str]) -> str:
    """The texts of notifications in the order given, and below them how to see one in full."""
    more = [f"... and {len(texts) - _NAMED} more"] if texts[_NAMED:] else []
    full = f"In full: rebalance-audit incidents --warehouse {shlex.quote(warehouse)} --id ID"
    return "\n\n".join([*texts[:_NAMED], *more, _shown(full)])


def notice_text(news: News, backlogs: Mapping[Key, int | None], link: str | None) -> str:
    """The sentence, times, backlog, groups, and advice of one notification. `backlogs`: by group, now."""
    return "\n".join(map(_shown, _lines(news, backlogs, link)))


def _lines(news: News, backlogs: Mapping[Key, int | None], link: str | None) -> Iterator[str]:
    notice, incident = news.notice, news.incident
    # Each part is a text of its own: a headline may begin with a name.
    yield f"{word(_NEWS[notice.event].upper())} {notice.severity} {translated(printable(notice.headline))}"
    groups = f"Group{'' if len(notice.consumer_groups) == 1 else 's'} {names_text(notice.consumer_groups)}"
    id_text = f"Id {notice.incident_id}."
    if incident is None:
        yield f"{_time(notice)} {groups}. {id_text}"
    else:
        now = _backlog_text(incident, backlogs)
        yield " ".join((_time(notice), *cost_texts(incident), f"{groups}: backlog now {now}.", id_text))
        yield f"What to do: {advice_text(incident)}"
    if link is not None:
        yield link


def _backlog_text(incident: Incident, backlogs: Mapping[Key, int | None]) -> str:
    """The backlog of its groups."""
    of_groups = [backlogs.get((incident.cluster, group)) for group in incident.consumer_groups]
    known = known_sum(of_groups)
    return UNKNOWN if known is None else f"{'at least ' if None in of_groups else ''}{count(known, 'message')}"


def _time(notice: Notice) -> str:
    opened, seen = second_text(notice.opened_at), second_text(notice.last_seen_at)
    if notice.event == WITHDRAWN:
        return f"From {opened}: a later audit no longer finds it."
    lasted = duration_text(timedelta(microseconds=notice.last_seen_at - notice.opened_at))
    if notice.event != RESOLVED:
        return f"Since {opened} ({lasted})."
    over = ", ".join(filter(None, ("over", deletion_text(notice.resolution))))
    return f"Was: {lasted}, {over}, from {opened} to {seen}."
