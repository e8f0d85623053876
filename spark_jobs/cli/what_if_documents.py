"""A history played otherwise, and the size that a group needs, for `as_json`; null is unknown."""

import dataclasses
from collections.abc import Sequence
from math import isinf, isnan
from typing import Any

from spark_jobs.cli.show_what_if import FleetRow
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.statuses import LagQuality
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.what_if.outcome import CaseOutcome, Comparison
from spark_jobs.domain.what_if.pace import MemberPace
from spark_jobs.domain.what_if.plan import Plan
from spark_jobs.domain.what_if.size import Size
from spark_jobs.show.what_if import GroupSteps


def comparison_document(group: GroupSteps, compared: Comparison) -> dict[str, Any]:
    """A comparison for `as_json`; curves are messages at each of the times, null is unknown."""
    return _of_group(group) | {
        "error": compared.error,
        "backlog_max": group.backlog_max,
        "times": [from_micros(moment) for moment in compared.times],
        "recorded": _outcome(compared.recorded),
        "cases": [_outcome(outcome) for outcome in compared.cases],
        "members": [_member_document(pace) for pace in compared.members],
    }


def _member_document(pace: MemberPace) -> dict[str, Any]:
    """JSON knows no infinity: a listener that takes no time has no limit, null, and a response time of 0."""
    return pace._asdict() | {"listener": None if pace.listener is None or isinf(pace.listener) else pace.listener}


def _outcome(outcome: CaseOutcome) -> dict[str, Any]:
    fields = {field.name: getattr(outcome, field.name) for field in dataclasses.fields(outcome)}
    values = None if outcome.curve is None else outcome.curve.tolist()
    curve = values and [None if isnan(value) else round(value, 1) for value in values]
    return fields | {"curve": curve, "scaled": outcome.scaled and outcome.scaled._asdict()}


def _named(group: GroupSteps) -> dict[str, Any]:
    return {"cluster": group.cluster, "consumer_group": group.consumer_group, "interval": group.interval}


def _of_group(group: GroupSteps) -> dict[str, Any]:
    quality = LagQuality.UNFILTERED if group.is_filtered else LagQuality.MEASURED
    return _named(group) | {"lag_quality": quality, "new_room": group.configured.new_room}


def plan_document(group: GroupSteps, plan: Plan) -> dict[str, Any]:
    """A plan for `as_json`."""
    sizes = [
        planned._asdict() | {"idle": planned.idle, "members": [member._asdict() for member in planned.members]}
        for planned in plan.sizes
    ]
    return _of_group(group) | {"at": from_micros(plan.at), "sizes": sizes}


def size_document(group: GroupSteps, needed: Size) -> dict[str, Any]:
    """For `as_json`; a goal that no group reaches has null as its group."""
    return _named(group) | {
        "members": needed.members,
        "queues": needed.queues,
        "peak_per_second": needed.peak,
        "observed_share": needed.observed_share,
        "reason": needed.reason,
        "today": needed.today._asdict(),
        "needs": [
            {"goal": goal.goal, "wanted": goal.wanted, "group": goal.group and goal.group._asdict()}
            for goal in needed.needs
        ],
    }


def fleet_document(interval: Interval, needs: Sequence[FleetRow]) -> dict[str, Any]:
    """For `as_json`: one object per group; null is unknown, `needed` also where no number of members is enough."""
    groups = [{"cluster": cluster, "consumer_group": group} | need._asdict() for cluster, group, need in needs]
    return {"interval": interval, "groups": groups}
