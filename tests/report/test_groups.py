"""What a group's page makes of the rows of its sections, without a browser."""

from __future__ import annotations

from typing import Any

from spark_jobs.show.page.groups import conditions
from tests.report.pages import finding


def measured(start: int, end: int, backlog: int | None, **facts: Any) -> dict[str, Any]:
    evidence = finding(0, 1)["evidence"] | {"backlog_max": backlog}
    return finding(start, end, evidence=evidence, **facts)


def test_what_goes_on_over_steps_is_told_once_with_its_worst_numbers() -> None:
    found = conditions(
        [
            measured(3600, 7200, 50, severity="ERROR", finding_id="b"),
            measured(600, 3600, 90, severity="WARN", finding_id="a"),
            measured(7200, 9000, None, severity="WARN", finding_id="c"),
            measured(9600, 9900, 7, severity="WARN", finding_id="d"),
            measured(0, 600, 5, severity="WARN", finding_id="e", subject="b:2"),
            measured(600, 3600, 5, severity="INFO", finding_id="f", cause="CONFIG_HOLE"),
        ]
    )
    minutes = [tuple((row[at].hour - 10) * 60 + row[at].minute for at in ("start", "end")) for row in found]
    assert [(row["severity"], row["finding_id"], row["steps"]) for row in found] == [
        ("ERROR", "a", 3),
        ("WARN", "e", 1),
        ("WARN", "d", 1),
        ("INFO", "f", 1),
    ]
    assert minutes == [(10, 150), (0, 10), (160, 165), (10, 60)]
    assert found[0]["of"] == (measured(600, 3600, 90)["start"], measured(600, 3600, 90)["end"])
