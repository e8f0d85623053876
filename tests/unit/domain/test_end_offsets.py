"""End offsets that fall, by hand: a slave for a moment, a broker that lost its tail, a topic that is made again."""

import pytest

from schemas import OFFSET_SNAPSHOTS
from spark_jobs.domain.kernel.offset_facts import lost_offsets
from spark_jobs.domain.kernel.sample_pairs import arrived, sample_pairs
from spark_jobs.domain.model.history import UNKNOWN
from tests.support import samples
from tests.support.kernel import group_histories
from tests.support.snapshots import offsets
from tests.support.tables import described
from tests.support.times import DAY

_NOW = int(DAY.timestamp() * 1000)
#: By sample, every 20 s: end offset, consumer offset, seconds before or after the start at which its message was
#: stored (-: never committed) | how far the offset went back at each sample | produced at each
_CASES = {
    "a slave": ("5000 5000 0, 2000 0 -, 2000 0 -, 5040 200 -900, 5060 900 -800", "- 5000 - - -", "- - - 40 20"),
    "a slave that nobody pulls from": ("5000 5000 0, 2000 0 -, 5040 0 -, 5060 0 -", "- 5000 - -", "- - 40 20"),
    "a slave for good": ("5000 5000 0, 4000 3000 -600, 4000 3500 -500", "- 2000 -", "- - 0"),
    "a tail that is lost": ("5000 5000 0, 4900 4800 -200, 4950 4950 30", "- 200 -", "- - 50"),
    "a topic made again": ("5000 5000 0, 0 0 -, 100 50 40, 200 150 60", "- - - -", "- - 100 100"),
    "with much traffic": ("500 500 0, 300 0 -, 700 300 40, 1100 900 60", "- - - -", "- - 400 400"),
    "and an offset that stays": ("5000 5000 0, 100 5000 -, 300 5000 -", "- - -", "- - 200"),
    "an offset that stays and goes back": ("5000 5000 0, 100 5000 -, 300 5000 -, 600 0 50", "- - - -", "- - 200 300"),
    "and goes back after the end has passed it": (
        "500 500 0, 100 500 -, 400 500 -, 900 500 40, 1000 100 50, 1100 90 60",
        "- - - - - 10",
        "- - 300 500 100 100",
    ),
    "a fall while it serves": ("5000 5000 0, 2000 0 -, 1500 0 -, 5040 200 -900", "- 5000 - -", "- - - 40"),
}


def _numbers(text: str) -> list[int]:
    return [UNKNOWN if word == "-" else int(word) for word in text.split()]


@pytest.mark.parametrize("case", _CASES)
def test_what_a_fall_means(case: str) -> None:
    told, back, produced = _CASES[case]
    rows = []
    for number, sample in enumerate(told.split(",")):
        end, consumed, stored = sample.split()
        stored_ms = 0 if stored == "-" else _NOW + int(stored) * 1000
        rows.append(offsets(20 * number, (int(end), int(consumed), stored_ms)))
    (history,) = group_histories({OFFSET_SNAPSHOTS: rows})
    pairs = sample_pairs(history.offsets["t"], slice(0, len(rows)))
    assert pairs.back[:, 0].tolist() == _numbers(back)
    assert pairs.produced[:, 0].tolist() == _numbers(produced)


#: What | the oldest offset | by sample: end and consumer offset, 0 as brokers tell of none | how far it went back
_LOST = """
    a reset to the beginning                    | 0   | 5000/5000 5020/0 5040/700 5060/900    | - 5000 - -
    no offset, and the oldest one is not known  | ?   | 5000/5000 5020/0 5040/700 5060/900    | - 5000 - -
    no offset, and it begins at the end         | 400 | 5000/5000 5020/0 5040/5040 5060/5050  | - - - -
    no offset, and it begins at the oldest      | 400 | 5000/5000 5020/0 5040/0 5060/700      | - - - 4300
    no offset, and nobody begins                | 400 | 5000/5000 5020/0 5040/0 5060/0        | - - - -
    no offset at first                          | 400 | 5000/0    5020/0 5040/700 5060/600    | - - - 100
    a sample without it does not count          | 400 | 5000/5000 5020/? 5040/700 5060/900    | - - - -
"""


@pytest.mark.parametrize(("least", "read", "back"), described(_LOST))
def test_an_offset_that_is_lost_went_as_far_back_as_the_next_one_is(least: str, read: str, back: str) -> None:
    rows = {}
    for number, cell in enumerate(read.split()):
        end, consumed = (None if part == "?" else int(part) for part in cell.split("/"))
        rows[20 * number] = [(end, consumed, consumed, 1 if consumed else 0)]
    of_group, of_topic = samples.offsets([("b", 0)], rows), samples.oldest([("b", 0)], {0: [f"{least}/5000"]})
    seen = slice(0, len(rows))
    pairs = sample_pairs(of_group, seen, lost_offsets(of_group, of_topic, seen))
    assert pairs.back[:, 0].tolist() == _numbers(back)


def test_what_arrives_counts_once_where_a_slave_serves_and_anew_where_the_topic_is() -> None:
    """Queue 0: a slave shows 80 of 130 for a moment, then 150: 50 came. Queue 1: 20, then 5 of the new topic. Queue 2:
    nobody knows its end at 20 s, and it is not in the next snapshot; 40 came.
    """
    places = [("b", number) for number in range(3)]
    read = samples.offsets(
        places,
        {
            0: ["100/?", "100/?", "10/?"],
            20: ["130/?", "120/?", "?/?"],
            40: ["80/?", "120/?", "-"],
            60: ["150/?", "5/?", "50/?"],
        },
    )
    assert arrived(read, slice(0, 4))[-1].tolist() == [50, 20, 40]
    assert arrived(read, slice(0, 4))[:, 0].tolist() == [0, 30, 30, 50]
    assert arrived(read, slice(1, 4))[-1].tolist() == [20, 0, 0]
