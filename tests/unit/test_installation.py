"""Files of the set-up, contents of a wheel, and messages of a command that lacks a package."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from spark_jobs import installation
from spark_jobs.errors import SetupError
from spark_jobs.installation import PREFIX, ROOT, SITE, fetched
from spark_jobs.runtime.faults import needed_extra
from spark_jobs.runtime.session import JARS_DIR
from spark_jobs.setup.jars import fetch_jars, fetch_tools, jar_names
from tests.end_to_end.release.environments import clean_copy, environment, must
from tests.support.commands import Typed


def with_prefix(code: str) -> str:
    """The module as setup.py puts it into a wheel, by a process of its own: setuptools wants to be there before pip and
    distutils.

    Raises `SyntaxError` with what it prints.
    """
    if find_spec("setuptools") is None:
        pytest.skip("setuptools is not installed")
    script = "import sys, setup; sys.stdout.write(setup.with_prefix(sys.stdin.read()))"
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, cwd=ROOT, input=code, text=True, capture_output=True
    )
    if done.returncode:
        raise SyntaxError(done.stderr)
    return done.stdout


def test_imports_get_the_name_of_the_package_and_nothing_else_does() -> None:
    code = (
        '"""A line of text:\nfrom schemas import nothing\n"""\n'
        "from schemas import (\n    FINDINGS,\n)\nfrom schemas_of_others import x\n"
        "if x:\n    from  spark_jobs.errors import ExitCode; from expectations.rows import y\n"
        'z = "spark_jobs.errors"\n'
    )
    assert with_prefix(code) == (
        '"""A line of text:\nfrom schemas import nothing\n"""\n'
        "from rebalance_audit.schemas import (\n    FINDINGS,\n)\nfrom schemas_of_others import x\n"
        "if x:\n    from  rebalance_audit.spark_jobs.errors import ExitCode; "
        "from rebalance_audit.expectations.rows import y\n"
        'z = "spark_jobs.errors"\n'
    )


def test_an_import_that_cannot_get_it_is_refused() -> None:
    with pytest.raises(SyntaxError, match="line 2"):
        with_prefix("import sys\nimport schemas.table\n")


def test_a_checkout_has_its_folders_at_its_top() -> None:
    assert PREFIX == ""
    assert Path(__file__).parents[2] == ROOT


def test_an_editable_installation_of_a_clean_clone_is_the_clone(tmp_path: Path) -> None:
    clone = clean_copy(tmp_path / "clone")
    fresh = environment(tmp_path)
    fresh.install("--no-deps", "--editable", str(clone))
    where = "import spark_jobs.installation as it; print(it.ROOT)"
    assert must(fresh("python", "-c", where)) == f"{clone}\n"


def test_without_an_own_environment_the_cache_gets_downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    environment = tmp_path / "environment" / "share" / "rebalance-audit"
    assert fetched("jars") == environment / "jars"
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert fetched("jars") == tmp_path / "cache" / "rebalance-audit" / "jars"
    (environment / "jars").mkdir(parents=True)  # its owner has fetched them
    assert fetched("jars") == environment / "jars"


@pytest.mark.parametrize("inside", ["", "jars"])
def test_jars_are_copied_from_a_folder_by_either_name(inside: str, tmp_path: Path) -> None:
    source = tmp_path / "source" / inside
    source.mkdir(parents=True)
    first, second = jar_names()
    shutil.copy(JARS_DIR / first, source)
    target = tmp_path / "target" / "jars"
    with pytest.raises(
        SetupError, match=r"Delta's jars cannot be copied, nothing was changed: .* lacks delta-storage-"
    ):
        fetch_jars(target, tmp_path / "source")
    assert list(target.parent.iterdir()) == []
    (source / second).write_bytes(b"half of a jar")
    with pytest.raises(SetupError, match="or a part of it"):
        fetch_jars(target, tmp_path / "source")
    (source / second).unlink()
    shutil.copy(JARS_DIR / second, source / second.removeprefix("io.delta_"))  # as Maven calls it
    fetch_jars(target, tmp_path / "source")
    assert sorted(file.name for file in target.iterdir()) == sorted(jar_names())


def test_the_admin_client_is_copied_with_all_that_lies_beside_it(tmp_path: Path) -> None:
    for name in ("rocketmq-tools-5.4.0.jar", "fastjson2-2.0.jar"):
        shutil.copy(JARS_DIR / jar_names()[1], tmp_path / name)
    fetch_tools(tmp_path / "rocketmq", "5.4.0", tmp_path)
    names = {file.name for file in (tmp_path / "rocketmq").iterdir()}
    assert names == {"org.apache.rocketmq_rocketmq-tools-5.4.0.jar", "fastjson2-2.0.jar"}


def test_dags_are_written_beside_those_of_others(tmp_path: Path, typed: Typed) -> None:
    (tmp_path / ".airflowignore").write_text("theirs.py")
    for _ in range(2):
        written = typed("dags --to", tmp_path).lines
        ignored = (tmp_path / ".airflowignore").read_text().split()
        assert ignored == ["theirs.py", "rebalance_audit_tasks.py", "rebalance_audit_factory.py"]
    names = ["factory.py", "hourly.py", "late.py", "maintain.py", "missing.py", "tasks.py"]
    assert written[:7] == [*(f"{tmp_path}/rebalance_audit_{name}" for name in names), f"{tmp_path}/.airflowignore"]
    for name in names:
        file = f"rebalance_audit_{name}"
        assert (tmp_path / file).read_bytes() == (ROOT / "dags" / file).read_bytes()
    assert "the DAGs cannot be written to" in typed("dags --to", tmp_path / ".airflowignore", code=3).err


def test_examples_are_written_into_a_folder(tmp_path: Path, typed: Typed) -> None:
    folder = tmp_path / "new" / "examples"
    names = [*("airflow_pods.py", "demo.yaml", "grafana-dashboard.json", "notebook.ipynb", "prometheus-rules.yml")]
    names += ["rebalance-audit-capture.service", "recording.jsonl.gz", "routes.yaml"]
    for _ in range(2):
        assert typed("examples --to", folder).lines == [f"{folder}/{name}" for name in names]
    assert all((folder / name).read_bytes() == (ROOT / "examples" / name).read_bytes() for name in names)
    assert "the examples cannot be written to" in typed("examples --to", folder / "demo.yaml", code=3).err


def test_what_was_fetched_can_be_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: Typed) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (fetched("jars")).mkdir(parents=True)
    (tmp_path / "rebalance-audit").mkdir()
    typed("setup --remove")
    typed("setup --remove")  # nothing to do
    assert [path.name for path in tmp_path.rglob("*")] == ["share"]


def test_messages_name_the_published_page_if_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages of the site keep their names, with `.html` (`use_directory_urls` of mkdocs.yml)."""
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert "\nuse_directory_urls: false" in settings
    assert re.findall(r"^site_url: (.*)$", settings, re.MULTILINE) == ([SITE] if SITE else [])
    monkeypatch.setattr(installation, "SITE", "https://docs.example/audit/")
    assert installation.documentation("what-if") == "https://docs.example/audit/what-if.html"


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("pyspark.sql", "spark"),
        ("delta-spark", "spark"),
        ("great_expectations", "spark"),
        ("obstore.store", "s3"),
        ("opentelemetry.sdk", "otlp"),
    ],
)
def test_a_missing_package_is_one_of_an_extra(name: str, extra: str) -> None:
    missing = needed_extra(ModuleNotFoundError(f"No module named '{name}'", name=name))
    assert str(missing).endswith(
        f"which is not installed: install rebalance-audit with its extra [{extra}] (docs/install.md in the repository)"
    )
    for bug in (ModuleNotFoundError("No module named 'x'", name="x"), ImportError("cannot import")):
        assert needed_extra(bug) is None
