"""Answers of the API in a Python shell: names that `dir` shows, a short `repr`, a readable `str`. No Spark."""

import inspect
import re
from typing import Any

import pyarrow as pa
import pytest

import rebalance_audit as ra
from spark_jobs import errors
from spark_jobs.installation import ROOT
from spark_jobs.pipeline.run_record import RunRecord
from spark_jobs.show.tabular import PublishedRows

HOUR = "2026-11-21T02:00Z/2026-11-21T03:00Z"


@pytest.fixture(scope="module")
def warehouse(example_warehouse: str) -> ra.AuditedWarehouse:
    return ra.open(example_warehouse)


@pytest.fixture(scope="module")
def answers(warehouse: ra.AuditedWarehouse) -> dict[str, Any]:
    group = "payment-service"
    return {
        "status": warehouse.status(),
        "incidents": warehouse.incidents(),
        "findings": warehouse.findings(),
        "rows": warehouse.rows("allocations", group),
        "trends": warehouse.trends(),
        "explain": warehouse.explain(group, "2026-11-21T02:10"),
        "what_if": warehouse.what_if(group, unique_ids=True),
        "plan": warehouse.plan(group, 1),
        "size": warehouse.size(group, backlog=100),
        "fleet_size": warehouse.fleet_size(0.7),
        "report": warehouse.report(group),
        "warehouse": warehouse,
        "run": RunRecord({"run_id": "r1", "outcome": "published"}, [], {"ERROR": 1, "WARN": 2}, ["AVG was assumed"]),
    }


def test_the_shell_shows_the_names_of_the_api() -> None:
    assert (
        {"open", "AuditedWarehouse", "NothingPublishedError", "__version__"}
        <= {*dir(ra)}
        == {*ra.__all__, "__version__"}
    )
    assert all(getattr(ra, name) for name in dir(ra))


def test_every_error_can_be_imported_from_the_package() -> None:
    own = {name for name, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, Exception)}
    assert {name for name in ra.__all__ if name.endswith("Error")} == own
    assert all(getattr(ra, name) is getattr(errors, name) for name in own)
    texts = [(ROOT / "docs" / "api.md").read_text(encoding="utf-8"), *map(inspect.getdoc, _questions())]
    named = {name for text in texts for name in re.findall(r"\b[A-Z]\w+Error\b", text or "")} - {"TypeError"}
    assert "NothingPublishedError" in named <= own


def _questions() -> list[object]:
    return [ra.AuditedWarehouse, ra.open, *vars(ra.AuditedWarehouse).values()]


def test_every_answer_has_a_short_repr_and_a_readable_text(answers: dict[str, Any]) -> None:
    for question, answer in answers.items():
        text = str(answer)
        assert repr(answer) == f"<{type(answer).__name__}: {text.splitlines()[0]}>", question
        assert len(repr(answer)) < 120, question
        assert len(text.splitlines()) < 60, question
        assert not re.search(r"\w\(\w+=|array\(|datetime\.|<html", text), question


def test_what_tables_say(answers: dict[str, Any]) -> None:
    assert str(answers["status"]).startswith("17 rows\ncluster=demo consumer_group=")
    first, *_, last = str(answers["trends"]).splitlines()
    assert (first, last) == ("68 rows", "and 48 more: see to_arrow()")
    assert "evidence" not in str(answers["findings"]), "nested columns are in the table only"
    row = pa.table({"a": ["b c", "\x1b[31m"], "n": [None, 1], "s": [{"x": 1}, None]})
    assert str(PublishedRows(row)) == '2 rows\na="b c" n=\na="\\u001b[31m" n=1'


def test_what_other_answers_say(answers: dict[str, Any]) -> None:
    assert str(answers["explain"]).startswith("payment-service (cluster demo) at 2026-11-21T02:10Z\n")
    title, happened, case = str(answers["what_if"]).splitlines()
    assert title == f"payment-service in {HOUR} (UTC)"
    assert happened.startswith("really happened: highest backlog 6,123, last ")
    assert case.startswith("--unique-ids: highest backlog 8, last ")
    assert case.endswith(", 0.0 queues without owner, 0.0 owned twice")
    assert str(answers["plan"]).splitlines()[1:] == [
        "-1: 1 member, 0 idle, 0 queues without owner, 0 owned twice",
        "+0: 2 members, 0 idle, 0 queues without owner, 0 owned twice",
        "+1: 3 members, 0 idle, 0 queues without owner, 0 owned twice",
    ]
    assert re.search(
        r"\(UTC\): 2 members, 8 queues\nutilization 0\.7: \d+ members?\nbacklog 100: ", str(answers["size"])
    )
    assert re.search(
        r"^17 groups in .*\n(demo \S+: [A-Z_]+, members \S+, needed \S+(\n|$)){17}", str(answers["fleet_size"])
    )
    assert re.fullmatch(r"[\d,]+ characters of HTML: see save\(\)", str(answers["report"]))
    assert str(answers["run"]) == "run r1 published: 1 ERROR, 2 WARN\nwarning: AVG was assumed"
