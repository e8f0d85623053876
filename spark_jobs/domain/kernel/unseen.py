"""When a group that no broker lists is consumed nevertheless: by clients of a proxy, or by consumers unseen.

Clients of a cluster-mode proxy register with the proxy: every broker answers "not online" for their group. So that
answer alone does not mean that nobody consumes; it does where offsets do not advance while messages are produced.
With POP, and so for gRPC clients, offsets show what was handed out, not what was consumed: the broker moves the offset
when it hands messages out (`PopMessageProcessor`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.members import is_grpc
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.history import UNKNOWN, Mask, Matrix, Membership, Numbers, OffsetSamples
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.model.window import (
    SECOND,
    AuditSettings,
    StepWindow,
    Time,
    common,
    covered,
    joined,
    offline_times,
    without,
)

#: The group in which the proxies of a cluster tell each other of their clients: its connections are the proxies.
#: Source: org.apache.rocketmq.proxy.service.sysmessage.AbstractSystemMessageSyncer, HeartbeatSyncer.
PROXIES_GROUP = "CID_DefaultHeartBeatSyncerTopic"
#: Who answers for a proxy stands in memberships, in the place of a broker's name, as `proxy host:port`.
PROXY = "proxy "


State = TypeVar("State")


def unseen_times(
    memberships: Mapping[str, Sequence[Span[Membership]]],
    proxies: Mapping[str, Sequence[Span[Membership]]],
    offsets: Mapping[str, OffsetSamples],
    window: StepWindow,
    settings: AuditSettings,
) -> list[Span[Reason]]:
    """The times, in order, in which the group is consumed while no broker lists a connection of it.

    A proxy lists one, or offsets advance more than once (an operator may have set them), until they stand for
    `stalled_after_seconds` while messages are produced. If the cluster has proxies (of `PROXIES_GROUP`) and no broker
    ever listed the group, only such a standstill shows that it is not consumed.
    """
    on_brokers, on_proxies = _connected(by_brokers(memberships)), _connected(by_proxies(memberships))
    # A proxy that was first asked after the group has been there since before.
    proxy_times = _connected(proxies)
    if proxy_times:
        proxy_times[0] = window.observed_from, proxy_times[0][1]
    answers = (span.time for spans in memberships.values() for span in spans)
    minimum = settings.thresholds.stalled_after_seconds * SECOND
    unseen = [(time, Reason.CONSUMED_THROUGH_PROXY) for time in offline_times(on_proxies, on_brokers)]
    for offline in offline_times(answers, [*on_brokers, *on_proxies]):
        pairs = _pairs(offsets.values(), *offline)
        for time in without(offline, pairs.stalled_times(minimum, offline[1])):
            with_proxy = [common_time for proxy_time in proxy_times if (common_time := common(time, proxy_time))]
            if pairs.keep_advancing(time, settings.cadence):
                unseen.append((time, Reason.CONSUMED_THROUGH_PROXY if with_proxy else Reason.CONSUMED_BY_UNSEEN))
            elif not on_brokers:
                unseen += [(common_time, Reason.CONSUMED_THROUGH_PROXY) for common_time in with_proxy]
    return [Span(start, end, end, reason) for (start, end), reason in sorted(unseen, key=lambda each: each[0][0])]


def by_brokers(memberships: Mapping[str, State]) -> dict[str, State]:
    """The entries of brokers, without those of proxies."""
    return {name: state for name, state in memberships.items() if not name.startswith(PROXY)}


def by_proxies(memberships: Mapping[str, State]) -> dict[str, State]:
    """The entries of proxies."""
    return {name: state for name, state in memberships.items() if name.startswith(PROXY)}


def _connected(memberships: Mapping[str, Sequence[Span[Membership]]]) -> list[Time]:
    """The maximal times in which any of them lists a connection."""
    spans = (span for broker_spans in memberships.values() for span in broker_spans)
    return joined(span.time for span in spans if span.state.connections)


@dataclass(frozen=True)
class _Pairs:
    """Pairs of successive samples by the later one's time, and whether an offset advanced, and messages came."""

    starts: Numbers
    ends: Numbers
    advanced: Mask
    produced: Mask

    def keep_advancing(self, time: Time, cadence: int) -> bool:
        """Return whether offsets advanced in two rounds inside it, which are half a collection interval apart."""
        advanced_at = self.ends[self.advanced & (self.starts >= time[0]) & (self.ends <= time[1])]
        return len(advanced_at) > 1 and int(advanced_at[-1] - advanced_at[0]) >= cadence / 2

    def stalled_times(self, at_least: int, until: int) -> list[Time]:
        """The times without an advance, from before the first new messages to the last sample, or `until`."""
        advances = np.append(UNKNOWN, self.ends[self.advanced])
        standstill = np.cumsum(self.advanced)[~self.advanced]
        starts, ends, produced = (column[~self.advanced] for column in (self.starts, self.ends, self.produced))
        numbers, first_produced = np.unique(standstill[produced], return_index=True)
        since = np.maximum(starts[produced][first_produced], advances[numbers])
        last_sample = ends[np.searchsorted(standstill, numbers, side="right") - 1]
        is_long = last_sample - since >= at_least
        end = np.where(numbers == len(advances) - 1, until, last_sample)
        return list(zip(since[is_long].tolist(), end[is_long].tolist(), strict=True))


