"""How expectations are evaluated inside Great Expectations: one metric for a whole suite, three kinds of
expectation.

Great Expectations' own metrics are one Spark job or more for each expectation; this one is given what
was counted where the rows are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pandas as pd
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
from great_expectations.render.components import LegacyRendererType, RenderedStringTemplateContent
from great_expectations.render.renderer.renderer import renderer

from expectations.suite import KEYS_ARE_UNIQUE
from spark_jobs.pipeline.quality.checks import NULL_PERCENT, QUARANTINED_PERCENT, ROW_COUNT, SEEN_PERCENT
from spark_jobs.pipeline.quality.facts import BROKEN, EXAMPLES, NULLS, REJECTED, ROWS, SERIES, SPANS, STEP

_METRIC = "table.step_facts"
#: The one column of a batch.
FACTS = "facts"


class StepFacts(TableMetricProvider):
    """The batch: what was counted of a table, step by step."""

    metric_name = _METRIC
    value_keys = ()

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls,  # noqa: N805 - a metric function is bound to its class by the decorator
        execution_engine: PandasExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        **_: object,
    ) -> list[dict[str, Any]]:
        batch, _domain, _values = execution_engine.get_compute_domain(metric_domain_kwargs, MetricDomainTypes.TABLE)
        return list(batch[FACTS])


def as_batch(steps: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The facts of a table's steps as Great Expectations is given them: one row per step."""
    return pd.DataFrame({FACTS: pd.Series(list(steps), dtype=object)})


class _OfSteps(BatchExpectation):
    """Evaluated step by step. `name` and `says` are the words of it."""

    metric_dependencies: ClassVar = (_METRIC,)
    domain_keys: ClassVar = ("batch_id",)
    name: str
    says: str

    def _looked_at(self, steps: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """The steps that it is about, of those that have rows."""
        return steps

    def _judged(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """`success`, `observed` and, if it is about single rows, `unexpected` of one step."""
        raise NotImplementedError

    def _validate(self, metrics: dict[str, Any], *_: object, **__: object) -> dict[str, Any]:
        steps = [
            {STEP: step[STEP], ROWS: step[ROWS], EXAMPLES: step.get(EXAMPLES, {}).get(self.name, [])}
            | self._judged(step)
            for step in self._looked_at(metrics[_METRIC])
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


class ExpectRowsToKeep(_OfSteps):
    """Every row keeps the expectation of the suite with this name."""

    def _judged(self, step: Mapping[str, Any]) -> dict[str, Any]:
        broken = step[BROKEN][self.name]
        return {"success": broken == 0, "observed": broken, "unexpected": broken}


class ExpectStepsWithin(_OfSteps):
    """`checks.StepsWithin`."""

    fact: str
    column: str | None = None
    cadence: int = 1
    bounds: dict[str, list[float | None]]

    def _looked_at(self, steps: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        seen = {step[STEP]: step for step in steps}
        named = [seen.get(start, {STEP: start, ROWS: 0}) for start in self.bounds]
        return [step for step in named if step[ROWS] or self.fact == ROW_COUNT]

    def _judged(self, step: Mapping[str, Any]) -> dict[str, Any]:
        observed = self._observed(step)
        lowest, highest = self.bounds[step[STEP]]
        return {
            "success": (lowest is None or observed >= lowest) and (highest is None or observed <= highest),
            "observed": observed,
        }

    def _observed(self, step: Mapping[str, Any]) -> float:
        rows: int = step[ROWS]
        if self.fact == ROW_COUNT:
            return rows
        if self.fact == SEEN_PERCENT:
            return 100 * rows / (int(step[SERIES]) + int(step[SPANS]) / self.cadence)
        if self.fact == QUARANTINED_PERCENT:
            return 100 * (int(step[REJECTED]) + int(step[BROKEN][KEYS_ARE_UNIQUE.name])) / rows
        return 100 * int(step[NULLS][self.fact.removeprefix(NULL_PERCENT)]) / rows


class ExpectAsPublished(_OfSteps):
    """`checks.AsPublished`."""

    unchanged: dict[str, bool]

    def _looked_at(self, steps: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        rows = {step[STEP]: step[ROWS] for step in steps}
        return [{STEP: start, ROWS: rows.get(start, 0)} for start in self.unchanged]

    def _judged(self, step: Mapping[str, Any]) -> dict[str, Any]:
        return {"success": self.unchanged[step[STEP]], "observed": step[ROWS]}
