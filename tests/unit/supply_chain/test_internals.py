"""Internals of other packages that the code uses: each is there, no other is used, and setup.cfg admits no newer minor
version of the packages. Raise a bound when this test passes with the new version.
"""

import ast
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name

import pytest
from packaging.version import Version

from tests.unit.supply_chain.licences import ROOT, pins
from tests.unit.supply_chain.test_packages import wanted

PACKAGES = ("delta", "deltalake", "great_expectations", "obstore", "py4j", "pyspark")
AIRFLOW = "airflow.providers.apache.spark.operators.spark_submit:SparkSubmitOperator"
#: By class, what its package does not promise, and the code reads, calls or overrides.
INTERNALS = {
    "pyspark:SparkContext": "_accumulatorServer _active_spark_context _ensure_initialized _gateway _jsc _jvm "
    "_python_includes",
    "pyspark.sql:SparkSession": "_activeSession _get_j_spark_session_class _jsc _jsparkSession _jvm _sc",
    "delta.tables:DeltaTable": "_jdt",
    "great_expectations.expectations.expectation:BatchExpectation": "_prescriptive_renderer _validate",
    AIRFLOW: "_conn_id",
}
#: Newer than in the lock: the tests in Spark and those here pass with it, too (docs/support.md).
ALSO_TESTED = {"pyspark": "4.2.0", "pyspark-client": "4.2.0"}
#: Of named tuples, and of `os`.
PUBLIC = {"_asdict", "_exit", "_fields", "_make", "_replace"}
TREES = [
    ast.parse(file.read_text(encoding="utf-8"))
    for folder in ("dags", "expectations", "rebalance_audit", "schemas", "spark_jobs")
    for file in sorted((ROOT / folder).rglob("*.py"))
]


def imported(*packages: str) -> set[str]:
    """`module:name` of everything that the code imports from the packages."""
    nodes = [node for tree in TREES for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {
        f"{node.module}:{alias.name}"
        for node in nodes
        if node.module and node.module.partition(".")[0] in packages
        for alias in node.names
    }


def private() -> Iterator[str]:
    """Names of attributes with an underscore that the code reads or calls and does not define."""
    nodes = [node for tree in TREES for node in ast.walk(tree)]
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute) and re.match("_[^_]", node.attr)]
    of_self = {node.attr for node in attributes if isinstance(node.ctx, ast.Store)}
    for node in attributes:
        is_own = isinstance(node.value, ast.Name) and node.value.id == "self" and node.attr in of_self
        if not is_own and node.attr not in own | PUBLIC:
            yield node.attr


def is_there(owner: type, name: str) -> bool:
    """Return whether a class has the attribute, or sets it on its objects."""
    sources = (inspect.getsource(base) for base in owner.__mro__ if base is not object)
    return hasattr(owner, name) or any(re.search(rf"\bself\.{name}\b[^=\n]*=", source) for source in sources)


@pytest.mark.parametrize("name", sorted(imported(*PACKAGES)))
def test_what_is_imported_exists(name: str) -> None:
    resolve_name(name)


@pytest.mark.parametrize("owner", [owner for owner in INTERNALS if owner != AIRFLOW])
def test_internals_exist(owner: str) -> None:
    assert [name for name in INTERNALS[owner].split() if not is_there(resolve_name(owner), name)] == []


def test_what_the_dags_use_exists(tmp_path: Path) -> None:
    """In a process with a home of its own, which Airflow fills when it is imported."""
    code = [f"resolve_name({name!r})" for name in sorted(imported("airflow"))]
    code += [f"assert is_there(resolve_name({AIRFLOW!r}), {INTERNALS[AIRFLOW]!r})"]
    lines = ["from pkgutil import resolve_name", f"from {__name__} import is_there", *code]
    environment = os.environ | {"AIRFLOW_HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", "\n".join(lines)], env=environment, cwd=ROOT, check=True)


def test_no_other_internal_is_used() -> None:
    overridden = {"_prescriptive_renderer", "_validate"}
    assert set(private()) == {name for names in INTERNALS.values() for name in names.split()} - overridden


def test_a_newer_minor_version_of_these_packages_is_not_admitted() -> None:
    names = {"deltalake", "delta-spark", "great-expectations", "obstore", "py4j", "pyspark", "pyspark-client"}
    names |= {"apache-airflow-providers-apache-spark"}
    bounds = {one.name: one.specifier for one in wanted() if one.name in names}
    tested = {name: Version(version) for name, version in (dict(pins()) | ALSO_TESTED).items()}
    assert bounds.keys() == names
    newer = {name: f"{tested[name].major}.{tested[name].minor + 1}" for name in names}
    assert {name: newer[name] for name in names if newer[name] in bounds[name]} == {}
