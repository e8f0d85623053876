"""The strategies of a group's members in one step: reported, configured, observed in the queues they hold, or AVG."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from spark_jobs.domain.kernel.group_spans import ClientStates, GroupSpans
from spark_jobs.domain.kernel.holdings import State, Unchanged, holders_of_states, reports_in, unchanged_times
from spark_jobs.domain.kernel.members import resolve_strategies
from spark_jobs.domain.kernel.observed import strategies_observed
from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.kernel.views import Moment
from spark_jobs.domain.model.history import ClientHistory, Connection, Place
from spark_jobs.domain.model.window import AuditSettings
from spark_jobs.domain.rocketmq.strategies import (
    POP,
    Holders,
    Parameters,
    Resolved,
    strategy_of_class,
)

_AVG = "AllocateMessageQueueAveragely"


@dataclass(frozen=True)
class Observation:
    """Strategies of members, as observed in a step's window.

    `moments`: the times of a topic in which nothing changes, in order; `clients`: of which only snapshots of those
    times are looked at; `last_states`: at the window's end.
    """

    spans: GroupSpans
    moments: Callable[[str], Sequence[Moment]]
    clients: Mapping[str, ClientHistory]
    last_states: ClientStates
    settings: AuditSettings
    replays: Replays

    @cached_property
    def topics(self) -> Sequence[str]:
        """All topics that subscriptions or offsets name."""
        return sorted(self.spans.subscribed | self.spans.offset_topics)

    @property
    def is_pop(self) -> bool:
        """Return whether POP is configured: which strategy the members run is not, then."""
        return self.replays.settings.strategy == POP

    @property
    def configured(self) -> str | None:
        """The strategy that is configured for the members."""
        return None if self.is_pop else self.replays.settings.strategy

    def strategies(
        self, topic: str, queues: tuple[Place, ...], connections: Sequence[Connection], states: ClientStates
    ) -> tuple[Resolved, ...]:
        """One per connection, in the given order, which is that of the allocation."""
        answers = (states.states.get(connection.client_id) for connection in connections)
        classes = [
            # Those of C++ and Python have AVG only.
            (state.strategy_class if state else None) or (_AVG if connection.language in ("CPP", "PYTHON") else None)
            for connection, state in zip(connections, answers, strict=True)
        ]
        seen = [self._seen(*each) for each in zip(connections, classes, strict=True)] if self.observed else []
        elsewhere = (state.strategy_class for state in states.states.values() if state.strategy_class)
        resolved = tuple(resolve_strategies(classes, self.configured, seen, elsewhere))
        if not any(each.is_not_recognized for each in resolved):
            return resolved
        holders = self._holders.get((topic, tuple(connection.client_id for connection in connections), queues))
        reported = Parameters(holders=holders)
        return tuple(each._replace(parameters=reported) if each.is_not_recognized else each for each in resolved)

    def _seen(self, connection: Connection, class_name: str | None) -> Resolved | None:
        is_known = class_name is not None and strategy_of_class(class_name) is not None
        return self.observed.get(connection.client_id, None if is_known else self.observed.get(None))

    @cached_property
    def observed(self) -> Mapping[str | None, Resolved]:
        """`strategies_observed` of the whole window, of clients whose strategy, or a setting of it, is missing."""
        if self.replays.settings.strategy:
            return {}
        observed: dict[str | None, Resolved] = {}
        for name, client_ids in self._in_question.items():
            # Those that clients report, the most frequent first.
            reported = Counter(filter(None, self._names.values())).most_common()
            shown = self._shown(client_ids, [each for each, _ in reported] if name is None else [name], name)
            if name is None:
                observed |= shown
            elif shown and (self._holders or not any(each.is_not_recognized for each in shown.values())):
                observed |= {client_id: shown.get(client_id, shown[None]) for client_id in client_ids}
        return observed

    @property
    def _names(self) -> Mapping[str, str | None]:
        return self.last_states.strategies

    @cached_property
    def _in_question(self) -> Mapping[str | None, Collection[str]]:
        """The ids of the clients whose strategy, or one of its settings, is not known; by the strategy's name."""
        missing = [
            name
            for name in dict.fromkeys(self._names.values())
            if name and self.replays.settings.named(name).settings_missing
        ]
        client_ids_of: dict[str | None, list[str]] = {name: [] for name in (None, *missing)}
        for client_id, name in self._names.items():
            if name in client_ids_of:
                client_ids_of[name].append(client_id)
        return {name: client_ids for name, client_ids in client_ids_of.items() if client_ids}

    def _shown(
        self, client_ids: Collection[str], named: Sequence[str], only: str | None
    ) -> Mapping[str | None, Resolved]:
        """Return `strategies_observed` of some clients; what is reported step after step is looked at once."""
        clients = {client_id: self.clients[client_id] for client_id in client_ids}
        reports = tuple(
            report
            for state, times in enumerate(self._unchanged)
            for report in reports_in(times, state, clients, self.settings)
        )
        reporting = {report.client_id for report in reports}
        connections = {each.client_id: each for each in self._connections if each.client_id in reporting}
        software = frozenset((each.client_id, each.language, each.version) for each in connections.values())
        key, known = (reports, software, *named, only), self.replays.observed
        if key not in known:
            known[key] = strategies_observed(reports, connections, named, self.replays.settings, only)
        observed: Mapping[str | None, Resolved] = known[key]
        return observed

    @cached_property
    def _holders(self) -> Mapping[State, Holders]:
        return holders_of_states(self._unchanged, self.clients, self.settings)

    @cached_property
    def _connections(self) -> Collection[Connection]:
        listed = (span.state.connections for spans in self.spans.memberships.values() for span in spans)
        return dict.fromkeys(chain.from_iterable(listed))

    @cached_property
    def _unchanged(self) -> Sequence[Unchanged]:
        """The times in which members and queues of a topic stay the same."""
        return [
            times
            for topic in self.topics
            for times in unchanged_times(topic, self.moments(topic), self.replays, self.settings)
        ]
