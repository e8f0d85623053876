"""A warehouse in a catalog, the whole way: Spark's own, its metastore an embedded Derby database."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.reliability.small import (
    AUDITED,
    CONFIGURATION,
    Commands,
    outcomes,
    published,
    steps,
    write_recording,
)

pytestmark = pytest.mark.reliability


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Of a user whose spark-defaults.conf names a metastore, in which the schema has been made."""
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.sql.catalogImplementation hive\n"
        f"spark.sql.warehouse.dir {tmp_path}/tables\n"
        f"spark.hadoop.javax.jdo.option.ConnectionURL jdbc:derby:;databaseName={tmp_path}/metastore;create=true\n"
    )
    environment = os.environ | {"SPARK_CONF_DIR": str(tmp_path)}
    script = (
        "from spark_jobs.runtime.session import get_session; get_session().sql('CREATE SCHEMA spark_catalog.audit')"
    )
    subprocess.run([sys.executable, "-c", script], check=True, env=environment, cwd=Path.cwd())
    return environment


def test_a_warehouse_in_a_catalog_has_the_rows_of_a_local_one_after_every_command(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    catalog = Commands(tmp_path, "spark_catalog.audit", environment)
    local = Commands(tmp_path, str(tmp_path / "local"), os.environ)
    files = str(tmp_path / "tables" / "audit.db")
    write_recording(tmp_path / "first.jsonl", 130)
    write_recording(tmp_path / "all.jsonl", 220)
    (tmp_path / "c.yaml").write_text(CONFIGURATION)
    on, whole = ("--config", "c.yaml"), steps(3, 5)
    for at in (local, catalog):
        assert at("ingest", "first.jsonl")[0] == 0
    assert local("backfill", "--interval", whole, *on)[0] in AUDITED
    code, said = catalog("backfill", "--interval", whole, "--jobs", "2", *on)
    assert code in AUDITED, said
    for task in ("audit", "publish"):  # as Airflow runs them, with staged results in between
        code, said = catalog("task", task, "--run", "nightly", "--interval", steps(4, 5), *on)
        assert code in AUDITED, said
    assert outcomes(files) == ["published"] * 3
    assert published(files) == published(local.warehouse)
    for at in (local, catalog):
        assert at("ingest", "all.jsonl")[0] == 0
        code, said = at("late", "--interval", whole, *on)
        assert code in AUDITED, said
    assert published(files) == published(local.warehouse)
    for command in ("status", "incidents"):
        (code, ours), (_, theirs) = catalog(command, "--json"), local(command, "--json")
        assert code == 0, ours
        assert ours[ours.index("{") :] == theirs[theirs.index("{") :]
    assert catalog("report", "--interval", whole, "--out", "report.html")[0] == 0
    code, said = catalog("maintain")
    assert code == 0, said
    assert published(files) == published(local.warehouse)
    # For a day the task `publish` says, tried again, that it has published.
    (staged,) = (path.name for path in Path(files).iterdir() if path.name.startswith("_staging"))
    assert staged.endswith("_audited")
    assert [path.name for path in Path(files, "_claims").iterdir()] == ["all.lock"]
