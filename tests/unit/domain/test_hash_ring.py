from __future__ import annotations

import pytest

from spark_jobs.domain.rocketmq.hash_ring import go_hash, go_ring, java_hash, java_ring


def test_the_hash_is_the_first_four_bytes_of_md5() -> None:
    assert java_hash("") == 0xD41D8CD9  # MD5 of nothing: d41d8cd98f00b204e9800998ecf8427e
    assert java_hash("abc") == 0x90015098  # 900150983cd24fb0d6963f7d28e17f72


def test_a_lone_surrogate_hashes_like_a_question_mark() -> None:
    assert java_hash("a\ud83d") == java_hash("a?")


def test_a_text_belongs_to_the_node_of_equal_hash_or_the_next() -> None:
    # With one node each, "abc-0" is the only text whose hash is sure to be on the ring.
    ring = java_ring(["abc", "x"], 1)
    assert ring.owner("abc-0") == "abc"
    assert ring.owner("x-0") == "x"


def test_nobody_owns_anything_on_an_empty_ring() -> None:
    assert java_ring(["c"], 0).owner("a") is None
    assert java_ring([], 10).owner("a") is None


def test_an_id_that_comes_again_gets_further_nodes() -> None:
    ring = java_ring(["a", "b", "a"], 2)
    assert [ring.owner(f"a-{number}") for number in range(4)] == ["a"] * 4


def test_the_hash_of_go_is_crc_32() -> None:
    assert go_hash("123456789") == 0xCBF43926  # the check value of CRC-32 (IEEE 802.3)
    assert go_hash("0c1") == 3290694876
    assert go_hash("a\ud83d") == go_hash("a?")


@pytest.mark.parametrize(
    ("text", "owner"),
    [
        ("1c2", "c2"),  # 1559183185 is a node of its own, the next is 1563252070, 0c2
        ("0c2", "c1"),  # 1563252070 → 3290694876, 0c1
        ("0c1", "c1"),  # 3290694876 → 3320213227, 1c1
        ("1c1", "c2"),  # 3320213227 is the last: 1559183185, 1c2
    ],
)
def test_in_go_a_text_belongs_to_the_node_after_its_hash(text: str, owner: str) -> None:
    assert go_ring(["c1", "c2"], 2).owner(text) == owner
    assert go_ring(["c1", "c1", "c2"], 2).owner(text) == owner


def test_in_go_the_later_of_two_nodes_of_one_hash_stays() -> None:
    # CRC-32 of 0c12006000 and of 0c9158998 is 904088366.
    assert go_hash("0c12006000") == go_hash("0c9158998") == 904088366
    assert go_ring(["c12006000", "c9158998"], 1).owner("any") == "c9158998"


def test_in_go_nobody_owns_anything_on_an_empty_ring() -> None:
    assert go_ring(["c"], 0).owner("a") is None


def test_a_node_that_was_overwritten_shifts_the_numbers_of_a_twin() -> None:
    """`b-0` takes the place of `a-0`. The ring holds one node of `a` then, so its twin's are numbered 1 and 2: node 1
    as before, and a new one at 40. Numbers 2 and 3 would be at 40 and 25.
    """
    places = {"a-0": 10, "a-1": 20, "b-0": 10, "b-1": 30, "a-2": 40, "a-3": 25, "at 10": 10, "at 25": 25, "at 35": 35}
    ring = java_ring(["a", "b", "a"], 2, places.__getitem__)
    assert [ring.owner(text) for text in ("at 10", "at 25", "at 35")] == ["b", "b", "a"]


def test_a_node_that_its_own_id_overwrites_shifts_them_too() -> None:
    """Twins are neighbors in a sorted list: `a-1` takes the place of `a-0`, and the twin has the numbers 1 and 2."""
    places = {"a-0": 10, "a-1": 10, "a-2": 50, "a-3": 57, "b-0": 30, "b-1": 60, "at 35": 35, "at 55": 55, "at 61": 61}
    ring = java_ring(["a", "a", "b"], 2, places.__getitem__)
    assert [ring.owner(text) for text in ("at 35", "at 55", "at 61")] == ["a", "b", "a"]
