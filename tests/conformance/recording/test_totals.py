"""Every total of the recordings: by hand, counted again from the recorded lines, and the same wherever it is shown.

`status`, `incidents`, `explain`, the report, the metrics and SQL over the tables are asked for the same numbers: the
backlog of a group at the first and at the last sample, its peak, and how long queues had no owner. No Spark.
"""

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

from schemas import ALLOCATIONS, FINDINGS, GROUP_STATUS, OUTPUTS, QUEUE_PROGRESS
from spark_jobs.domain.incidents.values import GroupCost
from spark_jobs.show.explain import explain_group
from spark_jobs.show.incidents import IncidentQuery, incidents_and_unknown
from spark_jobs.show.metrics import metrics
from spark_jobs.show.report import report
from spark_jobs.show.status import statuses
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.published import Scope
from tests.spark.recording.conftest import EXAMPLE
from tests.support.recordings import HOUR, PROXIES, PROXIES_HOUR, Published, audited, write_warehouse
from tests.support.stored import arrow_table


class Backlog(NamedTuple):
    """Of a group in its step: messages at the first and the last samples (None: unknown); queues without the last."""

    start: int | None
    end: int | None
    unknown_queues: int


class AuditedRecording(NamedTuple):
    """A recording, what its audit published, where, and the report on it."""

    file: Path
    published: Published
    tables: DeltaTables
    page: str

    @property
    def backlogs(self) -> dict[str, Backlog]:
        return backlogs_of(self.published[GROUP_STATUS])


@pytest.fixture(scope="module", params=[(EXAMPLE, HOUR), (PROXIES, PROXIES_HOUR)], ids=["members", "proxies"])
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AuditedRecording:
    file, hour = request.param
    published, folder = audited(3600, (hour,), OUTPUTS, file), tmp_path_factory.mktemp("totals")
    write_warehouse(folder, published, 3600)
    tables = DeltaTables(Location.parse(str(folder)))
    return AuditedRecording(file, published, tables, report(tables, Scope(hour), lambda _: None, complete_share=0))


def backlogs_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, Backlog]:
    """By group, from rows with the columns of `group_status`."""
    names = ("backlog_start", "backlog_end", "unknown_queues")
    return {row["consumer_group"]: Backlog(*(row[name] for name in names)) for row in rows}


_QUEUE = re.compile(r'\{("brokerName":"[^"]*","queueId":\d+,"topic":"[^"]*")\}:(\{[^}]*\})')


def recorded_lags(file: Path) -> dict[str, dict[tuple[str, str, int], list[tuple[int, int | None]]]]:
    """Per group and queue its samples in the order of time: (broker offset, lag; None: never committed)."""
    found: dict[str, Any] = defaultdict(lambda: defaultdict(list))
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        answers = [one for one in map(json.loads, lines) if one["kind"] == "stats" and "body" in one]
    for answer in sorted(answers, key=lambda one: one["at"]):
        for place, offsets in _QUEUE.findall(answer["body"]):
            queue, entry = json.loads(f"{{{place}}}"), json.loads(offsets)
            end, consumed = entry["brokerOffset"], entry["consumerOffset"]
            never = end > 0 and consumed == 0 and not entry["lastTimestamp"]
            lag = None if never else max(end - consumed, 0)
            found[answer["group"]][queue["topic"], queue["brokerName"], queue["queueId"]].append((end, lag))
    return found


def counted(queues: dict[tuple[str, str, int], list[tuple[int, int | None]]], unconsumed: int = 0) -> Backlog:
    """By each queue's first and last sample; at least so many more wait in queues that no member consumes."""
    filled = [samples for samples in queues.values() if samples[-1][0]] or list(queues.values())
    both = [(samples[0][1], samples[-1][1]) for samples in filled if samples[-1][1] is not None]
    starts, ends = [start for start, _ in both if start is not None], [end for _, end in both if end is not None]
    unknown = sum(samples[-1][1] is None for samples in queues.values())
    return Backlog(
        sum(starts) if both and len(starts) == len(both) else None, sum(ends) + unconsumed if both else None, unknown
    )


