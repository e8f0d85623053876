"""Whose an incident is, of the example and of routes by hand."""

from pathlib import Path

import pytest

from spark_jobs.config.file import load
from spark_jobs.domain.incidents.team_routes import TeamRoute, findings_with_teams, route_of, targets_of, with_teams
from spark_jobs.domain.incidents.values import GroupCost
from tests.unit.test_incidents import incident

ROUTES = load(Path(__file__).parents[3] / "examples" / "routes.yaml").routes
PAGER, CHAT, PLATFORM = (f"/etc/rebalance-audit/{name}.url" for name in ("payments-pager", "payments-chat", "platform"))


@pytest.mark.parametrize(
    ("cluster", "group", "rule", "severity", "to"),
    [
        ("prod-1", "payment-api", "BROKER_NOT_READABLE", "ERROR", PAGER),
        ("prod-1", "payment-api", "BROKER_NOT_READABLE", "WARN", CHAT),
        ("test", "ledger-", "SLOW_LISTENER", "INFO", CHAT),
        ("prod-1", "my-payment-api", "BROKER_NOT_READABLE", "ERROR", PLATFORM),
        ("prod-1", "payment", "SLOW_LISTENER", "ERROR", None),
        ("eu-prod-1", "g", "BROKER_NOT_READABLE", "ERROR", None),
    ],
)
def test_the_first_route_whose_patterns_match_whole_names_counts(
    cluster: str, group: str, rule: str, severity: str, to: str | None
) -> None:
    found = route_of(ROUTES, cluster, group, rule, severity)
    assert (found and found.to) == to
    assert route_of([TeamRoute(team="a", to="f", group="pay")], "c", "payment", "SLOW_LISTENER", "ERROR") is None


def test_an_incident_is_for_the_team_of_each_of_its_groups() -> None:
    groups = ("ledger-a", "ledger-b", "g", "payment-a")
    one = incident(consumer_groups=groups, costs=tuple(GroupCost(name, 1, 0.0) for name in groups))
    assert targets_of(ROUTES, one, "default") == {PAGER, "default"}
    known = with_teams(ROUTES, one)
    assert [cost.team for cost in known.costs] == ["payments", "payments", None, "payments"]
    assert (known.teams, one.teams) == (("payments",), ())


def test_a_finding_has_the_team_of_its_group() -> None:
    named = {"cluster": "c", "consumer_group": "ledger-a", "rule": "SLOW_LISTENER", "severity": "WARN"}
    expected = [named | {"team": "payments"}, named | {"consumer_group": "g", "team": None}]
    assert findings_with_teams(ROUTES, [named, named | {"consumer_group": "g"}]) == expected
