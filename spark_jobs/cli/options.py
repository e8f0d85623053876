"""The options of the command line: how each is written and read. Nothing heavy is imported here."""

import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from spark_jobs.capture.jars import ROCKETMQ
from spark_jobs.domain.model.intervals import Interval, parse_utc
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.domain.phrases import did_you_mean
from spark_jobs.show.language import LANGUAGES

NEVER = "NEVER"
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_CENTURY = 36_525 * _UNITS["d"]


def _if_any(text: str) -> str | None:
    """A name, or None for an empty one: what a template has left empty is not given."""
    return text or None


def _seconds(text: str) -> float:
    """A time such as 20s, 10m, 2h, 3d or 1w; a number alone is seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw]?)", text)
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not 0 < seconds <= _CENTURY:
        raise ArgumentTypeError(f"'{text}' is not a length of time up to 100 years: write it as 20s, 10m, 2h, 3d or 1w")
    return seconds


#: Of a time for which rows are kept: no row is deleted.
_FOR_EVER = "forever"


def _seconds_or_never(text: str) -> float | None:
    return None if text.upper() == NEVER else _seconds(text)


def _days(text: str) -> timedelta | None:
    """Whole days, a week or more; None: for ever, also for an empty text, as a template may leave it."""
    if text in ("", _FOR_EVER):
        return None
    length = timedelta(seconds=_seconds(text))
    if length < timedelta(days=7) or length % timedelta(days=1):
        raise ArgumentTypeError(f"'{text}' is not a number of whole days, at least 7d, or {_FOR_EVER}")
    return length


def _whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """A reader of whole numbers within these bounds."""
    within = f" from {least} to {most}" if most else " above 0" if least else ""

    def parsed(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= (most or int(text)):
            raise ArgumentTypeError(f"'{text}' is not a whole number{within}")
        return int(text)

    return parsed


def _queue(text: str) -> tuple[str, int]:
    broker_name, _, queue_id = text.rpartition(":")
    if not broker_name or not queue_id.isdecimal():
        raise ArgumentTypeError(f"'{text}' is not a queue: write it as broker-a:3")
    return broker_name, int(queue_id)


def _address(text: str) -> tuple[str, int]:
    """Host and port; without a host, those of all IPv4 addresses."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65_535:
        raise ArgumentTypeError(f"'{text}' is not an address: write it as :9108 or 127.0.0.1:9108")
    return host.strip("[]") or "0.0.0.0", int(port)


def _zone(text: str) -> ZoneInfo:
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        hint = did_you_mean(text, available_timezones()) or "write it as Europe/Berlin"
        raise ArgumentTypeError(f"there is no time zone {text}: {hint}") from None


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ArgumentTypeError(f"'{text}' is not a regular expression: {error}") from None


def _value(metavar: str | None, help: str, **settings: Any) -> Mapping[str, Any]:
    return {"metavar": metavar, "help": help, **settings}


def _repeated(metavar: str, help: str) -> Mapping[str, Any]:
    return _value(metavar, help, action="append")


def _switch(help: str) -> Mapping[str, Any]:
    return {"action": "store_true", "help": help}


