"""The dashboard and the alerts that ship with the project ask only for what is exported."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest

from spark_jobs.domain.coverage import Coverage
from spark_jobs.show.metrics import read_gauge, recorder_registry, registry
from tests.unit.test_incidents import incident
from tests.unit.test_status import NEW, group

EXAMPLES = Path(__file__).parents[3] / "examples"
DASHBOARD = json.loads((EXAMPLES / "grafana-dashboard.json").read_text(encoding="utf-8"))
ALERTS = yaml.safe_load((EXAMPLES / "prometheus-rules.yml").read_text(encoding="utf-8"))
RULES = [rule for rules in ALERTS["groups"] for rule in rules["rules"]]
_LABEL_VALUES = re.compile(r"label_values\((.+), (\w+)\)")


def panels() -> list[dict[str, Any]]:
    return list(DASHBOARD["panels"])


def expressions() -> Iterator[tuple[str, str]]:
    """(where, PromQL) of every panel, alert and variable."""
    for panel in panels():
        yield from ((panel["title"], target["expr"]) for target in panel["targets"])
    yield from ((rule["alert"], rule["expr"]) for rule in RULES)
    for variable in variables().values():
        if found := _LABEL_VALUES.fullmatch(variable["query"]["query"]):
            yield variable["name"], f"count by ({found[2]}) ({found[1]})"


def variables() -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in DASHBOARD["templating"]["list"] if one["type"] == "query"}


def registries() -> tuple[CollectorRegistry, CollectorRegistry]:
    """Every metric but that of a process that serves them."""
    known = group("g", retention_left_seconds=60.0, step_end=NEW + timedelta(hours=1), observed=1.0, backlog_max=9)
    known |= {"oldest_message_ms": 1500, "unassigned_queue_seconds": 60.0}
    covered = Coverage(None, [], data_until={"eu": NEW}, audited_until={"eu": NEW})
    return registry([known], [incident(resolved_at=None)], covered), recorder_registry(0.0)


def exported() -> dict[str, set[str]]:
    """The labels of every metric."""
    families = [*(one for gauges in registries() for one in gauges.collect()), read_gauge(0.0)]
    return {one.name: set(one.samples[0].labels) for one in families}


def asked(expression: str) -> tuple[set[str], set[str]]:
    """The metrics and the labels of an expression."""
    metrics, labels = set[str](), set[str]()

    def visit(node: Any) -> bool:
        if isinstance(node, promql_parser.VectorSelector):
            metrics.add(node.name or "")
            labels.update(matcher.name for matcher in node.matchers.matchers)
        if isinstance(node, promql_parser.AggregateExpr) and node.modifier is not None:
            labels.update(node.modifier.labels)
        return True

    promql_parser.walk(promql_parser.parse(expression), visit)
    return metrics, labels


def kept(expression: str) -> set[str]:
    """The labels of its result: those of its metric, or those that its first aggregation keeps."""
    (metric,) = asked(expression)[0]
    found = [exported()[metric]]

    def visit(node: Any) -> bool:
        if isinstance(node, promql_parser.AggregateExpr) and str(node.op) not in ("topk", "bottomk"):
            found.append(set(node.modifier.labels) if node.modifier is not None else set())
        return True

    promql_parser.walk(promql_parser.parse(expression), visit)
    return set.intersection(*found)


@pytest.mark.parametrize(("where", "expression"), [*expressions()])
def test_only_what_is_exported_is_asked_for(where: str, expression: str) -> None:
    metrics, labels = asked(expression)
    known = exported()
    assert metrics, where
    assert metrics <= known.keys()
    assert all(labels <= known[metric] for metric in metrics)
    assert set(re.findall(r"\$\{?(\w+)", expression)) <= variables().keys()


def test_the_dashboard_shows_what_is_exported() -> None:
    shown = {metric for _, expression in expressions() for metric in asked(expression)[0]}
    assert exported().keys() - shown == {
        "rebalance_audit_queues",
        "rebalance_audit_backlog_unknown_queues",
        "rebalance_audit_open_incident_groups",
    }


def test_legends_and_annotations_name_labels_that_are_there() -> None:
    """Of an aggregation, those that it keeps."""
    told = [(target["expr"], target["legendFormat"]) for panel in panels() for target in panel["targets"]]
    told += [(rule["expr"], " ".join(rule["annotations"].values())) for rule in RULES]
    for expression, text in told:
        named = set(re.findall(r"{{(\w+)}}", text)) | set(re.findall(r"\$labels\.(\w+)", text))
        assert named <= kept(expression), expression


@pytest.mark.skipif(
    shutil.which("promtool") is None,
    reason="promtool is missing: go install github.com/prometheus/prometheus/cmd/promtool@latest",
)
def test_promtool_accepts_the_alerts_and_the_metrics() -> None:
    subprocess.run(["promtool", "check", "rules", EXAMPLES / "prometheus-rules.yml"], check=True)
    for gauges in registries():
        subprocess.run(["promtool", "check", "metrics"], input=generate_latest(gauges), check=True)


def test_panels_do_not_lie_over_each_other() -> None:
    """24 columns; every panel asks the chosen data source and has an id of its own."""
    cells: set[tuple[int, int]] = set()
    for panel in panels():
        place = panel["gridPos"]
        of_panel = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & of_panel, panel["title"]
        assert max(x for x, _ in of_panel) < 24
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        cells |= of_panel
    assert len({panel["id"] for panel in panels()}) == len(panels())
