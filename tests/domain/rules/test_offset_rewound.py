"""Offsets that went back, and why."""

from __future__ import annotations

from dataclasses import replace

from spark_jobs.domain.audited_step import AuditedStep
from spark_jobs.domain.rules.offset_rewound import RULE, rewind_cause
from spark_jobs.domain.rules.rule import FindingQueue
from tests.domain.rules.builders import allocation, audited_step, interval, members
from tests.domain.rules.readings import progress, span

#: rewound at most, tolerance, owned by twins, from there to a rebalance (`-`: none), settled after | cause
_CAUSES = """
    64   64 no  500 30 | -
    65   64 no  500 30 | RESET
    65   64 no  31  30 | RESET
    65   64 no  30  30 | HAND_OVER
    65   64 no  -   30 | RESET
    65   64 yes 500 30 | TWINS
    65   64 yes 0   30 | TWINS
    64   64 yes 0   30 | -
    1    0  no  500 30 | RESET
"""
#: interval | rewound at | how often, together, at most | twins | finding
_REWINDS = """
    0-3600   | 20   | 1 65 65 | no  | 20-40 RESET
    0-3600   | 3590 | 1 65 65 | no  | 3590-3600 RESET
    100-3600 | 140  | 1 65 65 | no  | 140-160 HAND_OVER
    100-3600 | 141  | 1 65 65 | no  | 141-161 RESET
    0-500    | 460  | 1 65 65 | no  | 460-480 HAND_OVER
    0-500    | 459  | 1 65 65 | no  | 459-479 RESET
    0-500    | 490  | 1 65 65 | no  | 490-500 HAND_OVER
    0-500    | 490  | 1 65 65 | yes | 490-500 TWINS
    100-500  | 490  | 1 65 65 | no  | 490-500 HAND_OVER
    100-3600 | 300  | 2 80 40 | no  |
    100-3600 | -    | 0 - -   | no  |
    100-3600 | -    | - - -   | no  |
"""
LISTED = members("c1 c1 c2")


def step_with(start: int, end: int, owners: str, twins: bool, /, **measured: int | None) -> AuditedStep:
    """One queue."""
    owned = allocation(LISTED, owners, double_owned={0: "DUPLICATE_CLIENT_ID" if twins else "MIXED_STRATEGIES"})
    of = interval(-210, 4000, LISTED, owned, view="broker-a")
    columns = {name: [value] for name, value in measured.items()}
    return replace(audited_step(of), progress=[progress(of, start, end, (), **columns)])


def _number(text: str) -> int | None:
    return None if text == "-" else int(text)


def test_why_an_offset_went_back() -> None:
    for line in _CAUSES.strip().splitlines():
        cells, _, cause = line.partition("|")
        rewound, tolerance, twins, rebalance, settled = cells.split()
        found = rewind_cause(
            int(rewound),
            int(tolerance),
            owned_by_twins=twins == "yes",
            to_rebalance=float("inf") if rebalance == "-" else int(rebalance),
            settled_after=int(settled),
        )
        assert (found or "-") == cause.strip(), line


def test_when_it_is_found_and_for_how_long() -> None:
    for line in _REWINDS.strip().splitlines():
        time, moment, counts, twins, finding = (cell.strip() for cell in line.split("|"))
        rewinds, rewound, greatest = map(_number, counts.split())
        start, end = map(int, time.split("-"))
        step = step_with(
            start,
            end,
            "0+1",
            twins == "yes",
            rewinds=rewinds,
            rewound=rewound,
            rewound_max=greatest,
            rewound_at=_number(moment),
        )
        hits = list(RULE.hits(step))
        assert [f"{span(hit)} {hit.cause}" for hit in hits] == ([finding] if finding else []), line
        # At once, and the queue that went back furthest speaks for all.
        assert {(hit.minimum_seconds, hit.weight, hit.implicated) for hit in hits} <= {(0, 65, "c1")}


def test_it_tells_how_far_and_names_the_first_owner() -> None:
    measured = {"rewinds": 2, "rewound": 120, "rewound_max": 100, "rewound_at": 300}
    (hit,) = RULE.hits(step_with(0, 3600, "2+0", False, **measured))
    assert hit.measures == {"rewinds": 2, "rewound": 120, "rewound_max": 100}
    assert (hit.queue, hit.topic, hit.view) == (FindingQueue("t", "b", 0, "REWOUND"), "t", "broker-a")
    assert (hit.severity, hit.implicated) == ("WARN", "c2")
    (hit,) = RULE.hits(step_with(0, 3600, "-", False, **measured))
    assert hit.implicated is None
