"""Round after round, each spread over the collection interval, until the time is up or somebody says so."""

import logging
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from zlib import crc32

from spark_jobs.capture import lines
from spark_jobs.capture.asking import FIRST_PAUSE, Backoff, CallRunner, RateLimit
from spark_jobs.capture.background import Background, finish
from spark_jobs.capture.calls import Admin, Answer, CallOutcome
from spark_jobs.capture.cluster import Cluster, check_reached, name_servers
from spark_jobs.capture.details import ask_broker, ask_client, ask_topic, record_routes
from spark_jobs.capture.files import RecordingFiles
from spark_jobs.capture.rounds import ask_group, ask_revive, ask_route, discover, round_line
from spark_jobs.capture.standing import StandingQueues
from spark_jobs.errors import CaptureError

_LOG = logging.getLogger(__name__)
#: In a round, half of the groups' clients and a third of the topics' offsets are asked for; every third one discovers.
CLIENTS_EVERY, OFFSETS_EVERY, DISCOVERY_EVERY, ATTRIBUTES_EVERY = 2, 3, 3, 180
#: A round's calls begin within this part of the interval; groups take the larger part, topics the rest.
_SPREAD, _GROUPS = 0.9, 0.6
#: Until this part of the interval a round waits for details, to be written with it.
_WAIT = 0.97
#: How often the name server is asked who is there before it counts as not reached.
_TRIES = 3
#: A clock that is set back by less than this part of the interval leaves the answers of each group in their order.
_SET_BACK = 0.5


@dataclass(frozen=True)
class Settings:
    """Options of the user; times in seconds. `duration`: None for ever; `once`: one round, as fast as allowed;
    `stacks_after`: how long a queue does not move until its client is asked for stacks, None: no client is.
    """

    namesrv: str
    folder: Path
    cadence: float = 20.0
    rate: float = 300.0
    at_once: int = 12
    duration: float | None = None
    once: bool = False
    file_seconds: float = 300.0
    cluster_name: str | None = None
    groups: re.Pattern[str] | None = None
    proxies: tuple[str, ...] = ()
    stacks_after: float | None = 60.0


