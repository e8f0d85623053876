"""Members of groups of three languages are replaced: what that cost, by their logs, is what the audit says."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from spark_jobs.domain.evaluate import EvaluatedStep
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.what_if.rollout import RolloutOutcome, other_orders
from tests.end_to_end.live import languages, mixed, rollouts
from tests.support.kernel import evaluated, recorded_rows, settings

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> mixed.Scenario:
    languages.need("mvn", "go", "node", "npm")
    return rollouts.run(tmp_path_factory.mktemp("rollouts"))


@pytest.fixture(scope="module")
def steps(recorded: mixed.Scenario) -> Mapping[str, EvaluatedStep]:
    """The step of each group."""
    begin = datetime.fromtimestamp(recorded.begin, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    day = Interval(begin, begin + timedelta(days=1))
    files = sorted((recorded.folder / "recordings").glob("*.jsonl.gz"))
    found = evaluated(recorded_rows(*files), day, settings(rollouts.CADENCE, step=86_400))
    return {step.step.history.consumer_group: step for step in found}


def measured(step: EvaluatedStep) -> Mapping[str, float | None]:
    """What the audit says of the only rollout."""
    (rollout,) = [each for each in step.findings if each.rule == "ROLLOUT"]
    return dict(rollout.evidence.measures or ())


def played(step: EvaluatedStep, order: str) -> RolloutOutcome:
    compared = other_orders([step.step], [order], StrategySettings())
    assert compared is not None
    return compared.outcomes[-1]


@pytest.mark.parametrize("group", [group for group in rollouts.GROUPS if group.language != "node"], ids=str)
def test_the_cost_is_what_members_wrote_down(
    group: rollouts.Group, recorded: mixed.Scenario, steps: Mapping[str, EvaluatedStep]
) -> None:
    cost, said = rollouts.cost(recorded, group), measured(steps[group.name])
    print(f"\n{group}: {cost}\n{said}")
    assert said["members_replaced"] == rollouts.MEMBERS
    pause, hidden, most = (
        said[name] for name in ("longest_pause_seconds", "pause_resolution_seconds", "consumed_again_max")
    )
    assert pause is not None
    assert hidden is not None
    assert most is not None
    assert pause - cost.usual <= max(cost.pauses) <= pause + hidden
    assert (said["consumed_again"] or 0) <= cost.again <= most


@pytest.mark.parametrize("language", ["java", "go"])
def test_one_wave_is_predicted_from_one_by_one(
    language: str, recorded: mixed.Scenario, steps: Mapping[str, EvaluatedStep]
) -> None:
    predicted = played(steps[f"{language}-one-by-one"], "one-wave")
    cost = rollouts.cost(recorded, rollouts.Group(language, "one-wave"))
    print(f"\n{predicted} {cost}")
    assert predicted.longest_pause_seconds == pytest.approx(max(cost.pauses), rel=0.2)
    assert cost.again <= (predicted.consumed_again_max or 0)


@pytest.mark.parametrize("order", rollouts.ORDERS)
def test_members_behind_a_proxy_are_not_known(
    order: str, recorded: mixed.Scenario, steps: Mapping[str, EvaluatedStep]
) -> None:
    print(f"\n{order}: {rollouts.cost(recorded, rollouts.Group('node', order))}")
    found = {each.rule: each.cause for each in steps[f"node-{order}"].findings}
    assert "ROLLOUT" not in found
    assert found["MEMBERS_UNSEEN"] == "CONSUMED_THROUGH_PROXY"
