import pytest

from spark_jobs.domain.rocketmq.allocation import go_hash, go_ring, java_hash, java_ring


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
    assert [ring.owner("a") for ring in (java_ring(["c"], 0), java_ring([], 10), go_ring(["c"], 0))] == [None] * 3


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


@pytest.mark.parametrize(
    ("ids", "places", "owners"),
    [
        # `b-0` takes the place of `a-0`. The ring holds one node of `a` then, so its duplicate's are numbered 1 and 2:
        # node 1 as before, and a new one at 40. Numbers 2 and 3 would be at 40 and 25.
        ("a b a", "a-0 10, a-1 20, b-0 10, b-1 30, a-2 40, a-3 25", {10: "b", 25: "b", 35: "a"}),
        # Duplicates are neighbors in a sorted list: `a-1` takes the place of `a-0`, and the other has the numbers 1, 2.
        ("a a b", "a-0 10, a-1 10, a-2 50, a-3 57, b-0 30, b-1 60", {35: "a", 55: "b", 61: "a"}),
    ],
)
def test_a_node_that_is_overwritten_shifts_the_numbers_of_a_duplicate(
    ids: str, places: str, owners: dict[int, str]
) -> None:
    nodes = {name: int(place) for name, place in map(str.split, places.split(","))}
    ring = java_ring(ids.split(), 2, lambda text: nodes[text] if text in nodes else int(text))
    assert {place: ring.owner(f"{place}") for place in owners} == owners
