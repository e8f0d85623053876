"""Print the DAGs of the files as Airflow reads them, as JSON: a separate process with its own AIRFLOW_HOME."""

import json
import os
import shutil
import sys
import tempfile
import time
from copy import copy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

started = time.perf_counter()
import airflow.sdk  # noqa: E402, F401 - what every Airflow has imported before it reads a DAG

airflow_took = time.perf_counter() - started

from airflow.dag_processing.dagbag import BundleDagBag  # noqa: E402
from airflow.sdk.exceptions import TaskDeferred  # noqa: E402
from airflow.sdk.execution_time.context import VariableAccessor  # noqa: E402

DAGS = Path(__file__).parents[3] / "dags"


def set_variables(**values: str) -> None:
    os.environ |= {f"AIRFLOW_VAR_REBALANCE_AUDIT_{name.upper()}": value for name, value in values.items()}


def outcome(task: Any) -> str:
    try:
        task.execute({})
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "done"


def context(dag: Any, task: Any) -> dict[str, Any]:
    """What a template sees in the run of 02:00 to 03:00."""
    import airflow.sdk.execution_time.macros as macros

    end = datetime(2026, 11, 21, 3, tzinfo=UTC)
    return {
        "dag": dag,
        "task": task,
        "params": {name: param.value if hasattr(param, "value") else param for name, param in dag.params.items()},
        "run_id": "scheduled__2026-11-21T02:00:00+00:00",
        "data_interval_start": end.replace(hour=2),
        "data_interval_end": end,
        "dag_run": SimpleNamespace(run_after=end),
        "var": {"value": VariableAccessor(deserialize_json=False)},
        "macros": macros,
    }


def described(dag: Any) -> dict[str, Any]:
    return {
        "owner": dag.owner,
        "start": dag.start_date.isoformat(),
        "catchup": dag.catchup,
        "max_active_runs": dag.max_active_runs,
        "schedule": [type(dag.timetable).__name__, dag.timetable.expression],
        "tasks": {
            task.task_id: {
                "type": task.task_type,
                "then": sorted(task.downstream_task_ids),
                "retries": task.retries,
                "when": str(getattr(task.trigger_rule, "value", task.trigger_rule)),
                "timeout": task.execution_timeout.total_seconds(),
                "inlets": [asset.name for asset in task.inlets],
                "outlets": [asset.name for asset in task.outlets],
            }
            for task in dag.tasks
        },
    }


def command(dag: Any, task: Any) -> str:
    """The task's rendered spark-submit; of a task without Spark, what is rendered."""
    task.render_template_fields(context(dag, task))
    if not hasattr(task, "application_args"):
        return " ".join(f"{name}={getattr(task, name)}" for name in task.template_fields if getattr(task, name))
    task.jars = task.jars or None
    words = task._get_hook()._build_spark_submit_command(task.application)
    # The project last: the interpreter and the jars may be inside it.
    places = {task.jars or "no jars": "JARS", sys.executable: "PYTHON", str(DAGS.parent): "PROJECT"}
    text = " ".join(words)
    for place, name in places.items():
        text = text.replace(place, name)
    return text


def of_form(dag: Any, **form: Any) -> str:
    """The words of the DAG's task, started with this form."""
    task = copy(dag.tasks[0])
    values = context(dag, task)
    values["params"] |= form
    task.render_template_fields(values)
    return " ".join(task.application_args)


def submitted(task: Any) -> dict[str, str]:
    """What spark-submit is given besides what is rendered, by connection and own settings; or why it is not run."""
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

    def given(host: str, extra: dict[str, str] | None = None, own: dict[str, str] | None = None, **more: Any) -> str:
        connection = {"conn_type": "spark", "host": host, "extra": extra or {}, **more}
        os.environ["AIRFLOW_CONN_SPARK_DEFAULT"] = json.dumps(connection)
        set_variables(spark_conf=json.dumps(own or {}))
        task.conf, task.jars = {}, "delta.jar"
        if (refused := outcome(task)) != "done":
            return refused
        return " ".join(["jars"] * bool(task.jars) + sorted(name.rpartition(".")[2] for name in task.conf))

    cluster, memory = {"deploy-mode": "cluster"}, {"spark.driver.memory": "4g"}
    with patch.object(SparkSubmitOperator, "execute"):
        return {
            "local": given("local[2]", own=memory),
            "local, own options": given("local", own={"spark.driver.extraJavaOptions": "-Xss4m"}),
            "standalone": given("spark://master", own=memory, port=7077),
            "standalone, cluster": given("spark://master", cluster, port=7077),
            "standalone by scheme, cluster": given("master", cluster, port=7077),
            "yarn, cluster": given("yarn", cluster),
        }


