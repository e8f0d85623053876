"""The wheel without an extra: reads what was published elsewhere, and says what an audit needs."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.end_to_end.release.conftest import HOUR, Built
from tests.end_to_end.release.environments import Environment, must

pytestmark = pytest.mark.release

GROUP = ("--group", "payment-service")
NONE_LEFT = "unassigned_queues=0.0 double_owned_queues=0.0"
LABELS = 'cluster="demo",consumer_group="payment-service"'
#: A command that reads, and a part of what it says of the demo's warehouse.
READ = [
    (["status", *GROUP, "--json"], "DUPLICATE_CLIENT_ID"),
    (["incidents", "--rule", "DUPLICATE_CLIENT_ID", "--json"], "172.17.0.1@1"),
    (["explain", *GROUP, "--at", "2026-11-21T02:10Z"], "2 members with 1 client id"),
    (["what-if", *GROUP, "--interval", HOUR, "--unique-ids"], f"\n--unique-ids: {NONE_LEFT} "),
    (["metrics", *GROUP], f"rebalance_audit_step_end_timestamp_seconds{{{LABELS}}}"),
    (["runs"], "\n1 run."),
]


def test_the_modules_are_those_of_the_wheel(base: Environment) -> None:
    said = must(base("python", "-c", "import rebalance_audit.spark_jobs as it; print(it.__path__[0])"))
    assert said == f"{base.packages}/rebalance_audit/spark_jobs\n"
    beside = [name for name in ("spark_jobs", "schemas", "expectations", "dags") if (base.packages / name).exists()]
    assert beside == []


@pytest.mark.parametrize(
    "module", ["pyspark", "delta", "great_expectations", "pandas", "airflow", "obstore", "bokeh", "apprise", "py4j"]
)
def test_what_an_extra_brings_is_not_there(module: str, base: Environment) -> None:
    done = base("python", "-c", f"import {module}")
    assert f"ModuleNotFoundError: No module named '{module}'" in done.stdout


@pytest.mark.parametrize(("words", "part"), READ, ids=lambda value: value[0] if isinstance(value, list) else "")
def test_a_warehouse_made_elsewhere_is_read(words: list[str], part: str, base: Environment, warehouse: Path) -> None:
    # These three end with what they show.
    code = 1 if words[0] in ("status", "incidents", "explain") else 0
    said = must(base("rebalance-audit", *words, "--warehouse", str(warehouse)), code)
    assert part in said


@pytest.mark.parametrize(
    "words", [["run", "--interval", HOUR], ["validate"], ["maintain"], ["demo"]], ids=lambda it: it[0]
)
def test_what_audits_names_the_extra(words: list[str], base: Environment, warehouse: Path) -> None:
    done = base("rebalance-audit", *words, "--warehouse", str(warehouse))
    assert done.returncode == 3
    assert done.stdout.splitlines()[-1] == (
        "rebalance-audit: this needs pyspark, which is not installed: install rebalance-audit with its extra "
        "[spark] (docs/install.md in the repository)"
    )


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["report", "--interval", HOUR], "report"),
        (["notify", "--to", "url"], "notify"),
        (["capture", "--namesrv", "127.0.0.1:9", "--cluster-name", "c", "--out", "recording.jsonl.gz"], "capture"),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_another_command_names_its_extra(words: list[str], extra: str, base: Environment, warehouse: Path) -> None:
    where = [] if words[0] == "capture" else ["--warehouse", str(warehouse)]
    url = base.here / "url"
    url.touch(mode=0o600)
    url.write_text("json://127.0.0.1:9/")
    done = base("rebalance-audit", *words, *where)
    assert done.returncode == 3
    assert done.stdout.endswith(
        f"install rebalance-audit with its extra [{extra}] (docs/install.md in the repository)\n"
    )


def test_set_up_without_spark_names_the_extra(base: Environment) -> None:
    done = base("rebalance-audit", "setup")
    assert done.returncode == 3
    assert done.stdout.endswith("install rebalance-audit with its extra [spark] (docs/install.md in the repository)\n")


def test_it_is_small_and_starts_soon(built: Built, base: Environment) -> None:
    """The sizes and the time are printed (`-s`): what is measured depends on the machine."""
    wheel = built.wheel.stat().st_size / 1e6
    size = int(subprocess.run(["du", "-sm", base.folder], check=True, capture_output=True, text=True).stdout.split()[0])
    code = "import time; t = time.perf_counter(); import rebalance_audit.spark_jobs.cli.main as it; "
    code += "import sys, json; print(json.dumps([time.perf_counter() - t, sorted(sys.modules)]))"
    took = []
    for _ in range(3):
        seconds, modules = json.loads(must(base("python", "-c", code)))
        took.append(seconds)
    print(f"\nwheel {wheel:.1f} MB, installed {size} MB, imported in {min(took):.2f} s")
    assert wheel < 5
    assert not {"pyarrow", "deltalake", "numpy", "bokeh", "pydantic"} & set(modules)
