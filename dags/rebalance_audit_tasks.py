"""Commands of rebalance-audit as spark-submit tasks; without imports of Spark or the project."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.standard.triggers.temporal import DateTimeTrigger
from airflow.sdk import BaseOperator, Connection, Param, Variable
from airflow.sdk.exceptions import AirflowException, AirflowFailException

CONNECTION = "spark_default"
OWNER = "rebalance-audit"
#: Sources are looked at again after so long.
LOOK_EVERY = timedelta(seconds=30)
#: After the interval's end: a cluster of which no source has come by then is awaited no more.
LATE_AFTER = timedelta(minutes=10)
SOURCES = ("membership_snapshots", "route_snapshots", "offset_snapshots", "client_snapshots", "topic_snapshots")
TABLES = ("rebalance_intervals", "allocations", "queue_progress", "group_status", "strategy_comparison", "findings")
TABLES += ("coverage", "backlog")
DEFAULT_ARGS = {
    "owner": OWNER,
    "retries": 2,
    "retry_delay": timedelta(seconds=int(os.environ.get("REBALANCE_AUDIT_RETRY_SECONDS", "300"))),
    "execution_timeout": timedelta(hours=2),
    "pool": os.environ.get("REBALANCE_AUDIT_POOL", "default_pool"),
}
_PREFIX = "rebalance-audit: "
#: Lines of a command's output in which its error is looked for.
_LAST_LINES = 20
#: Exit codes that stay the same however often a task is tried: findings or a closed gate, wrong usage or data.
_FINAL = (1, 3)
_SEVERITIES = ("INFO", "WARN", "ERROR")
_TEXT = {"type": ["null", "string"], "maxLength": 255}
_MOMENT = r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?)?Z?"


def _interval_param(default: str) -> Param:
    return Param(
        None,
        type=["null", "string"],
        pattern=f"^{_MOMENT}/{_MOMENT}$",
        title="Interval",
        description=f"START/END in UTC, END excluded, whole audit steps. Empty: {default}.",
    )


_DRY_RUN = Param(False, type="boolean", title="Dry run", description="Only log what would be done.")
LATE_PARAMS = {"interval": _interval_param("the days of the Variable rebalance_audit_late_days"), "dry_run": _DRY_RUN}
MAINTAIN_PARAMS = {"dry_run": _DRY_RUN}
PARAMS = {
    "interval": _interval_param("the run's data interval"),
    "cluster": Param(None, **_TEXT, title="Cluster", description="Audit only this cluster."),
    "group": Param(None, **_TEXT, title="Consumer group", description="Audit only this consumer group."),
    "fail_on": Param(
        "NEVER",
        enum=["NEVER", "ERROR", "WARN", "INFO"],
        title="Fail on",
        description="The task notify fails if an incident of the interval is at least this severe.",
    ),
}


def interval(params: dict[str, Any], start: datetime | None, end: datetime | None) -> str:
    """START/END of a run: what its form says, else its data interval; raises where there is neither, or it is empty."""
    if params.get("interval"):
        return str(params["interval"])
    if start is None or end is None:
        raise AirflowFailException("this run has no data interval: start it with the param interval, START/END in UTC")
    if start >= end:
        raise AirflowFailException(
            f"the data interval of this run, {start:%FT%TZ}/{end:%FT%TZ}, is empty: schedule the DAG with "
            "CronDataIntervalTimetable, or start it with the param interval"
        )
    return f"{start:%FT%TZ}/{end:%FT%TZ}"


def days_before(moment: datetime, days: int) -> str:
    """START/END of so many whole days before a moment's midnight."""
    end = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return f"{end - timedelta(days=int(days)):%F}/{end:%F}"


def of_project(name: str) -> Any:
    """`module:object` of the installed project: a wheel has its modules in `rebalance_audit`, a checkout has not."""
    try:
        in_wheel = find_spec("rebalance_audit.spark_jobs") is not None
    except ModuleNotFoundError:
        raise AirflowFailException(
            f"rebalance-audit is not installed for {sys.executable}: pip install it there"
        ) from None
    return resolve_name(f"rebalance_audit.{name}" if in_wheel else name)