#: By hand, from the lines of the recording: the sums of the queues' first and last samples.
#:
#: - `mixed-service`: nobody owned broker-b:3 and 4 of `audit-log` from the first sample on, at 02:02:28, when the
#:   group had never committed there (42 and 38 messages): how many of them waited, nobody knows. When broker-b came
#:   back from being killed, somebody had them for a moment and consumed 96 of each, which samples show from 02:24:06
#:   on: 1439 and 1281 are left at 02:26:26, and 1 in each of broker-a:0, 3 and 4 and broker-b:2. All that is known of
#:   the first samples are 2 in broker-a:0 and 1 in broker-b:2.
#: - `config-service`: nobody ever owns queue 3 of `config-feed` or commits there, and 1435 came; 1 waited in queue 2,
#:   then 0.
#: - `batch-export`: 1 in each of broker-a:0-5 and broker-b:6-7 of `orders`; in the end 1 in each of broker-b:0-7.
#:   Nothing had come into broker-b:8-9 when they were made.
#:
#: Into the `%RETRY%` queue of all three, on every broker, nothing ever came: there is nothing to be behind of.
BY_HAND = {
    "mixed-service": Backlog(None, 1439 + 1281 + 4, 0),
    "config-service": Backlog(1, 1471 - 36, 1),
    "batch-export": Backlog(8, 8, 0),
}
#: Queue-minutes without an owner, by hand: a rebalance interval begins with the snapshot that shows the change.
#:
#: - `mixed-service`: broker-b:3 and 4 from 02:02:28.910 to 02:26:55.977, but for 02:21:55.942 to 02:23:45.931, when no
#:   route had broker-b: nobody could have read them. In that time, with six queues left, nobody owned broker-a:4
#:   from 02:22:06.069 on: until then ….87.2 listed it, and consumed 6 messages of it, as before.
#: - `config-service`: queue 3 from 02:02:29.174 to 02:26:55.982. `batch-export`: 16 queues from 02:05:56.034 to
#:   02:13:56.085. Their retry queues, which nobody owned either, are missed by nobody.
UNOWNED = {
    "mixed-service": 2 * (24 * 60 + 27.067 - 109.989) / 60 + 99.862 / 60,
    "config-service": (24 * 60 + 26.808) / 60,
    "batch-export": 16 * (8 * 60 + 0.051) / 60,
}
#: Groups of which the audit knows more or less than their offsets say: the write queues of `legacy` that nobody may
#: read have no offsets, and of BROADCASTING groups the broker keeps none.
NOT_BY_OFFSETS = {"legacy-import", "price-cache", "CID_DefaultHeartBeatSyncerTopic"}


#: Groups that fall behind, and seconds until the broker, which keeps messages for three days, may delete the first that
#: waits; by hand, from the lines of the last 300 s. All others have caught up, where anything is known of them.
#:
#: - `legacy-import`: 904 and 891 waited in broker-a:0 and 1 of `legacy` at 02:21:36, 1129 and 1100 at 02:26:26. The
#:   last one consumed of broker-a:0 had been stored 565.547 s before.
#: - `mixed-service`: 1340 in broker-b:3 and 1194 in broker-b:4, then 1439 and 1281. When its last interval began, the
#:   group had not committed there: how long the first one waits, nobody knows.
#: - `dead-service`: 378 in broker-a:0 of `slips` at 14:24:10, 1102 at 14:29:00. Its last interval had begun 440.0 s
#:   before, and nothing waited then.
BEHIND = {"legacy-import": 259_200 - 565.5, "mixed-service": None, "dead-service": 259_200 - 440.0}
#: Groups with queues that nobody owns, to which messages come and in which nothing was ever committed: nobody knows
#: when these have caught up. So many came from the first sample to the last, by hand: to queue 3 of `config-feed`, to
#: broker-a:0-3 of `geo`, and to broker-a:0 and 1 of `wholesale`.
NEVER_COMMITTED = {
    "config-service": 1471 - 36,
    "geo-service": 2 * (1471 - 36) + 2 * (1471 - 35),
    "notify-service": 2 * (2206 - 64),
}


def test_who_falls_behind_never_catches_up(recording: AuditedRecording) -> None:
    rows = {row["consumer_group"]: row for row in recording.published[GROUP_STATUS]}
    names = ("catches_up", "catch_up_seconds", "retention_left_seconds")
    unknown = {name for name, row in rows.items() if row["backlog_end"] is None} | NEVER_COMMITTED.keys()
    expected: dict[str, tuple[Any, ...]] = dict.fromkeys(rows, (True, 0.0, None))
    expected |= dict.fromkeys(unknown & rows.keys(), (None, None, None))
    expected |= {name: (False, None, left) for name, left in BEHIND.items() if name in rows}
    assert {group: tuple(row[name] for name in names) for group, row in rows.items()} == expected


