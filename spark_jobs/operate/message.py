"""Requests for notifications, and the messages that are sent."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from spark_jobs.domain.incidents.notices import News, Notice
from spark_jobs.domain.incidents.team_routes import TeamRoute


@dataclass(frozen=True)
class NoticeRequest:
    """The name of the default target, the minimum severity that is reported, the routes to other targets, and how many
    of a cluster's newest recorded steps without an audit are reported. `report_url`: of an incident's page, with `{id}`
    for its id. `is_daily`: the default target gets one message about incidents a day, of the day before.
    """

    target: str = "default"
    least: str = "WARN"
    routes: tuple[TeamRoute, ...] = ()
    unaudited_steps: int = 2
    report_url: str | None = None
    is_daily: bool = False

    @property
    def targets(self) -> tuple[str, ...]:
        """The files of the routes, each once, and the name of the default."""
        return tuple(dict.fromkeys((*(route.to for route in self.routes), self.target)))

    def link(self, incident_id: str) -> str | None:
        """The URL of an incident's page; None: not known."""
        return self.report_url and self.report_url.replace("{id}", incident_id)


class NoticeEntry(NamedTuple):
    """One notification of a message, its text, and the URL of its incident's page (None: not known)."""

    news: News
    text: str
    link: str | None = None


@dataclass(frozen=True)
class Message:
    """Notifications of one cluster for one target, open incidents first, the worst first; or of its audits.
    `audited_until`: end of its newest step, or of the day of a digest.
    """

    target: str
    cluster: str
    title: str
    text: str
    entries: tuple[NoticeEntry, ...]
    audited_until: datetime

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Its notifications as they are recorded."""
        return tuple(entry.news.notice for entry in self.entries)
