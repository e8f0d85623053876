"""Somebody is told of incidents: by the real Apprise, to a real service, out of real tables. No Spark.

The group G is offline in hours after 10:00, which runs publish one after the other.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from schemas import AUDIT_RUNS, FINDINGS, NOTICES, SIGHTINGS
from spark_jobs.cli.main import main
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import to_micros
from spark_jobs.operate.deliver import VARIABLE
from spark_jobs.operate.messages import Message, NoticeRequest
from spark_jobs.operate.missing import recorded_steps
from spark_jobs.operate.notices import audit_notices, send_notices
from spark_jobs.pipeline.publish.claims import claim_notices
from spark_jobs.show.incidents import publish_incidents
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.stored import rows
from tests.support.commands import Typed
from tests.support.full_disk import no_room
from tests.support.published import publish_hours
from tests.support.snapshots import sighting
from tests.support.stored import audit_run, write
from tests.support.times import at

SECRET = "s3cr3t"
STEP = Interval(at(0), at(3600))
COMMAND = [sys.executable, "-m", "spark_jobs.cli", "notify", "--warehouse"]
OPENED, OF_D, OF_E = (f"rebalance-audit {cluster}: 1 incident opened" for cluster in "cde")


class Service:
    """Gets notifications: which, and with which status it answers, or what else it does then."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.status = 200
        self.before_answer: Callable[[], None] = lambda: None
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                service.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                service.before_answer()
                self.send_response(service.status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """It is quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"json://user:{SECRET}@127.0.0.1:{self.server.server_port}/{SECRET}"

    def titles(self) -> list[str]:
        return [one["title"] for one in self.got]

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[Service]:
        service = cls()
        yield service
        service.server.shutdown()
        service.server.server_close()


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with Service.running() as made:
        monkeypatch.setenv(VARIABLE, made.url)
        yield made


Teams = tuple[Service, Service, list[str]]


@pytest.fixture
def teams(tmp_path: Path) -> Iterator[Teams]:
    """Those of the group G: who is called where it is serious, and who hears the rest; and the options of `notify`."""
    for name in ("pager", "chat"):
        (tmp_path / name).touch(0o600)
    routes = (
        f"{{team: g, to: {tmp_path / name}, group: G, {more}}}"
        for name, more in (("pager", "severity: ERROR"), ("chat", ""))
    )
    (tmp_path / "routes.yaml").write_text(f"routes: [{', '.join(routes)}]")
    with Service.running() as pager, Service.running() as chat:
        for name, one in (("pager", pager), ("chat", chat)):
            (tmp_path / name).write_text(one.url)
        yield pager, chat, ["--config", str(tmp_path / "routes.yaml")]


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Two hours, G is offline in the second."""
    publish_hours(tmp_path, [0, 1], offline=[1])
    return tmp_path


def notify(warehouse: Path, *options: str) -> int:
    return main(["notify", "--warehouse", str(warehouse), *options])


def remembered(warehouse: Path) -> list[dict[str, Any]]:
    found = rows(delta_tables(str(warehouse)).read(NOTICES, NOTICES.columns))
    return sorted(found, key=lambda row: row["sent_at"])


def test_what_opens_and_is_over_is_sent_once_and_written_down(service: Service, published: Path) -> None:
    assert [notify(published), notify(published)] == [0, 0]
    (opened,) = remembered(published)
    assert (service.got[0]["title"], service.got[0]["message"]) == (
        OPENED,
        "OPENED ERROR No consumer of G is connected\n"
        f"Since 2026-03-01T11:00Z (1 h 00 min). Group G: backlog now unknown. Id {opened['incident_id']}.\n"
        "What to do: Start it.\n\n"
        f"In full: rebalance-audit incidents --warehouse {published} --id ID",
    )
    publish_hours(published, [2], offline=[2])
    assert notify(published) == 0
    publish_hours(published, [3])
    assert [notify(published), notify(published)] == [0, 0]
    assert service.titles() == [OPENED, "rebalance-audit c: 1 incident resolved"]
    assert "Was: 2 h 00 min, over, from 2026-03-01T11:00Z to 2026-03-01T13:00Z." in service.got[1]["message"]
    _, resolved = remembered(published)
    assert {name: value for name, value in resolved.items() if name != "sent_at"} == (
        {"target": "default", "cluster": "c", "incident_id": opened["incident_id"], "event": "resolved"}
        | {"severity": "ERROR", "rule": "GROUP_OFFLINE", "headline": "No consumer of G is connected"}
        | {"consumer_groups": ["G"], "opened_at": at(3600), "resolved_at": at(3 * 3600)}
        | {"last_seen_at": at(3 * 3600), "root_finding_ids": ["c/G1", "c/G2"], "audited_until": at(4 * 3600)}
        | {"resolution": "CLEARED"}
    )


@pytest.mark.parametrize(
    ("topic", "words", "resolution"), [(None, "group deleted", "DELETED"), ("t", "topic deleted", "TOPIC_DELETED")]
)
def test_what_is_over_because_its_group_or_topic_was_deleted_says_so(
    topic: str | None, words: str, resolution: str, service: Service, tmp_path: Path, typed: Typed
) -> None:
    """Deleted at 11:40; after that only the group H is audited, or the group without the topic."""
    publish_hours(tmp_path, [0, 1, *([2] if topic else [])], offline=[1], deleted_at=6000, topic=topic)
    publish_hours(tmp_path, [2], group="H")
    assert notify(tmp_path) == 0
    (resolved,) = remembered(tmp_path)
    assert service.got[0]["message"].splitlines()[:2] == [
        "RESOLVED ERROR No consumer of G is connected",
        f"Was: 40 min 00 s, over, {words}, from 2026-03-01T11:00Z to 2026-03-01T11:40Z. "
        f"Group G: backlog now unknown. Id {resolved['incident_id']}.",
    ]
    assert (resolved["resolved_at"], resolved["resolution"]) == (at(6000), resolution)
    (incident,) = typed("incidents --json", warehouse=tmp_path, code=1).document["incidents"]
    assert (incident["resolved_at"], incident["resolution"]) == ("2026-03-01T11:40:00Z", resolution)


def test_each_cluster_has_a_message_and_each_target_a_memory(service: Service, published: Path) -> None:
    publish_hours(published, [1], offline=[1], cluster="d")
    assert notify(published, "--target", "pager", "--at-least", "ERROR") == 0
    assert notify(published, "--target", "chat") == 0
    assert notify(published, "--target", "pager") == 0
    assert service.titles() == [OPENED, OF_D] * 2
    assert {row["target"] for row in remembered(published)} == {"pager", "chat"}


def test_a_dry_run_shows_what_would_be_sent_and_changes_nothing(
    service: Service, published: Path, typed: Typed
) -> None:
    assert typed("notify --dry-run", warehouse=published).lines[0] == OPENED
    assert service.got == []
    assert not (published / NOTICES.name).exists()
    printed = [typed("notify", warehouse=published).out for _ in range(2)]
    assert printed == [f"Sent: {OPENED}\n", "There are no new notifications for default.\n"]


def test_open_incidents_come_first_the_worst_first_and_say_what_they_cost(service: Service, tmp_path: Path) -> None:
    """Of one cluster: over, open with two backlogs, and WARN; the backlog of the newest step, and the peak."""
    publish_hours(tmp_path, [1, 2], offline=[1], group="over")
    for group, severity, peak in (("warn", "WARN", 900), ("small", "ERROR", 10), ("large", "ERROR", 2000)):
        of_findings: dict[str, Any] = {"severity": severity, "evidence": {"backlog_max": peak}}
        publish_hours(tmp_path, [1, 2], offline=[1, 2], group=group, backlog_end=peak // 2, **of_findings)
    assert notify(tmp_path) == 0
    (message,) = service.got
    assert message["title"] == "rebalance-audit c: 3 incidents opened, 1 resolved"
    parts = [part.splitlines() for part in message["message"].split("\n\n")]
    assert [part[0] for part in parts[:-1]] == [
        "OPENED ERROR No consumer of large is connected",
        "OPENED ERROR No consumer of small is connected",
        "OPENED WARN No consumer of warn is connected",
        "RESOLVED ERROR No consumer of over is connected",
    ]
    facts = [part[1].partition(" Id ")[0] for part in parts[:-1]]
    assert facts[0] == (
        "Since 2026-03-01T11:00Z (2 h 00 min). Peak backlog: 2,000 messages. Group large: backlog now 1,000 messages."
    )
    assert facts[3] == (
        "Was: 1 h 00 min, over, from 2026-03-01T11:00Z to 2026-03-01T12:00Z. Group over: backlog now unknown."
    )
    assert parts[0][2] == "What to do: Start it."
    assert parts[3][2].startswith("What to do: Nothing now: a consumer was connected again at 2026-03-01T12:00Z.")


def test_a_digest_is_one_message_of_the_day_before(service: Service, published: Path) -> None:
    """G is offline from 11:00 to 12:00, and from 23:00 to 01:00 of the second day; H from 00:00 on."""
    digest = "rebalance-audit c, digest of 2026-03-01: 1 incident opened, 1 resolved"
    for hours, offline, sent in (
        (range(2, 13), [], []),
        ([13], [13], [digest]),
        ([14], [14], [digest]),
        (range(15, 37), [], [digest]),
    ):
        publish_hours(published, [*hours], offline=offline)
        publish_hours(published, [hour for hour in hours if hour > 13], offline=[*hours], group="H")
        assert notify(published, "--digest", "daily") == 0
        assert service.titles() == sent
    publish_hours(published, [37])
    assert [notify(published, "--digest", "daily"), notify(published, "--digest", "daily")] == [0, 0]
    assert service.titles()[1:] == ["rebalance-audit c, digest of 2026-03-02: 1 incident opened, 1 resolved"]
    assert {row["audited_until"] for row in remembered(published)} == {at(14 * 3600), at(38 * 3600)}


def test_a_digest_holds_no_route_and_no_missing_audit_back(service: Service, published: Path, teams: Teams) -> None:
    pager, _, options = teams
    publish_hours(published, [1], offline=[1], group="H")
    record(published, range(4))
    assert notify(published, *options, "--digest", "daily") == 0
    assert pager.titles() == [OPENED]
    assert service.titles() == ["rebalance-audit c: the audit is missing since 2026-03-01T12:00Z"]


def test_a_digest_after_notifications_at_once_withdraws_none(service: Service, published: Path) -> None:
    assert [notify(published), notify(published, "--digest", "daily")] == [0, 0]
    assert service.titles() == [OPENED]


def test_what_is_not_delivered_is_not_written_down(
    service: Service, published: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    service.status = 503
    assert notify(published, "--verbose") == 4
    printed = capfd.readouterr()
    assert "JSON: the service answered 503; the message was not recorded as sent" in printed.err
    assert SECRET not in printed.out + printed.err
    assert not (published / NOTICES.name).exists()
    service.status = 200
    assert [notify(published), notify(published)] == [0, 0]
    assert service.titles() == [OPENED] * 2


def test_a_cluster_that_is_audited_a_day_behind_another_is_followed(service: Service, published: Path) -> None:
    """The end of `c` is 38 hours after that of `d`, whose only incident was seen until then; `e` stopped before."""
    publish_hours(published, [1], offline=[1], cluster="d")
    publish_hours(published, [-200], offline=[-200], cluster="e")
    publish_hours(published, [39])
    assert [notify(published), notify(published)] == [0, 0]
    assert service.titles() == [OF_D]
    assert [row["audited_until"] for row in remembered(published)] == [at(7200)]


def test_what_is_over_since_days_is_sent_with_the_table_of_incidents_as_without(
    service: Service, tmp_path: Path
) -> None:
    """It ends a day after it was sent, and the next message is three days later; then its end moves by late data."""
    publish_hours(tmp_path, range(30), offline=range(20, 30))
    publish_incidents(delta_tables(str(tmp_path)), (), STEP)
    assert notify(tmp_path) == 0
    publish_hours(tmp_path, range(30, 110), offline=range(30, 50))
    publish_incidents(delta_tables(str(tmp_path)), (), STEP)
    assert [notify(tmp_path), notify(tmp_path)] == [0, 0]
    publish_hours(tmp_path, [50], offline=[50], finished_at=datetime.now(UTC))
    publish_incidents(delta_tables(str(tmp_path)), (), STEP)
    assert [notify(tmp_path), notify(tmp_path)] == [0, 0]
    assert service.titles() == [OPENED, *["rebalance-audit c: 1 incident resolved"] * 2]
    assert [row["last_seen_at"] for row in remembered(tmp_path)] == [at(3600 * hour) for hour in (30, 50, 51)]


@pytest.mark.parametrize("seed", range(2))
def test_the_table_of_incidents_changes_no_notification(tmp_path: Path, seed: int) -> None:
    """Runs go on by some hours, or audit earlier ones again; after some of them something is sent."""
    warehouses, chance, end = (tmp_path / "with", tmp_path / "without"), random.Random(seed), 0
    sent: dict[Path, list[tuple[str, str]]] = {warehouse: [] for warehouse in warehouses}
    for _ in range(12):
        hours = range(end, end + chance.randint(1, 60))
        if end > 10 and chance.random() < 0.4:
            first = chance.randint(max(0, end - 120), end - 3)
            hours = range(first, first + 3)
        end = max(end, hours.stop)
        begin, is_sent = chance.randint(hours.start, hours.stop), chance.random() < 0.35
        offline = range(begin, hours.stop) if chance.random() < 0.5 else range(hours.start, begin)
        first_step, after = (f"'{at(3600 * hour):%Y-%m-%dT%H:%M:%SZ}'" for hour in (hours.start, hours.stop))
        for warehouse in warehouses:
            if (warehouse / FINDINGS.name).exists():
                again = f"step_start >= {first_step} AND step_start < {after}"
                DeltaTable(warehouse / FINDINGS.name).delete(again)
            publish_hours(warehouse, hours, offline)
            if warehouse.name == "with":
                publish_incidents(delta_tables(str(warehouse)), (), STEP)
            if is_sent:
                messages = send_notices(delta_tables(str(warehouse)), NoticeRequest(), lambda _: None)
                sent[warehouse] += [(message.title, message.text.replace(str(warehouse), "")) for message in messages]
    assert sent[warehouses[0]] == sent[warehouses[1]] != []


def reject(warehouse: Path, hour: int, cluster: str | None, **of_run: Any) -> None:
    """A run over the hour after 10:00 whose gate closed."""
    step = Interval(at(3600 * hour), at(3600 * (hour + 1)))
    ids = dict.fromkeys(("run_id", "configuration_hash", "code_version"), f"x{hour}")
    values = {"outcome": "rejected", "message": "the gate is closed:\n  why", "finished_at": at(100 + hour)}
    write(warehouse, AUDIT_RUNS, [audit_run(step, {}, cluster=cluster, **values | ids | of_run)])


def test_a_step_of_which_nothing_was_published_is_sent_once_per_cluster(service: Service, published: Path) -> None:
    for cluster in ("c", "d"):
        reject(published, 2, cluster)
    reject(published, 2, "c")  # tried again
    reject(published, -30, "c")  # more than a day before the newest step
    reject(published, 2, None)  # as version 2.0.0 wrote it
    assert [notify(published), notify(published)] == [0, 0]
    nothing = [
        f"rebalance-audit {cluster}: nothing was published of 2026-03-01T12:00Z/2026-03-01T13:00Z" for cluster in "cd"
    ]
    assert service.titles() == [*nothing, OPENED]
    assert service.got[0]["message"] == (
        f"the gate is closed:\n  why\nIn full: rebalance-audit runs --warehouse {published}"
    )
    assert [(row["cluster"], row["event"], row["severity"]) for row in remembered(published)] == [
        ("c", "rejected", "ERROR"),
        ("d", "rejected", "ERROR"),
        ("c", "opened", "ERROR"),
    ]
    # It stays sent, and is no incident that a later audit no longer finds.
    publish_hours(published, [3])
    assert notify(published) == 0
    assert service.titles() == [*nothing, OPENED, "rebalance-audit c: 1 incident resolved"]


def test_a_step_that_was_published_after_all_is_not_sent(service: Service, published: Path) -> None:
    reject(published, 1, "c", finished_at=at(-1))
    assert notify(published) == 0
    assert service.titles() == [OPENED]


def test_the_first_step_of_a_warehouse_can_be_rejected(service: Service, tmp_path: Path) -> None:
    reject(tmp_path, 0, "c")
    assert notify(tmp_path) == 0
    assert service.titles() == ["rebalance-audit c: nothing was published of 2026-03-01T10:00Z/2026-03-01T11:00Z"]


def record(warehouse: Path, hours: Iterable[int], cluster: str = "c") -> None:
    """Snapshots of a group, in hours after 10:00."""
    rows = [sighting(3600 * hour, 3600 * hour + 3580, consumer_group="G", cluster=cluster) for hour in hours]
    write(warehouse, SIGHTINGS, rows)


def test_a_cluster_that_no_run_audits_any_more_is_sent_once_and_that_it_is_back(
    service: Service, published: Path
) -> None:
    """One step without an audit may be under way; two are not."""
    record(published, range(3))
    assert notify(published) == 0
    assert service.titles() == [OPENED]
    record(published, [3])
    assert [notify(published), notify(published)] == [0, 0]
    missing = "rebalance-audit c: the audit is missing since 2026-03-01T12:00Z"
    assert service.titles() == [OPENED, missing]
    assert service.got[1]["message"] == (
        "No run has audited c since then, and it was recorded until 2026-03-01T14:00Z. Check the scheduler.\n"
        f"In full: rebalance-audit runs --missing --warehouse {published}"
    )
    record(published, [4])
    assert notify(published) == 0
    publish_hours(published, [4])  # the newest first
    assert [notify(published), notify(published)] == [0, 0]
    resolved = "rebalance-audit c: 1 incident resolved"
    assert service.titles() == [
        OPENED,
        missing,
        "rebalance-audit c: the audit is back from 2026-03-01T14:00Z on",
        resolved,
    ]
    record(published, [5, 6])
    assert [notify(published), notify(published)] == [0, 0]
    assert service.titles()[4:] == ["rebalance-audit c: the audit is missing since 2026-03-01T15:00Z"]
    sent = [row for row in remembered(published) if row["rule"] == "AUDIT_MISSING"]
    assert [(row["event"], row["opened_at"], row["resolved_at"], row["audited_until"]) for row in sent] == [
        ("missing", at(2 * 3600), None, at(2 * 3600)),
        ("back", at(2 * 3600), at(4 * 3600), at(5 * 3600)),
        ("missing", at(5 * 3600), None, at(5 * 3600)),
    ]


def test_a_cluster_that_was_never_audited_is_sent_and_a_closed_gate_is_sent_by_step(tmp_path: Path) -> None:
    """Runs audit `c`, whose gate has closed, and not `d`; `e` was recorded days ago."""
    record(tmp_path, range(4))
    record(tmp_path, range(4), "d")
    record(tmp_path, [-40, -39], "e")
    write(tmp_path, AUDIT_RUNS, [audit_run(Interval(at(0), at(7200)), {}, cluster="c", finished_at=at(1))])
    for hour in (2, 3):
        reject(tmp_path, hour, "c")
    recorded = recorded_steps(delta_tables(str(tmp_path)), Configuration(), at(4 * 3600))
    (notice,) = audit_notices(recorded, [], timedelta(days=1), 2)
    assert (notice.cluster, notice.opened_at) == ("d", to_micros(at(0)))


def test_after_a_failed_audit_one_step_without_it_is_sent(published: Path) -> None:
    record(published, range(3))
    sent: list[Message] = []
    for unaudited_steps in (2, 1, 2, 1):
        request = NoticeRequest(unaudited_steps=unaudited_steps)
        sent += send_notices(delta_tables(str(published)), request, lambda _: None)
    assert [message.title for message in sent] == [
        OPENED,
        "rebalance-audit c: the audit is missing since 2026-03-01T12:00Z",
    ]


def test_clusters_before_the_one_that_is_not_delivered_are_not_sent_again(service: Service, published: Path) -> None:
    publish_hours(published, [1], offline=[1], cluster="d")

    def refuse_the_second() -> None:
        service.status = 200 if len(service.got) == 1 else 500

    service.before_answer = refuse_the_second
    assert notify(published) == 4
    service.before_answer, service.status = lambda: None, 200
    assert notify(published) == 0
    assert service.titles() == [OPENED, OF_D, OF_D]


def test_nothing_is_sent_that_cannot_be_recorded(service: Service, published: Path) -> None:
    """By the function that the command calls: pytest could not write what the command prints."""
    sent: list[Message] = []
    with no_room(), pytest.raises(OSError, match="File too large"):
        send_notices(delta_tables(str(published)), NoticeRequest(), sent.append)
    assert sent == []
    assert [notify(published), notify(published)] == [0, 0]
    assert service.titles() == [OPENED]


def test_a_dead_target_stops_no_other_and_repeats_nothing(
    service: Service, published: Path, teams: Teams, capfd: pytest.CaptureFixture[str]
) -> None:
    """The pager is down for G, and the default for H: each gets what it missed, once, when it is back."""
    pager, chat, options = teams
    publish_hours(published, [1], offline=[1], cluster="d")
    publish_hours(published, [1], offline=[1], group="H", cluster="e")
    pager.status = 503
    assert notify(published, *options) == 4
    printed = capfd.readouterr()
    assert f"rebalance-audit: {published / 'pager'}: JSON: the service answered 503" in printed.err
    assert SECRET not in printed.out + printed.err
    assert (pager.titles(), chat.titles(), service.titles()) == ([OPENED], [], [OF_E])
    pager.status = 200
    assert [notify(published, *options), notify(published, *options)] == [0, 0]
    assert f"Sent: {OPENED} (to {published / 'pager'})\n" in capfd.readouterr().out
    assert (pager.titles(), chat.titles(), service.titles()) == ([OPENED, OPENED, OF_D], [], [OF_E])
    assert {row["target"] for row in remembered(published)} == {"default", str(published / "pager")}


def test_a_target_gets_the_end_of_what_it_got_also_if_routes_changed(
    service: Service, published: Path, teams: Teams
) -> None:
    """The default is told before there are routes; then the incident is the pager's."""
    pager, chat, options = teams
    assert [notify(published), notify(published, *options)] == [0, 0]
    publish_hours(published, [2])
    publish_hours(published, [3])
    assert [notify(published, *options), notify(published, *options)] == [0, 0]
    both = [OPENED, "rebalance-audit c: 1 incident resolved"]
    assert (pager.titles(), chat.titles(), service.titles()) == (both, [], both)


def test_a_url_of_a_route_is_ones_own_and_wanted_before_there_is_something_to_send(
    published: Path, teams: Teams, typed: Typed
) -> None:
    """Without a URL for the default, for which there is nothing."""
    pager, _, options = teams
    (published / "chat").chmod(0o640)
    printed = typed("notify", *options, warehouse=published, code=3)
    assert f"other users can read {published / 'chat'}" in printed.err
    assert pager.titles() == [OPENED]
    (published / "chat").chmod(0o600)
    assert notify(published, *options) == 0


@pytest.mark.parametrize(
    ("url", "message", "code"),
    [
        ("", f"{VARIABLE} must contain one Apprise URL", 3),
        (f"json://h/{SECRET} json://i", f"{VARIABLE} must contain one Apprise URL", 3),
        (f"nonsense://{SECRET}", "Apprise does not know this kind of URL", 3),
        (f"slack://{SECRET}", "Apprise does not know this kind of URL, or the URL is incomplete", 3),
        (f"json://user:{SECRET}@{SECRET}.invalid:1/{SECRET}", "JSON: the service could not be reached, or refused", 4),
    ],
)
def test_a_wrong_url_is_one_sentence_without_its_secrets(
    published: Path,
    url: str,
    message: str,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv(VARIABLE, url)
    assert notify(published, "--verbose") == code
    printed = capfd.readouterr()
    assert [line for line in printed.err.splitlines() if message in line and line.startswith("rebalance-audit: ")]
    assert SECRET not in printed.out + printed.err + caplog.text
    assert not (published / NOTICES.name).exists()


def test_a_file_with_the_url_is_ones_own(service: Service, published: Path, tmp_path: Path, typed: Typed) -> None:
    file = tmp_path / "pager.url"
    file.write_text(f"{service.url}\n")
    file.chmod(0o640)
    printed = typed("notify --to", file, warehouse=published, code=3)
    assert f"other users can read {file}, which contains a secret: run chmod 600 on it" in printed.err
    file.chmod(0o600)
    assert notify(published, "--to", str(file)) == 0
    assert service.titles() == [OPENED]
    printed = typed("notify --to", tmp_path / "none", warehouse=published, code=3)
    assert f"{tmp_path}/none does not exist. Check its name" in printed.err
    file.write_bytes(b"\xff")
    printed = typed("notify --to", file, warehouse=published, code=3)
    assert f"{file} cannot be read as text. Check its content" in printed.err
    printed = typed("notify --to", file / "under", warehouse=published, code=3)
    assert "under cannot be read: Not a directory. Check its name and permissions" in printed.err


def test_names_are_text_and_nothing_else(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, f"{service.url}?format=html")
    publish_hours(tmp_path, [1], offline=[1], group="<b>*G*</b>\n\x1b[2J\u202e@here", cluster="c\n\n#1")
    assert notify(tmp_path) == 0
    (message,) = service.got
    assert message["title"] == "rebalance-audit c\\n\\n#1: 1 incident opened"
    first, second, *_ = message["message"].splitlines()
    assert first == "OPENED ERROR No consumer of <b>*G*</b>\\n\\x1b[2J\\u202e@here is connected"
    assert "Group <b>*G*</b>\\n\\x1b[2J\\u202e@here: backlog" in second


def test_a_process_that_is_killed_before_the_answer_sends_twice_and_no_more(service: Service, published: Path) -> None:
    killed = subprocess.Popen([*COMMAND, str(published)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    service.before_answer = lambda: os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait(300) == -signal.SIGKILL
    service.before_answer = lambda: None
    assert [notify(published), notify(published)] == [0, 0]
    assert service.titles() == [OPENED] * 2


def test_a_process_killed_before_it_writes_down_sends_twice_and_no_more(service: Service, published: Path) -> None:
    script = (
        "import os, signal, sys\n"
        "from spark_jobs.store.read.delta import DeltaTables, delta_tables\n"
        "DeltaTables.append = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from spark_jobs.cli.main import main\n"
        "main(sys.argv[1:])\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, *COMMAND[3:], str(published)], check=False)
    assert (killed.returncode, service.titles()) == (-signal.SIGKILL, [OPENED])
    assert [notify(published), notify(published)] == [0, 0]
    assert service.titles() == [OPENED] * 2


def test_of_two_processes_one_sends(service: Service, published: Path) -> None:
    service.before_answer = lambda: time.sleep(1)
    both = [subprocess.Popen([*COMMAND, str(published)], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = sorted(one.communicate(timeout=300)[0] for one in both)
    assert printed == [f"Sent: {OPENED}\n", "There are no new notifications for default.\n"]
    assert service.titles() == [OPENED]


def test_who_has_to_wait_too_long_says_so(
    service: Service, published: Path, monkeypatch: pytest.MonkeyPatch, typed: Typed
) -> None:
    monkeypatch.setattr("spark_jobs.pipeline.publish.claims._NOTICES_TIMEOUT", 0.1)
    with claim_notices(Location.parse(str(published))):
        printed = typed("notify", warehouse=published, code=4)
    assert "another process has been sending notifications" in printed.err
    assert service.got == []


def test_a_warehouse_in_which_no_group_was_audited_has_no_news(service: Service, tmp_path: Path, typed: Typed) -> None:
    assert "it has no table" in typed("notify", warehouse=tmp_path, code=3).err
    publish_hours(tmp_path, [])
    assert notify(tmp_path) == 0
    assert service.got == []
