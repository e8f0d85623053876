"""Offsets that went back, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep, Switch
from spark_jobs.domain.model.finding import FindingQueue
from spark_jobs.domain.model.history import Place
from spark_jobs.domain.rules.findings import findings
from spark_jobs.domain.rules.offset_rewound import RULE
from tests.support.builders import allocation, audited_step, interval, members, span, with_samples
from tests.support.samples import QueueSample, offsets, oldest, progress
from tests.support.tables import cells
from tests.support.times import micros
from tests.unit.domain.test_reconnects import spans

#: Owned by duplicates, the broker was switched, oldest offset (`-`: unknown; the queue's goes back to 500), seconds
#: from a rebalance | cause: the first that applies
_CAUSES = """
    yes no  -   200 | DUPLICATE_CLIENT_ID
    yes no  -   0   | DUPLICATE_CLIENT_ID
    yes yes 500 0   | DUPLICATE_CLIENT_ID
    no  yes 500 0   | BROKER_SWITCHED
    no  no  436 0   | TO_MINIMUM
    no  no  509 200 | TO_MINIMUM
    no  no  435 0   | HAND_OVER
    no  no  -   0   | HAND_OVER
    no  no  435 200 | RESET
    no  no  -   200 | RESET
"""
#: The queue's broker b went from h:1 to h:2, or another one did, between these two route snapshots; the offset went
#: back between the samples at 290 and 300 | whether that is its cause
_SWITCHES = """
    b 180 229.999 | no
    b 180 230     | yes
    b 240 260     | yes
    b 280 300     | yes
    b 320 340     | yes
    b 321 341     | no
    a 280 300     | no
"""
#: oldest offset at 200 s, 300 s and 301 s (`?`: unknown) | whether the offset 500 was its queue's oldest
_OLDEST = """
    ?   ?   ?   | no
    436 ?   ?   | yes
    435 ?   ?   | no
    435 436 ?   | yes
    436 435 ?   | no
    435 ?   436 | no
    900 ?   ?   | yes
"""
#: interval | rewound at | how often, together, at most | duplicates | finding: until the step ends, as it stays there
_REWINDS = """
    0-3600   | 20   | 1 65 65 | no  | 20-3600 RESET
    0-3600   | 3590 | 1 65 65 | no  | 3590-3600 RESET
    100-3600 | 140  | 1 65 65 | no  | 140-3600 HAND_OVER
    100-3600 | 141  | 1 65 65 | no  | 141-3600 RESET
    0-500    | 460  | 1 65 65 | no  | 460-3600 HAND_OVER
    0-500    | 459  | 1 65 65 | no  | 459-3600 RESET
    0-500    | 490  | 1 65 65 | no  | 490-3600 HAND_OVER
    0-500    | 490  | 1 65 65 | yes | 490-3600 DUPLICATE_CLIENT_ID
    100-500  | 490  | 1 65 65 | no  | 490-3600 HAND_OVER
    100-3600 | 300  | 2 80 64 | no  |
    100-3600 | -    | 0 - -   | no  |
    100-3600 | -    | - - -   | no  |
