"""Incidents that continue from what is carried are those of the whole fold, in random histories."""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest

from spark_jobs.domain.incidents.carried import CHANGEABLE, NOTHING_CARRIED, Carried
from spark_jobs.domain.incidents.fold import fold
from spark_jobs.domain.incidents.values import AuditedTime, Incident, PublishedFinding
from spark_jobs.domain.model.finding import QueueEvidence
from spark_jobs.domain.model.window import HOUR, SECOND
from spark_jobs.domain.rules.catalog import RULES
from tests.support.findings import finding
from tests.support.times import START

HOURS = 72
GROUPS = ("g1", "g2", "g3")
#: Rule, its causes; those that follow from others come later.
KINDS = (
    ("BROKER_NOT_READABLE", ("LEFT_ROUTE", "BROKER_PERMISSION")),
    ("GROUP_OFFLINE", ("NO_MEMBERS",)),
    ("CLIENT_HUNG", ("NO_PULL", "NO_ANSWER")),
    ("DUPLICATE_CLIENT_ID", ("FIXED_INSTANCE_NAME", "STALE_CONNECTION")),
    ("UNOBSERVED", ("NO_SNAPSHOTS", "NOT_ANSWERED", "SILENT_BROKER")),
    ("UNASSIGNED_QUEUE", ("GROUP_OFFLINE", "CONFIG_HOLE")),
    ("CONSUMER_STALLED", ("NO_PROGRESS", "NO_PULL")),
    ("CONSUMER_LAGGING", ("FALLING_BEHIND", "ONE_QUEUE")),
)


class History(NamedTuple):
    findings: list[PublishedFinding]
    steps: list[tuple[str, str, int]]
    deletions: list[tuple[str, str, str | None, int]]
    silent: list[tuple[int, int]]

    def audited(self, since: int, before: int) -> AuditedTime:
        silent = [time for time in self.silent if since <= time[0] < before]
        return AuditedTime(
            [step for step in self.steps if since <= step[2] < before],
            HOUR,
            [each for each in self.deletions if since <= each[3] < before],
            {"c": silent} if silent else {},
        )

    def between(self, since: int, before: int) -> list[PublishedFinding]:
        return [one for one in self.findings if since <= one.step_start < before]


def start_of(hour: int) -> int:
    return START + hour * HOUR


def history(seed: int) -> History:
    chance = random.Random(seed)
    audited = {(group, hour) for group in GROUPS for hour in range(HOURS) if chance.random() > 0.03}
    findings = [one for _ in range(14) for one in condition(chance, audited)]
    by_step: dict[tuple[str, int], list[PublishedFinding]] = {}
    for one in findings:
        by_step.setdefault((one.consumer_group, one.step_start), []).append(one)
    deletions: list[tuple[str, str, str | None, int]] = [
        ("c", chance.choice(GROUPS), chance.choice((None, "t0")), start_of(chance.randrange(HOURS)) + 7 * 60 * SECOND)
        for _ in range(2)
    ]
    silent = [(start_of(hour) + 1800 * SECOND, start_of(hour + 1)) for hour in range(HOURS) if chance.random() < 0.03]
    return History(
        [with_root(one, by_step[one.consumer_group, one.step_start], chance) for one in findings],
        sorted(("c", group, start_of(hour)) for group, hour in audited),
        deletions,
        silent,
    )


