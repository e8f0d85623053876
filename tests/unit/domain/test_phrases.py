"""Names and numbers in sentences."""

from spark_jobs.domain.phrases import names_text, party_text, sum_before


def test_names_beyond_the_limit_are_counted() -> None:
    assert names_text(("a", "b"), 2) == "a, b"
    assert names_text(("a", "b", "c"), 2) == "a, b and 1 more"
    assert names_text([str(number) for number in range(1236)], 2) == "0, 1 and 1,234 more"


def test_a_party_without_members_is_not_one_of_which_nobody_knows_them() -> None:
    assert party_text("broker-b", ("c1", "c2"), 1) == "broker-b: c1 and 1 more"
    assert party_text("broker-b", ("c1", "c2")) == "broker-b: c1, c2"
    assert party_text("broker-b", ()) == "broker-b: no member"
    assert party_text("offset_snapshots", None) == "offset_snapshots"


def test_what_was_before_is_summed_over_the_same_things_as_what_was_after() -> None:
    assert sum_before([(1, 10), (2, 20)]) == 3
    assert sum_before([(1, None), (2, 20)]) == 2
    assert sum_before([(None, 10), (2, 20)]) is None
    assert sum_before([(None, None), (2, 20)]) == 2
    assert sum_before([(1, None)]) is None
    assert sum_before([]) is None
