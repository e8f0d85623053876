"""The Python API: its page and its notebook run on the audited recording, and its tables are typed."""

import ast
import doctest
import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import rebalance_audit
from spark_jobs.api.warehouse import AuditedWarehouse, open_warehouse
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import NothingPublishedError, WarehouseError
from tests.spark.recording.conftest import EXAMPLE, RECORDING, ROOT, Audited

pytestmark = pytest.mark.skipif(RECORDING != EXAMPLE, reason="the answers are those of the recording of the project")

HOUR = Interval.parse("2026-11-21T02:00/2026-11-21T03:00")


@pytest.fixture
def warehouse(audited: Audited) -> AuditedWarehouse:
    return open_warehouse(audited.warehouse.location)


@pytest.fixture
def beside_warehouse(audited: Audited, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(audited.warehouse.location).parent)


@pytest.mark.slow
@pytest.mark.usefixtures("beside_warehouse")
def test_the_examples_of_the_page_are_true() -> None:
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    page = os.path.relpath(ROOT / "docs" / "api.md", Path(__file__).parent)
    found = doctest.testfile(page, optionflags=flags)
    assert (found.failed, found.attempted) == (0, 10)


@pytest.mark.usefixtures("beside_warehouse")
def test_every_cell_of_the_notebook_shows_something() -> None:
    notebook = json.loads((ROOT / "examples" / "notebook.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    shown = [html for cell in cells if (html := _shown(cell, names))]
    assert len(shown) == len(cells) - 1, "all but the first, which opens the warehouse"
    assert "No consumer of batch-export is connected" in shown[0]
    assert "172.17.0.1@1 is listed 2 times" in shown[2]
    assert [html[:16] for html in shown[3:]] == ['<iframe srcdoc="'] * 2
    assert "really happened" in shown[3]


def _shown(cell: str, names: dict[str, Any]) -> str | None:
    """Runs a cell as a notebook does: what its last line is, if that is an expression, as HTML."""
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    html: str = eval(compile(ast.Expression(last.value), "cell", "eval"), names)._repr_html_()
    return html


def test_tables_have_the_same_types_whatever_they_hold(warehouse: AuditedWarehouse) -> None:
    nothing = warehouse.incidents(rule="REBALANCE_STORM", severity="ERROR")
    assert len(nothing) == 0
    assert nothing.to_arrow().schema == warehouse.incidents().to_arrow().schema
    every = pa.table(warehouse.status())
    one = warehouse.status("payment-service")
    assert (every.num_rows, len(one), one.to_arrow().schema) == (17, 1, every.schema)
    assert not [field for field in every.schema if pa.types.is_null(field.type)]
    trends = warehouse.trends("payment-service", days=7)
    assert trends.to_arrow().column("consumer_group").to_pylist() == ["payment-service"]
    then = replace(warehouse, clock=lambda: HOUR.end)
    assert {row["cluster"] for row in then.findings("payment-service", since=timedelta(hours=1))} == {"demo"}


def test_a_time_without_an_end_goes_to_the_newest_step(warehouse: AuditedWarehouse) -> None:
    assert warehouse.time() is None
    then = replace(warehouse, clock=lambda: HOUR.end + timedelta(minutes=7))
    assert then.time(timedelta(minutes=90)) == Interval.parse("2026-11-21T01:30/2026-11-21T03:00")
    assert warehouse.time("2026-11-21T02:30") == Interval.parse("2026-11-21T02:30/2026-11-21T03:00")
    assert warehouse.time(until=datetime(2026, 11, 21, 2, 30, tzinfo=UTC)).start == HOUR.start  # type: ignore[union-attr]
    until = "2026-11-21T05:00+02:00"
    assert warehouse.time(timedelta(minutes=10), until) == Interval.parse("2026-11-21T02:50/2026-11-21T03:00")


def test_what_does_not_exist_is_named(warehouse: AuditedWarehouse, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="what_if has no member: its options are members, "):
        warehouse.what_if("payment-service", member="+2")
    with pytest.raises(WarehouseError, match=r"no run publishes a table alocations: did you mean allocations\?"):
        warehouse.rows("alocations")
    with pytest.raises(NothingPublishedError, match="did you mean payment-service"):
        warehouse.rows("allocations", "payment-servic")
    with pytest.raises(WarehouseError, match="no such folder"):
        rebalance_audit.open(tmp_path / "none").status()
    with pytest.raises(AttributeError, match="no attribute 'opened'"):
        rebalance_audit.opened  # type: ignore[attr-defined]  # noqa: B018
