from __future__ import annotations

from spark_jobs.domain.hash_ring import HashRing, ring_hash


def test_the_hash_is_the_first_four_bytes_of_md5() -> None:
    assert ring_hash("") == 0xD41D8CD9  # MD5 of nothing: d41d8cd98f00b204e9800998ecf8427e
    assert ring_hash("abc") == 0x90015098  # 900150983cd24fb0d6963f7d28e17f72


def test_a_lone_surrogate_hashes_like_a_question_mark() -> None:
    assert ring_hash("a\ud83d") == ring_hash("a?")


def test_a_text_belongs_to_the_node_of_equal_hash_or_the_next() -> None:
    # With one node each, "abc-0" is the only text whose hash is sure to be on the ring.
    ring = HashRing(["abc", "x"], 1)
    assert ring.owner("abc-0") == "abc"
    assert ring.owner("x-0") == "x"


def test_nobody_owns_anything_on_an_empty_ring() -> None:
    assert HashRing(["c"], 0).owner("a") is None
    assert HashRing([], 10).owner("a") is None


def test_an_id_that_comes_again_gets_further_nodes() -> None:
    ring = HashRing(["a", "b", "a"], 2)
    assert [ring.owner(f"a-{number}") for number in range(4)] == ["a"] * 4
