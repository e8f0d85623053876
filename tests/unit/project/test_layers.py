"""Imports go only where the table of CONTRIBUTING.md lets them go and never in a circle; files that a text names
exist; no two classes have one name.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "CONTRIBUTING.md"
PACKAGES = ("rebalance_audit", "dags", "spark_jobs", "schemas", "expectations")
#: What product code never imports, beside what its layer may not.
NOT_PRODUCT = ("tests", "benchmarks")
#: Files of the project in a text, with the folder that they are in.
NAMED_FILE = re.compile(
    rf"(?<![\w/.-])(?:{'|'.join((*PACKAGES, *NOT_PRODUCT, 'docs', 'deploy', 'examples'))})/[\w/.-]+\.\w+"
)
#: Files that a guide has its readers make, and what is so named inside a wheel.
NOT_IN_CHECKOUT = {
    "spark_jobs/domain/rules/single_member.py",
    "tests/unit/domain/rules/test_single_member.py",
    "rebalance_audit/spark_jobs/submit/main.py",
}


class Layer(NamedTuple):
    """A row of the table: which layers and libraries it may import, and which libraries it may not."""

    path: str
    allowed: frozenset[str]
    never: frozenset[str]

    @property
    def name(self) -> str:
        """`spark_jobs/domain/kernel/` is `domain.kernel`, `spark_jobs/errors.py` is `errors`."""
        return ".".join(Path(self.path.removeprefix("spark_jobs/")).with_suffix("").parts)


def layers(page: str) -> dict[str, Layer]:
    """The rows of the table, from top to bottom, by name."""
    _, _, after = page.partition("| folder | holds | may import |\n")
    rows = after.partition("\n\n")[0].splitlines()[1:]
    found = []
    for row in rows:
        path, _, imports = (cell.strip() for cell in row.strip("|").split("|"))
        allowed, _, never = imports.partition("never")
        found.append(Layer(path.strip("`"), names(allowed), names(never)))
    return {layer.name: layer for layer in found}


def names(cell: str) -> frozenset[str]:
    return frozenset(re.findall(r"`([^`]+)`", cell))


LAYERS = layers(PAGE.read_text(encoding="utf-8"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def modules(packages: Iterable[str] = PACKAGES) -> Iterator[tuple[Path, ast.Module]]:
    """Every module of the product, by its path from the root."""
    for package in packages:
        for file in sorted((ROOT / package).rglob("*.py")):
            path = file.relative_to(ROOT)
            yield path, tree_of(path)


def layer_of(path: Path) -> str:
    """`spark_jobs/domain/kernel/views.py` is of `domain.kernel`, `schemas/table.py` of `schemas`."""
    parts = path.with_suffix("").parts
    own = parts[parts[0] == "spark_jobs" :]
    names = [".".join(own[:length]) for length in (2, 1)]
    return next((name for name in names if name in LAYERS), names[-1])


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, full name) of every import, wherever it stands: in functions and under TYPE_CHECKING too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def is_allowed(layer: Layer, name: str) -> bool:
    package, _, inside = name.partition(".")
    outer = LAYERS.get(layer.name.partition(".")[0], layer)
    if package in PACKAGES:
        return is_within(inside if package == "spark_jobs" else name, layer.allowed | {layer.name})
    if not package or package in NOT_PRODUCT:  # a relative import names no layer
        return False
    return is_within(name, layer.allowed) or not is_within(name, layer.never | outer.never)


def is_within(name: str, packages: frozenset[str]) -> bool:
    return any(f"{name}.".startswith(f"{package}.") for package in packages)


def test_imports_are_those_of_the_table() -> None:
    wrong = [
        f"{path}:{line}: {name}"
        for path, tree in modules()
        if (layer := LAYERS.get(layer_of(path)))
        for line, name in imported(tree)
        if not is_allowed(layer, name)
    ]
    assert wrong == []


def test_the_table_has_a_row_for_every_module() -> None:
    there = {layer_of(path) for path, tree in modules() if path.name != "__init__.py" or any(imported(tree))}
    assert there == LAYERS.keys()
    assert not [layer.path for layer in LAYERS.values() if not (ROOT / layer.path).exists()]


def test_the_table_points_down() -> None:
    """A row names rows below it only, so no two can import each other."""
    order = list(LAYERS)
    up = [
        (name, other)
        for place, name in enumerate(order)
        for other in LAYERS[name].allowed
        if other != "domain.phrases" and other not in order[place + 1 :]
    ]
    assert up == []


def test_no_modules_import_each_other() -> None:
    trees = {
        ".".join(path.with_suffix("").parts).removesuffix(".__init__"): tree
        for path, tree in modules((*PACKAGES, *NOT_PRODUCT))
    }
    imports = {
        module: {name if name in trees else name.rpartition(".")[0] for _, name in imported(tree)}
        & trees.keys() - {module}
        for module, tree in trees.items()
    }
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the circle


def texts() -> Iterator[Path]:
    """Every text of the project but its history and its data."""
    for folder in (*PACKAGES, *NOT_PRODUCT, "docs", "deploy", "examples", "."):
        for file in (ROOT / folder).glob("*" if folder == "." else "**/*"):
            if file.suffix in (".py", ".md", ".toml", ".cfg", ".yml", ".js", ".css", ".html", ".java", ".xml"):
                yield file.relative_to(ROOT)


def test_files_that_a_text_names_exist() -> None:
    missing = [
        f"{path}: {name}"
        for path in texts()
        if path.name not in ("CHANGELOG.md", "test_version.py")
        for name in NAMED_FILE.findall((ROOT / path).read_text(encoding="utf-8"))
        if name not in NOT_IN_CHECKOUT and not (ROOT / name).exists()
    ]
    assert missing == []


def test_the_domain_and_what_if_ask_no_clock() -> None:
    asked = [
        f"{path}:{node.lineno}"
        for path, tree in modules()
        if layer_of(path).startswith(("domain", "what_if"))
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("now", "today", "utcnow")
    ]
    assert asked == []


@pytest.mark.parametrize(
    ("layer", "code", "allowed"),
    [
        ("domain", "from spark_jobs.errors import IntervalError", True),
        ("domain", "from spark_jobs.domain.model import intervals", True),
        ("domain.kernel", "from spark_jobs.domain.model import intervals", True),
        ("domain.kernel", "from spark_jobs.domain.rules.rule import Rule", False),
        ("domain.kernel", "import os.path", False),
        ("domain", "import numpy as np", True),
        ("domain", "from datetime import datetime", True),
        ("domain", "from spark_jobs import config", False),
        ("domain", "import schemas.table", False),
        ("domain", "import os.path", False),
        ("domain", "def f():\n    from pyspark.sql import Row", False),
        ("domain", "if TYPE_CHECKING:\n    import pyarrow", False),
        ("domain", "from . import intervals", False),
        ("domain", "from tests.cases import case", False),
        ("schemas", "from pyspark.sql.types import LongType", False),
        ("dags", "from spark_jobs.errors import ExitCode", False),
    ],
)
def test_what_a_layer_may_import(layer: str, code: str, allowed: bool) -> None:
    ((_, name),) = imported(ast.parse(code))
    assert is_allowed(LAYERS[layer], name) is allowed


def test_no_two_classes_have_one_name() -> None:
    places = defaultdict(list)
    for path, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path}:{node.lineno}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
