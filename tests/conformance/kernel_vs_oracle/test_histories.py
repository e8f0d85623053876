"""Random groups: the kernel says of every interval, queue, backlog and group what the oracle says, step by step."""

import pytest
from hypothesis import given

from spark_jobs.domain.evaluate import evaluate
from spark_jobs.what_if.answer import advice_in_numbers
from tests.conformance.kernel_vs_oracle import by_kernel, by_oracle
from tests.conformance.kernel_vs_oracle.courses import SETTINGS
from tests.conformance.kernel_vs_oracle.examples import few, many
from tests.conformance.kernel_vs_oracle.forms import Said
from tests.conformance.kernel_vs_oracle.recordings import Recording, recordings
from tests.support.times import START

_NOTHING = Said([], [], [], None, None, {}, {}, [])


def check_equal(recording: Recording) -> None:
    group = recording.group
    history = by_kernel.history_of(group)
    evaluated = evaluate(history, group.configured, SETTINGS, START, recording.end, advice_in_numbers)
    found = {step.step.window.start: by_kernel.said(step) for step in evaluated}
    for window in recording.windows():
        expected, said = by_oracle.said(group, window, SETTINGS.thresholds), found.get(window.start, _NOTHING)
        for what, ours, theirs in zip(Said._fields, said, expected, strict=True):
            assert ours == theirs, what


@few(200)
@given(recordings())
def test_random_histories_are_evaluated_as_by_the_oracle(recording: Recording) -> None:
    check_equal(recording)


@pytest.mark.fuzz
@many()
@given(recordings())
def test_many_random_histories_are_evaluated_as_by_the_oracle(recording: Recording) -> None:
    check_equal(recording)
