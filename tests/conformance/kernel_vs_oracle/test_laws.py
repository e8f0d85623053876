"""Laws of every history, without an oracle."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given

from spark_jobs.domain.evaluate import EvaluatedStep, evaluate
from spark_jobs.domain.kernel.audited_step import IntervalProgress
from spark_jobs.domain.kernel.backlog import TopicBacklog
from spark_jobs.domain.model.history import ClientHistory, GroupHistory, OffsetSamples
from spark_jobs.domain.model.series import Series
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.what_if.answer import advice_in_numbers
from tests.conformance.kernel_vs_oracle.by_kernel import history_of
from tests.conformance.kernel_vs_oracle.courses import SETTINGS, STEP
from tests.conformance.kernel_vs_oracle.examples import few, many
from tests.conformance.kernel_vs_oracle.recordings import Recording, recordings
from tests.support.oracle.snapshots import Group
from tests.support.times import START

T = TypeVar("T")


def evaluated(recording: Recording, history: GroupHistory) -> list[EvaluatedStep]:
    return list(evaluate(history, recording.group.configured, SETTINGS, START, recording.end, advice_in_numbers))


def published(evaluated_step: EvaluatedStep) -> tuple[Any, ...]:
    """All that a step publishes, to be compared; the order of findings says nothing."""
    step, findings = evaluated_step.step, sorted(evaluated_step.findings, key=lambda found: found.finding_id)
    measured = [*map(_plain, step.progress), *map(_plain, evaluated_step.backlogs)]
    return step.window, step.intervals, measured, findings, evaluated_step.status


def _plain(measured: IntervalProgress | TopicBacklog) -> tuple[Any, ...]:
    return tuple(value.tolist() if isinstance(value, np.ndarray) else value for value in vars(measured).values())


def check_cutting(recording: Recording) -> None:
    """A step evaluated with the snapshots of its window alone is the step of the whole run."""
    found = []
    for start in range(START, recording.end, STEP):
        window = SETTINGS.window(start)
        history = history_of(_seen_between(recording.group, window.read_from, window.end))
        found += list(evaluate(history, recording.group.configured, SETTINGS, start, window.end, advice_in_numbers))
    whole = evaluated(recording, history_of(recording.group))
    assert list(map(published, found)) == list(map(published, whole))


def _seen_between(group: Group, start: int, end: int) -> Group:
    def inside(snapshots: Sequence[T]) -> tuple[T, ...]:
        return tuple(snapshot for snapshot in snapshots if start <= snapshot.captured_at < end)  # type: ignore[attr-defined]

    return replace(
        group,
        memberships=inside(group.memberships),
        routes={topic: inside(group.routes[topic]) for topic in group.routes},
        clients=inside(group.clients),
        offsets={topic: inside(group.offsets[topic]) for topic in group.offsets},
        proxies=inside(group.proxies),
    )


def check_order(recording: Recording) -> None:
    """Whatever the order of brokers, clients, topics, states and queues: nothing else comes out."""
    history = history_of(recording.group)
    expected, found = evaluated(recording, history), evaluated(recording, _reversed(history))
    assert list(map(published, found)) == list(map(published, expected))


def _reversed(history: GroupHistory) -> GroupHistory:
    return replace(
        history,
        memberships=_each(history.memberships, _backwards),
        routes=_each(history.routes, _backwards),
        clients=_each(history.clients, lambda client: ClientHistory(_backwards(client.series), client.samples)),
        offsets=_each(history.offsets, _columns_reversed),
        proxies=_each(history.proxies, _backwards),
    )


def _each(found: Any, turned: Callable[[Any], Any]) -> dict[str, Any]:
    return {key: turned(found[key]) for key in reversed(found)}


def _backwards(series: Series[T]) -> Series[T]:
    return Series(series.times, len(series.states) - 1 - series.codes, series.states[::-1])


def _columns_reversed(samples: OffsetSamples) -> OffsetSamples:
    matrices = ("end_offset", "consumer_offset", "pull_offset", "last_timestamp", "present")
    turned = {name: getattr(samples, name)[:, ::-1] for name in matrices}
    return replace(samples, queues=samples.queues[::-1], **turned)


def check_findings(recording: Recording) -> None:
    """Ids are each one's own, times lie inside the step, and the parts of every growth add up to it."""
    for evaluated_step in evaluated(recording, history_of(recording.group)):
        window = evaluated_step.step.window
        assert len({found.finding_id for found in evaluated_step.findings}) == len(evaluated_step.findings)
        assert all(window.start <= found.started_at < found.ended_at <= window.end for found in evaluated_step.findings)
        if evaluated_step.status:
            assert evaluated_step.status.finding_count == len(evaluated_step.findings)
            ranks = [SEVERITIES.index(found.severity) for found in evaluated_step.findings]
            assert evaluated_step.status.worst_severity == (SEVERITIES[max(ranks)] if ranks else None)
            assert all(growth.growth == sum(growth[2:]) for growth in evaluated_step.status.attribution or ())


LAWS = (check_cutting, check_order, check_findings)


@pytest.mark.parametrize("law", LAWS)
@few(50)
@given(recording=recordings())
def test_random_histories_keep_the_laws(law: Callable[[Recording], None], recording: Recording) -> None:
    law(recording)


@pytest.mark.fuzz
@pytest.mark.parametrize("law", LAWS)
@many(share=10)
@given(recording=recordings())
def test_many_random_histories_keep_the_laws(law: Callable[[Recording], None], recording: Recording) -> None:
    law(recording)