def application() -> str:
    """The script of the installed project that spark-submit is given."""
    return str(of_project("spark_jobs.installation:ROOT") / "spark_jobs" / "submit" / "main.py")


def delta_jars() -> str:
    """Delta's jars, where `rebalance-audit setup` puts them; empty: the cluster has them."""
    jars = of_project("spark_jobs.installation:fetched")("jars").glob("*.jar")
    return ",".join(sorted(map(str, jars)))


MACROS = {
    "audit_interval": interval,
    "days_before": days_before,
    "audit_application": application,
    "delta_jars": delta_jars,
    "interpreter": lambda: sys.executable,
}
#: What all DAGs have.
SETTINGS: dict[str, Any] = {
    "start_date": datetime(2026, 1, 1, tzinfo=UTC),
    "catchup": False,
    "user_defined_macros": MACROS,
    "tags": ["rocketmq", "rebalance-audit"],
}
#: When a run was due; one that was started by hand may have no data interval.
DUE = "((data_interval_end | default(none)) or dag_run.run_after)"
INTERVAL = "{{ audit_interval(params, data_interval_start | default(none), data_interval_end | default(none)) }}"


class AuditOperator(SparkSubmitOperator):
    """A command submitted to a connection's Spark; the Variable `rebalance_audit_spark_conf` (JSON) adds settings."""

    def __init__(self, *, words: Sequence[str], connection: str = CONNECTION, **settings: Any) -> None:
        command = " ".join(takewhile(lambda word: not word.startswith("--"), words))
        super().__init__(
            application="{{ audit_application() }}",
            jars="{{ delta_jars() }}",
            name=f"rebalance-audit {command}",
            conn_id=connection,
            conf={
                "spark.log.level": "ERROR",
                "spark.ui.enabled": "false",
                "spark.pyspark.driver.python": "{{ interpreter() }}",
            },
            application_args=[*words],
            **settings,
        )

    def execute(self, context: Any) -> Any:
        """Submits; what is missing on this worker is said in one sentence, and not tried again."""
        connection = _checked_connection(self._conn_id)
        own = json.loads(Variable.get("rebalance_audit_spark_conf", default="{}"))
        local = _local_settings(connection, own) if self.jars else {}
        self.conf = {**(self.conf or {}), **local, **own}
        # On the class path of a local Spark, where its archive of classes knows them.
        self.jars = None if local else self.jars or None
        try:
            super().execute(context)
        except AirflowException as error:
            raise _airflow_error(error) from error


