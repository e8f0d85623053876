"""Features that queues which stand at one time share, and no other queue has: broker, owner, index."""

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import replace

from spark_jobs.domain.diagnosis.table import StandingCause
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.removed_queues import brokers_without_master
from spark_jobs.domain.model.finding import Finding, RuleHit
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import ClientState, Place
from spark_jobs.domain.model.message_queue import queue_ranges
from spark_jobs.domain.model.window import SECOND, islands, moment_text
from spark_jobs.domain.phrases import names_text

_ALL = (
    "They are all queues of the topic, and one message cannot hold back all of them. Look whether the members pull "
    "(`mqadmin consumerStatus`), and at what their listeners call. Restart the members if neither shows why."
)

_NOT_REPORTED = (
    "The running info of the owner is not recorded, so that another client may hold the queue, or none: members whose "
    "name servers know other brokers share the queues differently. Record it, and compare the name servers' routes."
)
#: Causes of queues of which their owners do not show why they stand.
_WHY_IS_OPEN = (StandingCause.UNEXPLAINED, StandingCause.NOT_REPORTED)
#: Causes of queues of which the owner has the messages, or does not ask for them: no broker keeps them away.
_NOT_OF_BROKER = (StandingCause.SLOW_CALLS, StandingCause.LISTENER_HANGS, StandingCause.NOT_PULLED)
#: What begins so soon after a change of the route is likely to come from it.
_SHORTLY = 120 * SECOND

#: The measure of queues that are all of one broker's, and the only ones, and the sentence on them.
ALL_OF_BROKER = "all_of_one_broker"
_ALL_OF_BROKER = "They are all queues of {broker}, and no queue of another broker stands: look at {broker}."
#: Queues that stood no more so long before others are worth a word.
_LONG_BEFORE = 300 * SECOND


def with_what_they_share(step: AuditedStep, hits: Iterable[RuleHit]) -> Iterator[RuleHit]:
    """The hits of queues with what those of one condition have in common: as hint, and `ALL_OF_BROKER` as measure."""
    for together in by_key(hits, lambda hit: (hit.topic, hit.cause)).values():
        for island in islands(sorted(together, key=lambda hit: (hit.start, hit.end))):
            known = _intervals_with_queues(step, island)
            may_be_broker = bool(known) and island[0].cause not in _NOT_OF_BROKER
            is_of_broker = may_be_broker and broker_of_all(_places(island), known[-1]) is not None
            hint = _hint(step, island, known)
            for hit in island:
                shown = {**(hit.measures or {}), ALL_OF_BROKER: 1.0} if is_of_broker else hit.measures
                yield replace(hit, hint=" ".join(filter(None, (hit.hint, hint))) or None, measures=shown)


#: Stands for all brokers, where findings point to what they have in common.
ALL_BROKERS = "*"


def standing_broker(finding: Finding) -> str | None:
    """The broker of which all queues stand, and no queue of another one; all brokers if pulls may be refused."""
    brokers = {queue.broker_name for queue in finding.evidence.queues}
    if finding.evidence.measured.get(ALL_OF_BROKER) and len(brokers) == 1:
        return brokers.pop()
    return ALL_BROKERS if finding.cause == StandingCause.SUSPENDED else None


def standing_to_the_end(finding: Finding) -> str:
    """The queues that stood to the end, if others moved again long before; else nothing."""
    queues = finding.evidence.queues
    last = max((queue.ended_at for queue in queues), default=0)
    every = {(queue.broker_name, queue.queue_id) for queue in queues}
    to_the_end = {(queue.broker_name, queue.queue_id) for queue in queues if queue.ended_at > last - _LONG_BEFORE}
    return "" if to_the_end == every else f"in the end only {queue_ranges(to_the_end)}"


def _places(island: Iterable[RuleHit]) -> Set[Place]:
    return {(hit.queue.broker_name, hit.queue.queue_id) for hit in island if hit.queue}


def _intervals_with_queues(step: AuditedStep, island: Collection[RuleHit]) -> Sequence[RebalanceInterval]:
    """Those of the topic that begin before the last of the hits ends, in the order of their starts."""
    topic, end = next(iter(island)).topic, max(hit.end for hit in island)
    known = (each for each in step.intervals if each.topic == topic and each.queues and each.start < end)
    return sorted(known, key=lambda each: each.start)


