"""The keys of a configuration file, their types and defaults; and what they come to for one group."""

import hashlib
import json
import re
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from spark_jobs.config.values import (
    GroupThresholds,
    Moment,
    NamePattern,
    ReportUrl,
    RoomPattern,
    RuleName,
    RulePattern,
    StrategyName,
)
from spark_jobs.domain.coverage import COMPLETE_SHARE
from spark_jobs.domain.incidents.team_routes import TeamRoute
from spark_jobs.domain.model.intervals import StepGrid
from spark_jobs.domain.model.silences import Silence
from spark_jobs.domain.model.thresholds import Count, Seconds, Thresholds
from spark_jobs.domain.model.window import HOUR, SECOND, SNAPSHOT_HOLDS, AuditSettings, to_micros
from spark_jobs.domain.rocketmq.strategies import ConfigQueues, StrategySettings
from spark_jobs.errors import IntervalError

#: Keys that no audit depends on.
_OF_NOTIFICATIONS = ("routes", "report_url", "language")
#: YAML gives lists; frozen values hold tuples.
_List = Field(strict=False)


class _Section(BaseModel):
    """A mapping of the file: unknown keys and near-misses of type are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class QueueList(_Section):
    """Queues of one broker that CONFIG gives to every client whose whole id matches `client`."""

    client: NamePattern
    topic: str
    broker: str
    queues: Annotated[tuple[Count, ...], _List]


class MuteEntry(_Section):
    """Findings that count for no exit code and no notification; without `rule`, of every rule."""

    cluster: NamePattern = ".*"
    group: NamePattern = ".*"
    rule: RuleName | None = None
    until: Moment | None = None
    reason: Annotated[str, Field(min_length=1)]


class TeamRouteEntry(TeamRoute):
    """A route whose patterns mean something."""

    cluster: NamePattern = ".*"
    group: NamePattern = ".*"
    rule: RulePattern = ".*"


class GroupEntry(_Section):
    """Settings of the groups that match; without `group`, of every group of the clusters that match."""

    cluster: NamePattern = ".*"
    group: NamePattern | None = None
    strategy: StrategyName | None = None
    virtual_node_count: Count | None = None
    rooms: Annotated[tuple[str, ...], _List] | None = None
    broker_room: RoomPattern | None = None
    client_room: RoomPattern | None = None
    config_queues: Annotated[tuple[QueueList, ...], _List] | None = None
    thresholds: GroupThresholds = Field(default_factory=dict)


class Quality(_Section):
    """Limits of the data-quality gate."""

    max_quarantined_percent: Annotated[float, Field(ge=0, le=100)] = 1.0
    seen_percent: Annotated[float, Field(ge=0, le=100)] = 90.0
    #: Read, as files may have it, and without effect: an offset beyond the end is a finding.
    offset_tolerance: Count = 10_000
    usual_days: Annotated[Count, Field(ge=1)] = 14
    usual_deviations: Annotated[float, Field(gt=0)] = 5.0


class Configuration(_Section):
    """The effective configuration of a run: what the file says over the defaults."""

    step_seconds: Seconds = 3600
    cadence_seconds: Seconds = 20
    max_gap_seconds: Seconds | None = None
    sightings_days: Annotated[Count, Field(le=365)] = 7
    complete_share: Annotated[float, Field(ge=0, le=1)] = COMPLETE_SHARE
    thresholds: Thresholds = Thresholds()
    quality: Quality = Quality()
    groups: Annotated[tuple[GroupEntry, ...], _List] = ()
    mutes: Annotated[tuple[MuteEntry, ...], _List] = ()
    routes: Annotated[tuple[TeamRouteEntry, ...], _List] = ()
    #: Of an incident's page, for notifications.
    report_url: ReportUrl | None = None
    #: Of screens, notifications and pages; a command checks that there is such a one.
    language: Annotated[str, Field(min_length=1)] = "en"

    @model_validator(mode="after")
    def _check_times(self) -> Self:
        try:
            _ = self.grid
        except IntervalError as error:
            raise ValueError(f"step_seconds: {error}") from None
        for name, seconds, what in (
            ("step_seconds", self.step_seconds, "a step would hold no snapshot"),
            ("max_gap_seconds", self.max_gap_seconds, "a gap would follow every snapshot"),
        ):
            if seconds is not None and seconds < self.cadence_seconds:
                shorter = f"is shorter than cadence_seconds ({self.cadence_seconds})"
                raise ValueError(f"{name} ({seconds}) {shorter}: {what}")
        return self

    @property
    def grid(self) -> StepGrid:
        """The audit steps of the warehouse."""
        return StepGrid(timedelta(seconds=self.step_seconds))

    @property
    def cadence(self) -> timedelta:
        """Time between two snapshots of the same thing."""
        return timedelta(seconds=self.cadence_seconds)

    @property
    def max_gap(self) -> timedelta:
        """How long a state holds without another snapshot; 3 × collection interval unless set."""
        return timedelta(seconds=self.max_gap_seconds) if self.max_gap_seconds else SNAPSHOT_HOLDS * self.cadence

    @property
    def sightings(self) -> timedelta:
        """How far before a step it counts that a group was captured, or that a route named a broker."""
        return timedelta(days=self.sightings_days)

    @property
    def warm_up(self) -> timedelta:
        """How far before a step its states are replayed, so that what lasts is told from what is new."""
        return timedelta(microseconds=self.audit_settings.warm_up)

    @property
    def look_back(self) -> timedelta:
        """How far before a step snapshots are read: the warm-up, and the state that held when it began."""
        return timedelta(microseconds=self.audit_settings.look_back)

    @property
    def audit_settings(self) -> AuditSettings:
        """The part that the kernel needs."""
        max_gap = self.max_gap_seconds or SNAPSHOT_HOLDS * self.cadence_seconds
        step, cadence = self.step_seconds * SECOND, self.cadence_seconds * SECOND
        return AuditSettings(
            step, cadence, max_gap * SECOND, self.thresholds, sightings=self.sightings_days * 24 * HOUR
        )

    def canonical_json(self) -> str:
        """One line of sorted keys and effective values, without what only notifications use."""
        return json.dumps(self._values(*_OF_NOTIFICATIONS), sort_keys=True, separators=(",", ":"))

    def hash(self) -> str:
        """SHA-256 of `canonical_json` without what answers go by, in hexadecimal: equal for files with equal audits."""
        values = json.dumps(self._values(*_OF_NOTIFICATIONS, "complete_share"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(values.encode()).hexdigest()

    def _values(self, *without: str) -> dict[str, Any]:
        values: dict[str, Any] = self.model_dump(mode="json", exclude_none=True, exclude={*without})
        return values | {"max_gap_seconds": int(self.max_gap.total_seconds())}


def audit_settings(configuration: Configuration, cluster: str, group: str) -> AuditSettings:
    """The settings of a group's audit: thresholds in the precedence of `strategy_settings`, silences in file order."""
    thresholds: dict[str, Any] = configuration.thresholds.model_dump()
    for entry in _entries(configuration, cluster, group):
        thresholds |= entry.thresholds
    silences = (
        Silence(mute.rule, to_micros(mute.until) if mute.until else None, mute.reason)
        for mute in configuration.mutes
        if re.fullmatch(mute.cluster, cluster) and re.fullmatch(mute.group, group)
    )
    return replace(configuration.audit_settings, thresholds=Thresholds(**thresholds), silences=tuple(silences))


def strategy_settings(configuration: Configuration, cluster: str, group: str) -> StrategySettings:
    """The strategy's settings of a group: defaults < entries without `group` < entries with `group`; among equals the
    later entry wins, field by field; a list replaces a list.
    """
    settings: dict[str, Any] = {"virtual_node_count": 10, "config_queues": ()}
    for entry in _entries(configuration, cluster, group):
        settings |= {key: value for key, value in entry if value is not None}
    rooms = settings.get("rooms")
    return StrategySettings(
        strategy=settings.get("strategy"),
        virtual_node_cnt=settings["virtual_node_count"],
        rooms=None if rooms is None else frozenset(rooms),
        broker_room=settings.get("broker_room"),
        client_room=settings.get("client_room"),
        config_queues=tuple(
            ConfigQueues(entry.client, entry.topic, entry.broker, entry.queues) for entry in settings["config_queues"]
        ),
    )


def _entries(configuration: Configuration, cluster: str, group: str) -> list[GroupEntry]:
    """Those that match, the weakest first."""
    matching = [
        entry
        for entry in configuration.groups
        if re.fullmatch(entry.cluster, cluster) and (entry.group is None or re.fullmatch(entry.group, group))
    ]
    return sorted(matching, key=lambda entry: entry.group is not None)
