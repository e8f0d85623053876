"""The options of the command line: how each is written and read. Nothing heavy is imported here."""

from __future__ import annotations

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

NEVER = "NEVER"


def _if_any(text: str) -> str | None:
    """A name, or None for an empty one: what a template has left empty is not given."""
    return text or None


def _seconds(text: str) -> float:
    """A time such as 20s, 10m, 2h, 3d or 1w; a number alone is seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw]?)", text)
    if not match or not float(match[1]):
        raise ValueError(text)
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}[match[2]]


def _days(text: str) -> timedelta | None:
    """Whole days, a week or more; None for an empty text, as a template may leave it."""
    if not text:
        return None
    length = timedelta(seconds=_seconds(text))
    if length < timedelta(days=7) or length % timedelta(days=1):
        raise ArgumentTypeError(f"'{text}' is not a number of whole days, at least 7d")
    return length


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _zone(text: str) -> ZoneInfo:
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        hint = did_you_mean(text, available_timezones()) or "write it as Europe/Berlin"
        raise ArgumentTypeError(f"there is no time zone {text}: {hint}") from None


def _from_1_to(most: int) -> Callable[[str], int]:
    def parsed(text: str) -> int:
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise ArgumentTypeError(f"'{text}' is not a whole number from 1 to {most}")
        return int(text)

    return parsed


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(text) from error


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
        "[BROKER=]PATH",
        "logs of brokers, name servers, proxies or Java clients to load: a folder or a file; as often as needed",
    ),
    "--state-at": _value(
        "TIME",
        "with --logs: when the brokers' files of state were copied, if the copies do not have the times of the files",
        type=parse_utc,
    ),
    "--log-zone": _value("ZONE", "time zone of the logs that do not say it, such as UTC or Asia/Shanghai"),
    "TASK": _value(
        "TASK",
        "audit: check the sources, audit them, stage the results; publish: check the results, publish them",
        choices=("audit", "publish"),
    ),
    "RUN_ID": _value("RUN_ID", "id of a published run: the column run_id of audit_runs"),
    "--warehouse": _value("URI", "where the tables are: a path, a URI, or catalog.schema"),
    "--cluster-name": _value("NAME", "cluster of the recording (default: the one that the recording names)"),
    "--interval": _value(
        "START/END",
        "time in UTC, END excluded; audits cover whole steps (1 hour unless configured)",
        type=Interval.parse,
    ),
    "--last": _value(
        "TIME",
        "so long before now, such as 1h, 7d or 1w; what-if: before the end of the newest audited step",
        type=_seconds,
    ),
    "--tz": _value(
        "ZONE",
        "show times of this zone, such as Europe/Berlin (default: UTC); what is typed without an offset is UTC",
        type=_zone,
    ),
    "--format": _value(
        None,
        "write the rows to stdout as CSV, logfmt (key=value) or Parquet; what is nested is JSON, times are UTC",
        choices=("csv", "logfmt", "parquet"),
    ),
    "--rule": _value("NAME", "only incidents with a finding of this rule", type=str.upper),
    "--severity": _value("SEVERITY", "only incidents that are INFO, WARN or ERROR", type=str.upper, choices=SEVERITIES),
    "--client": _value("TEXT", "only where the text is a part of the client id, such as a host"),
    "--sort": _value(None, "what comes first"),
    "--all": _switch("also show the groups that need no attention"),
    "TEXT": _value("TEXT", "a part of the client id, or of the address: a host, a process id"),
    "BEFORE": _value("BEFORE", "START/END in UTC, before the change", type=Interval.parse),
    "AFTER": _value("AFTER", "START/END in UTC, after the change", type=Interval.parse),
    "--cluster": _value("NAME", "only this cluster", type=_if_any),
    "--group": _value("NAME", "only this consumer group", type=_if_any),
    "--topic": _value("NAME", "only this topic", type=_if_any),
    "--at": _value("TIME", "moment in UTC, such as 2026-11-21T02:10:30Z", type=parse_utc),
    "WHAT": _value(
        "WHAT",
        "sources: make the tables that an audit reads; views: make flat views of what it published, for BI tools",
        choices=("sources", "views"),
    ),
    "--engine": _value(None, "of views: whose SQL to print"),
    "--sources": _switch(
        "check instead, without Spark, source tables that another program wrote: columns, times, gaps, what is missing"
    ),
    "--table": _value("NAME", "check only this table"),
    "--config": _value(
        "FILE", "YAML file: step, cadence, thresholds, strategies of groups, routes to teams", type=_if_any
    ),
    "--retention-days": _value(
        "DAYS", "how long old versions stay readable, at least 7 days (default: 30)", type=int, default=30
    ),
    "--keep-snapshots": _value(
        "TIME", "delete snapshots, calls and sightings of whole days that are older, such as 90d", type=_days
    ),
    "--keep-results": _value("TIME", "delete audited steps of whole days that are older, such as 400d", type=_days),
    "--upgrade": _switch("first bring the tables of an older version up to date: columns, tables, constraints"),
    "--fail-on": _value(
        "SEVERITY",
        "exit with 1 if a finding is at least INFO, WARN or ERROR, or never",
        type=str.upper,
        choices=(*SEVERITIES, NEVER),
    ),
    "--run": _value("NAME", "the scheduler's name for the run, the same in all its tasks"),
    "--to": _value(
        "PATH",
        "folder; notify: file, mode 0600, with the Apprise URL to send to (default: REBALANCE_AUDIT_NOTIFY_URL)",
        type=_if_any,
    ),
    "--target": _value("NAME", "the name under which sent notices are remembered; one for each URL"),
    "--at-least": _value(
        "SEVERITY", "only incidents that are at least INFO, WARN or ERROR", type=str.upper, choices=SEVERITIES
    ),
    "--dry-run": _switch("show the notices, or the rows to be deleted; send, record and change nothing"),
    "--jobs": _value("N", "how many steps to audit at a time, 1 to 16 (default: 1)", type=_from_1_to(16), default=1),
    "--only-missing": _switch("skip steps that are already published with the same configuration"),
    "--scale": _value(
        None,
        "start Spark for small work, or for large work (default: as Delta's log says how much there is)",
        choices=("small", "large"),
    ),
    "--out": _value("PATH", "where to write: the page (replaces an existing one) or the folder"),
    "--capture": _value(
        "VERSION",
        f"RocketMQ's admin client instead, for `rebalance-audit capture` (34 MB; default: {ROCKETMQ})",
        nargs="?",
        const=ROCKETMQ,
    ),
    "--s3": _switch("instead what a warehouse on S3 needs (12 MB)"),
    "--from": _value(
        "FOLDER", "copy the jars from here, such as share/rebalance-audit of another installation: no network"
    ),
    "--remove": _switch("remove all that was ever fetched, which pip does not know of"),
    "--namesrv": _value("HOST:PORT", "the cluster's name servers, separated by ;"),
    "--cadence": _value("TIME", "how often to take each snapshot, such as 20s", type=_seconds),
    "--for": _value("TIME", "how long to record, such as 10m (default: until it is stopped)", type=_seconds),
    "--once": _switch("take every snapshot once, as fast as --rate allows, and stop"),
    "--groups": _value("PATTERN", "only consumer groups whose whole name matches", type=_pattern),
    "--rate": _value("N", "at most this many calls per second", type=_positive),
    "--at-once": _value("N", "at most this many calls at a time", type=_positive),
    "--proxy": _repeated(
        "HOST:PORT", "a proxy's remoting port; may be repeated (default: the proxies that brokers list, port 8080)"
    ),
    "--access": _value(
        "FILE", "YAML with accessKey and secretKey, mode 0600 (default: ROCKETMQ_ACCESS_KEY, ROCKETMQ_SECRET_KEY)"
    ),
    "--tls": _switch("connect to the cluster with TLS"),
    "--tls-config": _value("FILE", "file with RocketMQ's TLS properties, tls.client.…"),
    "--details": _value(
        "N",
        "how many of the worst groups get a page of their own, 1 to 200 (default: 20)",
        type=_from_1_to(200),
        default=20,
    ),
    "--days": _value("N", "how many days before the end of the newest audited step, 1 to 366", type=_from_1_to(366)),
    "--open": _switch("only incidents that are not known to be over"),
    "--publish": _switch(
        "also replace the table `incidents` with those of the whole history, for SQL; takes no filter"
    ),
    "--id": _value("ID", "only this incident, in full; the beginning of its id is enough"),
    "--findings": _switch("show every finding instead of the incidents"),
    "--case": _repeated(
        "OPTIONS", "another case to compare: its options in quotes, such as '--members +2 --unique-ids'"
    ),
    "--members": _value("+N|-N|=N", "N connections more, fewer, or in total; the last in allocation order leave"),
    "--room": _value("ROOM", "members that were not there are in this room (default: that of the largest share)"),
    "--strategy": _value("NAME", "all members use this strategy; CONSISTENT_HASH:20 has 20 virtual nodes"),
    "--unique-ids": _switch("every connection has its own client id"),
    "--same-subscriptions": _switch("every member subscribes to all topics of the group"),
    "--queues": _value("xN|=N", "N times as many readable queues per topic, or N of them"),
    "--without": _repeated("CLIENT_ID", "leave out this member; may be repeated"),
    "--speed": _repeated("CLIENT_ID=RATE", "this member can consume RATE messages per second; may be repeated"),
    "--load": _value("xK", "K times as many messages, such as x2 or x0.5"),
    "--autoscale": _value(
        "lag=N,max=N",
        "members are added and removed as an autoscaler would, with N messages of lag for each of them; "
        "further min=1,every=15s,down-after=5m,start=30s",
    ),
    "--threads": _repeated(
        "[CLIENT_ID=]N|xN", "every member, or this one, has N consume threads, or N times as many; may be repeated"
    ),
    "--pull-batch": _repeated(
        "[CLIENT_ID=]N", "pulls up to N messages at once; a broker hands out no more than 32 unless it is configured to"
    ),
    "--pull-interval": _repeated("[CLIENT_ID=]MS", "waits MS milliseconds between two pulls of a queue"),
    "--response-time": _repeated("[CLIENT_ID=]TIME", "the listener takes TIME for a batch, such as 20ms or 1.5s"),
    "--plan": _value(
        "N", "show instead who would own how much now, with up to N members fewer and more", type=_from_1_to(100)
    ),
    "--size": _switch(
        "show instead the fewest members with which the last day would have gone well; without --group of all"
    ),
    "--utilisation-below": _value(
        "PERCENT",
        "with --size: at the peak the busiest member has to do this part of what it can (default: 70)",
        type=_from_1_to(100),
    ),
    "--backlog-below": _value("N", "with --size: never more than N messages wait", type=_positive),
    "--drained-within": _value(
        "TIME", "with --size: the highest backlog is drained in this time, such as 5m", type=_seconds
    ),
    "--textfile": _value("FILE", "write them to this file, for node_exporter's textfile collector (default: stdout)"),
    "--trace": _value("FILE", "also write a trace for Perfetto: owners as slices, backlog as a counter"),
    "--html": _value("FILE", "draw the backlogs of all cases in one chart, into this HTML file"),
    "--json": _switch("print one JSON document, and nothing else, on stdout"),
    "--verbose": _switch("log every step on stderr"),
    "--quiet": _switch("print no progress and no next command on stderr, only warnings and errors"),
    "--debug": _switch("show the traceback of an unexpected error"),
}
#: What the environment says of an option that the command line does not give: REBALANCE_AUDIT_WAREHOUSE.
VARIABLE = "REBALANCE_AUDIT_"
#: Options of which a command that takes both is given one; where either is required, one of them is.
EXCLUSIVE = (("--interval", "--last"), ("--json", "--format"), ("--capture", "--s3"), ("--sources", "--table"))
#: Options that leave out some of the clusters, groups, time, incidents or tables.
FILTERS = frozenset(
    (
        *("--cluster", "--group", "--groups", "--topic", "--client", "--table"),
        *("--interval", "--last", "--open", "--id", "--rule", "--severity", "--at-least"),
    )
)
#: Options whose value may look like an option.
VERBATIM = frozenset({"--case"})
COMMON = ("--verbose", "--quiet", "--debug")
