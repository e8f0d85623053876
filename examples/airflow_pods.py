"""The audit in Airflow with every task in a pod: scheduler, workers and triggerer need nothing of rebalance-audit, but
the provider cncf-kubernetes. Change the constants; docs/deploy.md lists the secrets.
"""

from datetime import UTC, datetime, timedelta

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.providers.cncf.kubernetes.secret import Secret
from airflow.providers.standard.sensors.date_time import DateTimeSensorAsync
from airflow.sdk import DAG, CronDataIntervalTimetable, Param
from kubernetes.client import V1ResourceRequirements

IN_POD = {
    "image": "registry.example/rebalance-audit:2.0.0",
    "namespace": "audit",
    "env_vars": {"REBALANCE_AUDIT_WAREHOUSE": "s3a://lake/audit", "AWS_REGION": "eu-central-1"},
    "secrets": [Secret("env", None, "store"), Secret("env", "REBALANCE_AUDIT_NOTIFY_URL", "notifications", "url")],
    "container_resources": V1ResourceRequirements(requests={"cpu": "1", "memory": "4Gi"}, limits={"memory": "6Gi"}),
    "deferrable": True,
    "retries": 2,
    "execution_timeout": timedelta(hours=2),
}
INTERVAL = {"interval": Param("", type="string", description="START/END in UTC. Empty: as scheduled.")}
DRY_RUN = {"dry_run": Param(False, type="boolean", description="Only log what would be done.")}
#: An option that a dry run replaces: a word cannot be left out.
UNLESS_DRY = "{{{{ '--dry-run' if params.dry_run else '{}' }}}}"
DUE = "(data_interval_end | default(dag_run.run_after, true))"
HOUR = "data_interval_start.strftime('%FT%TZ') ~ '/' ~ data_interval_end.strftime('%FT%TZ')"
WEEK = f"({DUE} - macros.timedelta(days=7)).strftime('%F') ~ '/' ~ {DUE}.strftime('%F')"
OF_HOUR, OF_WEEK = (f"--interval={{{{ params.interval or {words} }}}}" for words in (HOUR, WEEK))


def in_pod(task_id: str, *words: str, **settings: object) -> KubernetesPodOperator:
    """A task that runs a command."""
    return KubernetesPodOperator(task_id=task_id, arguments=[*words], **settings)


def dag(name: str, cron: str, doc: str, params: dict[str, Param]) -> DAG:
    """A DAG of such tasks, on a cron schedule."""
    schedule = CronDataIntervalTimetable(cron, timezone="UTC")
    own = {"start_date": datetime(2026, 1, 1, tzinfo=UTC), "catchup": False, "max_active_runs": 1}
    return DAG(f"audit_{name}", schedule=schedule, doc_md=doc, params=params, default_args=IN_POD, **own)


with dag("hourly", "0 * * * *", "Audits each hour, publishes it and sends notifications.", INTERVAL):
    of_run = (OF_HOUR, "--run={{ run_id }}")
    after_grace = "{{ " + DUE + " + macros.timedelta(minutes=10) }}"
    wait = DateTimeSensorAsync(task_id="wait", target_time=after_grace, doc_md="Waits for the snapshots of the hour.")
    audit = in_pod("audit", "task", "audit", *of_run, doc_md="Audits and stages the results.")
    publish = in_pod("publish", "task", "publish", *of_run, doc_md="Checks the results and publishes them.")
    notify = in_pod("notify", "notify", doc_md="Sends each incident once.")
    # Another task, as the run must stay failed: it has the state of its last tasks.
    of_failure = in_pod("notify_of_failure", "notify", trigger_rule="one_failed", doc_md="The same, if a task failed.")
    wait >> audit >> publish >> [notify, of_failure]

with dag("late", "30 3 * * *", "Audits steps of the last week again if snapshots came late.", INTERVAL | DRY_RUN):
    in_pod("late", "late", OF_WEEK, UNLESS_DRY.format("--fail-on=NEVER"), doc_md="The log names each step.")

with dag("maintain", "30 4 * * *", "Deletes old rows, compacts files and removes old ones.", DRY_RUN):
    in_pod("maintain", "maintain", UNLESS_DRY.format("--retention-days=30"), doc_md="The log says what was deleted.")
