"""Every hour is audited: check the sources, replay, check the results, publish them, report what is new.

The five tasks are those of `rebalance-audit task`; each is a transaction, so it may be retried or cleared at any time.
"""

from datetime import timedelta

from airflow.providers.standard.sensors.date_time import DateTimeSensorAsync
from airflow.sdk import DAG, CronDataIntervalTimetable
from rebalance_audit_tasks import DEFAULT_ARGS, DUE, INTERVAL, PARAMS, SETTINGS, TABLES, AuditOperator, ReportOperator

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
    wait_for_sources = DateTimeSensorAsync(
        task_id="wait_for_sources",
        target_time="{{ " + DUE + " + " + GRACE + " }}",
        execution_timeout=timedelta(hours=1),
    )
    check_sources = AuditOperator(task_id="check_sources", command="task check_sources", arguments=ARGUMENTS)
    audit = AuditOperator(task_id="audit", command="task audit", arguments=ARGUMENTS)
    validate = AuditOperator(task_id="validate", command="task validate", arguments=ARGUMENTS)
    publish = AuditOperator(task_id="publish", command="task publish", arguments=ARGUMENTS, outlets=TABLES)
    report = ReportOperator(
        task_id="report",
        command="task report",
        arguments=(*ARGUMENTS, "--fail-on={{ params.fail_on }}"),
        findings_file="/tmp/rebalance-audit-{{ ti.id }}.json",
    )
    wait_for_sources >> check_sources >> audit >> validate >> publish >> report
