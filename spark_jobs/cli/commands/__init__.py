"""The table of all commands, each a function in the module of its name; nothing heavy is imported here."""

import os
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

from spark_jobs.cli.options import COMMON
from spark_jobs.show.language import LANGUAGE, language_of


@dataclass(frozen=True)
class Command:
    """One command: its summary, required and optional options, and examples.

    `check` is a function of `cli.before`; a command that has one needs Spark, and the check runs before its import.
    An option may have its default behind it, `--fail-on=ERROR`, or its choices, the default first: `--sort=a|b`.
    """

    summary: str
    required: str = ""
    optional: str = ""
    check: str = ""
    first_word: str = "opening the tables"
    examples: tuple[str, ...] = ()

    @property
    def choices(self) -> Mapping[str, Sequence[str]]:
        """The values that every option can have, by option, the default first: the command's, then the common ones."""
        words = (*self.required.split(), *self.optional.split(), *COMMON)
        return {option: values.split("|") for option, _, values in (word.partition("=") for word in words)}

    @property
    def options(self) -> Mapping[str, str]:
        """The default of every option, empty where it has none."""
        return {option: default for option, (default, *_) in self.choices.items()}

    def execute(self, arguments: Namespace) -> int:
        """The exit code. From here on, `config` is the configuration, not a path."""
        from spark_jobs.cli.terminal import progress_on

        with progress_on() as say:
            if word := "checking paths and tables" if self.check else self.first_word:
                say(word)
            if "--config" in self.options:
                from spark_jobs.config.file import load

                arguments.config = load(arguments.config)
                LANGUAGE.set(language_of(arguments.language or arguments.config.language, os.environ))
            if self.check:
                function_named(f"before:{self.check}")(arguments)
                say("loading the audit")
            handler = handler_of(arguments.name)
        return handler(arguments)


def handler_of(name: str) -> Callable[[Namespace], int]:
    """The function of that command, in the module of its name: --help imports none."""
    module = name.replace("-", "_")
    return function_named(f"commands.{module}:{module}_command")


def function_named(name: str) -> Callable[[Namespace], Any]:
    """The `module:function` of the package `cli`, which has another name in a wheel."""
    function: Callable[[Namespace], Any] = resolve_name(f"{__package__.rpartition('.')[0]}.{name}")
    return function


