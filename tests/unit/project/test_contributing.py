"""The rule that CONTRIBUTING.md adds as an example works as it is written there."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from spark_jobs.domain.rules import rule

ROOT = Path(__file__).parents[3]


def test_the_example_rule_passes_its_own_test(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = re.findall(r"^`(\S+\.py)`:\n\n```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    modules = {}
    for path, code in files:
        assert not (ROOT / path).exists()
        module = ModuleType(path.removesuffix(".py").replace("/", "."))
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(code, path, "exec", dont_inherit=True), module.__dict__)
        modules[path] = vars(module)
    example, its_test = modules.values()
    assert isinstance(example["RULE"], rule.Rule)
    tests = [function for name, function in its_test.items() if name.startswith("test_")]
    assert tests
    for function in tests:
        function()


def test_every_module_and_folder_exists() -> None:
    """A name without a folder, or with a part of one, is that of any file. The example's own files do not exist."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Clients and brokers by version")[0]
    paths = {
        f"/{path.relative_to(ROOT)}{'/' if path.is_dir() else ''}"
        for folder in ("dags", "expectations", "rebalance_audit", "schemas", "spark_jobs", "tests")
        for path in [ROOT / folder, *(ROOT / folder).rglob("*")]
    }
    named = {name for name in re.findall(r"[\w/]+(?:\.py\b|/(?=[`\s]))", text) if "single_member" not in name}
    assert len(named) > 100
    assert {name for name in named if not any(path.endswith(f"/{name}") for path in paths)} == set()


def test_the_version_is_the_same_everywhere() -> None:
    (version,) = re.findall(r"^version = (.*)$", (ROOT / "setup.cfg").read_text(encoding="utf-8"), re.MULTILINE)
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## [{version}] - " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"rebalance-audit:{version}\n" in (ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8")
    chart = (ROOT / "deploy" / "helm" / "rebalance-audit" / "Chart.yaml").read_text(encoding="utf-8")
    assert f"\nversion: {version}\nappVersion: {version}\n" in chart