"""
LISTED = members("c1 c1 c2")
BACK_AT_300 = {"rewinds": 1, "rewound": 65, "rewound_max": 65, "rewound_at": 300}


def step_with(start: int, end: int, owners: str, duplicates: bool, /, **measured: int | None) -> AuditedStep:
    """One queue, whose offset is 500 at each sample; how far it went back is measured already."""
    read = {second: [(1000, 500, 500, 1)] for second in (0, *range(10, 3600, 10), 141, 459)}
    owned = allocation(LISTED, owners, double_owned={0: "DUPLICATE_CLIENT_ID" if duplicates else "MIXED_STRATEGIES"})
    of = interval(-210, 4000, LISTED, owned)
    columns: dict[str, Any] = {name: [value] for name, value in measured.items()}
    step = replace(audited_step(of), progress=[progress(of, start, end, **columns)])
    return with_samples(step, {"t": offsets([("b", 0)], {second: read[second] for second in sorted(read)})})


def reset_at_300(
    least: Mapping[int, str] | None = None, switches: Sequence[Switch] = (), read: Mapping[int, str] | None = None
) -> AuditedStep:
    """`least`: by time `oldest offset/next to write`; `read`: `next to write/next to consume`, if not 1000/500."""
    step = replace(step_with(0, 3600, "0+1", False, **BACK_AT_300), switches={"t": switches})
    topics = {"t": oldest([("b", 0)], {at: [text] for at, text in (least or {}).items()})}
    own = {"t": offsets([("b", 0)], {at: [text] for at, text in read.items()})} if read else step.history.offsets
    return with_samples(step, own, topics)


#: The master of `b` is back.
RETURNED = Switch("b", micros(280), micros(300), None, "h:1")


def _number(text: str) -> int | None:
    return None if text == "-" else int(text)


def test_why_an_offset_went_back() -> None:
    for case, cause in cells(_CAUSES):
        duplicates, switched, least, since = case.split()
        step = step_with(300 - int(since), 3600, "0+1", duplicates == "yes", **BACK_AT_300)
        topics = {"t": oldest([("b", 0)], {200: [(_number(least), 1000)]})}
        switches = [Switch("b", micros(280), micros(300), "h:1", "h:2")] if switched == "yes" else []
        step = replace(step, history=replace(step.history, topics=topics), switches={"t": switches})
        assert [hit.cause for hit in RULE.hits(step)] == [cause], case


def test_when_and_for_how_long_an_offset_is_rewound() -> None:
    for time, moment, counts, duplicates, finding in cells(_REWINDS):
        rewinds, rewound, greatest = map(_number, counts.split())
        start, end = map(int, time.split("-"))
        back = {"rewinds": rewinds, "rewound": rewound, "rewound_max": greatest, "rewound_at": _number(moment)}
        hits = list(RULE.hits(step_with(start, end, "0+1", duplicates == "yes", **back)))
        assert [f"{span(hit)} {hit.cause}" for hit in hits] == ([finding] if finding else []), (time, moment)
        # At once, and the queue that went back furthest speaks for all.
        assert {(hit.minimum_seconds, hit.weight, hit.implicated) for hit in hits} <= {(0, 65, "c1")}


def test_around_a_new_connection_of_a_member_that_comes_with_new_ones_again_and_again_a_queue_was_handed_over() -> None:
    def cause(text: str) -> str | None:
        (hit,) = RULE.hits(replace(reset_at_300(), memberships={"b": spans(text)}))
        return hit.cause

    assert cause("x:1 x:2 x:2 x:3 x:4 x:5") == "HAND_OVER"  # at 300
    assert cause("x:1 x:2 x:3 x:3 x:4 x:5") == "RESET"  # at 200 and 400
    assert cause("x:1 x:1 x:1 x:2 x:2 x:2") == "RESET"  # once


def test_while_brokers_list_different_members_a_queue_is_handed_over() -> None:
    step = reset_at_300()
    (row,) = step.progress
    (hit,) = RULE.hits(replace(step, progress=[replace(row, interval=replace(row.interval, view="b"))]))
    assert hit.cause == "HAND_OVER"


def test_a_switch_of_the_broker_is_the_cause_where_the_snapshots_leave_time_for_it() -> None:
    for case, is_cause in cells(_SWITCHES):
        broker, before, at = case.split()
        switch = Switch(broker, micros(float(before)), micros(float(at)), "h:1", "h:2")
        (hit,) = RULE.hits(reset_at_300(switches=[switch]))
        assert hit.cause == {"yes": "BROKER_SWITCHED", "no": "RESET"}[is_cause], case


def test_it_says_who_served_the_broker_before_and_after() -> None:
    """The nearest switch counts."""
    switches = [Switch("b", micros(250), micros(260), "h:1", None), Switch("b", micros(280), micros(300), None, "h:1")]
    (hit,) = RULE.hits(reset_at_300(switches=switches))
    assert hit.hint == (
        "b was not in the route until 2026-03-01T10:04:40Z, and was asked at h:1 from 2026-03-01T10:05Z on. "
        "1 queue went back by 65 messages together. After a minute they have not recovered: the group really consumes "
        "these messages again."
    )


def test_it_says_until_when_messages_are_consumed_again_and_which_address_the_broker_had() -> None:
    """From 565 to 500 at 300 s, and 5 more in each 10 s from 400 s on: at 530 s it is at 565."""
    read: dict[float, list[tuple[int | None, ...] | None]] = {
        second: [(1000, 565 if second < 300 else 500 + max(second - 400, 0) // 2, 500, 1)]
        for second in range(0, 3600, 10)
    }
    left = Switch("b", micros(250), micros(260), "h:2", None)
    step = with_samples(step_with(0, 3600, "0+1", False, **BACK_AT_300), {"t": offsets([("b", 0)], read)})
    (hit,) = RULE.hits(replace(step, switches={"t": [left, RETURNED]}))
    assert (hit.hint or "").startswith("b was asked at h:2, was not in the route until 2026-03-01T10:04:40Z, and was")
    assert (hit.hint or "").endswith("the group really consumes these messages again, until 2026-03-01T10:08:50Z.")


@pytest.mark.parametrize(
    ("left", "cause"),
    [
        ([("b", "h:1", None)], "BROKER_RESTARTED"),
        ([("a", "h:1", None)], "BROKER_SWITCHED"),
        ([("b", "h:2", None)], "BROKER_SWITCHED"),
        ([("b", "h:1", None), ("b", None, "h:2")], "BROKER_SWITCHED"),
        ([], "BROKER_SWITCHED"),
    ],
)
def test_a_broker_that_comes_back_at_its_address_was_restarted(
    left: list[tuple[str, str | None, str | None]], cause: str
) -> None:
    before = [Switch(name, micros(240 + 10 * n), micros(245 + 10 * n), *which) for n, (name, *which) in enumerate(left)]
    (hit,) = RULE.hits(reset_at_300(switches=[*before, Switch("b", micros(280), micros(300), None, "h:1")]))
    assert (hit.cause, "1 queue went back by 65 messages" in (hit.hint or "")) == (cause, True)


@pytest.mark.parametrize(
    ("other", "offset", "minimum", "cause"),
    [
        (("b", 1), 500, 435, "TO_MINIMUM"),
        (("b", 1), 500, 436, "OFFSETS_LOST"),  # 64 messages above the oldest are tolerated
        (("a", 1), 500, 435, "OFFSETS_LOST"),
        (("b", 1), None, 435, "BROKER_RESTARTED"),
    ],
    ids=["stayed", "also at its oldest", "of another broker", "unknown"],
)
def test_a_restarted_broker_that_kept_other_offsets_lost_none(
    other: Place, offset: int | None, minimum: int, cause: str
) -> None:
    """The first queue falls to its oldest message, 500; the other one has this offset and oldest message."""
    queues = [("b", 0), other]
    of = interval(-210, 4000, LISTED, allocation(LISTED, "0 1", queues=queues))
    measured: dict[str, Any] = {
        name: [value, 0 if name != "rewound_at" else None] for name, value in BACK_AT_300.items()
    }
    step = replace(audited_step(of), progress=[progress(of, 0, 3600, **measured)])
    samples = [(1000, 500, 500, 1), (1000, offset, offset, 1) if offset else None]
    read = dict.fromkeys(range(0, 3600, 10), samples)
    least = oldest(queues, {200: ["500/1000", f"{minimum}/1000"]})
    left = Switch("b", micros(240), micros(245), "h:1", None)
    step = replace(with_samples(step, {"t": offsets(queues, read)}, {"t": least}), switches={"t": [left, RETURNED]})
    assert [hit.cause for hit in RULE.hits(step)] == [cause]


@pytest.mark.parametrize(("end", "says"), [(3600, "consumers that kept running repeat few"), (340, "members changed")])
def test_whoever_begins_within_the_minute_consumes_again_what_others_do_not(end: int, says: str) -> None:
    read: dict[float, list[tuple[int | None, ...] | None]] = {
        second: [(1000, 500 if 300 <= second < 350 else 565, 500, 1)] for second in range(0, 3600, 10)
    }
    step = with_samples(step_with(0, end, "0+1", False, **BACK_AT_300), {"t": offsets([("b", 0)], read)})
    (hit,) = RULE.hits(replace(step, switches={"t": [RETURNED]}))
    assert says in (hit.hint or "")


@pytest.mark.parametrize(("least", "is_said"), [(436, True), (435, False)])
def test_a_switch_after_which_clients_begin_at_the_oldest_message(least: int, is_said: bool) -> None:
    (hit,) = RULE.hits(reset_at_300({200: f"{least}/1000"}, [RETURNED]))
    assert hit.cause == "BROKER_SWITCHED"
    assert ("They are at the oldest messages now" in (hit.hint or "")) is is_said


def test_an_offset_that_fell_to_the_oldest_message() -> None:
    for case, is_cause in cells(_OLDEST):
        least = zip((200, 300, 301), case.split(), strict=True)
        (hit,) = RULE.hits(reset_at_300({at: f"{offset}/1000" for at, offset in least}))
        assert hit.cause == {"yes": "TO_MINIMUM", "no": "RESET"}[is_cause], case
    rewound = {"rewinds": 1, "rewound": 65, "rewound_max": 65, "rewound_in_all": 65}
    assert hit.measures == {**rewound, "consumer_offset": 500, "min_offset": 900}


@pytest.mark.parametrize(
    ("oldest_offset", "read", "cause"),
    [
        # 400 messages above the oldest one: it consumes 336 in 20 s before, or after; 64 are tolerated.
        ("100", {260: 229, 280: 565, 300: 500, 320: 500}, "TO_MINIMUM"),
        ("100", {260: 565, 280: 565, 300: 500, 320: 836}, "TO_MINIMUM"),
        ("100", {260: 230, 280: 565, 300: 500, 320: 835}, "RESET"),
        ("?", {260: -4435, 280: 565, 300: 500, 320: 5500}, "RESET"),
        # After a missing round only what fits into one interval counts: 672 in 40 s are 336 in 20 s.
        ("100", {280: 565, 300: 500, 340: 1172}, "TO_MINIMUM"),
        ("100", {280: 565, 300: 500, 340: 1170}, "RESET"),
    ],
)
def test_what_is_consumed_in_a_collection_interval_may_have_been_since_it_fell_to_the_oldest_message(
    oldest_offset: str, read: Mapping[int, int], cause: str
) -> None:
    """The offset went back by 65 messages, to 500, between the samples of 280 s and 300 s."""
    samples = {second: f"9000/{offset}" for second, offset in read.items()}
    (hit,) = RULE.hits(reset_at_300({280: f"{oldest_offset}/9000"}, read=samples))
    assert hit.cause == cause


@pytest.mark.parametrize(
    ("read", "back", "cause"),
    [
        # 400 messages above the oldest one, of which 64 are tolerated: 269 in 20 s are 336 in 25 s.
        ({280: 565, 300: 500, 320: 769}, 337, "TO_MINIMUM"),
        ({280: 565, 300: 500, 320: 768}, 337, "RESET"),
        ({280: 565, 300: 500, 320: 769}, 336, "RESET"),
        # After a missing round there was more time: 150 in 20 s are 337 in 45 s.
        ({260: 565, 300: 500, 320: 650}, 338, "TO_MINIMUM"),
        ({260: 565, 300: 500, 320: 649}, 338, "RESET"),
    ],
)
def test_of_an_offset_that_went_back_further_all_time_since_the_sample_before_counts(
    read: Mapping[int, int], back: int, cause: str
) -> None:
    """And 5 s more, as clients commit every 5 s."""
    samples = {second: f"9000/{offset}" for second, offset in read.items()}
    step = reset_at_300({280: "100/9000"}, read=samples)
    far = replace(step.progress[0], rewound_max=np.array([back]))
    (hit,) = RULE.hits(replace(step, progress=[far]))
    assert hit.cause == cause


@pytest.mark.parametrize(
    ("end", "least", "cause"), [(564, 436, "BEYOND_END"), (565, 436, "TO_MINIMUM"), (564, 435, "RESET")]
)
def test_beyond_the_end_an_offset_falls_to_the_oldest_message(end: int, least: int, cause: str) -> None:
    """It was 565 at 290 s, and is 500."""
    samples = {280: "565/565", 290: f"{end}/565", 300: f"{end}/500", 320: f"{end}/500"}
    (hit,) = RULE.hits(reset_at_300({200: f"{least}/1000"}, read=samples))
    assert hit.cause == cause


@pytest.mark.parametrize(("former", "cause"), [("c1 c3", "HAND_OVER"), ("c3 c4", "RESET")])
def test_nobody_commits_an_old_offset_if_all_members_are_new(former: str, cause: str) -> None:
    """They were others until 280 s, then there was none until 290 s."""
    step = step_with(290, 3600, "0+1", False, **BACK_AT_300)
    (row,) = step.progress
    own = replace(row.interval, start=micros(290))
    before = interval(-210, 280, members(former), allocation(members(former), "0"))
    intervals = [before, interval(280, 290, (), allocation((), [[]])), own]
    (hit,) = RULE.hits(replace(step, intervals=intervals, progress=[replace(row, interval=own)]))
    assert (hit.cause, "All members were new" in (hit.hint or "")) == (cause, cause == "RESET")


def two_queues(**back: Any) -> AuditedStep:
    of = interval(-210, 4000, LISTED, allocation(LISTED, "0+1 2"))
    step = replace(audited_step(of), progress=[progress(of, 0, 3600, **back)])
    return with_samples(step, {"t": offsets([("b", 0), ("b", 1)], dict.fromkeys((280, 300, 400), ["1000/500"] * 2))})


@pytest.mark.parametrize(
    ("read", "found"),
    [
        # It falls three times, and returns at once.
        ("565 500 570 500 570 500 575", "300-400 OVERWRITTEN"),
        # The last time it stays: whoever takes the queue then begins there.
        ("565 500 570 500 570 500 500", "300-400 OVERWRITTEN"),
        # Twice.
        ("565 565 570 500 570 500 575", "380-400 RESET"),
        # To different offsets.
        ("565 500 570 501 570 500 575", "380-400 RESET"),
        # It is consumed again.
        ("565 500 540 500 540 500 540", "380-3600 RESET"),
    ],
)
def test_an_offset_that_falls_to_the_same_one_again_and_again_is_overwritten(read: str, found: str) -> None:
    """Of what it falls each time, the most is consumed again."""
    samples = {280 + 20 * place: f"1000/{offset}" for place, offset in enumerate(read.split())}
    step = step_with(0, 3600, "0+1", False, rewinds=3, rewound=205, rewound_max=70, rewound_at=380)
    (hit,) = RULE.hits(with_samples(step, {"t": offsets([("b", 0)], {at: [text] for at, text in samples.items()})}))
    assert f"{span(hit)} {hit.cause}" == found
    assert (hit.measures or {})["rewound_in_all"] == (70 if hit.cause == "OVERWRITTEN" else 205)


@pytest.mark.parametrize(
    ("back_to", "other", "hint"),
    [
        # Queue 0 goes from messages of 900 s back to those of 100 s: halfway is 500 s.
        (100, [501], "consumed: b:1."),
        *((100, [stored], None) for stored in (500, 0, None)),
        # The time of the messages is not known, or there is no sample of queue 1.
        *((0, [900], None), (100, [], None)),
    ],
)
def test_a_reset_names_the_queues_that_a_sample_does_not_show_to_go_back(
    back_to: int, other: list[int | None], hint: str | None
) -> None:
    step = two_queues(rewinds=[1, 0], rewound=[65, 0], rewound_max=[65, 0], rewound_at=[300, None])
    still = [(1000, 700, 700, stored) for stored in other]
    read: dict[float, list[QueueSample | None]] = {
        280: [(1000, 565, 565, 900), *still],
        300: [(1000, 500, 500, back_to), *still],
    }
    (hit,) = RULE.hits(with_samples(step, {"t": offsets([("b", 0), ("b", 1)][: 1 + len(other)], read)}))
    assert hit.cause == "RESET"
    assert hit.hint is None if hint is None else hint in (hit.hint or "")


def test_it_says_how_many_messages_that_is_in_all() -> None:
    """Of all queues of the topic and cause, whenever they went back."""
    step = two_queues(rewinds=[1, 2], rewound=[65, 150], rewound_max=[65, 80], rewound_at=[300, 400])
    assert [(hit.measures or {})["rewound_in_all"] for hit in RULE.hits(step)] == [215, 215]
    (finding,) = findings(step, [RULE])
    assert RULE.detail is not None
    assert RULE.detail(finding) == "by 215 messages in all"


def test_a_reset_that_takes_only_a_young_queue_to_its_oldest_message_is_one() -> None:
    """Both queues go back at 300 s: to 500, which is the oldest of the second one."""
    step = two_queues(rewinds=[1, 1], rewound=[65, 65], rewound_max=[65, 65], rewound_at=[300, 300])
    for first, cause in ((0, "RESET"), (500, "TO_MINIMUM")):
        topics = {"t": oldest([("b", 0), ("b", 1)], {280: [f"{first}/1000", "500/1000"]})}
        assert [hit.cause for hit in RULE.hits(with_samples(step, step.history.offsets, topics))] == [cause, cause]


def test_a_hit_names_how_far_and_the_first_owner() -> None:
    measured = {"rewinds": 2, "rewound": 120, "rewound_max": 100, "rewound_at": 300}
    (hit,) = RULE.hits(step_with(0, 3600, "2+0", False, **measured))
    assert hit.measures == {"rewinds": 2, "rewound": 120, "rewound_max": 100, "rewound_in_all": 120}
    assert (hit.queue, hit.topic) == (FindingQueue("t", "b", 0, "REWOUND"), "t")
    assert (hit.severity, hit.implicated) == ("WARN", "c2")
    (hit,) = RULE.hits(step_with(0, 3600, "-", False, **measured))
    assert hit.implicated is None
