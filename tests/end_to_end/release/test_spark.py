"""The wheel with `[spark,report]`: from set-up to a verified audit, and what is left when it is removed."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.end_to_end.release.conftest import HOUR, Built
from tests.end_to_end.release.environments import ALONE, Environment, environment, must, uv

pytestmark = pytest.mark.release

FETCHED = Path("share", "rebalance-audit")


@pytest.fixture(scope="module")
def spare(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Not set up."""
    made = environment(tmp_path_factory.mktemp("spare"))
    made.install(f"{built.wheel}[spark,report]")
    return made


@pytest.mark.parametrize("pyspark", ["pyspark", "pyspark==4.0.3", "pyspark==4.1.3"])
def test_delta_has_jars_for_the_versions_that_pip_chooses_without_the_lock(
    pyspark: str, built: Built, tmp_path: Path
) -> None:
    made = environment(tmp_path)
    must(uv("pip", "install", "--python", str(made.folder), f"{built.wheel}[spark]", pyspark))
    fetch = "from pathlib import Path; from rebalance_audit.spark_jobs.setup.jars import fetch_jars; "
    must(made("python", "-c", fetch + "fetch_jars(Path('jars').absolute())"))
    assert len([*(made.here / "jars").glob("io.delta_delta-s*-4.4.0.jar")]) == 2


@pytest.mark.parametrize("words", [["run", "--interval", HOUR], ["validate"]], ids=lambda words: words[0])
def test_before_set_up_it_is_named(words: list[str], spare: Environment, warehouse: Path) -> None:
    done = spare("rebalance-audit", *words, "--warehouse", str(warehouse))
    assert done.returncode == 3
    assert "Delta's jars are not installed" in done.stdout
    assert "run `rebalance-audit setup` once" in done.stdout


def test_the_demo_before_set_up_writes_nothing(spare: Environment) -> None:
    done = spare("rebalance-audit", "demo")
    assert done.returncode == 3
    assert "run `rebalance-audit setup` once" in done.stdout
    assert list(spare.here.iterdir()) == []


def test_what_the_demo_published_can_be_verified(with_spark: Environment, warehouse: Path) -> None:
    assert (warehouse / "report.html").is_file()
    said = must(with_spark("rebalance-audit", "runs", "--warehouse", str(warehouse), "--format", "csv"))
    run_id = said.splitlines()[-1].partition(",")[0]
    verified = must(with_spark("rebalance-audit", "verify", run_id, "--warehouse", str(warehouse), "--json"))
    assert json.loads(verified[verified.index("{") :])["differs"] == {}


def test_the_report_stands_alone(with_spark: Environment, warehouse: Path) -> None:
    of_warehouse = ("--warehouse", str(warehouse))
    must(with_spark("rebalance-audit", "report", "--interval", HOUR, *of_warehouse, "--out", "alone.html"))
    page = (with_spark.here / "alone.html").read_text(encoding="utf-8")
    assert "payment-service" in page
    assert re.findall(r"<(?:script|link)[^>]+(?:src|href)=\"(?!data:)[^\"]*", page) == []


def test_set_up_needs_no_network_and_leaves_nothing_when_it_is_removed(
    spare: Environment, built: Built, with_spark: Environment
) -> None:
    must(uv("pip", "uninstall", "--python", str(spare.folder), "rebalance-audit"))
    before = files(spare)
    spare.install("--no-deps", str(built.wheel))
    source, target = with_spark.folder / FETCHED, spare.folder / FETCHED
    target.mkdir()
    for archive in source.glob("*.jsa"):  # to make another takes a minute
        shutil.copyfile(archive, target / archive.name)
    if spare("true", before=ALONE).returncode:
        pytest.skip("this system lets nobody make a network namespace")
    must(spare("rebalance-audit", "setup", "--from", str(source), before=ALONE))
    assert {path.name for path in target.iterdir()} == {path.name for path in source.iterdir()}
    must(spare("rebalance-audit", "setup", "--remove"))
    must(uv("pip", "uninstall", "--python", str(spare.folder), "rebalance-audit"))
    assert files(spare) == before


def files(installed: Environment) -> set[str]:
    """Everything in the environment but the bytecode of other packages."""
    every = {str(path.relative_to(installed.folder)) for path in installed.folder.rglob("*")}
    return {name for name in every if "__pycache__" not in name or "rebalance" in name}
