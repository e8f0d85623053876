"""The explanation as lines of plain English."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from spark_jobs.domain.model.intervals import duration_text, format_utc
from spark_jobs.domain.model.message_queue import queue_ranges
from spark_jobs.domain.model.severities import INFO
from spark_jobs.domain.model.statuses import IS_DELETED, Reason, Status
from spark_jobs.domain.phrases import UNFILTERED, count, joined_names, number_text, party_text, rate_text
from spark_jobs.show.text.backlog import backlog_text
from spark_jobs.show.text.explanation import GroupExplanation, SampledBacklog, TopicExplanation
from spark_jobs.show.text.interval_text import TextLine, interval_lines
from spark_jobs.show.text.measure_text import measures_text
from spark_jobs.show.text.phrases import severity_counts

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


def _causes(findings: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
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


def _findings(
    title: str, findings: Iterable[Mapping[str, Any]], roots: Mapping[str, Mapping[str, Any]], at: datetime
) -> Iterator[TextLine]:
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


def _finding(finding: Mapping[str, Any], root: Mapping[str, Any] | None, at: datetime) -> Iterator[TextLine]:
    """The finding; what to do is that of its root cause, where that does not contain the moment."""
    evidence = finding["evidence"]
    cause = f" ({finding['cause']})" if finding["cause"] else ""
    about = f"{cause} in {finding['topic']}" if finding["topic"] else cause
    yield TextLine(f"{finding['severity']} {finding['rule']}{about}: {finding['subject']}", 1, finding["severity"])
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


def _part_at(queues: Iterable[Mapping[str, Any]], at: datetime) -> str:
    """The queues of a finding that it is about at the moment, as ranges; empty: all of them."""
    every, then = set(), set()
    for queue in queues:
        place = queue["topic"], queue["broker_name"], queue["queue_id"]
        every.add(place)
        if queue["started_at"] <= at < queue["ended_at"]:
            then.add(place)
    return "" if then == every else queue_ranges({place[1:] for place in then})


def _piled_up(evidence: Mapping[str, Any]) -> str:
    end, unknown = evidence["backlog_end"], evidence["unknown_queues"]
    if end is not None:
        text = f" Backlog {number_text(evidence['backlog_start'])} → {end:,}"
        return f"{text}, unknown for {count(unknown, 'queue')}." if unknown else f"{text}."
    return f" Backlog unknown for {count(unknown, 'queue')}." if unknown else ""


def _step(status: Mapping[str, Any]) -> Iterator[TextLine]:
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
