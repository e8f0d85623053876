"""Audits every hour (checks the sources, stages the results), publishes it (checks the results), and sends notices.

`audit` and `publish` are the tasks of `rebalance-audit task`, a Spark application each; the others need no Spark. Each
may be retried or cleared at any time.
"""

from datetime import timedelta

from airflow.sdk import DAG, CronDataIntervalTimetable
from rebalance_audit_tasks import (
    DEFAULT_ARGS,
    DUE,
    INTERVAL,
    PARAMS,
    SETTINGS,
    TABLES,
    AuditOperator,
    NotifyOperator,
    SourcesSensor,
)

#: The same in all tasks of a run, and in no other run.
ARGUMENTS = (
    f"--interval={INTERVAL}",
    "--run={{ run_id }}",
    "--cluster={{ params.cluster or '' }}",
    "--group={{ params.group or '' }}",
    "--config={{ var.value.get('rebalance_audit_config', '') }}",
)
GRACE = "macros.timedelta(minutes=var.value.get('rebalance_audit_grace_minutes', 10) | int)"

with DAG(
    "rebalance_audit_hourly",
    description="Audits the consumer load balancing of the last hour",
    schedule=CronDataIntervalTimetable("0 * * * *", timezone="UTC"),
    max_active_runs=4,
    params=PARAMS,
    default_args=DEFAULT_ARGS | {"priority_weight": 10},
    doc_md=__doc__,
    **SETTINGS,
) as dag:
    wait_for_sources = SourcesSensor(
        task_id="wait_for_sources",
        interval=INTERVAL,
        until="{{ " + DUE + " + " + GRACE + " }}",
        execution_timeout=timedelta(hours=1),
    )
    audit = AuditOperator(task_id="audit", command="task audit", arguments=ARGUMENTS)
    publish = AuditOperator(task_id="publish", command="task publish", arguments=ARGUMENTS, outlets=TABLES)
    notify = NotifyOperator(
        task_id="notify",
        interval=INTERVAL,
        cluster="{{ params.cluster or '' }}",
        group="{{ params.group or '' }}",
        fail_on="{{ params.fail_on }}",
        max_active_tis_per_dag=1,
    )
    wait_for_sources >> audit >> publish >> notify
