"""When a group that no broker lists is consumed all the same. Seconds; a sample every 10 s, 120 s make a stand."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from spark_jobs.domain.kernel.unseen import unseen_times
from spark_jobs.domain.model.history import Connection, Membership, OffsetSamples
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.window import SECOND, StepWindow
from tests.support.kernel import settings
from tests.support.tables import described

SETTINGS = settings(10, step=600)
WINDOW = StepWindow(-210 * SECOND, -180 * SECOND, 0, 600 * SECOND)
#: At a second: next to write, to consume; the last timestamp is 0 where the latter is.
BacklogCourse = Callable[[int], tuple[int, int]]
#: What happens to the queue of a topic.
COURSES: dict[str, BacklogCourse] = {
    "consumed": lambda second: (1000 + second, 995 + second),
    "waiting": lambda second: (1000 + second, 500),
    "idle": lambda _: (1000, 1000),
    "uncommitted": lambda second: (1000 + second, 0),
    "set_at_300": lambda second: (1000, 500 if second < 300 else 1000),
    "pauses": lambda second: (1000 + second, 995 + (100 if 100 <= second < 300 else second)),
    "quiet": lambda second: (
        (min(1000 + second, 1000), min(1000 + second, 1000)) if second < 500 else (500 + second,) * 2
    ),
}
#: what | topics, `until 200`: consumed until then | who a broker listed when (nothing: nobody) | proxies that it listed
#: | who a proxy listed | when it was consumed, and by whom
_TABLE = """
offsets that advance are consumed                 | consumed    |                       |                | | -180-600 BY_UNSEEN
… through the proxy that is there                 | consumed    |                       | -150-600 proxy | | -180-600 THROUGH_PROXY
messages that wait are not                        | waiting     |                       |                | |
… nor with a proxy                                | waiting     |                       | -150-600 proxy | |
nothing comes: nobody is needed                   | idle        |                       |                | |
… the proxy says all                              | idle        |                       | -150-600 proxy | | -180-600 THROUGH_PROXY
nothing was committed: nobody consumed            | uncommitted |                       |                | |
… the proxy says all then, too                    | uncommitted |                       | -150-600 proxy | | -180-600 THROUGH_PROXY
the last sample that moved ends it                | until 200   |                       |                | | -180-200 BY_UNSEEN
… with a proxy                                    | until 200   |                       | -150-600 proxy | | -180-200 THROUGH_PROXY
110 s to the last sample are too little to say    | until 480   |                       |                | | -180-600 BY_UNSEEN
… with a proxy                                    | until 480   |                       | -150-600 proxy | | -180-600 THROUGH_PROXY
120 s are enough                                  | until 470   |                       |                | | -180-470 BY_UNSEEN
… with a proxy                                    | until 470   |                       | -150-600 proxy | | -180-470 THROUGH_PROXY
who left a broker is offline at once              | until 90    | -180-100 c1, 100-600  | -150-600 proxy | |
… whether its offsets stand                       | idle        | -180-100 c1, 100-600  | -150-600 proxy | |
… or are unknown                                  | uncommitted | -180-100 c1, 100-600  | -150-600 proxy | |
… but not if it goes on behind a proxy            | consumed    | -180-100 c1, 100-600  | -150-600 proxy | | 100-600 THROUGH_PROXY
the sample at 100 s shows a commit since 90 s     | until 100   | -180-95 c1, 95-600    |                | |
… so that one is of who left, and that of 110 s   | until 110   | -180-95 c1, 95-600    |                | |
… the next one is of somebody unseen              | until 120   | -180-95 c1, 95-600    |                | | 95-120 BY_UNSEEN
only time in which nobody is listed counts        | consumed    | -180-0, 0-200 c1, 200-400 |            | | -180-0 BY_UNSEEN, 200-400 BY_UNSEEN
offsets that move once were set by an operator    | set_at_300  |                       |                | |
… two topics in one round are one                 | set_at_300 set_at_300 |             |                | |
who comes back consumes since the sample before   | pauses      |                       |                | | -180-100 BY_UNSEEN, 290-600 BY_UNSEEN
a pause without messages is none                  | quiet       |                       |                | | -180-600 BY_UNSEEN
a topic that stands beside a consumed one is, too | consumed waiting |                  |                | | -180-600 BY_UNSEEN
… until the last of them stands                   | until 200 until 300 |               |                | | -180-300 BY_UNSEEN
without samples nobody is seen                    |             |                       |                | |
… a proxy says all                                |             |                       | -150-600 proxy | | -180-600 THROUGH_PROXY
a proxy that went takes along what is unknown     | uncommitted |                       | -150-100 proxy, 100-600 | | -180-100 THROUGH_PROXY
… what advances needs no proxy                    | consumed    |                       | -150-100 proxy, 100-600 | | -180-600 THROUGH_PROXY
… one that was never heard of takes nothing       | uncommitted |                       | -180-600       | |
who is listed by a proxy consumes through it      | waiting     |                       |                | -180-100, 100-400 c1, 400-600 | 100-400 THROUGH_PROXY
… before and after it all is as without it        | consumed    |                       |                | -180-100, 100-400 c1, 400-600 | -180-100 BY_UNSEEN, 100-400 THROUGH_PROXY, 400-600 BY_UNSEEN
… and where a broker lists somebody               | waiting     | -180-200, 200-300 c2, 300-600 |        | -180-100, 100-400 c1, 400-600 | 100-200 THROUGH_PROXY, 300-400 THROUGH_PROXY
… a proxy that lists nobody says nothing          | waiting     |                       |                | -180-600 |
"""  # noqa: E501 - a table


def lists(text: str) -> list[Span[Membership]]:
    """`start-end client-ids`, each."""
    spans = []
    for time, *client_ids in map(str.split, filter(None, text.split(","))):
        start, end = (int(second) * SECOND for second in time.rsplit("-", 1))
        connections = tuple(map(Connection, client_ids))
        spans.append(Span(start, end, end, Membership(connections, frozenset(), frozenset(), None)))
    return spans


def until(end: int) -> BacklogCourse:
    """Messages come in all the time; none is consumed any more from then on."""
    return lambda second: (1000 + second, 995 + min(second, end))


def courses(text: str) -> Iterator[BacklogCourse]:
    words = iter(text.split())
    for word in words:
        yield until(int(next(words))) if word == "until" else COURSES[word]


def samples(course: BacklogCourse) -> OffsetSamples:
    seconds = range(-180, 600, 10)
    end, consumed = (np.array([[course(at)[part]] for at in seconds], dtype=np.int64) for part in (0, 1))
    present = np.ones((len(seconds), 1), dtype=bool)
    stored = (consumed > 0).astype(np.int64)
    return OffsetSamples(np.array(seconds) * SECOND, [("b", 0)], end, consumed, consumed, stored, present)


@pytest.mark.parametrize(("topics", "listed", "proxies", "by_proxy", "expected"), described(_TABLE))
def test_when_a_group_that_is_not_listed_is_consumed(
    topics: str, listed: str, proxies: str, by_proxy: str, expected: str
) -> None:
    offsets = {f"t{number}": samples(course) for number, course in enumerate(courses(topics))}
    memberships = {"b": lists(listed or "-180-600"), "proxy 10.0.0.1:8080": lists(by_proxy)}
    spans = unseen_times(memberships, {"p": lists(proxies)}, offsets, WINDOW, SETTINGS)
    shown = [f"{span.start // SECOND}-{span.end // SECOND} {span.state.removeprefix('CONSUMED_')}" for span in spans]
    assert ", ".join(shown) == expected
