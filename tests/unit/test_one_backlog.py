"""One backlog: every answer about a group names the number of the tables `backlog` and `group_status`."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from schemas import GROUP_STATUS
from spark_jobs.api.warehouse import open_warehouse
from spark_jobs.domain.model.window import MILLISECOND, SECOND, to_micros
from spark_jobs.show.measured import Minutes, topic_minutes
from spark_jobs.show.metrics import metrics
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.published import Scope, published_tables
from spark_jobs.store.read.stored import rows
from tests.support.commands import Typed
from tests.support.one_backlog import NOT_IN_THE_SERIES
from tests.support.recordings import HOUR
from tests.unit.report.test_charts import figures


@pytest.fixture(scope="module")
def published(example_warehouse: str) -> dict[str, Any]:
    """The row of `group_status` of each group."""
    tables = published_tables(delta_tables(example_warehouse))
    return {row["consumer_group"]: row for row in rows(tables.read(GROUP_STATUS, Scope(HOUR)))}


@pytest.fixture(scope="module")
def minutes(example_warehouse: str) -> dict[tuple[str, str], Minutes]:
    """By group and topic."""
    found = topic_minutes(published_tables(delta_tables(example_warehouse)), Scope(HOUR))
    return {key[1:]: of_topic for key, of_topic in found.items()}


def gauges(warehouse: str, name: str) -> dict[str, float]:
    families = {family.name: family for family in metrics(delta_tables(warehouse)).collect()}
    return {sample.labels["consumer_group"]: sample.value for sample in families[f"rebalance_audit_{name}"].samples}


def test_the_peak_is_one_number(
    example_warehouse: str, published: dict[str, Any], minutes: dict[tuple[str, str], Minutes], typed: Typed
) -> None:
    peaks = {group: row["backlog_max"] for group, row in published.items()}
    assert sum(peak is not None and peak > 1000 for peak in peaks.values()) > 4
    status = typed("status --json", warehouse=example_warehouse, code=(0, 1, 2, 3)).document["groups"]
    assert {row["consumer_group"]: (row["backlog_max"], row["peak_backlog_messages"]) for row in status} == {
        group: (peak or None, peak or None)  # that none were seen says little
        for group, peak in peaks.items()
    }
    known = {group: peak for group, peak in peaks.items() if peak is not None}
    assert gauges(example_warehouse, "backlog_peak_messages") == known
    assert gauges(example_warehouse, "backlog_messages") == {
        group: row["backlog_end"] for group, row in published.items() if row["backlog_end"] is not None
    }
    for group, peak in known.items():
        # The topics' peaks may be of different moments; one topic alone has the peak of all.
        of_topics = [float(of_topic.messages_max.max()) for (of, _), of_topic in minutes.items() if of == group]
        assert max(of_topics) <= peak <= sum(of_topics)
        line = next(line for line in explained(example_warehouse, group) if line.startswith("Backlog "))
        assert peak == 0 or re.search(rf", peak (at least )?{peak:,}[.]", line)


def explained(warehouse: str, group: str) -> Iterator[str]:
    story = open_warehouse(warehouse).explain(group, at=HOUR.start.replace(minute=20))
    return (line.strip() for line in str(story).splitlines())


def test_no_incident_has_more_than_its_group(example_warehouse: str, published: dict[str, Any]) -> None:
    for incident in open_warehouse(example_warehouse).incidents(since=HOUR.start, until=HOUR.end).incidents:
        for cost in incident.costs:
            if cost.peak_backlog_messages and incident.rule not in NOT_IN_THE_SERIES:
                assert cost.peak_backlog_messages <= published[cost.consumer_group]["backlog_max"], incident.headline


def test_what_if_names_what_it_does_not_simulate(
    example_warehouse: str, published: dict[str, Any], typed: Typed
) -> None:
    compared = 0
    for group, row in published.items():
        shown = typed(f"what-if --group {group} --members =1", warehouse=example_warehouse, code=(0, 1, 2, 3))
        if "highest=" not in shown.out or row["backlog_max"] is None:
            continue
        compared += 1
        simulated = int(re.search(r"really happened:.* highest=([\d,]+)", shown.out)[1].replace(",", ""))  # type: ignore[index]
        note = re.search(r"The peak backlog of the whole group was ([\d,]+):", shown.out)
        assert simulated <= row["backlog_max"]
        assert (None if note is None else int(note[1].replace(",", ""))) == (
            None if simulated == row["backlog_max"] else row["backlog_max"]
        ), group
    assert compared > 10


def test_an_explanation_says_what_its_samples_do_not_show(
    example_warehouse: str, minutes: dict[tuple[str, str], Minutes]
) -> None:
    """Of a moment just after the last sample of a minute."""
    more = 0
    for group in {group for group, _ in minutes}:
        for sampled in open_warehouse(example_warehouse).explain(group, at=HOUR.start.replace(minute=20)).facts.topics:
            if sampled.sampled is None:
                continue
            of_topic = minutes[group, sampled.topic]
            place = of_topic.at(sampled.sampled.sampled_at)
            of_minute = of_topic.messages[place]
            is_last = to_micros(sampled.sampled.sampled_at) > (of_topic.starts[place] * MILLISECOND + 50 * SECOND)
            if of_topic.unknown_queues[place]:
                assert sampled.sampled.at_least == (of_minute if of_minute > sampled.sampled.messages else None)
                more += sampled.sampled.at_least is not None
            elif is_last:
                assert (sampled.sampled.messages, sampled.sampled.at_least) == (of_minute, None)
    assert more == 2  # of notify-service and geo-service


def test_the_report_draws_it(example_warehouse: str, published: dict[str, Any]) -> None:
    """Of the group whose queues without an owner have no offset: samples alone show 1 message."""
    html = open_warehouse(example_warehouse).report("geo-service", since=HOUR.start, until=HOUR.end).html
    totals = [
        drawn.data_source.data["y"]
        for chart in figures(html)
        for drawn in chart.renderers
        if (chart.name, drawn.name) == ("Backlog", "total")
    ]
    assert (
        max(number for line in totals for number in json.loads(json.dumps([*line])) if number == number)
        == (published["geo-service"]["backlog_max"])
    )