def test_the_lines_of_the_recording_show_the_same(recording: AuditedRecording) -> None:
    lags, audited = recorded_lags(recording.file), recording.backlogs
    by_hand = BY_HAND if recording.file == EXAMPLE else {}
    assert audited.keys() <= lags.keys()
    by_offsets = {
        group: counted(lags[group], NEVER_COMMITTED.get(group, 0)) for group in audited.keys() - NOT_BY_OFFSETS
    }
    assert audited == audited | by_offsets | by_hand


def test_status_report_metrics_and_sql_show_the_same(recording: AuditedRecording) -> None:
    audited = recording.backlogs
    # The recordings are shorter than the hour.
    assert backlogs_of(statuses(recording.tables, complete_share=0).groups) == audited
    assert gauge(recording, "backlog_messages") == {
        group: backlog.end for group, backlog in audited.items() if backlog.end is not None
    }
    assert gauge(recording, "backlog_unknown_queues") == {
        group: backlog.unknown_queues for group, backlog in audited.items()
    }
    assert dict(_fleet_cells(recording.page, "backlog at start", "backlog at end")) == {
        group: (_number(backlog.start), _number(backlog.end)) for group, backlog in audited.items()
    }
    # `queue_progress` has no backlog of queues without an offset.
    assert dict(_by_sql(recording)) == {
        group: audited[group]._replace(end=(audited[group].end or 0) - NEVER_COMMITTED[group])
        if group in NEVER_COMMITTED
        else audited[group]
        for group in audited.keys() - {"price-cache", _PROXIES_GROUP}
    }


def gauge(recording: AuditedRecording, name: str) -> dict[str, float]:
    """By group."""
    (samples,) = (one.samples for one in metrics(recording.tables).collect() if one.name == f"rebalance_audit_{name}")
    return {sample.labels["consumer_group"]: sample.value for sample in samples}


_PROXIES_GROUP = "CID_DefaultHeartBeatSyncerTopic"


def _number(messages: int | None) -> str:
    return "unknown" if messages is None else f"{messages:,}"


