"""A warehouse in a catalog, the whole way: Spark's own, its metastore an embedded Derby database."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.reliability.small import (
    AUDITED,
    WHOLE,
    Commands,
    late_and_shown,
    outcomes,
    published,
    steps,
    write_inputs,
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
    write_inputs(tmp_path)
    for at in (local, catalog):
        at("ingest", "first.jsonl")
    local("backfill", *WHOLE, codes=AUDITED)
    catalog("backfill", *WHOLE, "--jobs", "2", codes=AUDITED)
    for task in ("audit", "publish"):  # as Airflow runs them, with staged results in between
        catalog("task", task, "--run", "nightly", *steps(4, 5), codes=AUDITED)
    assert outcomes(files) == ["published"] * 3
    assert published(files) == published(local.warehouse)
    late_and_shown(catalog, local, files)
    catalog("maintain")
    assert published(files) == published(local.warehouse)
    # For a day the task `publish` says, tried again, that it has published.
    (staged,) = (path.name for path in Path(files).iterdir() if path.name.startswith("_staging"))
    assert staged.endswith("_audited")
    assert [path.name for path in Path(files, "_claims").iterdir()] == ["all.lock"]
