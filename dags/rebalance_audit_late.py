"""Steps whose sources changed after they were audited are audited again, and no others."""

from airflow.sdk import DAG, CronDataIntervalTimetable
from rebalance_audit_tasks import DEFAULT_ARGS, DUE, SETTINGS, TABLES, AuditOperator

DAYS = "var.value.get('rebalance_audit_late_days', 7)"

with DAG(
    "rebalance_audit_late",
    description="Audits again the steps whose snapshots arrived late",
    schedule=CronDataIntervalTimetable("30 3 * * *", timezone="UTC"),
    max_active_runs=1,
    default_args=DEFAULT_ARGS | {"priority_weight": 5},
    doc_md=__doc__,
    **SETTINGS,
) as dag:
    AuditOperator(
        task_id="audit_late_steps",
        command="late",
        arguments=(
            "--interval={{ days_before(" + DUE + ", " + DAYS + ") }}",
            "--config={{ var.value.get('rebalance_audit_config', '') }}",
            "--fail-on=NEVER",
        ),
        outlets=TABLES,
    )