def _fleet_cells(page: str, *labels: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """By group these cells of the report's table of groups."""
    rows = page.partition('<table class="cards fleet">')[2].partition("</table>")[0].split("<tr data-search")[1:]
    for row in rows:
        group = re.findall(r"<td>(?:<a[^>]*>)?([^<]+)(?:</a>)?<br><small>", row)[0]
        yield group, tuple(re.findall(f'data-label="{label}">([^<]*)<', row)[0] for label in labels)


def _by_sql(recording: AuditedRecording) -> Iterator[tuple[str, Backlog]]:
    """From `queue_progress` alone: each queue's first and last interval with a sample."""
    database = duckdb.connect()
    database.register("queue_progress", arrow_table(QUEUE_PROGRESS, recording.published[QUEUE_PROGRESS]))
    rows = database.sql("""
        WITH queues AS (
          SELECT consumer_group, topic, broker_name, queue_id,
                 arg_min_null(lag_first, interval_start) FILTER (readings > 0) AS first,
                 arg_max_null(lag_last, interval_start) FILTER (readings > 0) AS last,
                 arg_max_null(consumer_offset, interval_start) FILTER (readings > 0) AS consumer_offset
          FROM queue_progress GROUP BY ALL
        ), filled AS (SELECT * FROM queues WHERE last IS NOT NULL AND NOT (last = 0 AND consumer_offset = 0))
        SELECT consumer_group, (SELECT CASE WHEN count(*) = count(f.first) THEN sum(f.first) END FROM filled f
                                WHERE f.consumer_group = q.consumer_group),
               (SELECT sum(f.last) FROM filled f WHERE f.consumer_group = q.consumer_group),
               count(*) FILTER (q.last IS NULL)
        FROM queues q GROUP BY consumer_group
    """).fetchall()
    yield from ((group, Backlog(*numbers)) for group, *numbers in rows)


def test_explain_shows_the_same(recording: AuditedRecording) -> None:
    """Of the whole step, and, at the last moment of which anything is known, of all topics together."""
    ends: dict[tuple[str, str], datetime] = {}
    for row in recording.published[QUEUE_PROGRESS]:
        key = row["consumer_group"], row["topic"]
        ends[key] = max(ends.get(key, row["interval_end"]), row["interval_end"])
    for group, backlog in recording.backlogs.items():
        stories = [
            explain_group(
                recording.tables, Scope(None, None, group), end - timedelta(milliseconds=1), topic, complete_share=0
            )
            for (of_group, topic), end in ends.items()
            if of_group == group
        ]
        step = {story.status and (story.status["backlog_start"], story.status["backlog_end"]) for story in stories}
        assert step == ({backlog[:2]} if stories else set())
        of_topics = [topic.backlog for story in stories for topic in story.topics if topic.backlog]
        known = sum(one.last for one in of_topics if one.last is not None)
        assert known == (backlog.end or 0) - NEVER_COMMITTED.get(group, 0), group
        assert sum(unknown.queue_count for one in of_topics for unknown in one.unknown) == backlog.unknown_queues


def test_incidents_report_and_sql_show_how_long_queues_had_no_owner(recording: AuditedRecording) -> None:
    told: dict[str, float] = defaultdict(float)
    for cost in costs(recording):
        told[cost.consumer_group] += cost.unassigned_queue_minutes
    database = duckdb.connect()
    for table in (ALLOCATIONS, QUEUE_PROGRESS):
        database.register(table.name, arrow_table(table, recording.published[table]))
    rows = database.sql("""
        WITH queues AS (
          SELECT consumer_group, sum(date_diff('microsecond', a.interval_start, a.interval_end)) / 60e6 AS minutes
          FROM allocations a
          JOIN queue_progress p USING (step_start, cluster, consumer_group, topic, membership_view, interval_start,
                                       broker_name, queue_id)
          WHERE len(owners) = 0 AND unassigned_cause <> 'ROUTE_OUTDATED'
          GROUP BY consumer_group, topic, broker_name, queue_id
          HAVING coalesce(max(lag_max) > 0 OR sum(produced) > 0, true)
        )
        SELECT consumer_group, sum(minutes) FROM queues GROUP BY consumer_group
    """).fetchall()
    assert {group: minutes for group, minutes in told.items() if minutes} == pytest.approx(dict(rows))
    by_hand = {group: minutes for group, minutes in UNOWNED.items() if recording.file == EXAMPLE}
    assert {group: told[group] for group in by_hand} == pytest.approx(by_hand, abs=0.001)
    cells = re.findall(r'data-label="queue-minutes without owner">([^<]*)<', recording.page)
    assert set(cells) - {"–"} == {f"{minutes:.1f}" for _, minutes in rows}


def costs(recording: AuditedRecording) -> list[GroupCost]:
    found = incidents_and_unknown(recording.tables, IncidentQuery()).incidents
    return [cost for incident in found for cost in incident.costs]


#: The peak backlog of the queues that the sentence about capacity, an incident and a finding are about.
PEAKS = {
    "mixed-service": ("2,720 messages in 2 queues", 1439 + 1281),
    "legacy-import": ("2,229 messages in 2 queues", 2229),
    "batch-export": ("18,846 messages in 16 queues", 18846),
    "dead-service": ("4,405 messages in 4 queues", 4405),
}
#: Of all queues of the group: 4 more wait in the others of mixed-service. What no client may read is in no backlog.
OF_GROUP = {group: messages for group, (_, messages) in PEAKS.items()} | {"mixed-service": 2724}


def test_incidents_findings_report_and_the_capacity_sentence_show_the_peak(recording: AuditedRecording) -> None:
    of_incidents = {(cost.consumer_group, cost.peak_backlog_messages) for cost in costs(recording)}
    found = {(row["consumer_group"], row["evidence"]["backlog_max"]) for row in recording.published[FINDINGS]}
    in_report = dict(_fleet_cells(recording.page, "peak backlog"))
    advice = {row["consumer_group"]: row["advice"] for row in recording.published[GROUP_STATUS]}
    for group in PEAKS.keys() & advice.keys():
        sentence, messages = PEAKS[group]
        assert sentence in advice[group]
        assert (group, messages) in of_incidents & found
        assert in_report[group] == (_number(OF_GROUP[group]),)
