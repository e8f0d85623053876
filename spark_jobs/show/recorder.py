"""Records besides snapshots, as lines of plain English: who did not answer, and stacks of consume threads."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from schemas import CAPTURE_CALLS, CLIENT_STACKS
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import HOUR, from_micros, second_text, to_micros
from spark_jobs.domain.phrases import count, joined_names
from spark_jobs.domain.rules import unobserved
from spark_jobs.show.text.phrases import TextLine
from spark_jobs.store.read.stored import Filter, StoredTables, tuples

#: Class and method of a frame, behind a class loader and module, such as `java.base/`; an object of a lambda is no such
#: one: `Example$$Lambda$14/0x00000008`.
_METHOD = re.compile(r"(?:[^(]*/(?=\D))?([^(]*)")
#: Packages that are in every stack, and the frame of a thread that waits for messages.
_LIBRARIES = ("java.", "jdk.", "sun.", "com.sun.", "org.apache.rocketmq.")
_IDLE = "java.util.concurrent.ThreadPoolExecutor.getTask"
#: By state what one thread does, and what several do.
_STATES = {"RUNNABLE": ("runs", "run"), "BLOCKED": ("is blocked", "are blocked")}
_WAITS = ("waits", "wait")
#: Answers of clients that are so much older than the newest of the group are not counted with it: each client is asked
#: every five minutes at most.
_TOGETHER = timedelta(minutes=10)
#: What is shown of a group: distinct stacks, and frames of each.
_STACKS, _FRAMES = 3, 20


class Stack(NamedTuple):
    """Threads in one state with the same frames, the innermost first."""

    state: str
    threads: int
    frames: tuple[str, ...]

    @property
    def is_idle(self) -> bool:
        """Return whether the threads wait for messages."""
        return any(method_of(frame) == _IDLE for frame in self.frames)

    @property
    def methods(self) -> list[str]:
        """The methods of the application, the innermost first; if there is none, the innermost method."""
        methods = [*map(method_of, self.frames)]
        return [method for method in methods if "$$" not in method and not is_of_library(method)] or methods[:1]


class StackAnswer(NamedTuple):
    """The consume threads of a group in one client's process; threads beyond its stacks have others."""

    consumer_group: str
    captured_at: datetime
    client_id: str
    threads: int
    stacks: Sequence[Stack]


class SharedMethod(NamedTuple):
    """The innermost method that most of the busy threads are in; their most common state."""

    name: str
    threads: int
    state: str


def method_of(frame: str) -> str:
    """The class and method of a frame, as the source names them."""
    match = _METHOD.match(frame)
    return match[1] if match else frame


def is_of_library(method: str) -> bool:
    """Return whether the method is Java's or RocketMQ's."""
    return method.startswith(_LIBRARIES)


def shared_method(stacks: Iterable[Stack]) -> SharedMethod | None:
    """The method that more than half of the threads that are not idle share; None: they share none."""
    busy = sorted((stack for stack in stacks if not stack.is_idle), key=lambda stack: -stack.threads)
    threads = Counter[str]()
    for stack in busy:
        threads.update(dict.fromkeys(stack.methods, stack.threads))
    most = sum(stack.threads for stack in busy) / 2
    for name in (method for stack in busy for method in stack.methods if threads[method] > most):
        states = Counter[str]()
        for stack in busy:
            states[stack.state] += stack.threads if name in stack.methods else 0
        return SharedMethod(name, threads[name], max(states, key=lambda state: states[state]))
    return None


def incident_stacks(stored: StoredTables, incident: Incident) -> list[StackAnswer]:
    """The answers of clients of the incident's groups in its last day, by group and time."""
    start = max(incident.opened_at, incident.last_seen_at - 24 * HOUR)
    times = from_micros(start), from_micros(incident.last_seen_at)
    return stack_answers(stored, incident.cluster, incident.consumer_groups, *times)


def stack_answers(
    stored: StoredTables, cluster: str, groups: Iterable[str], start: datetime, end: datetime
) -> list[StackAnswer]:
    """The answers of clients of the groups in `[start, end]`, by group and time."""
    if not stored.exists(CLIENT_STACKS):
        return []
    conditions = (
        Filter("cluster", "=", cluster),
        Filter("consumer_group", "IN", [*groups]),
        Filter("captured_at", ">=", start),
        Filter("captured_at", "<=", end),
    )
    answers = (StackAnswer(*values) for values in tuples(stored.read(CLIENT_STACKS, StackAnswer._fields, conditions)))
    return sorted(answer._replace(stacks=[*map(_stack, answer.stacks)]) for answer in answers)


def _stack(stack: Any) -> Stack:
    return Stack(stack["state"], stack["threads"], tuple(stack["frames"]))


