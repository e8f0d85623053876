"""Expectations of Great Expectations whose batch is what was counted of a table: one row per step.

They need no metric: Great Expectations' own are one Spark job or more for each expectation.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pandas as pd
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.render.components import LegacyRendererType, RenderedStringTemplateContent
from great_expectations.render.renderer.renderer import renderer

from expectations.suite import KEYS_ARE_UNIQUE
from spark_jobs.pipeline.quality.facts import BROKEN, CLUSTERS, EXAMPLES, NULLS, REJECTED, ROWS, SERIES, SPANS, STEP

#: The one column of a batch.
FACTS = "facts"


def as_batch(steps: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The facts of a table's steps as Great Expectations is given them: one row per step."""
    return pd.DataFrame({FACTS: pd.Series(list(steps), dtype=object)})


class OfSteps(BatchExpectation):
    """Evaluated step by step. `name` and `says` are the words of it. `is_of_clusters`: it is about each cluster."""

    domain_keys: ClassVar = ("batch_id",)
    is_of_clusters: ClassVar = False
    name: str
    says: str

    def _looked_at(self, steps: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """The steps that it is about, of those that have rows."""
        return steps

    def _evaluated(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """`success`, `observed` and, if it is about single rows, `unexpected` of one step."""
        raise NotImplementedError

    def _failing_clusters(self, step: Mapping[str, Any]) -> list[str]:
        clusters = step[CLUSTERS] if self.is_of_clusters else {}
        return [name for name, of_cluster in clusters.items() if not self._evaluated(of_cluster)["success"]]

    def _validate(
        self,
        metrics: dict[str, Any],  # noqa: ARG002 - it has none
        runtime_configuration: dict[str, Any] | None = None,  # noqa: ARG002
        execution_engine: Any = None,
    ) -> dict[str, Any]:
        steps = [
            {STEP: step[STEP], ROWS: step[ROWS], EXAMPLES: step.get(EXAMPLES, {}).get(self.name, [])}
            | self._evaluated(step)
            | {CLUSTERS: self._failing_clusters(step)}
            for step in self._looked_at([*execution_engine.get_domain_records({})[FACTS]])
        ]
        rows, unexpected = sum(step[ROWS] for step in steps), sum(step.get("unexpected") or 0 for step in steps)
        failed = [step for step in steps if not step["success"]]
        observed = "; ".join(f"{step[STEP]}: {step['observed']:g}" for step in failed[:5])
        return {
            "success": not failed,
            "result": {
                "observed_value": f"{unexpected} of {rows} rows break it" if unexpected else observed or "as expected",
                "element_count": rows,
                "unexpected_count": unexpected,
                "unexpected_percent": 100 * unexpected / rows if rows else 0.0,
                "partial_unexpected_list": [key for step in steps for key in step[EXAMPLES]],
                "details": {"steps": steps},
            },
        }

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    def _prescriptive_renderer(
        cls,
        configuration: Any = None,
        result: Any = None,
        runtime_configuration: Any = None,  # noqa: ARG003
    ) -> list[RenderedStringTemplateContent]:
        expectation = configuration or result.expectation_config
        column = expectation.kwargs.get("column")
        template = {
            "template": "$name ($severity): $says",
            "params": {
                "name": expectation.kwargs["name"] + (f"({column})" if column else ""),
                "severity": expectation.severity.value,
                "says": expectation.kwargs["says"],
            },
            "styling": {"params": {"name": {"classes": ["badge", "badge-secondary"]}}},
        }
        return [RenderedStringTemplateContent(content_block_type="string_template", string_template=template)]


class ExpectRowsToKeep(OfSteps):
    """Every row keeps the rule of the table that has this name."""

    is_of_clusters: ClassVar = True

    def _evaluated(self, step: Mapping[str, Any]) -> dict[str, Any]:
        broken = step[BROKEN][self.name]
        return {"success": broken == 0, "observed": broken, "unexpected": broken}


class _StepsWithin(OfSteps):
    """In each of the steps that `bounds` names (ISO 8601), a fact about all rows lies inside its bounds (lowest,
    highest; None: none). A step without rows has none, unless `of_empty_steps`.
    """

    of_empty_steps: ClassVar = False
    bounds: dict[str, list[float | None]]

    def _looked_at(self, steps: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        seen = {step[STEP]: step for step in steps}
        named = [seen.get(start, {STEP: start, ROWS: 0}) for start in self.bounds]
        return [step for step in named if step[ROWS] or self.of_empty_steps]

    def _evaluated(self, step: Mapping[str, Any]) -> dict[str, Any]:
        observed = self._observed(step)
        lowest, highest = self.bounds[step[STEP]]
        return {
            "success": (lowest is None or observed >= lowest) and (highest is None or observed <= highest),
            "observed": observed,
        }

    def _observed(self, step: Mapping[str, Any]) -> float:
        raise NotImplementedError


class ExpectFewRowsToBeQuarantined(_StepsWithin):
    """In every cluster, the percentage of a step's rows that are not used lies inside its bounds; observed is the
    highest.
    """

    is_of_clusters: ClassVar = True

    def _observed(self, step: Mapping[str, Any]) -> float:
        clusters = step.get(CLUSTERS, {}).values() or [step]
        return float(max(100 * (part[REJECTED] + part[BROKEN][KEYS_ARE_UNIQUE.name]) / part[ROWS] for part in clusters))


class ExpectCadenceToBeKept(_StepsWithin):
    """The percentage of the snapshots that are there, of one every `cadence` (microseconds) from the first to the last
    of each series, lies inside its bounds.
    """

    cadence: int

    def _observed(self, step: Mapping[str, Any]) -> float:
        return float(100 * step[ROWS] / (step[SERIES] + step[SPANS] / self.cadence))


class ExpectRowCountToBeUsual(_StepsWithin):
    """The number of a step's rows, also of one without any, lies inside its bounds."""

    of_empty_steps: ClassVar = True

    def _observed(self, step: Mapping[str, Any]) -> float:
        return float(step[ROWS])


class ExpectNullPercentToBeUsual(_StepsWithin):
    """The percentage of a step's rows in which the `column` is null lies inside its bounds."""

    column: str

    def _observed(self, step: Mapping[str, Any]) -> float:
        return float(100 * step[NULLS][self.column] / step[ROWS])


class ExpectContentToBeAsPublished(OfSteps):
    """In each of the steps that `unchanged` names (ISO 8601), the table is what the last run published (true)."""

    unchanged: dict[str, bool]

    def _looked_at(self, steps: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        rows = {step[STEP]: step[ROWS] for step in steps}
        return [{STEP: start, ROWS: rows.get(start, 0)} for start in self.unchanged]

    def _evaluated(self, step: Mapping[str, Any]) -> dict[str, Any]:
        return {"success": self.unchanged[step[STEP]], "observed": step[ROWS]}
