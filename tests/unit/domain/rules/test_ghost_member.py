"""GHOST_MEMBER on the hour of `client_groups`, and on hand-written intervals."""

from spark_jobs.domain.model.history import Connection
from spark_jobs.domain.rules.client_hung import GHOST_MEMBER as RULE
from tests.support.client_groups import audited, hits_of
from tests.support.client_steps import replayed, step_with
from tests.support.findings import rule_hit


def test_one_answer_alone_is_never_enough() -> None:
    assert hits_of(RULE, "ghost-40")
    assert hits_of(RULE, "ghost-once") == []


def test_a_hit_is_an_interval_and_a_queue_of_the_listed_client() -> None:
    """Of each view, where the client is given any."""
    intervals = [
        replayed("ghost", 0, 100, {"c1": [0]}, 1),
        replayed("ghost", 60, 200, {"c1": [0]}, 2),
        replayed("ghost", 200, 250, {"c2": [0]}, 1),
        replayed("ghost", 300, 660, {"c1": [1], "c2": [0]}, 2, view="b1"),
        replayed("ghost", 320, 660, {"c1": [0]}, 1),
    ]
    connections = (Connection("c1", "10.0.0.1:1", "JAVA", 493),)
    about = {"client_id": "c1", "implicated": "c1", "connections": connections, "minimum_seconds": 60.0}
    assert list(RULE.hits(step_with(audited("ghost").history, intervals))) == [
        rule_hit(100, 200, "NOT_IN_GROUP", "ghost b:0 GHOST", **about),
        rule_hit(300, 320, "NOT_IN_GROUP", "ghost b:1 GHOST", **about),
    ]
