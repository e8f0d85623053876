"""Offsets of a synthetic group's queues at the times of its samples."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.model.history import RETRY, UNKNOWN, OffsetSamples, Place, TopicSamples
from spark_jobs.domain.model.window import MILLISECOND, SECOND
from tests.support.synthetic_groups.lives import Course, Hosts, Life, Standing, Time, at

#: 2026-11-21T03:00Z, and the first second that is recorded: a step looks back for eight minutes.
START = 1_795_230_000 * SECOND
FIRST = -600
#: Messages of a queue at which a client stops to pull.
CACHED = 1000
#: Where the broker puts messages that the group popped of `topic` and did not acknowledge.
REDELIVERED = "%RETRY%group_topic"
#: Messages by which an offset goes back, and the seconds in which the group is where it was again.
REWOUND, CAUGHT_UP = 3000, 120
#: Seconds in which a batch is consumed, from the first one that is recorded.
WORKED_OFF_IN = 3000
Numbers = NDArray[np.int64]
Times = NDArray[np.float64]


def micros(second: float) -> int:
    """A second since the hour began as microseconds."""
    return START + round(second * SECOND)


def all_micros(seconds: Sequence[float] | Times) -> Numbers:
    return np.array([micros(one) for one in seconds], dtype=np.int64)


def places(hosts: Hosts) -> list[Place]:
    """The queues of a route, in order."""
    return [(broker, number) for broker, count in sorted(hosts.items()) for number in range(count)]


def offset_samples(
    life: Life, topic: str, seconds: Sequence[float], base: int, numbers: np.random.Generator
) -> OffsetSamples:
    """Consumed close behind, but for what waits and stands; nothing is committed in a retry topic that is empty."""
    times, queues, present = _rounds(life, topic, seconds)
    end = _written(life, topic, times, len(queues), base)
    is_retry = topic.startswith(RETRY) and topic != REDELIVERED
    lag = numbers.integers(0, 6 if life.rate else 1, end.shape) + _left(life, times)[:, None]
    if is_retry:
        lag[:] = 0
    lag[:, [life.rates.get(index, 1) < 1 for index in range(len(queues))]] = 0
    consumed = np.maximum.accumulate(end - np.minimum(lag, end), axis=0)
    if life.begins is not None and life.begins[1] >= 0:
        consumed = np.minimum(consumed, (life.begins[1] + 100 * (times - life.begins[0])[:, None]).astype(np.int64))
    for one in life.standing:
        if one.topic == topic:
            _let_stand(consumed, times, one)
    since = times - (times[-1] + 1 if life.rewound is None else life.rewound)
    back = np.where((since >= 0) & (since < CAUGHT_UP), REWOUND * (1 - since / CAUGHT_UP), 0)
    consumed = consumed - back.astype(np.int64)[:, None]
    if life.by_slave:
        end = end - np.where((since >= 0) & (since < 60), REWOUND // 2, 0)[:, None]
    if life.created_again is not None:
        left, end = end - consumed, _again(end, times, life)
        consumed = np.where((times >= life.created_again)[:, None], np.maximum(end - left, 0), consumed)
        former = Time(life.created_again, life.created_again + life.former)
        _let_stand(consumed, times, Standing(topic, range(len(queues)), former))
    if (is_retry and not life.sends_back) or not life.commits:
        consumed = np.zeros_like(consumed)
    elif life.uncommitted:
        consumed[:, list(life.uncommitted)] = 0
    stored = (START // MILLISECOND + times * 1000).astype(np.int64)
    if life.by_slave:
        stored = np.where(since >= 0, stored - 3_600_000, stored)
    pulled = np.minimum(end, consumed + CACHED) if life.commits else consumed
    columns = (end, consumed, pulled, np.where(consumed > 0, stored[:, None], 0))
    end, consumed, pulled, stored = (np.where(present, column, UNKNOWN) for column in columns)
    return OffsetSamples(all_micros(times), queues, end, consumed, pulled, stored, present)


def topic_samples(life: Life, topic: str, seconds: Sequence[float], base: int) -> TopicSamples:
    """All queues, the unreadable ones too; the broker has deleted the messages that it does not keep."""
    times, queues, present = _rounds(life, topic, seconds, of_writers=True)
    end = _again(_written(life, topic, times, len(queues), base), times, life)
    oldest = np.zeros_like(end) if life.keeps is None else np.maximum(end - life.keeps, 0)
    first, end = (np.where(present, column, UNKNOWN) for column in (oldest, end))
    return TopicSamples(all_micros(times), queues, first, end, present)


def all_queues(course: Course[Hosts]) -> list[Place]:
    """All queues that a topic ever has."""
    return sorted({place for _, hosts in course for place in places(hosts)})


def _rounds(
    life: Life, topic: str, seconds: Sequence[float], *, of_writers: bool = False
) -> tuple[Times, list[Place], NDArray[np.bool_]]:
    """Times, all queues that the topic ever has, and which of them each snapshot has; of a topic without a route, one
    queue.
    """
    times = np.array(seconds)
    if topic == REDELIVERED:
        return times, [("broker-a", 0)], np.ones((len(times), 1), dtype=bool)
    more = life.route(topic, 0)[0].write_queue_nums - life.route(topic, 0)[0].read_queue_nums if of_writers else 0
    course = [(since, {name: count + more for name, count in hosts.items()}) for since, hosts in life.routes[topic]]
    queues = all_queues(course)
    present = np.zeros((len(times), len(queues)), dtype=bool)
    for since, hosts in course:
        present[times >= since] = [place in places(hosts) for place in queues]
    return times, queues, present


def _written(life: Life, topic: str, times: Times, queues: int, base: int) -> Numbers:
    """The next offset to write of each queue; of a retry topic the messages that come again."""
    if topic.startswith(RETRY):
        comes_again = (life.redelivers if topic == REDELIVERED else life.sends_back) or Time(0, 0)
        again = np.clip(times, *comes_again) - comes_again.start
        of_all = life.rate * sum(at(life.routes["topic"], 0).values()) * life.returned if comes_again.end else 0
        return np.repeat((again * of_all / queues).astype(np.int64)[:, None], queues, axis=1)
    rates = np.array([life.rates.get(index, life.rate) for index in range(queues)])
    return (base + rates * (times - FIRST)[:, None]).astype(np.int64)


def _again(offsets: Numbers, times: Times, life: Life) -> Numbers:
    """Once the topic is created again, the offsets begin with 0, and grow faster."""
    if life.created_again is None:
        return offsets
    first = int(np.searchsorted(times, life.created_again))
    before = offsets[max(first - 1, 0)] if first < len(offsets) else 0
    return np.where((times >= life.created_again)[:, None], np.maximum(offsets - before, 0) * life.faster, offsets)


def _left(life: Life, times: Times) -> Numbers:
    """The messages of each queue that wait. Bursts wait up to half a minute, and come down again; the backlog of a slow
    consumer is gone when it is replaced.
    """
    waiting = life.waiting + np.maximum(life.batch * (1 - (times - FIRST) / WORKED_OFF_IN), 0)
    for start, end in life.bursts:
        waiting += np.maximum(30 * life.rate * (1 - np.abs(2 * (times - start) / (end - start) - 1)), 0)
    if life.slowed:
        start, end = life.slowed
        waiting += np.where((times >= start) & (times < end), (times - start) * life.rate / 2, 0)
    return waiting.astype(np.int64)


def _let_stand(consumed: Numbers, times: Times, one: Standing) -> None:
    rounds = np.flatnonzero((times >= one.time.start) & (times < one.time.end))
    if len(rounds):
        queues = np.array(one.indexes, dtype=np.int64)
        consumed[np.ix_(rounds, queues)] = consumed[max(int(rounds[0]) - 1, 0), queues]
