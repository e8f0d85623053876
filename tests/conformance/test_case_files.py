"""The audit of a case file alone gives the incident that was exported, and under other names the same one. No Spark."""

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from schemas import MEMBERSHIP_SNAPSHOTS
from spark_jobs.cli.main import main
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import SECOND, to_micros
from spark_jobs.errors import OutputError
from spark_jobs.ingest.files import read_lines
from spark_jobs.ingest.recording import Row, outcomes
from spark_jobs.operate.anonymous import NewNames
from spark_jobs.operate.export import case_of, check_not_hashed
from spark_jobs.show.incidents import IncidentQuery, published_incidents
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.kept import KEPT_SINCE
from spark_jobs.store.read.published import published_tables
from tests.support.kernel import recorded_rows
from tests.support.look import audit_into, rows_into
from tests.support.stored import set_property
from tests.unit.project.test_layers import ROOT

FIELD = ROOT / "tests" / "data" / "field"
HOUR = Interval.parse("2026-11-21T02:00/2026-11-21T03:00")
TWO_HOURS = Interval.parse("2026-11-21T02:00/2026-11-21T04:00")
DEMO = ROOT / "examples" / "recording.jsonl.gz"
PROXIES = ROOT / "tests" / "data" / "proxies.jsonl.gz"
#: One of each kind: twins, two brokers, rooms, clients that hang, retries, tags, a proxy.
RECORDINGS = [
    *(FIELD / f"{name}.jsonl.gz" for name in ("01_spring_two_brokers", "02_twins_retry_flood")),
    *(FIELD / f"{name}.jsonl.gz" for name in ("12_one_broker_lists_fewer", "64_rooms_without_consumers")),
    *(FIELD / f"{name}.jsonl.gz" for name in ("73_two_tags_one_group", "83_host_without_power")),
    PROXIES,
]
#: Old names that new ones may be by chance.
LIKE_NEW = re.compile("(broker|group|topic|tag)-[0-9]+")
OTHER_INCIDENTS = re.compile("^Incidents of .*? point to .*?, too: look at .*? first[.] ")
EVERY = [recording for recording in sorted(FIELD.glob("*.jsonl.gz")) if recording not in RECORDINGS]
#: What only text is made of, and what is made of ids and names.
_OF_NAMES = {"incident_id", "headline", "advice", "commands", "root_causes", "symptoms"}


def audited(folder: Path, recording: Path, interval: Interval | None = None) -> list[Incident]:
    """The incidents of a recording that is audited into the folder."""
    hour = Interval.parse("2026-11-22T14:00/2026-11-22T15:00") if recording == PROXIES else HOUR
    audit_into(folder, interval or hour, 10 if recording == DEMO else 20, [recording])
    return incidents(folder)


def incidents(folder: Path) -> list[Incident]:
    return published_incidents(published_tables(delta_tables(str(folder))), IncidentQuery())


def exported(folder: Path, incident: Incident, name: str, *options: str) -> Path:
    file = folder.parent / f"{name}.jsonl.gz"
    words = ["--warehouse", str(folder), "--incident", incident.incident_id, "--out", str(file)]
    assert main(["export", *words, *options]) == 0
    return file


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name)
def test_every_incident_of_a_recording(recording: Path, tmp_path: Path) -> None:
    check_all(tmp_path, audited(tmp_path / "whole", recording), 20)


@pytest.mark.slow
@pytest.mark.parametrize("recording", EVERY, ids=lambda path: path.name)
def test_every_incident_of_every_recording(recording: Path, tmp_path: Path) -> None:
    check_all(tmp_path, audited(tmp_path / "whole", recording), 20)


@pytest.mark.slow
def test_every_incident_of_the_demo(tmp_path: Path) -> None:
    check_all(tmp_path, audited(tmp_path / "whole", DEMO), 10)


def check_all(folder: Path, found: Iterable[Incident], cadence: int) -> None:
    for incident in found:
        stored = delta_tables(str(folder / "whole"))
        case = case_of(stored, incident)
        plain = exported(folder / "whole", incident, f"{incident.incident_id}-plain")
        audit_into(folder / plain.name[:-9], case.steps, cadence, [plain])
        assert alone(incident) in map(alone, incidents(folder / plain.name[:-9]))
        with suppress(OutputError):
            check_not_hashed(stored, case)
            check_anonymous(folder, incident, case.steps, cadence, plain)


def alone(incident: Incident) -> Incident:
    """Without the sentence on the incidents of other groups, which are in files of their own."""
    return replace(incident, advice=OTHER_INCIDENTS.sub("", incident.advice))


