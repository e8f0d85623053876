"""Random allocations: the kernel's replay says of every queue what asking each client by itself says."""

import pytest
from hypothesis import given

from spark_jobs.domain.kernel.allocations import Member
from spark_jobs.domain.kernel.ownership import Inputs, queues_of, replayed
from spark_jobs.domain.model.message_queue import all_queues
from tests.conformance.kernel_vs_oracle import by_kernel, by_oracle
from tests.conformance.kernel_vs_oracle.allocations import Allocation, allocations
from tests.conformance.kernel_vs_oracle.examples import few, many
from tests.support.oracle.ownership import counts, if_deduplicated, if_unique, ownership
from tests.support.oracle.timeline import IntervalMember


def check_equal(allocation: Allocation) -> None:
    members = by_oracle.members_of(allocation.settings, [IntervalMember(*member) for member in allocation.members])
    listed = all_queues(allocation.topic, allocation.route)
    owned = ownership(members, listed)
    connections = tuple(
        Member(own, None, None, None, name, subscribes, True, variant)
        for own, name, subscribes, variant in allocation.members
    )
    inputs = Inputs(allocation.topic, connections, *queues_of(allocation.route))
    found = replayed(inputs, allocation.settings)
    assert by_kernel.owned_queues(allocation.topic, found) == by_oracle.owned_queues(owned)
    assert found.counts == counts(owned)
    per_member = [sum(index in queue.owners for queue in owned) for index in range(len(members))]
    assert found.queues_per_member == per_member
    has_duplicates = len({member.client_id for member in members}) < len(members)
    cures = (if_deduplicated(members, listed), if_unique(members, listed)) if has_duplicates else (None, None)
    assert (found.if_deduplicated, found.if_unique) == cures


@few(400)
@given(allocations())
def test_random_allocations_are_those_of_the_oracle(allocation: Allocation) -> None:
    check_equal(allocation)


@pytest.mark.fuzz
@many()
@given(allocations())
def test_many_random_allocations_are_those_of_the_oracle(allocation: Allocation) -> None:
    check_equal(allocation)
