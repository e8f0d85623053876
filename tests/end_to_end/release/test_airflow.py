"""The wheel with `[airflow]`: its DAGs are read where nothing of the project but the wheel is."""

import json

import pytest

from tests.end_to_end.release.conftest import Built
from tests.end_to_end.release.environments import environment, must

pytestmark = pytest.mark.release

READ = """
import json, sys
from pathlib import Path
from airflow.dag_processing.dagbag import BundleDagBag
folder = Path("dags").resolve()
bag = BundleDagBag(folder, bundle_path=folder, bundle_name="dags")
from rebalance_audit_tasks import application
print(json.dumps({"errors": bag.import_errors, "dags": sorted(bag.dags), "script": application()}))
"""


def test_the_dags_are_read(built: Built, tmp_path_factory: pytest.TempPathFactory) -> None:
    installed = environment(tmp_path_factory.mktemp("airflow"))
    installed.install(f"{built.wheel}[airflow]")
    must(installed("rebalance-audit", "dags", "--to", "dags"))
    home = ("env", f"AIRFLOW_HOME={installed.here / 'home'}", "AIRFLOW__CORE__LOAD_EXAMPLES=False")
    said = must(installed("python", "-c", READ, before=(*home, f"PYTHONPATH={installed.here / 'dags'}")))
    assert json.loads(said.splitlines()[-1]) == {
        "errors": {},
        "dags": [f"rebalance_audit_{name}" for name in ("hourly", "late", "maintain", "missing")],
        "script": f"{installed.packages}/rebalance_audit/spark_jobs/submit/main.py",
    }
