"""The options of the command line: how each is written and read. Nothing heavy is imported here."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from spark_jobs.domain.model.intervals import Interval, parse_utc
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.domain.phrases import did_you_mean

NEVER = "NEVER"


def _if_any(text: str) -> str | None:
    """A name, or None for an empty one: what a template has left empty is not given."""
    return text or None


def _seconds(text: str) -> float:
    """A time such as 20s, 10m or 2h; a number alone is seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text)
    if not found or not float(found[1]):
        raise ValueError(text)
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]]


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


#: Every option and argument, once; a command names those it takes.
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "FILE": {"nargs": "+", "metavar": "FILE", "help": "recording to load: .jsonl or .jsonl.gz"},
    "TASK": {
        "choices": ("audit", "publish"),
        "metavar": "TASK",
        "help": "audit: check the sources, audit them, stage the results; publish: check the results, publish them",
    },
    "RUN_ID": {"metavar": "RUN_ID", "help": "id of a published run: the column run_id of audit_runs"},
    "--warehouse": {"metavar": "URI", "help": "where the tables are: a path, a URI, or catalog.schema"},
    "--cluster-name": {
        "metavar": "NAME",
        "help": "cluster of the recording (default: the one that the recording names)",
    },
    "--interval": {
        "metavar": "START/END",
        "type": Interval.parse,
        "help": "time in UTC, END excluded; audits cover whole steps (1 hour unless configured)",
    },
    "--last": {
        "metavar": "TIME",
        "type": _seconds,
        "help": "so long before the end of the newest audited step, such as 1h or 7d",
    },
    "--tz": {
        "metavar": "ZONE",
        "type": _zone,
        "help": "show times of this zone, such as Europe/Berlin (default: UTC); what is typed without an offset is UTC",
    },
    "--format": {
        "choices": ("csv", "parquet"),
        "help": "write the rows to stdout as CSV or Parquet; what is nested is JSON, times are UTC",
    },
    "--rule": {"metavar": "NAME", "type": str.upper, "help": "only incidents with a finding of this rule"},
    "--severity": {
        "metavar": "SEVERITY",
        "type": str.upper,
        "choices": SEVERITIES,
        "help": "only incidents that are INFO, WARN or ERROR",
    },
    "--client": {"metavar": "TEXT", "help": "only where the text is a part of the client id, such as a host"},
    "--sort": {
        "choices": ("worst", "newest", "oldest", "longest", "piled-up"),
        "help": "what comes first",
    },
    "TEXT": {"metavar": "TEXT", "help": "a part of the client id, or of the address: a host, a process id"},
    "BEFORE": {"metavar": "BEFORE", "type": Interval.parse, "help": "START/END in UTC, before the change"},
    "AFTER": {"metavar": "AFTER", "type": Interval.parse, "help": "START/END in UTC, after the change"},
    "--cluster": {"metavar": "NAME", "type": _if_any, "help": "only this cluster"},
    "--group": {"metavar": "NAME", "type": _if_any, "help": "only this consumer group"},
    "--topic": {"metavar": "NAME", "type": _if_any, "help": "only this topic"},
    "--at": {"metavar": "TIME", "type": parse_utc, "help": "moment in UTC, such as 2026-11-21T02:10:30Z"},
    "--table": {"metavar": "NAME", "help": "check only this table"},
    "--config": {
        "metavar": "FILE",
        "type": _if_any,
        "help": "YAML file: step, cadence, thresholds, strategies of groups, routes to teams",
    },
    "--retention-days": {
        "metavar": "DAYS",
        "type": int,
        "default": 30,
        "help": "how long old versions stay readable, at least 7 days (default: 30)",
    },
    "--upgrade": {
        "action": "store_true",
        "help": "first bring the tables of an older version up to date: columns, tables, constraints",
    },
    "--fail-on": {
        "metavar": "SEVERITY",
        "type": str.upper,
        "choices": (*SEVERITIES, NEVER),
        "help": "exit with 1 if a finding is at least INFO, WARN or ERROR, or never",
    },
    "--run": {"metavar": "NAME", "help": "the scheduler's name for the run, the same in all its tasks"},
    "--to": {
        "metavar": "FILE",
        "type": _if_any,
        "help": "file, mode 0600, with the Apprise URL to send to (default: REBALANCE_AUDIT_NOTIFY_URL)",
    },
    "--target": {"metavar": "NAME", "help": "the name under which sent notices are remembered; one for each URL"},
    "--at-least": {
        "metavar": "SEVERITY",
        "type": str.upper,
        "choices": SEVERITIES,
        "help": "only incidents that are at least INFO, WARN or ERROR",
    },
    "--dry-run": {"action": "store_true", "help": "show the notices; send nothing, and record nothing"},
    "--jobs": {
        "metavar": "N",
        "type": _from_1_to(16),
        "default": 1,
        "help": "how many steps to audit at a time, 1 to 16 (default: 1)",
    },
    "--only-missing": {
        "action": "store_true",
        "help": "skip steps that are already published with the same configuration",
    },
    "--scale": {
        "choices": ("small", "large"),
        "help": "start Spark for small work, or for large work (default: as Delta's log says how much there is)",
    },
    "--out": {
        "metavar": "PATH",
        "help": "where to write: the page (replaces an existing one) or the folder",
    },
    "--namesrv": {"metavar": "HOST:PORT", "help": "the cluster's name servers, separated by ;"},
    "--cadence": {
        "metavar": "TIME",
        "type": _seconds,
        "help": "how often to take each snapshot, such as 20s",
    },
    "--for": {
        "metavar": "TIME",
        "type": _seconds,
        "help": "how long to record, such as 10m (default: until it is stopped)",
    },
    "--once": {"action": "store_true", "help": "take every snapshot once, as fast as --rate allows, and stop"},
    "--groups": {"metavar": "PATTERN", "type": _pattern, "help": "only consumer groups whose whole name matches"},
    "--rate": {"metavar": "N", "type": _positive, "help": "at most this many calls per second"},
    "--at-once": {"metavar": "N", "type": _positive, "help": "at most this many calls at a time"},
    "--proxy": {
        "metavar": "HOST:PORT",
        "action": "append",
        "help": "a proxy's remoting port; may be repeated (default: the proxies that brokers list, port 8080)",
    },
    "--access": {
        "metavar": "FILE",
        "help": "YAML with accessKey and secretKey, mode 0600 (default: ROCKETMQ_ACCESS_KEY, ROCKETMQ_SECRET_KEY)",
    },
    "--tls": {"action": "store_true", "help": "connect to the cluster with TLS"},
    "--tls-config": {"metavar": "FILE", "help": "file with RocketMQ's TLS properties, tls.client.…"},
    "--details": {
        "metavar": "N",
        "type": _from_1_to(200),
        "default": 20,
        "help": "how many of the worst groups get a page of their own, 1 to 200 (default: 20)",
    },
    "--days": {
        "metavar": "N",
        "type": _from_1_to(366),
        "help": "how many days before the end of the newest audited step, 1 to 366",
    },
    "--open": {"action": "store_true", "help": "only incidents that are not known to be over"},
    "--id": {"metavar": "ID", "help": "only this incident, in full"},
    "--findings": {"action": "store_true", "help": "show every finding instead of the incidents"},
    "--case": {
        "action": "append",
        "metavar": "OPTIONS",
        "help": "another case to compare: its options in quotes, such as '--members +2 --unique-ids'",
    },
    "--members": {
        "metavar": "+N|-N|=N",
        "help": "N connections more, fewer, or in total; the last in allocation order leave",
    },
    "--strategy": {
        "metavar": "NAME",
        "help": "all members use this strategy; CONSISTENT_HASH:20 has 20 virtual nodes",
    },
    "--unique-ids": {"action": "store_true", "help": "every connection has its own client id"},
    "--same-subscriptions": {"action": "store_true", "help": "every member subscribes to all topics of the group"},
    "--queues": {"metavar": "xN|=N", "help": "N times as many readable queues per topic, or N of them"},
    "--without": {"action": "append", "metavar": "CLIENT_ID", "help": "leave out this member; may be repeated"},
    "--speed": {
        "action": "append",
        "metavar": "CLIENT_ID=RATE",
        "help": "this member can consume RATE messages per second; may be repeated",
    },
    "--load": {"metavar": "xK", "help": "K times as many messages, such as x2 or x0.5"},
    "--autoscale": {
        "metavar": "lag=N,max=N",
        "help": "members are added and removed as an autoscaler would, with N messages of lag for each of them; "
        "further min=1,every=15s,down-after=5m,start=30s",
    },
    "--threads": {
        "action": "append",
        "metavar": "[CLIENT_ID=]N|xN",
        "help": "every member, or this one, has N consume threads, or N times as many; may be repeated",
    },
    "--pull-batch": {
        "action": "append",
        "metavar": "[CLIENT_ID=]N",
        "help": "pulls up to N messages at once; a broker hands out no more than 32 unless it is configured to",
    },
    "--pull-interval": {
        "action": "append",
        "metavar": "[CLIENT_ID=]MS",
        "help": "waits MS milliseconds between two pulls of a queue",
    },
    "--response-time": {
        "action": "append",
        "metavar": "[CLIENT_ID=]TIME",
        "help": "the listener takes TIME for a batch, such as 20ms or 1.5s",
    },
    "--plan": {
        "metavar": "N",
        "type": _from_1_to(100),
        "help": "show instead who would own how much now, with up to N members fewer and more",
    },
    "--size": {
        "action": "store_true",
        "help": "show instead the fewest members with which the last day would have gone well; without --group of all",
    },
    "--utilisation-below": {
        "metavar": "PERCENT",
        "type": _from_1_to(100),
        "help": "with --size: at the peak the busiest member has to do this part of what it can (default: 70)",
    },
    "--backlog-below": {
        "metavar": "N",
        "type": _positive,
        "help": "with --size: never more than N messages wait",
    },
    "--drained-within": {
        "metavar": "TIME",
        "type": _seconds,
        "help": "with --size: the highest backlog is drained in this time, such as 5m",
    },
    "--textfile": {
        "metavar": "FILE",
        "help": "write them to this file, for node_exporter's textfile collector (default: stdout)",
    },
    "--trace": {"metavar": "FILE", "help": "also write a trace for Perfetto: owners as slices, backlog as a counter"},
    "--html": {"metavar": "FILE", "help": "draw the backlogs of all cases in one chart, into this HTML file"},
    "--json": {"action": "store_true", "help": "print one JSON document, and nothing else, on stdout"},
    "--verbose": {"action": "store_true", "help": "log every step on stderr"},
    "--debug": {"action": "store_true", "help": "show the traceback of an unexpected error"},
}
#: What the environment says of an option that the command line does not give: REBALANCE_AUDIT_WAREHOUSE.
VARIABLE = "REBALANCE_AUDIT_"
REQUIRED = frozenset({"--warehouse", "--interval", "--run", "--at", "--namesrv"})
#: Options of which a command that takes both is given one; where either is required, one of them is.
EXCLUSIVE = (("--interval", "--last"), ("--json", "--format"))
#: Options whose value may look like an option.
VERBATIM = frozenset({"--case"})
COMMON = ("--verbose", "--debug")
