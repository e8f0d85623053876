"""Clients that keep their id and come back with new connections, and how often their processes started meanwhile."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median_low
from typing import NamedTuple

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.history import UNKNOWN, Connection, Membership
from spark_jobs.domain.model.series import Span


class Reconnects(NamedTuple):
    """When a broker listed a client with a new connection, in order, and until when its lists are known: microseconds.
    `process_starts`: the different starts that the client reported, microseconds by its own clock. `are_short`: most of
    its connections were gone by the next list.
    """

    times: Sequence[int]
    known_until: int
    process_starts: Sequence[int] = ()
    are_short: bool = False

    @property
    def distance(self) -> int:
        """Microseconds from one new connection to the next, as usual."""
        return median_low(after - before for before, after in pairwise(self.times))

    @property
    def is_restarted(self) -> bool:
        """Return whether the process started more than once for every two new connections."""
        return len(self.process_starts) > len(self.times) / 2

    @property
    def last_until(self) -> int:
        """The last new connection or, if less than twice the usual distance has passed since, the end of the lists."""
        return self.known_until if self.known_until < self.times[-1] + 2 * self.distance else self.times[-1]


@cached_with_value
def reconnects(step: AuditedStep) -> Mapping[str, Reconnects]:
    """By client id the new connections at the broker that shows most, if they are at least `flapping_times`, and two.

    A broker that drops several clients, which keep their connections to other brokers, is left out: it is no client's.
    """
    least = max(step.settings.thresholds.flapping_times, 2)
    by_broker = {
        broker: {client_id: times for client_id, times in new_connections(spans).items() if len(times) >= least}
        for broker, spans in step.memberships.items()
    }
    by_client: dict[str, Reconnects] = {}
    for broker, of_broker in sorted(by_broker.items()):
        other_brokers = [each for each in by_broker if each != broker]
        for client_id, times in of_broker.items():
            keeping = [step.memberships[other] for other in other_brokers if client_id not in by_broker[other]]
            keeps = any(client_id in span.state.client_ids for spans in keeping for span in spans)
            is_of_broker = keeps and len(of_broker) > 1
            if not is_of_broker and (client_id not in by_client or len(times) > len(by_client[client_id].times)):
                spans = step.memberships[broker]
                starts = process_starts(step, client_id, step.window.read_from, step.window.end)
                by_client[client_id] = Reconnects(times, spans[-1].end, starts, _are_short(spans, client_id))
    return by_client


def new_connections(spans: Sequence[Span[Membership]]) -> Mapping[str, Sequence[int]]:
    """By client id, when a broker listed it at an address of its own that it never had before, after another one.

    Several connections of an id at one time are no new ones: two processes share it, or the old one has not expired.
    """
    addresses: dict[str, set[str]] = defaultdict(set)
    times: dict[str, list[int]] = defaultdict(list)
    before: set[Connection] = set()
    for span in spans:
        listed = Counter(span.state.client_ids)
        for client_id, address, *_ in set(span.state.connections) - before:
            if address is not None:
                had = addresses[client_id]
                if had and address not in had and listed[client_id] == 1:
                    times[client_id].append(span.start)
                had.add(address)
        before = set(span.state.connections)
    return times


def _are_short(spans: Sequence[Span[Membership]], client_id: str) -> bool:
    """Return whether a single list has most of the client's connections."""
    lists = Counter[Connection]()
    for span in spans:
        for connection in set(span.state.connections):
            if connection.client_id == client_id:
                lists[connection] += 2 if span.seen_at > span.start else 1
    return 2 * [*lists.values()].count(1) > len(lists)


def process_starts(step: AuditedStep, client_id: str, start: int, end: int) -> list[int]:
    """The different starts of the client's process, in order, by its reports in `[start, end)`."""
    client = step.history.clients.get(client_id)
    if client is None:
        return []
    return sorted({at for at in client.samples.started_at[client.series.inside(start, end)] if at != UNKNOWN})
