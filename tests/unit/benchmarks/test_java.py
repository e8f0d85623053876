"""RocketMQ's own loop: how often it calls, and what it is told."""

from pathlib import Path

import pytest

from benchmarks.measures.java import CLASS_PATH, run_loop


def folded(terms: list[int]) -> int:
    """Of every call the size of the share and the id of its first queue, added up as the loop does it."""
    total = 0
    for term in terms:
        total = total * 31 + term
    return total


@pytest.mark.skipif(not CLASS_PATH.is_dir(), reason="`make bench` fetches RocketMQ's client")
def test_every_snapshot_client_and_topic_is_one_call(tmp_path: Path) -> None:
    """16 queues, 3 clients, AVG: 0–5, 6–10, 11–15. Of five snapshots the first round takes two, the second three."""
    states = tmp_path / "states.tsv"
    states.write_text("5\tgroup\ttopic\tc3 c1 c2\tbroker#16\n")
    answers = [line.split() for line in run_loop(CLASS_PATH, states, "AVG", 2)]
    snapshot = [6 + 0, 5 + 6, 5 + 11]
    expected = [(6, folded(snapshot * 2)), (9, folded(snapshot * 3))]
    assert [(int(calls), int(total)) for _, calls, total in answers] == expected