#: Every option and argument, once; a command names those it takes.
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "FILE": _value("FILE", "recording to load: .jsonl or .jsonl.gz", nargs="*"),
    "--logs": _repeated(
        "[BROKER=]PATH", "logs of a broker, name server, proxy or Java client: a folder or file; may be repeated"
    ),
    "--state-at": _value(
        "TIME", "with --logs: when brokers' state files were copied, if the copies have other times", type=parse_utc
    ),
    "--log-zone": _value("ZONE", "time zone of logs that do not name it, such as Asia/Shanghai"),
    "TASK": _value(
        "TASK",
        "audit: check sources, audit, stage results; publish: check results, publish them",
        choices=("audit", "publish"),
    ),
    "RUN_ID": _value("RUN_ID", "run_id of a published run, as in audit_runs"),
    "NAME": _value("NAME", "name of the rule (default: list all rules)", nargs="?", type=str.upper),
    "--warehouse": _value("URI", "location of the tables: a path, a URI, or catalog.schema"),
    "--cluster-name": _value("NAME", "name of the recorded cluster (default: the one in the recording)"),
    "--interval": _value(
        "START/END",
        "time in UTC, END excluded; an audit covers whole steps (1 hour unless configured)",
        type=Interval.parse,
    ),
    "--last": _value(
        "TIME",
        "the newest audited time, up to this length, such as 1h, 7d or 1w; runs: the time before now",
        type=_seconds,
    ),
    "--tz": _value(
        "ZONE", "show times of this zone, such as Europe/Berlin (default: UTC); input stays UTC", type=_zone
    ),
    "--format": _value(
        None,
        "write rows to stdout as CSV, logfmt (key=value) or Parquet; nested values are JSON",
        choices=("csv", "logfmt", "parquet"),
    ),
    "--rule": _value("NAME", "only incidents with a finding of this rule", type=str.upper),
    "--severity": _value("SEVERITY", "only incidents that are INFO, WARN or ERROR", type=str.upper, choices=SEVERITIES),
    "--client": _value("TEXT", "only clients whose id contains the text, such as a host"),
    "--sort": _value(None, "order"),
    "--all": _switch("also show groups that need no attention"),
    "TEXT": _value("TEXT", "part of a client id or address, such as a host or process id"),
    "--cluster": _value("NAME", "only this cluster", type=_if_any),
    "--group": _value("NAME", "only this consumer group", type=_if_any),
    "--topic": _value("NAME", "only this topic", type=_if_any),
    "--queue": _value("BROKER:ID", "queue of the message, such as broker-a:3", type=_queue),
    "--offset": _value("N", "offset of the message in its queue", type=_whole(0)),
    "--stored-at": _value("TIME", "when the message was stored, in UTC, instead of its offset", type=parse_utc),
    "--at": _value("TIME", "moment in UTC, such as 2026-11-21T02:10:30Z", type=parse_utc),
    "WHAT": _value(
        "WHAT",
        "sources: create the tables that an audit reads; views: create flat views of the results",
        choices=("sources", "views"),
    ),
    "--engine": _value(None, "SQL dialect of views"),
    "--sources": _switch("check source tables of another program instead, without Spark: columns, times, gaps"),
    "--store": _value("URI", "check instead whether this folder or S3 store can hold a warehouse, without Java"),
    "--table": _value("NAME", "only this table"),
    "--config": _value(
        "FILE", "YAML file with step, collection interval, thresholds, strategies, routes", type=_if_any
    ),
    "--retention-days": _value(
        "DAYS",
        "days for which old versions stay readable, 7 or more (default: 30)",
        type=_whole(1, 36_525),
        default=30,
    ),
    "--keep-snapshots": _value(
        "TIME",
        "delete older snapshots, calls, stacks and sightings, by whole days, such as 90d (default: forever)",
        type=_days,
    ),
    "--keep-results": _value(
        "TIME",
        "delete older audited steps, their runs, incidents and notifications, by whole days (default: 400d)",
        type=_days,
        default="400d",
    ),
    "--keep-quarantine": _value(
        "TIME", "delete older rejected lines and rows, by whole days (default: 400d)", type=_days, default="400d"
    ),
    "--forget-cluster": _value("NAME", "retire a cluster that is not recorded any more: answers and runs expect none"),
    "--upgrade": _switch("first upgrade the tables of an older version: columns, tables, constraints"),
    "--fail-on": _value(
        "SEVERITY",
        "exit with 1 from this severity on: INFO, WARN, ERROR or NEVER",
        type=str.upper,
        choices=(*SEVERITIES, NEVER),
    ),
    "--run": _value("NAME", "the scheduler's name for the run, equal in all its tasks"),
    "--to": _value(
        "PATH",
        "folder; notify: file (mode 0600) with the Apprise URL (default: REBALANCE_AUDIT_NOTIFY_URL)",
        type=_if_any,
    ),
    "--target": _value("NAME", "name for what was sent to this URL; one per URL"),
    "--at-least": _value(
        "SEVERITY", "only incidents that are at least INFO, WARN or ERROR", type=str.upper, choices=SEVERITIES
    ),
    "--digest": _value(
        None, "daily: one message a day, of the day before, about incidents without a route", choices=("daily",)
    ),
    "--dry-run": _switch("show notifications, late steps, or what would be deleted or forgotten; change nothing"),
    "--jobs": _value("N", "steps to audit at a time, 1 to 16 (default: 1)", type=_whole(1, 16), default=1),
    "--only-missing": _switch("audit only missing steps; with --interval also those of another configuration"),
    "--most": _value("N", "with --only-missing: at most N steps, the newest first", type=_whole(1)),
    "--missing": _switch("list the recorded steps without a complete audit instead (default: of the last 7 days)"),
    "--scale": _value(
        None, "start Spark for small or large work (default: by the size of the tables)", choices=("small", "large")
    ),
    "--out": _value("PATH", "file or folder to write; an existing page is replaced"),
    "--capture": _value(
        "VERSION",
        f"RocketMQ's admin client instead, for `rebalance-audit capture` (34 MB; default: {ROCKETMQ})",
        nargs="?",
        const=ROCKETMQ,
    ),
    "--s3": _switch("fetch what a warehouse on S3 needs instead (12 MB)"),
    "--from": _value(
        "FOLDER", "copy the jars from here instead, such as share/rebalance-audit of another installation"
    ),
    "--remove": _switch("remove all fetched files, which pip does not know"),
    "--namesrv": _value("HOST:PORT", "name servers, separated by ;"),
    "--cadence": _value("TIME", "time between two snapshots, such as 20s", type=_seconds),
    "--for": _value("TIME", "time to record, such as 10m (default: until stopped)", type=_seconds),
    "--once": _switch("take every snapshot once, at --rate, and stop"),
    "--keep-recordings": _value("TIME", "delete loaded files after this time, such as 30d", type=_seconds),
    "--groups": _value("PATTERN", "only consumer groups whose whole name matches", type=_pattern),
    "--rate": _value("N", "maximum calls per second", type=_whole(1)),
    "--at-once": _value("N", "maximum calls at a time", type=_whole(1)),
    "--proxy": _repeated("HOST:PORT", "a proxy's remoting port; may be repeated (default: listed proxies, port 8080)"),
    "--stacks-after": _value(
        "TIME",
        "how long a queue stands until its Java client is asked for stacks, or never",
        type=_seconds_or_never,
    ),
    "--access": _value(
        "FILE", "YAML with accessKey and secretKey, mode 0600 (default: ROCKETMQ_ACCESS_KEY, ROCKETMQ_SECRET_KEY)"
    ),
    "--tls": _switch("connect to the cluster with TLS"),
    "--tls-config": _value("FILE", "file with RocketMQ's TLS properties, tls.client.…"),
    "--details": _value(
        "N", "worst groups that get a separate page, 1 to 200 (default: 20)", type=_whole(1, 200), default=20
    ),
    "--days": _value("N", "days before the newest audited end, 1 to 366", type=_whole(1, 366)),
    "--open": _switch("only incidents that are not known to be over"),
    "--publish": _switch("also write the table `incidents` from the whole history; takes no filter"),
    "--id": _value("ID", "only this incident, in full; the beginning of its id suffices"),
    "--incident": _value("ID", "the incident; the beginning of its id suffices"),
    "--anonymous": _switch("replace all names of clusters, groups, topics, brokers, hosts and clients, in their order"),
    "--case": _repeated(
        "OPTIONS", "another case: its options in quotes, such as '--members +2 --unique-ids'; may be repeated"
    ),
    "--members": _value("+N|-N|=N", "N connections more, fewer, or in total; the last in order leave"),
    "--room": _value("ROOM", "room of added members (default: the one with most queues per member)"),
    "--strategy": _value("NAME", "all members use this strategy; CONSISTENT_HASH:20 has 20 virtual nodes"),
    "--unique-ids": _switch("every connection gets its own client id"),
    "--same-subscriptions": _switch("every member subscribes to all topics of the group"),
    "--queues": _value("xN|=N", "N times as many readable queues per topic, or N of them"),
    "--without": _repeated("CLIENT_ID", "leave out this member; may be repeated"),
    "--speed": _repeated("CLIENT_ID=RATE", "what this member can consume, messages per second; may be repeated"),
    "--load": _value("xK", "K times as many messages, such as x2 or x0.5"),
    "--autoscale": _value(
        "lag=N,max=N",
        "an autoscaler: N messages of lag per member, at most N members; also min=1,every=15s,down-after=5m,start=30s",
    ),
    "--threads": _repeated(
        "[CLIENT_ID=]N|xN", "N consume threads, or N times as many, for all members or one; may be repeated"
    ),
    "--pull-batch": _repeated("[CLIENT_ID=]N", "messages per pull; brokers return up to 32 by default"),
    "--pull-interval": _repeated("[CLIENT_ID=]MS", "milliseconds between two pulls of a queue"),
    "--response-time": _repeated("[CLIENT_ID=]TIME", "time of the listener per batch, such as 20ms or 1.5s"),
    "--plan": _value("N", "show owners now with up to N members fewer and more instead", type=_whole(1, 100)),
    "--rollout": _value(
        "ORDER",
        "show the last rollout in another order instead: one-wave, one-by-one, new-first, or all of these",
        choices=("one-wave", "one-by-one", "new-first", "all"),
    ),
    "--size": _switch("show the minimum of members for what was observed; without --group for all groups"),
    "--utilization-below": _value(
        "PERCENT", "with --size: utilization of the busiest member at the peak (default: 70)", type=_whole(1, 100)
    ),
    "--backlog-below": _value("N", "with --size: maximum backlog", type=_whole(1)),
    "--drained-within": _value("TIME", "with --size: the peak backlog drains in this time, such as 5m", type=_seconds),
    "--spare": _value(
        "N", "with --size of all groups: members beyond the minimum that are not too many (default: 1)", type=_whole(0)
    ),
    "--top": _value("N", "with --size of all groups: only the N worst", type=_whole(1)),
    "--textfile": _value("FILE", "file for node_exporter's textfile collector; metrics: stdout if not given"),
    "--serve": _value("ADDRESS", "serve /metrics there until SIGTERM, for example :9108", type=_address),
    "--otlp": _value("URL", "send the metrics once by OTLP over HTTP, for example to http://localhost:4318/v1/metrics"),
    "--html": _value("FILE", "HTML file with the backlogs of all cases in one chart"),
    "--json": _switch("print one JSON document on stdout, and nothing else"),
    "--verbose": _switch("log every step on stderr"),
    "--quiet": _switch("print only warnings and errors on stderr"),
    "--debug": _switch("show the traceback of an unexpected error"),
    "--no-color": _switch("print no colors, as with the environment variable NO_COLOR"),
    "--language": _value(
        None, "language of sentences; auto: that of LANG (default: the configuration's, else en)", choices=LANGUAGES
    ),
}
#: What the environment says of an option that the command line does not give: REBALANCE_AUDIT_WAREHOUSE.
VARIABLE = "REBALANCE_AUDIT_"
#: Options of which a command that takes both is given one; where either is required, one of them is.
EXCLUSIVE = (
    *(("--interval", "--last"), ("--json", "--format"), ("--capture", "--s3"), ("--sources", "--table")),
    *(("--warehouse", "--store"), ("--offset", "--stored-at")),
)
#: Options that leave out some of the clusters, groups, time, incidents or tables.
FILTERS = frozenset(
    (
        *("--cluster", "--group", "--groups", "--topic", "--client", "--table"),
        *("--interval", "--last", "--open", "--id", "--rule", "--severity", "--at-least", "--top"),
    )
)
#: Options whose value may look like an option.
VERBATIM = frozenset({"--case"})
COMMON = ("--verbose", "--quiet", "--debug", "--no-color", "--language")
