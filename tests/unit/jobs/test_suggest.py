"""Thresholds suggested from histories written by hand, as the command prints them. No Spark."""

from pathlib import Path
from typing import Any

from schemas import FINDINGS, GROUP_STATUS, QUEUE_PROGRESS, REBALANCE_INTERVALS
from spark_jobs.config import audit_settings
from spark_jobs.config.file import load
from tests.support.commands import Typed
from tests.support.published import STATUS, key
from tests.support.recordings import Published, write_warehouse
from tests.support.rows import finding, interval, progress
from tests.support.times import at

HOUR = 3600


def a_finding(group: str, hour: int, rule: str, span: tuple[int, int] = (0, HOUR), **values: Any) -> dict[str, Any]:
    """A finding of a group in an hour; numbers are its measures."""
    measures = [{"name": name, "value": float(one)} for name, one in values.items() if not isinstance(one, list)]
    evidence = {"measures": measures, "queues": values.get("queues", [])}
    severity = "ERROR" if rule == "CONSUMER_STOPPED" else "WARN"
    start, end = (at(hour * HOUR + second) for second in span)
    what = {"rule": rule, "severity": severity, "evidence": evidence, "started_at": start, "ended_at": end}
    return finding(**key(group, hour, "eu"), **what, finding_id=f"{group}{rule}{hour}")


def queue(backlog_start: int) -> dict[str, Any]:
    place = {"topic": "T", "broker_name": "a", "queue_id": 0, "role": "BEHIND"}
    return place | dict.fromkeys(("started_at", "ended_at"), at(0)) | {"backlog_start": backlog_start}


def history(groups: dict[str, int]) -> Published:
    """So many hours of each group, in each of which a queue was at most as many messages behind as hours had gone by;
    in the last verdict is another, and the lag no example.
    """
    keys = [
        (key(group, hour, "eu"), hour, hour == hours) for group, hours in groups.items() for hour in range(1, hours + 1)
    ]
    lag = [
        progress(interval(hour * HOUR, (hour + 1) * HOUR), "a:0", lag_max=9999 if last else hour, rewinds=0, samples=9)
        | {"verdict": "WARN" if last else "OK"}
        | of
        for of, hour, last in keys
    ]
    calm = [interval(hour * HOUR, (hour + 1) * HOUR) | of for of, hour, _ in keys]
    status = [of | STATUS | {"member_count": 2} for of, _, _ in keys]
    return {GROUP_STATUS: status, QUEUE_PROGRESS: lag, REBALANCE_INTERVALS: calm, FINDINGS: []}


def suggested(folder: Path, published: Published, typed: Typed) -> list[str]:
    write_warehouse(folder, published, HOUR)
    return typed("suggest", warehouse=folder).lines


def test_a_lag_that_is_usual_is_allowed(tmp_path: Path, typed: Typed) -> None:
    """101 hours: the lags 1 to 100 while it kept up, of which 95 are within 95; × 1.25 = 118.75. `stood` has the same,
    and stopped at 110 messages; `short` was audited for 71 hours, `fine` for the 72 that are needed;
    the only finding of `kept` would still be one.
    """
    published = history({"we.b": 101, "stood": 101, "short": 71, "fine": 72, "kept": 101})
    lags = (100, 118, 119, 120, 5000)
    published[FINDINGS] = [
        a_finding(g, n, "CONSUMER_LAGGING", lag_last=one)
        for g in ("we.b", "stood", "short")
        for n, one in enumerate(lags, 1)
    ]
    published[FINDINGS].append(a_finding("kept", 1, "CONSUMER_LAGGING", lag_last=5000))
    published[FINDINGS] += [a_finding("stood", 9, "CONSUMER_STOPPED", lag_last=7000, queues=[queue(500), queue(110)])]
    lines = suggested(tmp_path, published, typed)
    assert lines[2:] == [
        "# eu short: no suggestion: 2 d 23 h audited, 3 d 00 h are needed",
        "# 3 groups: no threshold to raise",
        "groups:",
        '  - cluster: "eu"',
        '    group: "we\\\\.b"',
        "    thresholds:",
        "      allowed_lag: 119  # 95% of the highest lags of queues that made progress: up to 95; would have kept 2 "
        "and dropped 3 of 5 findings",
    ]
    file = tmp_path / "audit.yaml"
    file.write_text("\n".join(lines))
    of_group = (audit_settings(load(file), "eu", name).thresholds.allowed_lag for name in ("we.b", "weeb"))
    assert [*of_group] == [119, 32]
    assert typed(f"suggest --config {file} --group we.b", warehouse=tmp_path).lines[-1] == "groups: []"