def notified(task: Any) -> dict[str, str]:
    """What becomes of the task: nobody to tell, a route without its file, a notifier that fails, one that does not, the
    same again, a gate.
    """
    from tests.support.published import publish_hours

    warehouse = Path(tempfile.mkdtemp())
    publish_hours(warehouse, [0, 1], offline=[1])
    set_variables(warehouse=str(warehouse), config="")
    notifier = json.loads(os.environ.pop("AIRFLOW_VAR_REBALANCE_AUDIT_NOTIFIER"))

    def notify(hour: int = 10, fail_on: str = "NEVER") -> str:
        task.interval, task.fail_on = f"2026-03-01T{hour}:00/2026-03-01T{hour + 1}:00", fail_on
        task.cluster = task.group = ""
        return outcome(task).partition(":/")[0]

    def notify_by(**kwargs: str) -> str:
        set_variables(notifier=json.dumps(notifier | {"kwargs": notifier["kwargs"] | kwargs}))
        return notify()

    found = {"nobody": notify()}
    routes = warehouse / "routes.yaml"
    routes.write_text("routes: [{team: g, to: /nowhere/g.url, group: G}]")
    set_variables(config=str(routes))
    found["routed"] = notify()
    set_variables(config="")
    found |= {"fails": notify_by(path="/nowhere/told.txt"), "tells": notify_by(), "again": notify()}
    found |= {"gate": notify(11, "ERROR"), "no gate": notify(10, "INFO")}
    publish_hours(warehouse, [2])
    return found | {"over": notify(fail_on="INFO")}


def sensed(task: Any) -> dict[str, str]:
    """What the sensor does where a source is not there, has not come, is still missing at the end, is missing of a
    whole cluster for too long, and has come.
    """
    from schemas import CLIENT_SNAPSHOTS, SOURCES
    from tests.support.stored import write

    warehouse, now = Path(tempfile.mkdtemp()), datetime.now(UTC)
    set_variables(warehouse=str(warehouse), config="")
    task.interval, later = "2026-11-21T02:00Z/2026-11-21T03:00Z", (now + timedelta(hours=1)).isoformat()
    late_after, task.late_after = task.late_after, timedelta(days=36_500)

    def look(until: str = later) -> str:
        task.until = until
        try:
            return outcome(task).partition(f" {warehouse}")[0]
        except TaskDeferred as deferred:
            waits = deferred.trigger.moment - now
            return f"deferred for {round(waits.total_seconds(), -1):.0f} s, then {deferred.method_name}"

    def come(minute: int) -> None:
        for table in SOURCES:
            captured_at = datetime(2026, 11, 21, 2, tzinfo=UTC) + timedelta(minutes=minute)
            write(warehouse, table, [{"cluster": "c", "captured_at": captured_at}])

    found = {"no table": look()}
    for table in SOURCES:
        if table is not CLIENT_SNAPSHOTS:
            write(warehouse, table, [])
    found["nothing known"] = look()
    come(-1)
    found |= {"missing": look(), "too late": look(now.isoformat())}
    task.late_after = late_after
    found["given up"] = f"{look()} after {late_after}"
    task.late_after = timedelta(days=36_500)
    come(60)
    return found | {"come": look()}


def fleets() -> dict[str, Any]:
    """The DAGs of a user's file: errors; schedule, assets, and what the task `audit` and the sensor are given."""
    with tempfile.TemporaryDirectory() as folder:
        for file in [*DAGS.glob("*.py"), Path(__file__).with_name("fleets.py")]:
            shutil.copy(file, folder)
        (Path(folder) / ".airflowignore").write_text("rebalance_audit_*\n")
        bag = BundleDagBag(Path(folder), bundle_path=Path(folder), bundle_name="fleets")
    found: dict[str, Any] = {"errors": bag.import_errors, "dags": sorted(bag.dags)}
    for name in ("eu", "us", "cn"):
        dag: Any = bag.dags[f"{name}_hourly"]
        audit, sensor = dag.get_task("audit"), dag.get_task("wait_for_sources")
        for task in (audit, sensor):
            task.render_template_fields(context(dag, task))
        words = getattr(audit, "application_args", None) or getattr(audit, "words", None) or audit.arguments
        found[name] = {
            "schedule": dag.timetable.expression,
            "operator": type(audit).__name__,
            "words": " ".join(words),
            "connection": getattr(audit, "_conn_id", None),
            "waits for": f"{sensor.warehouse} {sensor.config}".strip(),
            "inlets": next(f"{asset.name} {asset.uri}" for asset in audit.inlets),
            "outlets": [f"{asset.name} {asset.uri}" for asset in dag.get_task("publish").outlets][-1],
        }
    return found


def main() -> None:
    began = time.perf_counter()
    bag = BundleDagBag(DAGS, bundle_path=DAGS, bundle_name="dags")
    imported = time.perf_counter() - began
    heavy = {"pyspark", "great_expectations", "delta", "spark_jobs", "schemas", "expectations"}
    found = {
        "errors": bag.import_errors,
        "imported_in": imported,
        "heavy": sorted(heavy & set(sys.modules)),
        "dags": {name: described(dag) for name, dag in bag.dags.items()},
        "undocumented": [task.task_id for dag in bag.dags.values() for task in dag.tasks if not task.doc_md],
        "by form": {
            "late": of_form(bag.dags["rebalance_audit_late"], dry_run=True, interval="2026-11-01/2026-11-02"),
            "maintain": of_form(bag.dags["rebalance_audit_maintain"], dry_run=True),
        },
        "commands": {
            f"{dag.dag_id}.{task.task_id}": command(dag, task) for dag in bag.dags.values() for task in dag.tasks
        },
        "submitted": submitted(bag.dags["rebalance_audit_hourly"].get_task("audit")),
        "notified": notified(bag.dags["rebalance_audit_hourly"].get_task("notify")),
        "sensed": sensed(bag.dags["rebalance_audit_hourly"].get_task("wait_for_sources")),
    }
    print(json.dumps(found | {"fleets": fleets()}))


if __name__ == "__main__":
    main()
