"""Compacts the tables once a day, removes old files and rows as the Variables say, and checks constraints."""

from datetime import timedelta

from airflow.sdk import DAG, CronDataIntervalTimetable
from rebalance_audit_tasks import DEFAULT_ARGS, SETTINGS, AuditOperator

with DAG(
    "rebalance_audit_maintain",
    description="Compacts the tables and removes old files",
    schedule=CronDataIntervalTimetable("30 4 * * *", timezone="UTC"),
    max_active_runs=1,
    default_args=DEFAULT_ARGS | {"priority_weight": 1, "execution_timeout": timedelta(hours=6)},
    doc_md=__doc__,
    **SETTINGS,
) as dag:
    AuditOperator(
        task_id="maintain",
        command="maintain",
        arguments=(
            "--retention-days={{ var.value.get('rebalance_audit_retention_days', 30) }}",
            "--keep-snapshots={{ var.value.get('rebalance_audit_keep_snapshots', '') }}",
            "--keep-results={{ var.value.get('rebalance_audit_keep_results', '') }}",
        ),
    )
