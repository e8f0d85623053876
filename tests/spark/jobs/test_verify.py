"""A published run audited again: the same comes out, whatever was loaded since, until somebody changes the table."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from schemas import MEMBERSHIP_SNAPSHOTS, QUARANTINE
from spark_jobs.cli.main import main
from spark_jobs.config import Configuration
from spark_jobs.errors import NothingPublishedError
from spark_jobs.operate.verify import verify
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.runtime.version import code_version
from spark_jobs.store.warehouse import Warehouse
from tests.support.snapshots import load, membership
from tests.support.times import HOUR


def test_what_a_run_published_comes_out_again(
    spark: SparkSession, copied: Warehouse, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    load(spark, copied, {MEMBERSHIP_SNAPSHOTS: [membership(8, "x", group="")]})
    run_id = run(spark, copied, RunSpec(HOUR), Configuration()).run["run_id"]
    shutil.rmtree(Path(copied.location, QUARANTINE.name))
    load(spark, copied, {MEMBERSHIP_SNAPSHOTS: [membership(7, "late")]})
    files = sorted(Path(copied.location).rglob("*"))
    monkeypatch.setattr("spark_jobs.api.start.start_spark", lambda *_, **__: spark)
    assert main(["verify", run_id, "--warehouse", copied.location, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "run_id": run_id,
        "interval": "2026-03-01T10:00:00Z/2026-03-01T11:00:00Z",
        "differs": {},
        "code_then": code_version(),
        "code_now": code_version(),
    }
    # Nothing is written: no row is published or goes into quarantine, and there is no page.
    assert sorted(Path(copied.location).rglob("*")) == files
    with pytest.raises(NothingPublishedError, match="no run nobody has published anything in"):
        verify(spark, copied, "nobody")

    one_less = f"UPDATE delta.`{copied.location}/audit_runs` SET row_counts = map_concat("
    one_less += "map_filter(row_counts, (k, v) -> k != 'findings'), map('findings', 1L))"
    spark.sql(one_less)
    assert main(["verify", run_id, "--warehouse", copied.location]) == 1
    (difference,) = [line for line in capsys.readouterr().out.splitlines() if " differs: " in line]
    # Of each of the two groups: the repeated id, and the queue that is owned twice.
    assert re.fullmatch(r"findings differs: published were 1 rows \(\w+\), now it is 4 rows \(\w+\)", difference)
    assert not Path(copied.location, "_staging").exists()