def condition(chance: random.Random, audited: set[tuple[str, int]]) -> Iterator[PublishedFinding]:
    """A condition that lasts, with gaps, for some of the hours; what its steps measure differs."""
    rule, causes = chance.choice(KINDS)
    group, topic, broker = chance.choice(GROUPS), f"t{chance.randrange(2)}", chance.choice("ab")
    client = f"h{chance.randrange(2)}@1" if rule in ("CLIENT_HUNG", "DUPLICATE_CLIENT_ID") else None
    is_about_topic = rule in ("UNASSIGNED_QUEUE", "CONSUMER_STALLED", "CONSUMER_LAGGING")
    has_queues = rule not in ("GROUP_OFFLINE", "UNOBSERVED") or chance.random() < 0.5
    first = chance.randrange(HOURS - 1)
    last = HOURS if chance.random() < 0.4 else min(HOURS, first + chance.choice((1, 2, 9, 30)))
    cause, severity = chance.choice(causes), chance.choice(("ERROR", "ERROR", "WARN", "INFO"))
    for hour in range(first, last):
        cause = chance.choice(causes) if chance.random() < 0.1 else cause
        severity = chance.choice(("ERROR", "WARN", "INFO")) if chance.random() < 0.05 else severity
        if (group, hour) not in audited or chance.random() < 0.05:
            continue
        begin = 60 * chance.choice((0, 0, 0, 0, 5, 20)) if hour != first else 60 * chance.randrange(59)
        end = 3600 if chance.random() < 0.8 else chance.randrange(begin // 60 + 1, 61) * 60
        active = begin - chance.choice((0, 120)) if begin == 0 else begin
        step = start_of(hour)
        queues = [
            queue(chance, topic, broker, step + begin * SECOND, step + end * SECOND) for _ in range(2 * has_queues)
        ]
        evidence = {
            "queues": queues,
            "backlog_max": chance.choice((None, 0, 5, 70, 400)),
            "unknown_queues": chance.choice((None, 0, 1)),
            "persistence": chance.choice(("PERSISTENT", "TRANSIENT")) if rule == "DUPLICATE_CLIENT_ID" else None,
            "measures": [("all_of_one_broker", float(chance.randrange(2)))],
            "client_ids": [client] if client else [f"x{chance.randrange(3)}@2"],
        }
        # What stopped stalls from the next step on.
        name = "CONSUMER_STOPPED" if rule == "CONSUMER_STALLED" and hour == first else rule
        one = finding(
            f"{rule}{chance.random()}", name, hour * 3600 + begin, hour * 3600 + end, cause, severity,
            topic if is_about_topic else None, client, group, evidence=evidence,
            active_since=step + active * SECOND, silenced_because="known" if chance.random() < 0.03 else None,
        )  # fmt: skip
        yield PublishedFinding("c", group, step, one._replace(advice=f"Do {chance.randrange(9)}."))


def queue(chance: random.Random, topic: str, broker: str, start: int, end: int) -> QueueEvidence:
    role = chance.choice(("UNASSIGNED", "BEHIND", "DOUBLE_OWNED"))
    measured = [chance.choice((None, 0, 3)) for _ in range(5)]
    return QueueEvidence(topic, broker, chance.randrange(3), role, start, end, *measured)


def with_root(one: PublishedFinding, of_step: Sequence[PublishedFinding], chance: random.Random) -> PublishedFinding:
    """Perhaps a symptom of a finding of its step."""
    follows = {link.root for rule in RULES if rule.name == one.finding.rule for link in rule.follows}
    roots = [each.finding.finding_id for each in of_step if each.finding.rule in follows]
    if not roots or chance.random() < 0.3:
        return one
    return one._replace(finding=one.finding._replace(root_finding_id=chance.choice(roots)))


def folded_in_parts(whole: History, cuts: Sequence[int]) -> list[Incident]:
    """Folds the steps between the cuts, each from what is carried of those before it."""
    over: list[Incident] = []
    earlier: Carried = NOTHING_CARRIED
    for before in [*cuts, start_of(HOURS)]:
        since = start_of(0) if earlier.before is None else earlier.before - CHANGEABLE
        part = fold(whole.between(since, before), whole.audited(since, before), RULES, earlier)
        earlier = part.carried(before)
        over += (one for one in part.incidents if one.incident_id not in earlier.incident_ids)
    return [*over, *(one for one in part.incidents if one.incident_id in earlier.incident_ids)]


@pytest.mark.parametrize("seed", range(60))
def test_incidents_that_continue_from_what_is_carried_are_those_of_the_whole_fold(seed: int) -> None:
    chance, of_seed = random.Random(-seed), history(seed)
    cuts = sorted(start_of(hour) for hour in chance.sample(range(1, HOURS), 5))
    expected = fold(of_seed.findings, of_seed.audited(start_of(0), start_of(HOURS)), RULES).incidents
    found = folded_in_parts(of_seed, cuts)
    assert sorted(expected, key=repr) == sorted(found, key=repr)
    assert len({one.incident_id for one in found}) == len(found)


def test_a_long_condition_names_its_first_and_its_last_findings_and_counts_all() -> None:
    found = [
        PublishedFinding("c", "g", start_of(hour), finding(str(hour), "GROUP_OFFLINE", 3600 * hour, 3600 * (hour + 1)))
        for hour in range(130)
    ]
    steps = [("c", "g", start_of(hour)) for hour in range(130)]
    (one,) = fold(found, AuditedTime(steps, HOUR), RULES).incidents
    (part,) = one.root_causes
    assert part.finding_ids == tuple(map(str, (*range(50), *range(80, 130))))
    assert part.finding_count == 130
    # What is carried of it does not grow: the first and the last one, those of six hours, and one of all others.
    state = fold(found, AuditedTime(steps, HOUR), RULES).carried(start_of(130))
    (thread,) = state.threads
    assert [each.finding_id for each in thread.findings] == ["0", "1", *map(str, range(123, 130))]