def _pairs(topics: Iterable[OffsetSamples], start: int, end: int) -> _Pairs:
    """The pairs of samples of all topics in `[start, end)`, by the time of the later one."""
    parts = [_topic_pairs(samples, samples.inside(start, end)) for samples in topics]
    nothing = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_), np.empty(0, np.bool_))
    starts, ends, advanced, produced = (np.concatenate(column) for column in zip(nothing, *parts, strict=True))
    # Of equal times those without an advance come first: the order of the topics must not matter.
    order = np.lexsort((starts, advanced, ends))
    return _Pairs(starts[order], ends[order], advanced[order].astype(bool), produced[order].astype(bool))


def _topic_pairs(samples: OffsetSamples, inside: slice) -> tuple[Numbers, Numbers, Mask, Mask]:
    times = samples.times[inside]
    is_known = (samples.consumed_to[inside] != UNKNOWN)[1:]
    advanced, produced = _grown(samples.consumer_offset[inside]), _grown(samples.end_offset[inside]) & is_known
    return times[:-1], times[1:], np.asarray(advanced.any(axis=1)), np.asarray(produced.any(axis=1))


def _grown(numbers: Matrix) -> Mask:
    """Per pair of successive rows and column, whether the number grew; unknown numbers have not."""
    return np.asarray((numbers[:-1] != UNKNOWN) & (numbers[1:] > numbers[:-1]))


def is_handed_out(step: AuditedStep, interval: RebalanceInterval) -> bool:
    """Return whether the interval's backlog may lack messages that clients hold: popped, or behind a proxy."""
    if interval.is_shared_out or interval.has_popping_members:
        return True
    if interval.reason is not Reason.CONSUMED_THROUGH_PROXY:
        return False
    spans = (span for of_proxy in by_proxies(step.memberships).values() for span in of_proxy)
    listed = {client_id for span in spans for client_id in span.state.client_ids}
    return not listed or any(map(is_grpc, listed))


@cached_with_value
def may_be_behind_proxies(step: AuditedStep) -> bool:
    """Return True if no broker listed a member, and the cluster has proxies that were not asked for members."""
    if by_proxies(step.memberships) or any(span.state.connections for span in step.membership_spans):
        return False
    proxies = (series.spans(step.window, step.settings.max_gap) for series in step.history.proxies.values())
    return any(span.state.connections for spans in proxies for span in spans)


def seconds_listed_by_proxies(step: AuditedStep, time: Time) -> float:
    """For how long a proxy lists members in a time, seconds."""
    listing = (span for spans in by_proxies(step.memberships).values() for span in spans if span.state.connections)
    return covered(shared for span in listing if (shared := common(time, span.time))) / SECOND