class CommandOperator(BaseOperator):
    """One command of rebalance-audit, its words, as a process of the worker: no connection to Spark."""

    template_fields = ("words",)

    def __init__(self, *, words: Sequence[str], connection: str = CONNECTION, **settings: Any) -> None:  # noqa: ARG002
        super().__init__(**settings)
        self.words = [*words]

    def execute(self, context: Any) -> None:  # noqa: ARG002
        """Runs; what it writes is in the log, and what another try cannot fix is not tried again."""
        command = [sys.executable, application(), *self.words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            self._process, lines = process, deque[str](maxlen=_LAST_LINES)
            for line in process.stdout or ():
                self.log.info("%s", line.rstrip())
                lines.append(line)
        if code := process.returncode:
            raise _airflow_error(AirflowException(f"{''.join(lines)}Error code is: {code}"))

    def on_kill(self) -> None:
        """Ends the process."""
        self._process.terminate()


class SourcesSensor(BaseOperator):
    """Wait, without worker and Spark, until each cluster's snapshots of the interval have come, at most until a moment.
    A cluster of which no source has come is given up `late_after` the interval's end. Default: the Variables
    `rebalance_audit_warehouse` and `rebalance_audit_config`. The log names what is missing.
    """

    template_fields = ("interval", "until", "warehouse", "config")

    def __init__(
        self,
        *,
        interval: str,
        until: str,
        late_after: timedelta = LATE_AFTER,
        warehouse: str = "",
        config: str = "",
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self.interval, self.until, self.late_after = interval, until, late_after
        self.warehouse, self.config = warehouse, config

    def execute(self, context: Any) -> None:
        """Looks, and defers as long as something is missing; raises where a source cannot be read."""
        self.look(context)

    def look(self, _: Any, event: Any = None) -> None:  # noqa: ARG002 - of the trigger
        """One look: the first, or one after waiting."""
        missing = self._missing()
        if missing == []:
            self.log.info("no more snapshots of %s are awaited", self.interval)
            return
        awaited = "; ".join(missing or ["it is not known which to expect"])
        now, until = datetime.now(UTC), datetime.fromisoformat(self.until)
        if now >= until:
            self.log.warning(
                "continuing without the snapshots of %s that are still missing: %s", self.interval, awaited
            )
            return
        self.log.info("waiting for snapshots of %s until %s: %s", self.interval, until, awaited)
        moment = until if missing is None else min(until, now + LOOK_EVERY)
        self.defer(trigger=DateTimeTrigger(moment=moment), method_name="look")

    def _missing(self) -> list[str] | None:
        missing_sources = of_project("spark_jobs.operate.arrivals:missing_sources")
        audit_error = of_project("spark_jobs.errors:RebalanceAuditError")
        try:
            missing: list[str] | None = missing_sources(*_tables_of(self), self.interval, self.late_after)
        except audit_error as error:
            raise AirflowException(str(error)) from error
        return missing


class NotifyOperator(BaseOperator):
    """Sends notifications of the incidents that opened, got worse or were resolved, of steps of which nothing was
    published, and of clusters whose newest steps (`unaudited_steps` or more) no run has audited, each once; then it
    fails if an incident that was seen in the interval is at least `fail_on`. No Spark.

    Variable `rebalance_audit_notifier`, JSON: `class`, an Airflow notifier; `kwargs`, its arguments, where
    templates see `cluster`, `title`, `text` and `notices`; `severity`, the least that is reported (WARN); `target`,
    under which it is remembered (default). Without a class, the worker's REBALANCE_AUDIT_NOTIFY_URL is used, if set.
    What a route of `rebalance_audit_config` matches goes to the URL of the route's file instead.
    """

    template_fields = ("interval", "cluster", "group", "fail_on", "warehouse", "config")

    def __init__(
        self,
        *,
        interval: str,
        cluster: str,
        group: str,
        fail_on: str,
        unaudited_steps: int = 2,
        warehouse: str = "",
        config: str = "",
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self.unaudited_steps = unaudited_steps
        self.interval, self.cluster, self.group, self.fail_on = interval, cluster, group, fail_on
        self.warehouse, self.config = warehouse, config

    def execute(self, context: Any) -> None:
        """Notifies first: also where it then fails because of the incidents, for good."""
        audit_error = of_project("spark_jobs.errors:RebalanceAuditError")
        try:
            self._send_notices(context)
            failing = [] if self.fail_on == "NEVER" else self._failing()
        except audit_error as error:
            raise AirflowException(str(error)) from error
        if failing:
            raise AirflowFailException(f"incidents of severity {self.fail_on} at least: {len(failing)}")

    def _send_notices(self, context: Any) -> None:
        settings = json.loads(Variable.get("rebalance_audit_notifier", default="{}"))
        warehouse, config = _tables_of(self)
        configuration = of_project("spark_jobs.config.file:load")(config or None)
        routes, report_url = configuration.routes, configuration.report_url
        if not ("class" in settings or os.environ.get("REBALANCE_AUDIT_NOTIFY_URL") or routes):
            self.log.info("no notification: neither rebalance_audit_notifier nor REBALANCE_AUDIT_NOTIFY_URL is set")
            return
        request = of_project("spark_jobs.operate.notices:NoticeRequest")(
            settings.get("target", "default"),
            settings.get("severity", "WARN"),
            routes,
            self.unaudited_steps,
            report_url,
        )
        messages = of_project("spark_jobs.operate.notices:send_notices_without_spark")(
            warehouse, request, lambda message: _send(settings, message, context)
        )
        for message in messages:
            self.log.info("sent: %s\n%s", message.title, message.text)

    def _failing(self) -> list[str]:
        severities = of_project("spark_jobs.show.incidents:severities_in")(
            _tables_of(self)[0], self.interval, self.cluster, self.group
        )
        severe = _SEVERITIES[_SEVERITIES.index(self.fail_on) :]
        return [severity for severity in severities if severity in severe]


def _tables_of(task: SourcesSensor | NotifyOperator) -> tuple[str, str]:
    """The task's warehouse and configuration; without its own those of the Variables."""
    if task.warehouse:
        return task.warehouse, task.config
    return Variable.get("rebalance_audit_warehouse"), Variable.get("rebalance_audit_config", default="")


def _airflow_error(error: AirflowException) -> AirflowException:
    """The error with what rebalance-audit itself said; one that another try cannot fix is not tried again."""
    text = str(error)
    own_lines = [line.partition(_PREFIX)[2] for line in text.splitlines() if line.startswith(_PREFIX)]
    code = re.search(r"Error code is: (-?\d+)", text)
    is_final = own_lines and code and int(code[1]) in _FINAL
    return (AirflowFailException if is_final else AirflowException)("\n".join(own_lines) or text)


def _send(settings: dict[str, Any], message: Any, context: Any) -> None:
    """Sends a message of `spark_jobs.operate.notices`, and raises where that fails."""
    is_routed = message.target != settings.get("target", "default")
    if "class" in settings and not is_routed:
        _notify(settings, message, context)
        return
    file = Path(message.target) if is_routed else None
    of_project("spark_jobs.operate.deliver:deliver")(os.environ, file, message.title, message.text, message.entries)


def _notify(settings: dict[str, Any], message: Any, context: Any) -> None:
    """Not by calling the notifier: that swallows what goes wrong."""
    row = of_project("spark_jobs.operate.notices:notice_row")
    own = {"cluster": message.cluster, "title": message.title, "text": message.text}
    in_templates = {**context, **own, "notices": [row(notice) for notice in message.notices]}
    notifier = resolve_name(settings["class"])(**settings.get("kwargs", {}))
    notifier.render_template_fields(in_templates)
    notifier.notify(in_templates)


def _checked_connection(name: str) -> Connection:
    """The connection to Spark, and spark-submit, are there; raises where they are not, or cannot run Python."""
    try:
        connection = Connection.get(name)
    except Exception as error:
        raise AirflowFailException(f"there is no connection {name}: add it, host = the Spark master") from error
    if shutil.which("spark-submit") is None:
        raise AirflowFailException("there is no spark-submit on this worker's PATH: install Spark, or pip's pyspark")
    if _master(connection).startswith("spark://") and connection.extra_dejson.get("deploy-mode") == "cluster":
        raise AirflowFailException(
            "a standalone cluster runs Python in deploy mode client only: take the deploy-mode cluster out of the "
            f"extra of the connection {name}"
        )
    return connection


def _master(connection: Connection) -> str:
    """Return the master as the provider makes it of a connection; without its port."""
    host = connection.host or ""
    is_url = connection.conn_type == "spark" and ("://" in host or not connection.port)
    return host if is_url else f"{connection.conn_type}://{host}"


def _local_settings(connection: Connection, own: dict[str, str]) -> dict[str, str]:
    """Settings with which a local Spark starts as fast as that of the command line, unless some are set otherwise."""
    if _master(connection).partition("[")[0] != "local":
        return {}
    settings: dict[str, str] = of_project("spark_jobs.runtime.session:submit_settings")()
    return settings if settings.keys().isdisjoint(own) else {}