class Capture:
    """A recording in the making."""

    def __init__(self, settings: Settings, admin: Admin, closed: Callable[[Path], None]) -> None:
        self._settings, self._admin, self._stopped = settings, admin, threading.Event()
        standing = StandingQueues(settings.stacks_after)
        self._cluster = Cluster(settings.groups, settings.proxies, name_servers(settings.namesrv), standing=standing)
        backoff = Backoff(longest=settings.cadence)
        self._asking = CallRunner(admin, RateLimit(settings.rate), backoff, self._stopped.wait)
        self._files = RecordingFiles(settings.folder, settings.file_seconds, self._head, closed)
        self._written_until = 0
        self._noted: set[str] = set()
        for_clients, for_details = max(settings.at_once // 3, 1), max(settings.at_once // 4, 1)
        self._clients, self._details = Background(for_clients), Background(for_details)
        self._workers = ThreadPoolExecutor(max(settings.at_once - for_clients - for_details, 1))

    def stop(self) -> None:
        """Let what is under way come to its end, and begin nothing else."""
        self._stopped.set()

    def run(self, say: Callable[[str], None], note: Callable[[str], None]) -> None:
        """Record until stopped or time is up; `say` gets a line per round. Raises `CaptureError` if it cannot begin."""
        with ExitStack() as stack:
            stack.callback(self._clients.end)
            stack.callback(self._details.end)
            check_reached(self._discovered(), self._settings.namesrv)
            self._cluster_name()
            self._ask_brokers()
            self._wait_for_details(monotonic() + self._settings.cadence)
            self._files.open()
            stack.callback(self._files.close)
            stack.callback(self._flush)
            stack.callback(self._clients.end)
            stack.callback(self._details.end)
            stack.callback(self._workers.shutdown, cancel_futures=True)
            self._rounds(say, note)

    def _discovered(self) -> Sequence[Answer]:
        """The answers of the first discovery: one that is late is asked for again, as Java has just started."""
        for _ in range(_TRIES - 1):
            answers = self._cluster.discover(self._asking)
            if answers[0].outcome is not CallOutcome.TIMED_OUT:
                return answers
            self._stopped.wait(FIRST_PAUSE)
        return self._cluster.discover(self._asking)

    def _rounds(self, say: Callable[[str], None], note: Callable[[str], None]) -> None:
        cadence, begun = self._settings.cadence, monotonic()
        number, due = 0, begun
        while not self._stopped.is_set():
            self._note_left_out(note)
            lag = monotonic() - due
            self._round(number, due, spread=0.0 if self._settings.once else cadence * _SPREAD)
            outcomes, written = self._flush()
            self._files.rotate()
            say(round_line(self._cluster, outcomes, max(lag, 0.0), written=written))
            number, due = number + 1, max(due + cadence, monotonic() - cadence)
            if self._settings.once or (self._settings.duration is not None and due - begun >= self._settings.duration):
                break
            self._stopped.wait(due - monotonic())

    def _round(self, number: int, due: float, spread: float) -> None:
        self._cluster.standing.begin_round()
        if number and number % DISCOVERY_EVERY == 0:
            discover(self._cluster, self._asking)
            self._ask_brokers()
        tasks = [partial(self._group, group, number) for group in list(self._cluster.groups)]
        self._spread([*tasks, partial(ask_revive, self._cluster, self._asking)], spread * _GROUPS)
        topics = [partial(self._topic, topic, number) for topic in self._cluster.topics()]
        self._spread(topics, spread * (1 - _GROUPS))
        if self._settings.once:
            self._clients.finish()
            self._details.finish()
        self._wait_for_details(due + self._settings.cadence * _WAIT)

    def _is_turn(self, name: str, number: int, every: int) -> bool:
        """Each name has its turn in one of `every` rounds, which does not depend on the other names."""
        return self._settings.once or crc32(name.encode()) % every == number % every

    def _group(self, group: str, number: int) -> None:
        """A client that hangs holds no broker up. Its group's clients are not asked again meanwhile."""
        calls = ask_group(self._cluster, self._asking, group)
        if self._is_turn(group, number, CLIENTS_EVERY):
            self._clients.begin(group, [partial(ask_client, self._cluster, self._asking, call) for call in calls])

    def _topic(self, topic: str, number: int) -> None:
        ask_route(self._cluster, self._asking, topic)
        offsets, attributes = (self._is_turn(topic, number, every) for every in (OFFSETS_EVERY, ATTRIBUTES_EVERY))
        task = partial(ask_topic, self._cluster, self._asking, topic, offsets=offsets, attributes=attributes)
        self._details.begin(f"topic {topic}", [task])

    def _ask_brokers(self) -> None:
        for name, broker in self._cluster.brokers.items():
            self._details.begin(f"broker {name}", [partial(ask_broker, self._cluster, self._asking, broker)])

    def _wait_for_details(self, until: float) -> None:
        while not self._details.is_idle() and monotonic() < until and not self._stopped.wait(0.01):
            pass

    def _spread(self, tasks: Sequence[Callable[[], None]], seconds: float) -> None:
        """Starts the tasks evenly over the time, and waits for them."""
        begun, futures = monotonic(), list[Future[None]]()
        for place, task in enumerate(tasks):
            self._stopped.wait(max(begun + seconds * place / len(tasks) - monotonic(), 0.0))
            if self._stopped.is_set():
                break
            futures.append(self._workers.submit(task))
        finish(futures)

    def _flush(self) -> tuple[Counter[CallOutcome], bool]:
        """Writes what came, unless the clock was set back: no time is recorded twice."""
        record_routes(self._cluster, self._asking)
        taken = self._asking.take()
        back = (self._written_until - min(taken.times, default=self._written_until)) / 1000
        if back > self._settings.cadence * _SET_BACK:
            _LOG.error(
                "the clock was set back by %d s: nothing is written until it has passed the last recorded time", back
            )
            return taken.outcomes, False
        written = self._files.append(taken.lines)
        if written:
            self._written_until = max([self._written_until, *taken.times])
        return taken.outcomes, written

    def _note_left_out(self, note: Callable[[str], None]) -> None:
        """Each line once."""
        for line in self._cluster.versions.left_out(self._cluster.brokers):
            if line not in self._noted:
                self._noted.add(line)
                note(line)

    def _head(self) -> str:
        clusters = self._cluster.clusters
        return lines.meta(self._cluster_name(), self._settings.cadence, self._admin.version(), clusters)

    def _cluster_name(self) -> str:
        known = sorted(set(self._cluster.clusters.values()))
        if self._settings.cluster_name is None and len(known) != 1:
            names = " and ".join(known) or "no cluster"
            raise CaptureError(f"the name servers know {names}: choose a name for the recording with --cluster-name")
        return self._settings.cluster_name or known[0]
