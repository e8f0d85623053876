"""FILTER_MATCHES_NOTHING: a group's offsets pass messages, and none of them matches its subscription."""

from collections.abc import Iterator, Set

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.consume_statuses import rows_of, status_samples
from spark_jobs.domain.model.finding import Finding, RuleHit
from spark_jobs.domain.model.severities import INFO, WARN
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.phrases import count, names_text
from spark_jobs.domain.rules.rule import CLIENT_SNAPSHOTS, Cause, Rule

EXPRESSION_CHANGED, NEVER_MATCHED = "EXPRESSION_CHANGED", "NEVER_MATCHED"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per filtered topic of which all members report to consume nothing, from the last report of anything else to
    the end of the step.
    """
    topics = {each.interval.topic for each in step.progress if each.is_filtered and each.interval.allocation}
    for topic in sorted(topic for topic in topics if step.history.offsets.get(topic)):
        since = _nothing_since(step, topic)
        if since is None:
            continue
        samples = step.history.offsets[topic]
        skipped = int(samples.forward[samples.inside(since, step.window.end)][1:].sum())
        before, now = _expressions(step, topic, first=True), _expressions(step, topic, first=False)
        is_new = since > step.window.observed_from and bool(before and now and before.isdisjoint(now))
        if skipped < step.settings.thresholds.skew_messages_per_queue or (since > step.window.start and not is_new):
            continue
        yield RuleHit(
            *(since, step.window.end, EXPRESSION_CHANGED if is_new else NEVER_MATCHED, topic),
            severity=WARN if is_new else INFO,
            measures={"skipped": skipped},
            hint=f"It was {names_text(sorted(before))}, and is {names_text(sorted(now))}." if is_new else None,
        )


def _nothing_since(step: AuditedStep, topic: str) -> int | None:
    """The last report of a member that consumed or rejected anything of the topic, or the start of what is observed, if
    all members of its last interval report to the end of the step that they do nothing; None: some do, or are unknown.
    """
    since, end = step.window.observed_from, step.window.end
    last = next(each for each in reversed(step.intervals) if each.topic == topic and each.allocation)
    for client_id, client in step.history.clients.items():
        samples, rows = status_samples(client), rows_of(client, topic, step.window.read_from, end)
        times = client.series.times[samples.snapshot[rows]]
        tps = samples.consumed_tps[rows] + samples.failed_tps[rows]
        busy = times[~(tps == 0)]  # unknown ones, too
        since = max([since, *busy[-1:].tolist()])
        is_silent = not len(times) or times[-1] < end - step.settings.max_gap
        if client_id in last.client_ids and is_silent:
            return None
    is_reported = set(last.client_ids) <= step.history.clients.keys()
    is_long = end - since >= step.settings.thresholds.verdict_window_seconds * SECOND
    return since if is_reported and last.client_ids and is_long else None


def _expressions(step: AuditedStep, topic: str, *, first: bool) -> Set[str]:
    """The expressions of the topic that brokers list first, or last, in the step and its warm-up."""
    spans = (of_broker[0 if first else -1] for of_broker in step.memberships.values() if of_broker)
    return {expression for span in spans for name, expression in span.state.subscriptions if name == topic}


def _detail(finding: Finding) -> str:
    """The messages that were skipped."""
    return f"{count(int(finding.evidence.measured['skipped'] or 0), 'message')} skipped"


RULE = Rule(
    name="FILTER_MATCHES_NOTHING",
    headline="No message of {topics} matches the subscription of {groups}",
    detail=_detail,
    meaning="The group filters by tags or SQL, and all messages that come are skipped. Its offsets advance, so there "
    "is no backlog, and nothing is consumed.",
    decided_by="Offsets advance, and all members report that they consume and reject nothing of the topic, for "
    "`verdict_window_seconds` (300) to the end of the step, or all of it.",
    causes={
        EXPRESSION_CHANGED: Cause(
            "members consumed the topic before, and the subscription changed (WARN)",
            "Compare the expression with the tags or properties of the messages: case counts, and a tag needs no "
            "spaces. What was skipped does not come again: correct the expression, then reset the group to the time at "
            "which it changed (RocketMQ issue #1855).",
        ),
        NEVER_MATCHED: Cause(
            "members consumed nothing in all of the step (INFO)",
            "If the group waits for messages that are rare, nothing is wrong. Otherwise compare its expression with "
            "the tags or properties of the messages.",
        ),
    },
    evaluate=hits,
    hit_severity=WARN,
    lasts="verdict_window_seconds",
    needs=(CLIENT_SNAPSHOTS,),
)
