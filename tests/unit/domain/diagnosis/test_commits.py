"""When offsets are committed seldom: samples every 20 s of two queues, to which 10 messages a second come."""

from collections.abc import Sequence

import pytest

from spark_jobs.domain.diagnosis.measure import seldom_commits
from spark_jobs.domain.model.window import SECOND
from tests.support.samples import offsets
from tests.support.tables import described
from tests.support.times import micros


def committed(second: int, commits: Sequence[int], left: int) -> int:
    """The offset that the last commit left: so many messages before the end of that time."""
    last = max((commit for commit in commits if commit <= second), default=0)
    return 1000 + 10 * last - left


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    described("""
        every ten minutes                | 250 850 1450     | 250 850 1450     | 600
        … read in two samples            | 250 850 1450     | 270 870 1470     | 600
        … by two queues, twice           | 250 850          | 250 850          | 600
        … by one queue of two            | 250 850 1450     |                  |
        … once                           | 250              | 250              |
        every minute                     | 100 160 220 280  | 100 160 220 280  | 60
        more often                       | 100 140 180 220  | 100 140 180 220  |
        not evenly                       | 250 500 1450     | 250 500 1450     |
        … up to half as long again       | 250 850 1750     | 250 850 1750     | 750
        … in three samples               | 250 270 850 870 1450 1470 | 290 890 1490 |
        each queue for itself            | 250 850 1450     | 550 1150 1750    |
    """),
)
def test_all_queues_at_once_and_at_even_distances(first: str, second: str, expected: str) -> None:
    queues = [[int(at) for at in text.split()] for text in (first, second)]
    rows = {at: [f"{1000 + 10 * at}/{committed(at, commits, 0)}" for commits in queues] for at in range(0, 1800, 20)}
    samples = offsets([("a", 0), ("b", 0)], rows)
    found = seldom_commits(samples, micros(0), micros(1800), 20 * SECOND)
    assert (found and found.distance / SECOND) == (float(expected) if expected else None)
    assert found is None or found.keeps_up


def test_who_commits_less_and_less_of_what_comes_does_not_keep_up() -> None:
    """It leaves 1,000 messages more at each commit, and half of what waited before the last one is less than 6,000."""
    commits = [250, 850, 1450]
    rows = {
        at: [f"{1000 + 10 * at}/{committed(at, commits, 3000 * sum(one <= at for one in commits))}"]
        for at in range(0, 1800, 20)
    }
    found = seldom_commits(offsets([("a", 0)], rows), micros(0), micros(1800), 20 * SECOND)
    assert found is not None
    assert not found.keeps_up