def test_churn_and_skew_that_are_usual(tmp_path: Path, typed: Typed) -> None:
    """100 hours. Of `worker`, 10 have a storm: in nine of them six rebalances within 600 s, in one eleven, and one more
    200 s later. 95 of the hours stay within 6, so 8 (7.5). It flapped
    4 times in 6 hours: 5. The skew of `hot` is 3 in all hours but four, in which it is 5: 3.75, so 3.8; in the second
    half of the hours that of its consumers.
    """
    published = history({"worker": 100, "hot": 100, "rare": 100})
    for hour in range(1, 11):
        number, apart = (11, 15) if hour == 10 else (6, 100)
        published[FINDINGS].append(a_finding("worker", hour, "REBALANCE_STORM", (0, 1000), rebalances=number))
        for second in (*(place * apart for place in range(number)), 700):
            start = hour * HOUR + second
            joined: dict[str, Any] = {"trigger_type": "MEMBER_JOINED", "queues_moved": 1}
            moved = interval(start, start + apart, **joined) | key("worker", hour, "eu")
            published[REBALANCE_INTERVALS].append(moved)
    published[FINDINGS] += [a_finding("worker", hour, "FLAPPING_MEMBER", comings=5, goings=4) for hour in range(1, 7)]
    published[FINDINGS] += [a_finding("rare", hour, "FLAPPING_MEMBER", comings=9, goings=9) for hour in range(1, 6)]
    ratios = {hour: 5 if hour <= 4 else 3 for hour in range(1, 101)}
    for hour, ratio in ratios.items():
        consumed: dict[str, Any] = {"most_consumed": 10 * ratio, "least_consumed": 10}
        measures = consumed if hour > 50 else {"max_over_mean": ratio}
        rule = "LOAD_IMBALANCE" if hour > 50 else "PRODUCER_SKEW"
        published[FINDINGS].append(a_finding("hot", hour, rule, **measures))
    lines = suggested(tmp_path, published, typed)
    assert [line.strip() for line in lines if ":" in line and "#" in line[1:]] == [
        "skew_ratio: 3.8  # 95% of steps, by the greatest ratio found: up to 3; would have kept 4 and dropped 96 of "
        "100 findings",
        "storm_rebalances: 8  # 95% of steps, by the most rebalances of a storm in storm_seconds: up to 6; would have "
        "kept 1 and dropped 9 of 10 findings",
        "flapping_times: 5  # 95% of steps, by how often a member joined and left: up to 4; would have kept 0 and "
        "dropped 6 of 6 findings",
    ]
    file = tmp_path / "audit.yaml"
    file.write_text("\n".join(lines))
    thresholds = audit_settings(load(file), "eu", "worker").thresholds
    assert (thresholds.storm_rebalances, thresholds.flapping_times, thresholds.skew_ratio) == (8, 5, 2.0)


def test_the_strategy_that_was_observed_last_is_printed(tmp_path: Path, typed: Typed) -> None:
    """Also of a group that was not audited for three days."""
    published = history({"go": 2, "rooms": 2, "own": 2})
    observed: dict[str, dict[str, Any]] = {
        "go": {"strategy": "AVG", "strategy_alternatives": ["AVG_BY_CIRCLE", "CONSISTENT_HASH"]},
        "rooms": {"strategy": "MACHINE_ROOM", "observed_rooms": ["dc1", "dc2"]},
        "own": {"strategy": None},
    }
    published[REBALANCE_INTERVALS] = [
        row | {"strategy_source": "OBSERVED"} | observed[row["consumer_group"]]
        for row in published[REBALANCE_INTERVALS]
    ]
    assert suggested(tmp_path, published, typed)[6:] == [
        "groups:",
        '  - cluster: "eu"',
        '    group: "go"',
        "    strategy: AVG  # as the queues that clients report show; AVG_BY_CIRCLE and CONSISTENT_HASH would explain "
        "them, too",
        '  - cluster: "eu"',
        '    group: "rooms"',
        "    strategy: MACHINE_ROOM  # as the queues that clients report show",
        '    rooms: ["dc1", "dc2"]',
    ]
