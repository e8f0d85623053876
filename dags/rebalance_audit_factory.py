"""DAGs of one fleet: for another one, call `audits` in a DAG file of your own.

from rebalance_audit_factory import audits  # Airflow reads files that name it

audits("eu", warehouse="s3a://lake/eu", connection="spark_eu")
audits("us", warehouse="s3a://lake/us", connection="spark_us", hourly="15 * * * *")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Asset, BaseOperator, CronDataIntervalTimetable
from rebalance_audit_tasks import (
    CONNECTION,
    DEFAULT_ARGS,
    DUE,
    INTERVAL,
    LATE_AFTER,
    LATE_PARAMS,
    MAINTAIN_PARAMS,
    PARAMS,
    SETTINGS,
    SOURCES,
    TABLES,
    AuditOperator,
    NotifyOperator,
    SourcesSensor,
)

#: When the DAGs of a fleet run, in UTC.
HOURLY, LATE, MAINTAIN = "0 * * * *", "30 3 * * *", "30 4 * * *"
#: When missing steps are audited, and how many at most each time: after the audit of the hour, with its retries.
MISSING, MOST = "45 * * * *", 4
GRACE = "macros.timedelta(minutes=var.value.get('rebalance_audit_grace_minutes', 10) | int)"
DAYS = "var.value.get('rebalance_audit_late_days', 7)"
#: An option that a dry run replaces: a word cannot be left out.
UNLESS_DRY = "{{{{ '--dry-run' if params.dry_run else {} }}}}"
#: What Airflow shows of each task.
TASKS = {
    "wait_for_sources": "Waits until the snapshots have come, at most for the grace time. The log names missing ones.",
    "audit": "Checks the snapshots, audits them and stages the results. Fails if the data-quality gate is closed.",
    "publish": "Checks the staged results and publishes them.",
    "notify": "Sends each incident that opened, got worse or ended, once. Fails from the severity `fail_on`.",
    "notify_of_failure": "Does what `notify` does, if a task before it failed.",
    "audit_missing_steps": "Audits and publishes the newest missing steps. The log names each.",
    "audit_late_steps": "Audits and publishes steps with late snapshots again. The log names each.",
    "maintain": "Deletes rows that are older than they are kept, compacts files, and removes old ones.",
}


@dataclass(frozen=True)
class Fleet:
    """A warehouse and how it is audited. Without a warehouse: that of the Variables `rebalance_audit_warehouse` and
    `rebalance_audit_config`.

    `operator` makes a task that runs one command: `operator(task_id=…, words=[…], connection=…, inlets=[…],
    outlets=[…])`. Words have templates. `connection` is the one to Spark.
    """

    name: str = "rebalance_audit"
    warehouse: str = ""
    config: str = ""
    connection: str = CONNECTION
    operator: Callable[..., BaseOperator] = AuditOperator

    def assets(self, tables: Sequence[str]) -> list[Asset]:
        """These tables: an audit reads SOURCES, and other DAGs can be scheduled on the TABLES that it publishes."""
        names = {table: f"{self.name}_{table}" for table in tables}
        if not self.warehouse:  # the Variable says it when a task runs
            return [Asset(name) for name in names.values()]
        return [Asset(name, uri=f"{self.warehouse}/{table}") for table, name in names.items()]

    def dag(self, name: str, cron: str, priority: int, **settings: Any) -> DAG:
        """A DAG of the fleet."""
        default_args = DEFAULT_ARGS | {"priority_weight": priority} | settings.pop("default_args", {})
        schedule = CronDataIntervalTimetable(cron, timezone="UTC")
        return DAG(f"{self.name}_{name}", schedule=schedule, default_args=default_args, **SETTINGS, **settings)

    @property
    def configuration(self) -> str:
        """The option that names the configuration."""
        config = self.config if self.warehouse else "{{ var.value.get('rebalance_audit_config', '') }}"
        return f"--config={config}"

    def task(self, task_id: str, command: str, *arguments: str, **settings: Any) -> BaseOperator:
        """A task that runs one command on the warehouse."""
        warehouse = self.warehouse or "{{ var.value.rebalance_audit_warehouse }}"
        words = [*command.split(), f"--warehouse={warehouse}", *arguments]
        task = self.operator(task_id=task_id, words=words, connection=self.connection, **settings)
        task.doc_md = TASKS[task_id]
        return task


def audits(
    name: str,
    *,
    warehouse: str,
    config: str = "",
    connection: str = CONNECTION,
    operator: Callable[..., BaseOperator] = AuditOperator,
    hourly: str = HOURLY,
    late: str = LATE,
    maintain: str = MAINTAIN,
    late_after: timedelta = LATE_AFTER,
    missing: str = MISSING,
    most: int = MOST,
) -> list[DAG]:
    """The DAGs of a fleet, NAME_hourly, NAME_missing, NAME_late and NAME_maintain, on these cron schedules (UTC). A
    cluster of which nothing has come is awaited for `late_after` at most; `most` missing steps are audited at a time.
    """
    fleet = Fleet(name, warehouse, config, connection, operator)
    return [
        hourly_dag(fleet, hourly, late_after),
        missing_dag(fleet, missing, most),
        late_dag(fleet, late),
        maintain_dag(fleet, maintain),
    ]


def hourly_dag(fleet: Fleet, cron: str = HOURLY, late_after: timedelta = LATE_AFTER) -> DAG:
    """Audit each data interval, publish it, send notifications, also of a closed gate. Each task may be retried or
    cleared at any time.
    """
    own = {"warehouse": fleet.warehouse, "config": fleet.config}
    names = {"cluster": "{{ params.cluster or '' }}", "group": "{{ params.group or '' }}"}
    # The same in all tasks of a run, and in no other run.
    of_run = (f"--interval={INTERVAL}", "--run={{ run_id }}")
    arguments = (*of_run, *(f"--{key}={value}" for key, value in names.items()), fleet.configuration)
    description = "Audits the consumer load balancing of the last hour"
    with fleet.dag("hourly", cron, 10, max_active_runs=4, params=PARAMS, description=description) as dag:
        wait_for_sources = SourcesSensor(
            task_id="wait_for_sources",
            interval=INTERVAL,
            until="{{ " + DUE + " + " + GRACE + " }}",
            late_after=late_after,
            execution_timeout=timedelta(hours=1),
            doc_md=TASKS["wait_for_sources"],
            **own,
        )
        audit = fleet.task("audit", "task audit", *arguments, inlets=fleet.assets(SOURCES))
        publish = fleet.task("publish", "task publish", *arguments, outlets=fleet.assets(TABLES))
        of_all = {"interval": INTERVAL, "max_active_tis_per_dag": 1, **names, **own}
        notify = NotifyOperator(task_id="notify", fail_on="{{ params.fail_on }}", doc_md=TASKS["notify"], **of_all)
        # Another task, as the run must stay failed: it has the state of its last tasks. One step without audit counts.
        notify_of_failure = NotifyOperator(
            task_id="notify_of_failure",
            fail_on="NEVER",
            trigger_rule="one_failed",
            unaudited_steps=1,
            doc_md=TASKS["notify_of_failure"],
            **of_all,
        )
        wait_for_sources >> audit >> publish >> [notify, notify_of_failure]
    return dag


def missing_dag(fleet: Fleet, cron: str = MISSING, most: int = MOST) -> DAG:
    """Audits the newest steps that were recorded and that no run has audited, at most so many each time."""
    arguments = ("--only-missing", f"--most={most}", fleet.configuration, "--fail-on=NEVER")
    description = "Audits recorded steps that no run has audited"
    read, published = fleet.assets(SOURCES), fleet.assets(TABLES)
    with fleet.dag("missing", cron, 3, max_active_runs=1, description=description) as dag:
        fleet.task("audit_missing_steps", "backfill", *arguments, inlets=read, outlets=published)
    return dag


def late_dag(fleet: Fleet, cron: str = LATE) -> DAG:
    """Audits again the steps whose sources changed after they were audited, and no others."""
    interval = "--interval={{ params.interval or days_before(" + DUE + ", " + DAYS + ") }}"
    description = "Audits again the steps whose snapshots arrived late"
    arguments = (interval, fleet.configuration, UNLESS_DRY.format("'--fail-on=NEVER'"))
    read, published = fleet.assets(SOURCES), fleet.assets(TABLES)
    with fleet.dag("late", cron, 5, max_active_runs=1, params=LATE_PARAMS, description=description) as dag:
        fleet.task("audit_late_steps", "late", *arguments, inlets=read, outlets=published)
    return dag


def maintain_dag(fleet: Fleet, cron: str = MAINTAIN) -> DAG:
    """Compacts the tables, removes old files and rows as the Variables say, and checks constraints."""
    arguments = (
        UNLESS_DRY.format("'--retention-days=' ~ var.value.get('rebalance_audit_retention_days', 30)"),
        "--keep-snapshots={{ var.value.get('rebalance_audit_keep_snapshots', 'forever') }}",
        "--keep-results={{ var.value.get('rebalance_audit_keep_results', '400d') }}",
        "--keep-quarantine={{ var.value.get('rebalance_audit_keep_quarantine', '400d') }}",
    )
    settings: dict[str, Any] = {"default_args": {"execution_timeout": timedelta(hours=6)}, "params": MAINTAIN_PARAMS}
    description = "Compacts the tables and removes old files"
    with fleet.dag("maintain", cron, 1, max_active_runs=1, description=description, **settings) as dag:
        fleet.task("maintain", "maintain", *arguments)
    return dag
