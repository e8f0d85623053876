"""What a rule is: how it is explained, and how it looks at an audited step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from schemas.table import Table
from spark_jobs.config import Configuration
from spark_jobs.replay.history import Changes
from spark_jobs.replay.sources import Sources
from spark_jobs.replay.steps import StepWindow, Transformation


@dataclass(frozen=True)
class Audited:
    """What rules look at. Intervals reach back over the warm-up: a condition's age is measured across steps.

    `intervals`: `moves.with_moves`; `states`: `replayed_states`; `owned`: `owned_queues`; `cures`: `cures`;
    `rebalances`: what they moved, `rebalances.rebalances`; `loads`: `loads.member_loads`; `looks`:
    `looks.client_looks`; `progress`: `queue_progress`, inside the step only.
    """

    sources: Sources
    changes: Changes
    intervals: DataFrame
    states: DataFrame
    owned: DataFrame
    cures: DataFrame
    rebalances: DataFrame
    loads: DataFrame
    looks: DataFrame
    progress: DataFrame
    window: StepWindow
    configuration: Configuration
    keep: Transformation


@dataclass(frozen=True)
class Cause:
    """Why a finding is there: when this cause is given, and what to do then."""

    when: str
    advice: str


@dataclass(frozen=True, eq=False)
class Rule:
    """One rule: its page in docs/findings.md, and its touches in the common shape (`touches.touches`).

    `example` is what it finds in the recording that ships with the project. `needs` are the optional sources
    without which the rule is not evaluated.
    """

    name: str
    meaning: str
    decided_by: str
    causes: Mapping[str, Cause]
    example: str
    touches: Callable[[Audited], DataFrame]
    needs: tuple[Table, ...] = field(default=())