def stack_lines(answers: Sequence[StackAnswer]) -> Iterator[TextLine]:
    """Per group a sentence, and the stacks that most threads had in the newest answers; no line without answers."""
    if answers:
        yield TextLine("", 0)
        yield TextLine("Stacks of consume threads", 0, "title")
    for group, of_group in by_key(answers, lambda answer: answer.consumer_group).items():
        newest = {answer.client_id: answer for answer in of_group}.values()
        until = max(answer.captured_at for answer in newest)
        together = [answer for answer in newest if until - answer.captured_at <= _TOGETHER]
        stacks = _merged(together)
        total = sum(answer.threads for answer in together)
        clients = count(len(together), "client")
        yield TextLine(f"{group} ({clients}): {_sentence(stacks, total, of_group)}", 1)
        for stack in stacks[:_STACKS]:
            yield TextLine(f"{count(stack.threads, 'thread')}, {stack.state}:", 2)
            yield from (TextLine(frame, 3) for frame in stack.frames[:_FRAMES])


def _merged(answers: Iterable[StackAnswer]) -> list[Stack]:
    """The distinct stacks of all clients: those of threads that are not idle first, then by threads."""
    threads = Counter[tuple[str, tuple[str, ...]]]()
    for stack in (stack for answer in answers for stack in answer.stacks):
        threads[stack.state, stack.frames] += stack.threads
    merged = [Stack(state, number, frames) for (state, frames), number in threads.items()]
    return sorted(merged, key=lambda stack: (stack.is_idle, -stack.threads))


def _sentence(stacks: Sequence[Stack], total: int, answers: Sequence[StackAnswer]) -> str:
    """The method that most of the threads are in, and since when; `answers`: those of the group, by time."""
    shared = shared_method(stacks)
    if shared is None:
        idle = sum(stack.threads for stack in stacks if stack.is_idle)
        waiting = f"{idle:,} of {count(total, 'consume thread')} {_WAITS[idle != 1]} for messages"
        return waiting + ("." if idle == total else "; most of the others share no method.")
    since = answers[-1].captured_at
    for answer in reversed(answers):
        if not any(shared.name in stack.methods for stack in answer.stacks):
            break
        since = answer.captured_at
    verb = _STATES.get(shared.state, _WAITS)[shared.threads != 1]
    where = f"{shared.name}, seen since {second_text(to_micros(since))}"
    return f"{shared.threads:,} of {count(total, 'consume thread')} {verb} in {where}."


#: Fates of calls that brought no answer, in words.
_SILENT = {"TIMED_OUT": "timed out", "REFUSED": "refused", "NOT_ASKED": "not made, as it had been silent before"}


def recorder_lines_of(
    stored: StoredTables, rule: str, cluster: str, start: datetime, end: datetime
) -> Iterator[TextLine]:
    """Lines: whom the recorder called, where nothing was recorded; none for another rule."""
    if rule == unobserved.RULE.name:
        yield from recorder_lines(calls_in(stored, cluster, Interval(start, end)))


def recorder_lines(calls: Mapping[tuple[str, str], int] | None) -> Iterator[TextLine]:
    """Who answered and who did not, from counts of calls by (target, outcome); no line where None."""
    if calls is None:
        return
    yield TextLine("", 0)
    yield TextLine("Whom the recorder called when it began (the first ten minutes)", 0, "title")
    if not calls:
        yield TextLine("None: the recorder was not running, or what it recorded is not loaded.", 1)
    per_target: dict[str, Counter[str]] = defaultdict(Counter)
    for (target, outcome), number in calls.items():
        per_target[target][outcome] += number
    silent = {target: made for target, made in sorted(per_target.items()) if made.keys() & _SILENT.keys()}
    for target, made in silent.items():
        unanswered = joined_names([f"{made[outcome]:,} {words}" for outcome, words in _SILENT.items() if made[outcome]])
        yield TextLine(f"{target} did not answer: of {count(made.total(), 'call')} {unanswered}.", 1)
    if answered := sorted(per_target.keys() - silent.keys()):
        yield TextLine(f"{joined_names(answered)} answered.", 1)


#: How much of a gap is read: who was silent when it began says why, and a fleet makes many calls in a day.
COUNTED_TIME = timedelta(minutes=10)
#: The requests to clients; a client that does not answer makes no gap (CLIENT_HUNG).
_OF_CLIENTS = ("running", "stacks")


def calls_in(stored: StoredTables, cluster: str, gap: Interval) -> Counter[tuple[str, str]] | None:
    """Calls by (target, outcome) in the first `COUNTED_TIME` of the gap; None: there is no table of calls."""
    if not stored.exists(CAPTURE_CALLS):
        return None
    conditions = (
        Filter("cluster", "=", cluster),
        Filter("captured_at", ">=", gap.start),
        Filter("captured_at", "<", min(gap.end, gap.start + COUNTED_TIME)),
    )
    calls = stored.read(CAPTURE_CALLS, ("called", "outcome", "request"), conditions)
    return Counter((called, outcome) for called, outcome, request in tuples(calls) if request not in _OF_CLIENTS)
