"""The questions that agents ask of a warehouse, one method each, answered as `--json` answers them."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from spark_jobs.api.warehouse import AuditedWarehouse
from spark_jobs.cli.commands.explain import ExplanationDocument, explained
from spark_jobs.cli.commands.incidents import IncidentsDocument, in_order, incidents_document
from spark_jobs.cli.commands.status import StatusDocument, status_document
from spark_jobs.cli.documents import CoverageDocument, coverage_document
from spark_jobs.cli.show_what_if import ComparisonDocument, comparison_document
from spark_jobs.domain.model.intervals import parse_utc
from spark_jobs.errors import UsageError
from spark_jobs.show.message import MessagePlace, message_answer
from spark_jobs.show.text.message_text import MessageDocument, message_document
from spark_jobs.store.read.published import Scope

Group = Annotated[str | None, Field(description="only this consumer group")]
Cluster = Annotated[str | None, Field(description="only needed if two clusters have a group of this name")]
Since = Annotated[str | None, Field(description="a time such as 2026-11-21T02:00Z, in UTC; null: the first audited")]
Until = Annotated[str | None, Field(description="a time, excluded; null: the end of the newest audited step")]
Cases = Annotated[
    list[str], Field(description="options of the command what-if, such as '--members +2' or '--unique-ids'")
]


@dataclass(frozen=True)
class Tools:
    """A public method is a tool: its docstring says what it answers, its types are the schemas of both sides."""

    warehouse: AuditedWarehouse

    def status(self, group: Group = None, cluster: Cluster = None) -> StatusDocument:
        """The newest audited step of every group, the worst first. Is anything wrong now? Owners, backlog, rates, and
        whether more consumers would help (`advice`, `bottleneck`). The data end at `data_until`.
        """
        return status_document(self.warehouse.status(group, cluster=cluster))

    def incidents(
        self,
        group: Group = None,
        cluster: Cluster = None,
        since: Since = None,
        until: Until = None,
        only_open: bool = False,
        rule: Annotated[str | None, Field(description="such as GROUP_OFFLINE")] = None,
        severity: Annotated[str | None, Field(description="ERROR, WARN or INFO")] = None,
        client: Annotated[str | None, Field(description="a part of a client id that incidents name")] = None,
    ) -> IncidentsDocument:
        """Incidents, the worst first: root causes with their symptoms in all groups. What went wrong, since when, why,
        which client is the cause, and is it over? `resolved_at` null: open. Without incidents nothing was wrong only if
        `coverage.is_whole`.
        """
        incidents = self.warehouse.incidents(
            group,
            cluster=cluster,
            since=since,
            until=until,
            is_open=only_open,
            rule=rule,
            severity=severity,
            client=client,
        )
        return incidents_document(in_order(incidents))

    def incident(
        self, incident_id: Annotated[str, Field(description="its id, or the beginning of it")]
    ) -> IncidentsDocument:
        """One incident in full, in the same form as `incidents`."""
        return incidents_document(self.warehouse.incidents(incident_id=incident_id))

    def explain(
        self,
        group: str,
        at: Annotated[str, Field(description="a moment such as 2026-11-21T02:20Z, in UTC")],
        cluster: Cluster = None,
        topic: Annotated[str | None, Field(description="only this topic")] = None,
    ) -> ExplanationDocument:
        """A group at one moment: its members, the owners of queues and why, queues without an owner or with several,
        backlogs, and the findings at that moment. Why did it pile up? `unknown`: sentences about what is not known.
        """
        return explained(self.warehouse, group, at, cluster=cluster, topic=topic)[0]

    def message(
        self,
        topic: str,
        broker_name: str,
        queue_id: int,
        offset: Annotated[int | None, Field(description="its offset in the queue", ge=0)] = None,
        stored_at: Annotated[str | None, Field(description="when it was stored, in UTC, instead of its offset")] = None,
        group: Group = None,
        cluster: Cluster = None,
    ) -> MessageDocument:
        """The outcome of one message in each group that reads its topic: consumed, twice, skipped, lost, waiting, or
        unknown and why; and who owned its queue meanwhile.
        """
        if (offset is None) == (stored_at is None):
            raise UsageError("message takes offset or stored_at, one of them")
        offsets, moment = () if offset is None else (offset,), None if stored_at is None else parse_utc(stored_at)
        place = MessagePlace(topic, (broker_name, queue_id), offsets, moment)
        scope = Scope(None, cluster, group)
        return message_document(message_answer(self.warehouse.stored, scope, place, self.warehouse.progress))

    def what_if(
        self, group: str, cases: Cases, cluster: Cluster = None, since: Since = None, until: Until = None
    ) -> ComparisonDocument:
        """A group's recorded history, and simulations of it with other members, strategies or queues. Would it have
        been better? Without a time: its newest step.
        """
        return comparison_document(self.warehouse.what_if(group, *cases, cluster=cluster, since=since, until=until))

    def coverage(
        self, group: Group = None, cluster: Cluster = None, since: Since = None, until: Until = None
    ) -> CoverageDocument:
        """Missing data: how much of a time was recorded, audited and observed, groups that were not observed whole
        (`not_whole`), and why (`lacks`). Without a time: the newest steps.
        """
        return coverage_document(self.warehouse.coverage(group, cluster=cluster, since=since, until=until))
