"""How expectations are judged inside Great Expectations: one metric for a whole suite, and two kinds of expectation.

Great Expectations' own metrics are one Spark job or more for each expectation; this one is one pass over the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any, ClassVar

from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
from great_expectations.render.components import LegacyRendererType, RenderedStringTemplateContent
from great_expectations.render.renderer.renderer import renderer

from expectations import SUITES
from expectations.suite import KEYS_ARE_UNIQUE, Suite
from spark_jobs.quality.facts import BROKEN, NULLS, REJECTED, ROWS, SERIES, STEP, examples, step_facts

_METRIC = "table.step_facts"
_BY_NAME: Mapping[str, Suite] = {suite.table.name: suite for suite in SUITES}
#: What `ExpectStepsWithin` can look at; a column's nulls are `NULL_PERCENT` and its name.
ROW_COUNT, SEEN_PERCENT, QUARANTINED_PERCENT, NULL_PERCENT = "row_count", "seen", "quarantined", "null "


class StepFacts(TableMetricProvider):
    """`steps`: what `facts.step_facts` says, in order, steps as ISO 8601; `examples`: keys of rows that break an
    expectation, by its name, each with its step.
    """

    metric_name = _METRIC
    value_keys = ("suite",)

    @metric_value(engine=SparkDFExecutionEngine)
    def _spark(
        cls,  # noqa: N805 - a metric function is bound to its class by the decorator
        execution_engine: SparkDFExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        **_: object,
    ) -> dict[str, Any]:
        rows, _domain, _values = execution_engine.get_compute_domain(metric_domain_kwargs, MetricDomainTypes.TABLE)
        suite = _BY_NAME[metric_value_kwargs["suite"]]
        steps = [step.asDict(recursive=True) for step in step_facts(suite, rows).orderBy(STEP).collect()]
        broken = sorted({name for step in steps for name, count in step[BROKEN].items() if count})
        keys = {name: [(_iso(row), row["key"]) for row in examples(suite, rows, name).collect()] for name in broken}
        for step in steps:
            step[STEP] = _iso(step)
        return {"steps": steps, "examples": keys}


def _iso(of: Any) -> str:
    text: str = of[STEP].replace(tzinfo=UTC).isoformat()
    return text


class _OfSteps(BatchExpectation):
    """Judged step by step. `name` and `says` are the words of it, `suite` the table's name."""

    metric_dependencies: ClassVar = (_METRIC,)
    domain_keys: ClassVar = ("batch_id",)
    success_keys: ClassVar = ("suite",)
    suite: str
    name: str
    says: str

    def _looked_at(self, steps: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """The steps that it is about, of those that have rows."""
        return steps

    def _judged(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """`success`, `observed` and, if it is about single rows, `unexpected` of one step."""
        raise NotImplementedError

    def _validate(self, metrics: dict[str, Any], *_: object, **__: object) -> dict[str, Any]:
        facts = metrics[_METRIC]
        found = facts["examples"].get(self.name, [])
        steps = [
            {STEP: one[STEP], ROWS: one[ROWS], "examples": [key for step, key in found if step == one[STEP]]}
            | self._judged(one)
            for one in self._looked_at(facts["steps"])
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
                "partial_unexpected_list": [key for _, key in found],
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
    """In each of the steps that `bounds` names, a fact about all rows lies inside its bounds (lowest, highest; None:
    none). A step without rows has a row count, 0, and no shares.

    `per_series` is how many rows each series has in a step if none was missed.
    """

    fact: str
    column: str | None = None
    per_series: float = 1
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
            return 100 * rows / (int(step[SERIES]) * self.per_series)
        if self.fact == QUARANTINED_PERCENT:
            return 100 * (int(step[REJECTED]) + int(step[BROKEN][KEYS_ARE_UNIQUE.name])) / rows
        return 100 * int(step[NULLS][self.fact.removeprefix(NULL_PERCENT)]) / rows


class ExpectAsPublished(_OfSteps):
    """In each of the steps that `unchanged` names, the table still is what the last run published (true)."""

    unchanged: dict[str, bool]

    def _looked_at(self, steps: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        rows = {step[STEP]: step[ROWS] for step in steps}
        return [{STEP: start, ROWS: rows.get(start, 0)} for start in self.unchanged]

    def _judged(self, step: Mapping[str, Any]) -> dict[str, Any]:
        return {"success": self.unchanged[step[STEP]], "observed": step[ROWS]}
