"""Steps whose sources changed after they were audited are audited again, and no others."""

from datetime import UTC, datetime

from airflow.sdk import DAG, CronDataIntervalTimetable
from rebalance_audit_tasks import DEFAULT_ARGS, MACROS, TABLES, AuditOperator

DAYS = "var.value.get('rebalance_audit_late_days', 7)"

with DAG(
    "rebalance_audit_late",
    description="Audits again what came late",
    schedule=CronDataIntervalTimetable("30 3 * * *", timezone="UTC"),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args=DEFAULT_ARGS | {"priority_weight": 5},
    user_defined_macros=MACROS,
    tags=["rocketmq", "rebalance-audit"],
    doc_md=__doc__,
) as dag:
    AuditOperator(
        task_id="audit_late_steps",
        command="late",
        arguments=(
            "--interval={{ days_before((data_interval_end | default(none)) or dag_run.run_after, " + DAYS + ") }}",
            "--config={{ var.value.get('rebalance_audit_config', '') }}",
            "--fail-on=NEVER",
        ),
        outlets=TABLES,
    )
