"""The explanation as lines of plain English."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from spark_jobs.domain.model.causes import DoubleOwnedCause
from spark_jobs.domain.model.intervals import duration_text, format_utc
from spark_jobs.domain.model.message_queue import queue_ranges
from spark_jobs.domain.model.severities import INFO
from spark_jobs.domain.model.statuses import CONSUMED_UNSEEN, IS_DELETED, WITHOUT_ROUTE, Reason, Status, Trigger
from spark_jobs.domain.phrases import UNFILTERED, count, joined_names, number_text, party_text, rate_text
from spark_jobs.domain.rocketmq.strategies import StrategySource
from spark_jobs.show.explain import GroupExplanation, TopicExplanation
from spark_jobs.show.measured import SampledBacklog
from spark_jobs.show.rows import Row
from spark_jobs.show.text.backlog import backlog_text
from spark_jobs.show.text.intervals import (
    IntervalExplanation,
    IntervalStart,
    MemberShare,
    ObservedNeighbor,
    UnhealthyQueues,
)
from spark_jobs.show.text.phrases import REASONS, TextLine, measures_text, positions_text, severity_counts

_UNKNOWN = (Status.UNOBSERVED, Status.NOT_REPLAYABLE)
#: Somebody owns the queues then, but who is not recorded.
_OWNERS_UNKNOWN = (Reason.BROKER_REBALANCE, Reason.CONSUMED_THROUGH_PROXY, Reason.CONSUMED_BY_UNSEEN)


def lines(story: GroupExplanation, zone: str = "UTC") -> Iterator[TextLine]:
    """A line per statement: causes and advice, the computation, other findings. Names are as clients gave them."""
    yield TextLine(f"{story.consumer_group} (cluster {story.cluster}) at {format_utc(story.at)}", 0, "title")
    yield TextLine(f"{_verdict(story)} All times are {zone}; the audited step is {story.step}.", 0)
    causes, roots = _causes(story.findings), {row["finding_id"]: row for row in story.roots}
    wrong = _findings("What was wrong", causes, roots, story.at) if causes else _no_finding(story)
    yield from _after_blank_line(wrong)
    for topic in story.topics:
        yield from _after_blank_line(_topic(topic))
    if story.quiet_topics:
        yield from _after_blank_line([TextLine(_quiet(story.quiet_topics), 0)])
    if other_findings := [row for row in story.findings if row not in causes]:
        yield from _after_blank_line(_findings("Other findings", other_findings, roots, story.at))
    if story.status:
        yield from _after_blank_line(_step(story.status))


def _after_blank_line(lines: Iterable[TextLine]) -> Iterator[TextLine]:
    yield TextLine("", 0)
    yield from lines


def _causes(findings: Iterable[Row]) -> list[Row]:
    """The findings above INFO that are not a symptom of another one above INFO."""
    worse = {row["finding_id"]: row for row in findings if row["severity"] != INFO}
    return [row for row in worse.values() if row["root_finding_id"] not in worse]


def _verdict(story: GroupExplanation) -> str:
    severities = severity_counts(row["severity"] for row in story.findings)
    if not severities:
        return "No finding covers this moment."
    covers = "covers" if len(story.findings) == 1 else "cover"
    return f"{count(len(story.findings), 'finding')} {covers} this moment: {joined_names(severities)}."


def _topic(topic: TopicExplanation) -> Iterator[TextLine]:
    yield TextLine(topic.topic, 0, "title")
    if len(topic.views) > 1:
        names = joined_names([view.membership_view for view in topic.views])
        yield TextLine(
            f"The brokers disagreed: {names} listed different members. Each client asks a random one of them.", 1
        )
    for view in topic.views:
        view_lines = interval_lines(view)
        if len(topic.views) > 1:
            yield TextLine(f"As {view.membership_view} listed them:", 1, "heading")
            view_lines = (line._replace(indent=line.indent + 1) for line in view_lines)
        yield from view_lines
    has_owners = any(view.status == Status.REPLAYED for view in topic.views)
    if topic.backlog or has_owners:
        backlog = backlog_text(topic.backlog, owned=not has_owners)
        yield TextLine(f"Whole topic: {backlog[:1].lower()}{backlog[1:]}", 1)
    if topic.sampled:
        yield TextLine(_sampled(topic.sampled), 1)
    if topic.skipped:
        yield TextLine(f"Of these, {topic.skipped:,} are a jump of consumer offsets (MESSAGES_SKIPPED).", 1)
    if topic.backlog and topic.backlog.is_unfiltered:
        yield TextLine(UNFILTERED, 1)


def _sampled(backlog: SampledBacklog) -> str:
    most = f", most in {backlog.queues}: {backlog.most:,}" if backlog.most else ""
    more = "" if backlog.at_least is None else f"; at least {backlog.at_least:,} with queues whose offset is not known"
    return f"At {format_utc(backlog.sampled_at)}, the last sample before: backlog {backlog.messages:,}{most}{more}."


def _quiet(topics: list[str]) -> str:
    if len(topics) == 1:
        return f"1 retry topic has no finding above INFO: --topic {topics[0]} shows it."
    return f"{count(len(topics), 'retry topic')} have no finding above INFO: --topic NAME shows one of them."


def _no_finding(story: GroupExplanation) -> Iterator[TextLine]:
    """That there is none, what is unknown, and the queues into which messages came and of which none was consumed."""
    summary = "No finding above INFO" if story.findings else "No finding"
    unknown = "; ".join(unknowns(story))
    yield TextLine(f"{summary}, but unknown: {unknown}." if unknown else f"{summary}.", 0, "title")
    for topic in story.topics:
        for text in topic.backlog.unconsumed if topic.backlog else ():
            yield TextLine(f"{topic.topic} {text}.", 1)


def _findings(title: str, findings: Iterable[Row], roots: Mapping[str, Row], at: datetime) -> Iterator[TextLine]:
    yield TextLine(title, 0, "title")
    for finding in findings:
        yield from _finding(finding, roots.get(finding["root_finding_id"]), at)


def unknowns(story: GroupExplanation) -> list[str]:
    """Clauses: which owners and backlogs of the explained topics are unknown."""
    texts = []
    for topic in story.topics:
        if all(view.reason in IS_DELETED for view in topic.views):
            continue
        if any(view.status in _UNKNOWN or view.reason in _OWNERS_UNKNOWN for view in topic.views):
            texts.append(f"who owned the queues of {topic.topic}")
        if topic.backlog is None:
            texts.append(f"the backlog of {topic.topic}")
        elif queues := sum(each.queue_count for each in topic.backlog.unknown if each.stored_last is None):
            texts.append(f"the backlog of {count(queues, 'queue')} of {topic.topic}")
    return texts


def _finding(finding: Row, root: Row | None, at: datetime) -> Iterator[TextLine]:
    """The finding; what to do is that of its root cause, where that does not contain the moment."""
    evidence = finding["evidence"]
    cause = f" ({finding['cause']})" if finding["cause"] else ""
    about = f"{cause} in {finding['topic']}" if finding["topic"] else cause
    subject = "" if finding["subject"] == finding["topic"] else f": {finding['subject']}"
    yield TextLine(f"{finding['severity']} {finding['rule']}{about}{subject}", 1, finding["severity"])
    span = f"From {format_utc(finding['started_at'])} to {format_utc(finding['ended_at'])}"
    yield TextLine(f"{span} ({duration_text(finding['ended_at'] - finding['started_at'])}).{_piled_up(evidence)}", 2)
    if then := _part_at(evidence["queues"] or (), at):
        yield TextLine(f"Of these queues at this moment: {then}.", 2)
    if evidence["measures"]:
        yield TextLine(measures_text((each["name"], each["value"]) for each in evidence["measures"]), 2)
    for party in evidence["conflicting_values"] or ():
        if party["client_ids"] != [party["name"]]:
            yield TextLine(party_text(party["name"], party["client_ids"]), 2)
    if root:
        time = f"from {format_utc(root['started_at'])} to {format_utc(root['ended_at'])}"
        yield TextLine(f"Its root cause is {root['rule']} ({root['cause']}), {time}.", 2)
    yield TextLine(f"What to do: {(root or finding)['advice']}", 2, "advice")
    if finding["silenced_because"]:
        yield TextLine(f"Silenced: {finding['silenced_because']}", 2)


def _part_at(queues: Iterable[Row], at: datetime) -> str:
    """The queues of a finding that it is about at the moment, as ranges; empty: all of them."""
    every, then = set(), set()
    for queue in queues:
        place = queue["topic"], queue["broker_name"], queue["queue_id"]
        every.add(place)
        if queue["started_at"] <= at < queue["ended_at"]:
            then.add(place)
    return "" if then == every else queue_ranges({place[1:] for place in then})


def _piled_up(evidence: Row) -> str:
    end, unknown = evidence["backlog_end"], evidence["unknown_queues"]
    if end is not None:
        text = f" Backlog {number_text(evidence['backlog_start'])} → {end:,}"
        return f"{text}, unknown for {count(unknown, 'queue')}." if unknown else f"{text}."
    return f" Backlog unknown for {count(unknown, 'queue')}." if unknown else ""


def _step(status: Row) -> Iterator[TextLine]:
    yield TextLine("The step as a whole", 0, "title")
    yield TextLine(f"Would more consumers have helped? {status['advice']} ({status['bottleneck']})", 1, "advice")
    if status["backlog_end"] is None and status["produced_messages_per_second"] is None:
        yield TextLine("Its backlog and rates are unknown.", 1)
        return
    is_known = status["backlog_start"] is not None or status["backlog_end"] is not None
    is_partial = is_known and status["unknown_queues"]
    unknown = f", unknown for {count(status['unknown_queues'], 'queue')}" if is_partial else ""
    at_least = "at least " if status["unknown_queues"] or status["backlog_end"] is None else ""
    peak = f", peak {at_least}{status['backlog_max']:,}" if status["backlog_max"] else ""
    backlog = f"Backlog {number_text(status['backlog_start'])} → {number_text(status['backlog_end'])}{unknown}{peak}"
    produced = rate_text(status["produced_messages_per_second"])
    consumed = rate_text(status["consumed_messages_per_second"])
    yield TextLine(f"{backlog}. Messages per second: {produced} produced, {consumed} consumed.", 1)


_SOURCES: Mapping[str, str] = {
    StrategySource.CLIENT: "as reported by the clients",
    StrategySource.CONFIGURATION: "as configured",
    StrategySource.OBSERVED: "as the queues that clients report show",
}


def interval_lines(view: IntervalExplanation) -> Iterator[TextLine]:
    """Lines about the interval that contains the moment, as this membership view lists the members."""
    if view.status == Status.UNOBSERVED:
        yield from _gap(view)
        return
    start, end = _bounds(view)
    yield TextLine(f"Unchanged from {start} to {end} ({duration_text(view.end - view.start)}).", 1)
    yield TextLine(_began(view.began) if view.status == Status.REPLAYED else _not_replayed(view), 1)
    yield from _members(view)
    if view.queue_count is not None:
        yield TextLine(f"{count(view.queue_count, 'queue')}, as clients sort them: {view.queues or 'none'}", 1)
    if view.status == Status.REPLAYED:
        yield from _cut(view)
        yield from _owned(view)


def _bounds(view: IntervalExplanation) -> tuple[str, str]:
    earlier = " or earlier (the step begins there)" if view.or_earlier else ""
    later = " or later (the step ends there)" if view.or_later else ""
    return f"{format_utc(view.start)}{earlier}", f"{format_utc(view.end)}{later}"


def _began(began: IntervalStart) -> str:
    if began.trigger_type == Trigger.FIRST_OBSERVATION:
        return "This is the first interval that was recorded, so its trigger is unknown."
    if not began.known:
        return "Its trigger is unknown: the interval began before this step."
    if not began.triggers:
        return "Nothing differs from the interval before it."
    return f"It began because {joined_names(began.triggers)}. {_moved(began)}".strip()


def _not_replayed(view: IntervalExplanation) -> str:
    began = f" It began because {joined_names(view.began.triggers)}." if view.began.triggers else ""
    return f"{REASONS[view.reason or '']}{began}"


def _moved(began: IntervalStart) -> str:
    if began.queues_moved is None or began.queues_preserved is None:
        return ""
    if not began.queues_moved:
        return "No queue changed owner."
    changed = f"{began.queues_moved:,} of {count(began.queues_moved + began.queues_preserved, 'queue')} changed owner"
    if began.minimum_moves == began.queues_moved:
        return f"{changed}, the minimum for this allocation."
    return f"{changed}; {began.minimum_moves or 0:,} would have been enough for this allocation."


def _members(view: IntervalExplanation) -> Iterator[TextLine]:
    members = view.members
    if not members:
        for proxy, client_ids in view.proxies.items():
            named = f": {', '.join(client_ids)}" if client_ids else ""
            yield TextLine(f"The {proxy} lists {count(len(client_ids), 'member')}{named}.", 1)
        if view.reason not in (*IS_DELETED, *CONSUMED_UNSEEN, *WITHOUT_ROUTE) and not any(view.proxies.values()):
            yield TextLine("No member was connected.", 1)
        return
    ids = len({member.client_id for member in members})
    shared = f" with {count(ids, 'client id')}" if ids < len(members) else ""
    yield TextLine(f"{count(len(members), 'member')}{shared}, as clients sort them:", 1)
    mixed = len({member.strategy for member in members}) > 1
    for member in members:
        yield TextLine(_member(member, view, mixed), 2)
    if view.missing:
        yield TextLine(f"Listed by other brokers only: {', '.join(view.missing)}", 1)


def _member(member: MemberShare, view: IntervalExplanation, mixed: bool) -> str:
    shared_positions = [
        share.position for share in view.members if share.client_id == member.client_id and share is not member
    ]
    is_idle = member.subscribes is False and view.reason != Reason.BROADCASTING  # in which every member has all queues
    marks = [
        *([f"shares its client id with {positions_text(shared_positions)}"] if shared_positions else []),
        *(["does not consume this topic for the group"] if is_idle else []),
        *([f"uses {member.strategy}"] if mixed else []),
    ]
    remarks = f" ({', '.join(marks)})" if marks else ""
    return f"{member.position}  {member.client_id}  {member.client_addr or 'address unknown'}{remarks}"


def _cut(view: IntervalExplanation) -> Iterator[TextLine]:
    if not view.members:
        return
    if view.strategy is None:
        yield TextLine("No strategy with the known settings explains the queues that the members report.", 1)
        return
    name = "Different strategies" if view.strategy == "MIXED" else f"Strategy {view.strategy}"
    yield TextLine(f"{_named(name, view.strategy_source)}:", 1)
    if view.strategy_alternatives:
        yield TextLine(f"That is ambiguous: {joined_names(view.strategy_alternatives)} would explain them, too.", 2)
    for sentence in view.arithmetic:
        yield TextLine(sentence, 2)


def _named(strategy: str, source: str | None) -> str:
    if source == StrategySource.DEFAULT:
        return (
            f"If it is {strategy.removeprefix('Strategy ')}: neither clients nor the configuration name the strategy, "
            "and no client reports its queues"
        )
    return f"{strategy}, {_SOURCES.get(source or '', 'of unknown source')}"


def _owned(view: IntervalExplanation) -> Iterator[TextLine]:
    if view.settled_at is not None:
        settled = f"Until {format_utc(view.settled_at)} members may have had the former queues"
        yield TextLine(f"{settled}: they ask for the route every 30 s, and rebalance within 20 s more.", 1)
    yield TextLine("Owners and backlogs, in messages from the first to the last sample:", 1)
    for member in view.members:
        if member.queues:
            owned = f"Index {member.position} owned {member.queues} ({count(member.queue_count, 'queue')})."
            yield TextLine(f"{owned} {backlog_text(member.backlog)}", 2)
        else:
            yield TextLine(f"Index {member.position} owned no queue.", 2)
    for unhealthy in view.unassigned:
        owned = f"No member owned {unhealthy.queues} ({count(unhealthy.queue_count, 'queue')}): {unhealthy.why}."
        yield TextLine(f"{owned} {backlog_text(unhealthy.backlog, owned=False)}", 2, "odd")
    for unhealthy in view.double_owned:
        yield TextLine(_shared(unhealthy), 2, "" if unhealthy.cause == DoubleOwnedCause.POP_SHARED else "odd")


def _shared(unhealthy: UnhealthyQueues) -> str:
    queues = f"{unhealthy.queues} ({count(unhealthy.queue_count, 'queue')})"
    if unhealthy.cause == DoubleOwnedCause.POP_SHARED:
        return f"{queues} could be popped by {positions_text(unhealthy.owners)}: {unhealthy.why}."
    owners = positions_text(unhealthy.owners)
    return (
        f"{queues} had {len(unhealthy.owners)} owners, {owners}, and each of them consumed every "
        f"message: {unhealthy.why}."
    )


def _gap(view: IntervalExplanation) -> Iterator[TextLine]:
    start, end = _bounds(view)
    reason = REASONS[view.reason or ""]
    yield TextLine(f"There are no snapshots from {start} to {end}, so at this moment {reason} is known.", 1)
    before, after = view.last_known, view.first_known
    yield TextLine(
        f"Last known, until {_neighbor_text(before)}" if before else "This step has no known state before that.", 1
    )
    yield TextLine(
        f"First known again, from {_neighbor_text(after)}" if after else "This step has no known state after that.", 1
    )


def _neighbor_text(neighbor: ObservedNeighbor) -> str:
    at = format_utc(neighbor.at)
    members, queues = count(neighbor.member_count or 0, "member"), count(neighbor.queue_count or 0, "queue")
    if neighbor.status != Status.REPLAYED:
        return f"{at}: {members}, {queues}. {REASONS[neighbor.reason or '']}"
    by = f" by {neighbor.strategy}" if neighbor.strategy else ""
    unassigned, double_owned = neighbor.unassigned_queues or 0, neighbor.double_owned_queues or 0
    text = f"{at}: {members}, {queues}{by}; {unassigned:,} without owner, {double_owned:,} with several owners."
    return f"{text} {backlog_text(neighbor.backlog, owned=False)}" if neighbor.backlog else text