def _hint(step: AuditedStep, island: Collection[RuleHit], known: Sequence[RebalanceInterval]) -> str | None:
    """The hint by the last of the `known` intervals."""
    first, places = next(iter(island)), _places(island)
    master = _without_master(step, island)
    if not known:
        return master
    interval = known[-1]
    if first.cause not in _WHY_IS_OPEN:
        shared = shared_by(places, interval, may_be_broker=first.cause not in _NOT_OF_BROKER)
        return " ".join(filter(None, (shared, master))) or None
    is_all = len(places) > 1 and places == set(interval.queues or ())
    sentences = (
        _ALL if is_all else shared_by(places, interval),
        _since_in_route(step, places, known, first.start),
        master,
        None if is_all or _states_of_owners(step, island) else _NOT_REPORTED,
    )
    return " ".join(filter(None, sentences)) or None


def _since_in_route(
    step: AuditedStep, places: Set[Place], known: Iterable[RebalanceInterval], start: int
) -> str | None:
    """A sentence, if the route names these queues since shortly before the start, and named none of them before."""
    latest = start + step.settings.cadence
    before = [each for each in known if each.start <= latest and not places & set(each.queues or ())]
    with_them = [each.start for each in known if places & set(each.queues or ())]
    since = next((at for at in sorted(with_them) if any(each.end == at for each in before)), None)
    if since is None or not latest - _SHORTLY <= since <= latest:
        return None
    at = moment_text(since)
    return f"The route names them since {at}: the members may not have taken them. Restart the members."


def _without_master(step: AuditedStep, island: Collection[RuleHit]) -> str | None:
    """A sentence on brokers without a master; an owner may lack locks there, unless one reports that it needs none."""
    first, end = next(iter(island)), max(hit.end for hit in island)
    absent = brokers_without_master(step, first.topic or "", (first.start, end))
    names = names_text(sorted(absent.intersection(hit.queue.broker_name for hit in island if hit.queue)))
    if not names or any(state.consume_orderly is False for state in _states_of_owners(step, island)):
        return f"{names} had no master meanwhile." if names else None
    return f"{names} had no master meanwhile: an owner that consumes in order waits for its locks."


def _states_of_owners(step: AuditedStep, island: Collection[RuleHit]) -> list[ClientState]:
    """The states that the owners of the queues report in the step's window."""
    clients = (step.history.clients.get(hit.implicated or "") for hit in island)
    window = step.window.read_from, step.window.end
    return [run.state for client in clients if client for run in client.series.runs(*window)]


def shared_by(standing: Collection[Place], interval: RebalanceInterval, *, may_be_broker: bool = True) -> str | None:
    """Sentences on what two or more of a topic's readable queues have in common, and no other has; None: nothing."""
    readable, places = frozenset(interval.queues or ()), frozenset(standing)
    if len(places) < 2 or not places < readable:
        return None
    broker = broker_of_all(places, interval) if may_be_broker else None
    least = min(queue_id for _, queue_id in places)
    sentences = [_ALL_OF_BROKER.format(broker=broker)] if broker else []
    owned = interval.allocation.queues_of_client if interval.allocation else {}
    owners = [client_id for client_id, own in owned.items() if places == own & readable]
    sentences += [f"They are all queues of {owner}, and no queue of another member stands." for owner in owners]
    if not sentences and least and places == {place for place in readable if place[1] >= least}:
        sentences.append(f"They are all queues from index {least} on, and no queue below stands.")
    return " ".join(sentences) or None


def broker_of_all(places: Set[Place], interval: RebalanceInterval) -> str | None:
    """The broker of which two or more queues, and these alone, are all readable ones of a topic that has more."""
    readable, brokers = frozenset(interval.queues or ()), {name for name, _ in places}
    of_brokers = {place for place in readable if place[0] in brokers}
    is_of_broker = len(brokers) == 1 and places == of_brokers and 2 <= len(places) < len(readable)
    return brokers.pop() if is_of_broker else None