def check_anonymous(folder: Path, incident: Incident, steps: Interval, cadence: int, plain: Path) -> None:
    anonymous = exported(folder / "whole", incident, f"{incident.incident_id}-other", "--anonymous")
    audit_into(folder / anonymous.name[:-9], steps, cadence, [anonymous])
    rows = [outcome.values for outcome in outcomes(read_lines(plain)) if isinstance(outcome, Row)]
    again = map(without_text, incidents(folder / anonymous.name[:-9]))
    assert under_other_names(incident, rows) in again
    text = gzip.decompress(anonymous.read_bytes()).decode()
    assert [name for name in {*names_in(rows)} if name in text and not LIKE_NEW.fullmatch(name)] == []


def under_other_names(incident: Incident, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The incident without text, as the names of the rows of its case file make it."""
    names = NewNames(incident.consumer_groups)
    hosts = ({"client_id": host} for host in incident.client_ids if "@" not in host)
    for row in (*rows, *hosts):
        names.add(row)
    names.order()
    return without_text(incident, names)


def without_text(incident: Incident, names: NewNames | None = None) -> dict[str, Any]:
    """All that is not text for people, in one order, under these names."""

    def named(field: str, values: Iterable[str | None]) -> list[str]:
        rows = ({field: value} for value in values if value is not None)
        return sorted((names.renamed(row) if names else row)[field] for row in rows)

    def parts(which: str) -> list[list[Any]]:
        return sorted(
            [
                *(part.rule, str(part.cause), part.severity, part.started_at, part.ended_at),
                *(named("consumer_group", [part.consumer_group]), named("topic", [part.topic])),
                *(named("client_id", part.client_ids), named("broker_name", part.brokers)),
                [tuple(span) for span in part.cause_spans],
            ]
            for part in getattr(incident, which)
        )

    plain = {field.name: getattr(incident, field.name) for field in fields(incident) if field.name not in _OF_NAMES}
    return plain | {
        "cluster": named("cluster", [incident.cluster]),
        "consumer_groups": named("consumer_group", incident.consumer_groups),
        "topics": named("topic", incident.topics),
        "client_ids": named("client_id", incident.client_ids),
        "queues": sorted(
            (*named("topic", [queue.topic]), *named("broker_name", [queue.broker_name]), queue.queue_id)
            for queue in incident.queues
        ),
        "costs": sorted([*named("consumer_group", [cost.consumer_group]), *cost[1:]] for cost in incident.costs),
        "root_causes": parts("root_causes"),
        "symptoms": parts("symptoms"),
    }


def names_in(value: Any, field: str = "") -> Iterator[str]:
    """Every name of rows that is no system name, number or single character."""
    if isinstance(value, list):
        for child in value:
            yield from names_in(child, field)
    elif isinstance(value, Mapping):
        for key, child in value.items():
            yield from names_in(child, key)
    elif isinstance(value, str) and field in ("cluster", "consumer_group", "topic", "broker_name", "client_id"):
        name = value.removeprefix("%RETRY%").removeprefix("%DLQ%").removeprefix("proxy ")
        yield from (part for part in (name, name.partition("@")[0]) if "HeartBeatSyncer" not in part)
    elif isinstance(value, str) and field in ("client_addr", "address"):
        yield value.rpartition(":")[0]
    elif isinstance(value, str) and field == "sub_string":
        yield from (tag.strip() for tag in value.split("||") if len(tag.strip()) > 3)


def test_what_cannot_be_exported_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = tmp_path / "whole"
    (incident, *_) = audited(whole, FIELD / "02_twins_retry_flood.jsonl.gz")
    wrong = incident.incident_id[:-1] + "z"
    there = tmp_path / "there"
    there.touch()

    def said(incident_id: str, out: Path) -> str:
        code = main(["export", "--warehouse", str(whole), "--incident", incident_id, "--out", str(out)])
        assert code == 3
        return " ".join(capsys.readouterr().err.split())

    out = tmp_path / "case.jsonl.gz"
    assert f"there is no incident {wrong}: did you mean {incident.incident_id}?" in said(wrong, out)
    assert "the ids of 2 incidents begin with : give more of the id" in said("", out)
    assert f"{there} exists: choose another --out" in said(incident.incident_id, there)
    assert "cannot be written to" in said(incident.incident_id, tmp_path / "none" / "case.jsonl.gz")
    set_property(whole, MEMBERSHIP_SNAPSHOTS, KEPT_SINCE, "2026-11-22T00:00:00Z")
    assert "has deleted those before 2026-11-22T00:00Z; its results stay as they are" in said(incident.incident_id, out)
    assert not out.exists()


def test_an_incident_that_ends_with_its_step_and_one_that_begins_with_it(tmp_path: Path) -> None:
    """The next step shows that the first one is over, and the look-back the offsets before the second one."""
    rows = recorded_rows(FIELD / "01_spring_two_brokers.jsonl.gz")
    first = {row["broker_name"]: row["captured_at"] for row in reversed(rows[MEMBERSHIP_SNAPSHOTS])}
    again = {table: [*map(partial(later, HOUR.end - max(first.values())), found)] for table, found in rows.items()}
    rows_into(tmp_path / "whole", TWO_HOURS, 20, {table: [*rows[table], *again[table]] for table in rows})
    found = {one.rule: one for one in incidents(tmp_path / "whole")}
    assert found["DUPLICATE_CLIENT_ID"].resolved_at == to_micros(HOUR.end)
    assert found["OFFSET_REWOUND"].opened_at < to_micros(HOUR.end) + 60 * SECOND
    check_all(tmp_path, found.values(), 20)


def later(delay: timedelta, row: dict[str, Any]) -> dict[str, Any]:
    """The row so much later, of a client id the first connection only."""
    moved = row | {"captured_at": row["captured_at"] + delay}
    if "connections" in row:
        moved["connections"] = [*{each["client_id"]: each for each in reversed(row["connections"])}.values()]
    return moved


@pytest.mark.parametrize(
    ("recording", "group", "names"),
    [
        (
            FIELD / "106_misspelt_topic.jsonl.gz",
            "sms-send",
            {
                "connection": {"sms-send"},
                "route": {"sms-taks", "%RETRY%sms-send"},
                "stats": {"%RETRY%sms-send"},
                "running": {"sms-send"},
            },
        ),
        (
            PROXIES,
            "dead-service",
            {
                "connection": {"dead-service", "CID_DefaultHeartBeatSyncerTopic"},
                "route": {"slips", "%RETRY%dead-service"},
                "stats": {"slips", "%RETRY%dead-service"},
                "topicstats": {"slips", "%RETRY%dead-service"},
                "running": {"dead-service"},
            },
        ),
    ],
    ids=["a topic without offsets", "proxies"],
)
def test_a_case_has_the_snapshots_of_its_groups_topics_and_proxies(
    recording: Path, group: str, names: dict[str, set[str]], tmp_path: Path
) -> None:
    (incident,) = [one for one in audited(tmp_path / "whole", recording) if one.consumer_groups == (group,)]
    found: dict[str, set[str]] = defaultdict(set)
    _, *lines = gzip.decompress(exported(tmp_path / "whole", incident, "case").read_bytes()).splitlines()
    for fields_of_line in map(json.loads, lines):
        found[fields_of_line["kind"]].add(fields_of_line.get("topic") or fields_of_line["group"])
    assert found == names


def test_lines_are_in_the_order_of_time_whatever_that_of_rows_is(tmp_path: Path) -> None:
    rows = recorded_rows(FIELD / "144_two_groups_one_slow.jsonl.gz")
    rows_into(tmp_path / "whole", HOUR, 20, {table: of_table[::-1] for table, of_table in rows.items()})
    (incident, *_) = incidents(tmp_path / "whole")
    _, *lines = gzip.decompress(exported(tmp_path / "whole", incident, "case").read_bytes()).splitlines()
    times = [fields_of_line["at"] for fields_of_line in map(json.loads, lines) if fields_of_line["kind"] == "stats"]
    assert times == sorted(times)
    assert len(times) > 100


def test_a_group_that_is_no_longer_recorded_is_the_same_without_the_others(tmp_path: Path) -> None:
    """The recorder was at work all the time: another group shows it."""
    rows = recorded_rows(FIELD / "144_two_groups_one_slow.jsonl.gz")
    group = str(min(row["consumer_group"] for row in rows[MEMBERSHIP_SNAPSHOTS]))
    cut = HOUR.end - timedelta(minutes=20)
    rows = {
        table: [row for row in of_table if row.get("consumer_group") != group or row["captured_at"] < cut]
        for table, of_table in rows.items()
    }
    rows_into(tmp_path / "whole", HOUR, 20, rows)
    (incident,) = [one for one in incidents(tmp_path / "whole") if one.rule == "UNOBSERVED"]
    assert (incident.consumer_groups, incident.severity) == ((group,), "INFO")
    check_all(tmp_path, [incident], 20)


def test_names_that_are_hashed_have_no_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (incident, *_) = audited(tmp_path / "whole", FIELD / "125_consistent_hash_gives_one_most.jsonl.gz")
    out = tmp_path / "case.jsonl.gz"
    words = ["--warehouse", str(tmp_path / "whole"), "--incident", incident.incident_id, "--out", str(out)]
    assert main(["export", *words, "--anonymous"]) == 3
    assert "CONSISTENT_HASH allocates queues by hashes of names" in capsys.readouterr().err
    assert not out.exists()