COMMANDS: Mapping[str, Command] = {
    "capture": Command(
        "Record what a live cluster reports about its consumer groups.",
        required="--namesrv",
        optional=(
            "--out=recordings --warehouse --cadence=20s --for --once --groups --rate=300 --at-once=12 "
            "--proxy --cluster-name --stacks-after=60s --access --tls --tls-config --keep-recordings=7d --textfile"
        ),
        first_word="starting RocketMQ's admin client",
        examples=(
            "--namesrv 10.0.0.1:9876 --for 10m",
            "--namesrv '10.0.0.1:9876;10.0.0.2:9876' --out /data/recordings --warehouse s3a://lake/audit",
        ),
    ),
    "ingest": Command(
        "Load recordings, or RocketMQ's own logs, into the source tables; loading twice changes nothing.",
        required="FILE --warehouse",
        optional="--logs --log-zone --state-at --cluster-name --scale --json",
        check="check_ingest",
        examples=(
            "examples/recording.jsonl.gz --warehouse ./warehouse",
            "--logs logs/broker-a --logs logs/broker-b --cluster-name eu --warehouse ./warehouse",
            "day1.jsonl.gz day2.jsonl.gz --warehouse s3a://lake/audit --cluster-name eu",
        ),
    ),
    "run": Command(
        "Audit whole steps, publish the tables, and show the incidents.",
        required="--warehouse --interval",
        optional="--cluster --group --topic --config --fail-on=ERROR --scale --json",
        check="check_audit",
        examples=(
            "--warehouse ./warehouse --interval 2026-11-21T02:00/2026-11-21T03:00",
            "--warehouse /data/audit --interval 2026-11-21/2026-11-22 --config audit.yaml",
            "--warehouse lake.audit --interval 2026-11-21/2026-11-22 --group G --json",
        ),
    ),
    "task": Command(
        "One task of a scheduled run, as the Airflow DAG submits it: audit or publish.",
        required="TASK --run --warehouse --interval",
        optional="--cluster --group --config --scale",
        check="check_audit",
        examples=(
            "audit --run nightly-1 --warehouse /data/audit --interval 2026-11-21/2026-11-22",
            "publish --run nightly-1 --warehouse /data/audit --interval 2026-11-21/2026-11-22",
        ),
    ),
    "notify": Command(
        "Send one notification per incident that opened, got worse or was resolved, closed gate, or missing audit.",
        required="--warehouse",
        optional="--config --to --target=default --at-least=WARN --digest --dry-run",
        examples=(
            "--warehouse ./warehouse --dry-run",
            "--warehouse /data/audit --to /etc/rebalance-audit/pager.url --target pager --at-least ERROR",
            "--warehouse /data/audit --config routes.yaml --to mail.url --digest daily",
        ),
    ),
    "backfill": Command(
        "Audit a long history, one run per step; a failed step does not stop the others.",
        required="--warehouse",
        optional="--interval --config --jobs --only-missing --most --fail-on=ERROR --scale --json",
        check="check_backfill",
        examples=(
            "--warehouse /data/audit --interval 2026-11-01/2026-12-01 --jobs 2",
            "--warehouse /data/audit --interval 2026-11-01/2026-12-01 --only-missing --json",
            "--warehouse /data/audit --only-missing --most 4",
        ),
    ),
    "watch": Command(
        "Audit each step soon after its end, send notifications, and maintain the tables daily, until SIGTERM.",
        required="--warehouse",
        optional=(
            "--config --to --target=default --at-least=WARN --digest --textfile "
            "--retention-days --keep-snapshots --keep-results --keep-quarantine --scale"
        ),
        check="check_inputs",
        examples=("--warehouse /data/audit", "--warehouse s3a://lake/audit --config audit.yaml --to notices.url"),
    ),
    "late": Command(
        "Audit steps again whose snapshots arrived or changed after they were published; list missing steps.",
        required="--warehouse --interval",
        optional="--config --fail-on=ERROR --dry-run --scale --json",
        check="check_late",
        examples=(
            "--warehouse ./warehouse --interval 2026-11-21/2026-11-22",
            "--warehouse lake.audit --interval 2026-11-14/2026-11-21 --config audit.yaml --json",
        ),
    ),
    "validate": Command(
        "Run the data-quality expectations on the warehouse, without auditing.",
        required="--warehouse",
        optional="--sources --store --table --interval --config --scale --json",
        check="check_validate",
        examples=(
            "--warehouse ./warehouse",
            "--warehouse ./warehouse --sources",
            "--warehouse /data/audit --interval 2026-11-21/2026-11-22 --config audit.yaml",
            "--warehouse lake.audit --table allocations --json",
            "--store s3a://lake/audit",
        ),
    ),
    "verify": Command(
        "Audit a published run again from the same source versions, and compare the results.",
        required="RUN_ID --warehouse",
        optional="--scale --json",
        check="check_inputs",
        examples=("7f3a0c5e6b4d41a9 --warehouse ./warehouse", "7f3a0c5e6b4d41a9 --warehouse lake.audit --json"),
    ),
    "status": Command(
        "Show the groups that need attention in their newest step, one line each.",
        required="--warehouse",
        optional="--cluster --group --all --sort=severity|backlog|peak-backlog|utilization --config --fail-on=ERROR "
        "--tz --json --format",
        examples=(
            "--warehouse ./warehouse",
            "--warehouse ./warehouse --group payment-service",
            "--warehouse lake.audit --cluster eu --all --sort backlog",
        ),
    ),
    "incidents": Command(
        "List incidents, the worst first: a root cause with its symptoms in all groups.",
        required="--warehouse",
        optional=(
            "--interval --last --open --cluster --group --rule --severity --config --client --id --fail-on=ERROR "
            "--sort=worst|newest|oldest|longest|peak-backlog --publish --tz --json --format"
        ),
        examples=(
            "--warehouse ./warehouse",
            "--warehouse ./warehouse --last 1h --severity ERROR --sort newest --tz Europe/Berlin",
            "--warehouse ./warehouse --id 9c1f0a52d7be4410",
            "--warehouse ./warehouse --publish",
            "--warehouse lake.audit --interval 2026-11-21/2026-11-22 --open --json",
        ),
    ),
    "export": Command(
        "Write the snapshots of one incident into a file that ingest reads, for a ticket or bug report.",
        required="--warehouse --incident --out",
        optional="--anonymous",
        examples=(
            "--warehouse ./warehouse --incident 9c1f0a52 --out case.jsonl.gz",
            "--warehouse lake.audit --incident 9c1f0a52 --out case.jsonl.gz --anonymous",
        ),
    ),
    "trends": Command(
        "Compare the last weeks of every group: incidents, wrong owners, rebalances; what got worse comes first.",
        required="--warehouse",
        optional="--days=30 --cluster --group --tz --json --format",
        examples=("--warehouse ./warehouse", "--warehouse lake.audit --days 14 --cluster eu --json"),
    ),
    "suggest": Command(
        "Suggest thresholds for each group from the findings of the last days, as YAML to paste.",
        required="--warehouse",
        optional="--days=14 --cluster --group --config",
        examples=("--warehouse ./warehouse", "--warehouse lake.audit --days 30 --config audit.yaml"),
    ),
    "runs": Command(
        "List the runs, newest first: time, configuration, code and outcome; or the steps that no run audited.",
        required="--warehouse",
        optional="--interval --last --missing --tz --json --format",
        examples=(
            "--warehouse ./warehouse",
            "--warehouse ./warehouse --missing",
            "--warehouse lake.audit --interval 2026-11-21/2026-11-22 --json",
        ),
    ),
    "clients": Command(
        "Find a consumer by client id or host: its groups, and when it was a member.",
        required="TEXT --warehouse",
        optional="--interval --last --cluster --group --tz --json --format",
        examples=("10.31.79.121 --warehouse ./warehouse", "'@7177#' --warehouse lake.audit --last 7d --format csv"),
    ),
    "metrics": Command(
        "Write the newest step of every group and its open incidents as Prometheus metrics.",
        required="--warehouse",
        optional="--textfile --serve --otlp --cluster --group --config",
        examples=(
            "--warehouse ./warehouse",
            "--warehouse lake.audit --textfile /var/lib/node_exporter/textfile/rebalance_audit.prom",
            "--warehouse /data/audit --serve :9108",
            "--warehouse /data/audit --otlp http://localhost:4318/v1/metrics",
        ),
    ),
    "mcp": Command(
        "Answer an agent's questions on stdin and stdout, by the Model Context Protocol; nothing is changed.",
        required="--warehouse",
        optional="--config",
        first_word="",
        examples=("--warehouse ./warehouse", "--warehouse s3a://lake/audit --config audit.yaml"),
    ),
    "explain": Command(
        "Explain which member of a group owned what at one moment, why, and what was wrong.",
        required="--warehouse --group --at",
        optional="--cluster --topic --config --fail-on=ERROR --tz --json",
        examples=(
            "--warehouse ./warehouse --group payment-service --at 2026-11-21T02:10Z",
            "--warehouse lake.audit --cluster eu --group G --topic T --at 2026-11-21T02:10:30Z --json",
        ),
    ),
    "message": Command(
        "Show what became of a message in each group: consumed, skipped, lost or waiting, and who owned its queue.",
        required="--warehouse --topic --queue --offset --stored-at",
        optional="--group --cluster --interval --last --tz --json",
        examples=(
            "--warehouse ./warehouse --topic orders --queue broker-a:3 --offset 6123",
            "--warehouse lake.audit --topic T --queue broker-a:3 --stored-at 2026-11-21T02:10Z --group G --json",
        ),
    ),
    "rule": Command(
        "Explain a rule: when it is reported, its causes, and what to do; without a name list all rules.",
        optional="NAME",
        first_word="",
        examples=("", "GROUP_OFFLINE"),
    ),
    "what-if": Command(
        "Simulate a group's history with other members, strategy or queues, and compare the backlogs.",
        required="--warehouse",
        optional=(
            "--interval --last --cluster --group --members --room --strategy --unique-ids --same-subscriptions "
            "--queues --without --speed --threads --pull-batch --pull-interval --response-time --load "
            "--autoscale --case --plan --rollout --size --utilization-below --backlog-below --drained-within --spare "
            "--top --html --json"
        ),
        examples=(
            "--warehouse ./warehouse --interval 2026-11-21T02:00/2026-11-21T03:00 --group payment-service --unique-ids",
            "--warehouse ./warehouse --group G --case '--members +2' --case '--strategy AVG_BY_CIRCLE' --html G.html",
            "--warehouse lake.audit --cluster eu --group G --plan 3",
            "--warehouse ./warehouse --interval 2026-11-21T02:00/2026-11-21T03:00 --group G --rollout all",
            "--warehouse ./warehouse --group G --size --backlog-below 10000 --load x2",
            "--warehouse lake.audit --size --cluster eu --top 20",
        ),
    ),
    "maintain": Command(
        "Delete rows that are older than they are kept, compact files, remove old ones, and check constraints.",
        required="--warehouse",
        optional=(
            "--retention-days --keep-snapshots --keep-results --keep-quarantine --forget-cluster --dry-run --upgrade "
            "--scale --json"
        ),
        check="check_inputs",
        examples=(
            "--warehouse ./warehouse",
            "--warehouse ./warehouse --upgrade",
            "--warehouse /data/audit --keep-snapshots 90d --keep-results 400d --dry-run",
            "--warehouse /data/audit --forget-cluster eu-old",
            "--warehouse lake.audit --retention-days 90 --json",
        ),
    ),
    "report": Command(
        "Write an interval as one HTML file: owners of each queue, findings, backlog.",
        required="--warehouse --interval",
        optional="--last --cluster --group --out=report.html --details --config",
        examples=(
            "--warehouse ./warehouse --last 1d",
            "--warehouse ./warehouse --interval 2026-11-21T02:00/2026-11-21T03:00",
            "--warehouse lake.audit --interval 2026-11-21/2026-11-22 --group G --out G.html",
        ),
    ),
    "demo": Command(
        "Load the recording of a real cluster that comes with the project, audit it, and show the incidents.",
        optional="--warehouse=./warehouse --scale",
        check="check_inputs",
        examples=("", "--warehouse /data/demo"),
    ),
    "setup": Command(
        "Fetch Delta's jars once and prepare Java's classes, so that audits start fast and need no network.",
        optional="--capture --s3 --from --remove",
        first_word="looking for Java and jars",
        examples=("", "--capture", "--from /mnt/jars"),
    ),
    "sql": Command(
        "Print SQL that creates the source tables, or flat views of the results.",
        required="WHAT --warehouse",
        optional="--engine=duckdb|spark|trino",
        first_word="",
        examples=(
            "sources --warehouse lake.audit",
            "views --warehouse ./warehouse",
            "views --warehouse lake.audit --engine spark",
        ),
    ),
    "examples": Command(
        "Write the example files into a folder: Grafana dashboard, alert rules, systemd unit, recording.",
        required="--to",
        first_word="",
        examples=("--to examples",),
    ),
    "dags": Command(
        "Write the DAG files for Airflow into a folder.",
        required="--to",
        first_word="",
        examples=("--to ~/airflow/dags",),
    ),
    "version": Command("Print the versions of the audit, Spark and Delta.", first_word="", examples=("",)),
}

#: The commands in the order in which they are shown, by what they are for.
GROUPS: Mapping[str, str] = {
    "Record and load": "capture ingest",
    "Audit": "run backfill watch late task validate verify",
    "Look": "status incidents explain message rule what-if trends suggest clients runs report export metrics mcp",
    "Keep": "notify maintain",
    "Set up": "setup demo sql examples dags version",
}
