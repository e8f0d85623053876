"""The commands of the command line: what each does, takes and assumes. Nothing heavy is imported here."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import metadata
from pkgutil import resolve_name

from spark_jobs.errors import ExitCode


@dataclass(frozen=True)
class LazyFunction:
    """The function `module:function` of this package, imported when it is called: --help does not wait for it."""

    name: str
    first_word: str = field(default="opening the tables", kw_only=True)

    def function(self) -> Callable[[Namespace], int]:
        """The function itself; raises where there is none of that name."""
        found: Callable[[Namespace], int] = resolve_name(f"spark_jobs.cli.{self.name}")
        return found

    def __call__(self, arguments: Namespace) -> int:
        """The exit code of the command; its first word does not wait for what it imports."""
        with _progress() as say:
            say(self.first_word)
            function = self.function()
        return function(arguments)


@dataclass(frozen=True)
class WithSpark(LazyFunction):
    """A command that needs Spark: first a function of `before` looks for what is wrong without it."""

    check: str

    def __call__(self, arguments: Namespace) -> int:
        """The exit code of the command."""
        with _progress() as say:
            say("checking paths and tables")
            resolve_name(f"spark_jobs.cli.before:{self.check}")(arguments)
            say("loading the audit")
            function = self.function()
        return function(arguments)


def _progress() -> AbstractContextManager[Callable[[str], None]]:
    from rich.console import Console

    from spark_jobs.cli.terminal import progress_on

    return progress_on(Console(stderr=True))


@dataclass(frozen=True)
class Command:
    """One command: what it does, takes and assumes, and how it is used."""

    summary: str
    execute: Callable[[Namespace], int]
    options: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    required: tuple[str, ...] = ()


def _version(_: Namespace) -> int:
    for package in ("rebalance-audit", "pyspark", "delta-spark"):
        found = [distribution.version for distribution in metadata.distributions(name=package)]
        print(package, *(found[:1] or ["not installed"]))
    return ExitCode.CLEAN


COMMANDS: Mapping[str, Command] = {
    "capture": Command(
        "Record what a live cluster reports about its consumer groups, until the time is up or Ctrl-C.",
        LazyFunction("capturing:capture_command", first_word="starting RocketMQ's admin client"),
        (
            *("--namesrv", "--out", "--warehouse", "--cadence", "--for", "--once", "--groups", "--rate", "--at-once"),
            *("--proxy", "--cluster-name", "--access", "--tls", "--tls-config"),
        ),
        (
            "--namesrv 10.0.0.1:9876 --for 10m",
            "--namesrv '10.0.0.1:9876;10.0.0.2:9876' --out /data/recordings --warehouse s3a://lake/audit",
        ),
        {"--out": "recordings", "--cadence": "20s", "--rate": "300", "--at-once": "12"},
        optional=("--warehouse",),
    ),
    "ingest": Command(
        "Load recordings of RocketMQ's answers into the source tables; loading one again changes nothing.",
        WithSpark("auditing:ingest_command", "check_ingest"),
        ("FILE", "--warehouse", "--cluster-name", "--scale", "--json"),
        (
            "examples/recording.jsonl.gz --warehouse ./warehouse",
            "day1.jsonl.gz day2.jsonl.gz --warehouse s3a://lake/audit --cluster-name eu",
        ),
    ),
    "run": Command(
        "Audit whole steps of the recorded history, publish the tables, and show the incidents.",
        WithSpark("auditing:run_command", "check_audit"),
        (
            *("--warehouse", "--interval", "--cluster", "--group", "--topic", "--config", "--fail-on", "--findings"),
            *("--scale", "--json"),
        ),
        (
            "--warehouse ./warehouse --interval 2026-11-21T02:00/2026-11-21T03:00",
            "--warehouse /data/audit --interval 2026-11-21/2026-11-22 --config audit.yaml",
            "--warehouse lake.audit --interval 2026-11-21/2026-11-22 --group G --json",
        ),
        {"--fail-on": "ERROR"},
    ),
    "task": Command(
        "One task of a scheduled run, audit or publish: what the hourly Airflow DAG submits, one after the other.",
        WithSpark("scheduled:task_command", "check_audit"),
        ("TASK", "--run", "--warehouse", "--interval", "--cluster", "--group", "--config", "--scale"),
        (
            "audit --run nightly-1 --warehouse /data/audit --interval 2026-11-21/2026-11-22",
            "publish --run nightly-1 --warehouse /data/audit --interval 2026-11-21/2026-11-22",
        ),
    ),
    "notify": Command(
        "Send notices of the incidents that opened, got worse or were resolved since the last notice, each once.",
        LazyFunction("notifying:notify_command"),
        ("--warehouse", "--config", "--to", "--target", "--at-least", "--dry-run"),
        (
            "--warehouse ./warehouse --dry-run",
            "--warehouse /data/audit --to /etc/rebalance-audit/pager.url --target pager --at-least ERROR",
        ),
        {"--target": "default", "--at-least": "WARN"},
    ),
    "backfill": Command(
        "Audit whole steps of a long history, one run per step; a step that fails does not stop the others.",
        WithSpark("scheduled:backfill_command", "check_audit"),
        ("--warehouse", "--interval", "--config", "--jobs", "--only-missing", "--fail-on", "--scale", "--json"),
        (
            "--warehouse /data/audit --interval 2026-11-01/2026-12-01 --jobs 2",
            "--warehouse /data/audit --interval 2026-11-01/2026-12-01 --only-missing --json",
        ),
        {"--fail-on": "ERROR"},
    ),
    "late": Command(
        "Audit again the steps whose snapshots arrived, or changed, after they were published.",
        WithSpark("scheduled:late_command", "check_audit"),
        ("--warehouse", "--interval", "--config", "--fail-on", "--scale", "--json"),
        (
            "--warehouse ./warehouse --interval 2026-11-21/2026-11-22",
            "--warehouse lake.audit --interval 2026-11-14/2026-11-21 --config audit.yaml --json",
        ),
        {"--fail-on": "ERROR"},
    ),
    "validate": Command(
        "Run the data-quality expectations on what is in the warehouse, without auditing.",
        WithSpark("auditing:validate_command", "check_validate"),
        ("--warehouse", "--table", "--interval", "--config", "--scale", "--json"),
        (
            "--warehouse ./warehouse",
            "--warehouse /data/audit --interval 2026-11-21/2026-11-22 --config audit.yaml",
            "--warehouse lake.audit --table allocations --json",
        ),
        optional=("--interval",),
    ),
    "verify": Command(
        "Audit a published run again from the same versions of its sources, and compare the results.",
        WithSpark("auditing:verify_command", "check_verify"),
        ("RUN_ID", "--warehouse", "--scale", "--json"),
        ("7f3a0c5e6b4d41a9 --warehouse ./warehouse", "7f3a0c5e6b4d41a9 --warehouse lake.audit --json"),
    ),
    "status": Command(
        "Show the newest step of every group: what needs attention, its backlog, and what limits it.",
        LazyFunction("reading:status_command"),
        ("--warehouse", "--cluster", "--group", "--tz", "--json", "--format"),
        ("--warehouse ./warehouse", "--warehouse lake.audit --cluster eu --json"),
    ),
    "incidents": Command(
        "List what went wrong, the worst first, one line per incident: a cause and its consequences in all groups.",
        LazyFunction("reading:incidents_command"),
        (
            *("--warehouse", "--interval", "--last", "--open", "--cluster", "--group", "--rule", "--severity"),
            *("--config", "--client", "--id", "--sort", "--tz", "--json", "--format"),
        ),
        (
            "--warehouse ./warehouse",
            "--warehouse ./warehouse --last 1h --severity ERROR --sort newest --tz Europe/Berlin",
            "--warehouse ./warehouse --id 9c1f0a52d7be4410",
            "--warehouse lake.audit --interval 2026-11-21/2026-11-22 --open --json",
        ),
        {"--sort": "worst"},
        optional=("--interval",),
    ),
    "trends": Command(
        "Compare the last weeks of every group: incidents, queues without one owner, rebalances; what got worse comes "
        "first.",
        LazyFunction("reading:trends_command"),
        ("--warehouse", "--days", "--cluster", "--group", "--tz", "--json", "--format"),
        ("--warehouse ./warehouse", "--warehouse lake.audit --days 14 --cluster eu --json"),
        {"--days": "30"},
    ),
    "suggest": Command(
        "Suggest thresholds for each group by what was found in the last days, as YAML to paste; changes nothing.",
        LazyFunction("reading:suggest_command"),
        ("--warehouse", "--days", "--cluster", "--group", "--config"),
        ("--warehouse ./warehouse", "--warehouse lake.audit --days 30 --config audit.yaml"),
        {"--days": "14"},
    ),
    "runs": Command(
        "List the runs, newest first: what was audited when, with which configuration and code, by which run.",
        LazyFunction("searching:runs_command"),
        ("--warehouse", "--interval", "--last", "--tz", "--json", "--format"),
        ("--warehouse ./warehouse", "--warehouse lake.audit --interval 2026-11-21/2026-11-22 --json"),
        optional=("--interval",),
    ),
    "clients": Command(
        "Search a consumer by its client id or host over all groups: of which it was a member, and when.",
        LazyFunction("searching:clients_command"),
        ("TEXT", "--warehouse", "--interval", "--last", "--cluster", "--group", "--tz", "--json", "--format"),
        ("10.31.79.121 --warehouse ./warehouse", "'@7177#' --warehouse lake.audit --last 7d --format csv"),
        optional=("--interval",),
    ),
    "compare": Command(
        "Compare two times of a group, before and after a deploy: owners, rebalances, backlog, incidents.",
        LazyFunction("searching:compare_command"),
        ("BEFORE", "AFTER", "--warehouse", "--cluster", "--group", "--tz", "--json", "--format"),
        (
            "2026-11-21T02:03/2026-11-21T02:07 2026-11-21T02:07/2026-11-21T02:17 --warehouse ./warehouse --group G",
            "2026-11-20/2026-11-21 2026-11-21/2026-11-22 --warehouse lake.audit --cluster eu --group G --format csv",
        ),
        required=("--group",),
    ),
    "metrics": Command(
        "Write the newest step of every group and its open incidents as metrics that Prometheus reads.",
        LazyFunction("reading:metrics_command"),
        ("--warehouse", "--textfile", "--cluster", "--group", "--config"),
        (
            "--warehouse ./warehouse",
            "--warehouse lake.audit --textfile /var/lib/node_exporter/textfile/rebalance_audit.prom",
        ),
    ),
    "explain": Command(
        "Explain in words who owned what in a group at one moment, why, and what was wrong.",
        LazyFunction("reading:explain_command"),
        ("--warehouse", "--cluster", "--group", "--topic", "--at", "--tz", "--json"),
        (
            "--warehouse ./warehouse --group payment-service --at 2026-11-21T02:10Z",
            "--warehouse lake.audit --cluster eu --group G --topic T --at 2026-11-21T02:10:30Z --json",
        ),
        required=("--group",),
    ),
    "what-if": Command(
        "Simulate a group's recorded history with other members, strategy or queues, and compare the backlogs.",
        LazyFunction("what_if:what_if_command"),
        (
            *("--warehouse", "--interval", "--last", "--cluster", "--group", "--members", "--strategy", "--unique-ids"),
            *("--same-subscriptions", "--queues", "--without", "--speed", "--threads", "--pull-batch"),
            *("--pull-interval", "--response-time", "--load", "--autoscale", "--case", "--plan", "--size"),
            *("--utilisation-below", "--backlog-below", "--drained-within", "--html", "--json"),
        ),
        (
            "--warehouse ./warehouse --interval 2026-11-21T02:00/2026-11-21T03:00 --group payment-service --unique-ids",
            "--warehouse ./warehouse --group G --case '--members +2' --case '--strategy AVG_BY_CIRCLE' --html G.html",
            "--warehouse lake.audit --cluster eu --group G --plan 3",
            "--warehouse ./warehouse --group G --size --backlog-below 10000 --load x2",
            "--warehouse lake.audit --size --cluster eu",
        ),
        optional=("--interval",),
    ),
    "maintain": Command(
        "Compact small files, remove old ones, and check the constraints of all tables; their rows stay the same.",
        WithSpark("scheduled:maintain_command", "check_maintain"),
        ("--warehouse", "--retention-days", "--upgrade", "--scale", "--json"),
        (
            "--warehouse ./warehouse",
            "--warehouse ./warehouse --upgrade",
            "--warehouse lake.audit --retention-days 90 --json",
        ),
    ),
    "report": Command(
        "Write what was published of an interval as one HTML file: who owned each queue when, findings, backlog.",
        LazyFunction("reading:report_command"),
        ("--warehouse", "--interval", "--last", "--cluster", "--group", "--out", "--details", "--trace", "--config"),
        (
            "--warehouse ./warehouse --last 1d",
            "--warehouse ./warehouse --interval 2026-11-21T02:00/2026-11-21T03:00",
            "--warehouse ./warehouse --interval 2026-11-21T02:00/2026-11-21T03:00 --trace report.pftrace",
            "--warehouse lake.audit --interval 2026-11-21/2026-11-22 --group G --out G.html",
        ),
        {"--out": "report.html"},
    ),
    "demo": Command(
        "Load the recording of a real cluster that ships with the project, audit it, and show the incidents.",
        WithSpark("auditing:demo_command", "check_warehouse"),
        ("--warehouse", "--findings", "--scale"),
        ("", "--warehouse /data/demo"),
        {"--warehouse": "./warehouse"},
    ),
    "version": Command("Print the versions of the audit, Spark and Delta.", _version, examples=("",)),
}
