"""The chart of Helm: the manifests that it renders fit the commands, and a wrong value is an error."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator  # type: ignore[import-untyped]

from spark_jobs.cli.environment import from_environment, with_environment
from spark_jobs.cli.main import build_parser
from spark_jobs.config.file import load
from spark_jobs.runtime.secret_file import secret_text
from tests.support.chart import CASES, CHART, RENDERED, ROOT, hash_of_sources, helm, kept, manifests, pods
from tests.support.chart import rendered_by_helm as rendered

needs_helm = pytest.mark.skipif(helm() is None, reason="helm is not installed (https://helm.sh/docs/intro/install)")
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
#: Variables that are no options, or are of the values' `env`, which all pods get.
OTHER_VARIABLES = {"REBALANCE_AUDIT_NOTIFY_URL", "REBALANCE_AUDIT_RATE"}


@pytest.mark.parametrize("case", CASES)
def test_the_kept_manifests_are_of_this_chart(case: str) -> None:
    assert kept(case)[0] == hash_of_sources(case), "run python -m tests.support.chart, which needs helm"


@needs_helm
@pytest.mark.parametrize("case", CASES)
def test_helm_renders_the_kept_manifests(case: str) -> None:
    assert (said := rendered(case)).returncode == 0, said.stderr
    assert said.stdout == kept(case)[1]


@needs_helm
def test_what_has_no_default_is_asked_for() -> None:
    for value, error in {
        "recorder.namesrv": "set recorder.namesrv to the name servers, such as 10.0.0.1:9876",
        "image.repository": "set image.repository to the image in your registry",
    }.items():
        assert error in rendered("default", "--set", f"{value}=").stderr


@needs_helm
def test_helm_refuses_a_wrong_value() -> None:
    said = rendered("default", "--set", "audit.mode=hourly")
    assert "at '/audit/mode': value must be one of 'watch', 'cronjob'" in said.stderr


WRONG = {
    "audit: {mode: hourly}": "/audit/mode",
    "recoder: {tls: true}": "/",
    "recorder: {tls: 'yes'}": "/recorder/tls",
    "recorder: {namesrv: '10.0.0.1:9876,10.0.0.2:9876'}": "/recorder/namesrv",
    "recorder: {namesrv: 10.0.0.1}": "/recorder/namesrv",
    "retention: {snapshots: 3d}": "/retention/snapshots",
    "retention: {recordings: forever}": "/retention/recordings",
    "retention: {versionDays: 6}": "/retention/versionDays",
    "warehouse: {uri: /srv/audit}": "/warehouse/uri",
    "warehouse: {uri: lake.audit}": "/warehouse/uri",
    "volume: {accessMode: ReadOnlyMany}": "/volume/accessMode",
    "volume: {size: 50}": "/volume/size",
    "env: {REBALANCE_AUDIT_RATE: 1000000}": "/env/REBALANCE_AUDIT_RATE",
    "config: {cadence_seconds: 20s}": "/config/cadence_seconds",
    "metrics: {textfileHostPath: metrics}": "/metrics/textfileHostPath",
    "metrics: {serve: {port: 0}}": "/metrics/serve/port",
    "metrics: {serve: true}": "/metrics/serve",
}


@pytest.mark.parametrize(("values", "place"), WRONG.items())
def test_the_schema_refuses_wrong_values(values: str, place: str) -> None:
    assert [f"/{'/'.join(error.path)}" for error in errors(yaml.safe_load(values))] == [place]


def test_the_schema_takes_the_defaults_and_describes_each_of_them() -> None:
    defaults = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    assert errors(defaults) == []
    assert errors(yaml.safe_load((RENDERED / "all.values.yaml").read_text(encoding="utf-8"))) == []
    described = SCHEMA["properties"]
    assert described.keys() - defaults.keys() == {"global"}  # Helm adds it to a chart that is part of another one
    assert {
        name: described[name]["properties"].keys() for name in described if "additionalProperties" in described[name]
    } == {
        name: value.keys()
        for name, value in defaults.items()
        if isinstance(value, dict) and name not in ("env", "config")
    }


def errors(values: Any) -> list[Any]:
    return [*Draft7Validator(SCHEMA).iter_errors(values)]


@pytest.mark.parametrize("case", CASES)
def test_every_container_runs_commands_with_options_that_exist(case: str) -> None:
    image = dict(re.findall(r"(REBALANCE_AUDIT_\w+)=(\S+)", (ROOT / "Dockerfile").read_text(encoding="utf-8")))
    ran = {}
    for component, pod in pods(case).items():
        (container,) = pod["containers"]
        variables = {item["name"]: item.get("value", "a secret") for item in container["env"]}
        known: set[str] = set()
        ran[component] = [words[0] for words in commands(container)]
        for words in commands(container):
            build_parser().parse_args(with_environment(words, image | variables))
            known |= from_environment(words, variables).keys()
        options = {name for name in variables if name.startswith("REBALANCE_AUDIT_")}
        assert options - known - OTHER_VARIABLES == set(), component
    assert (
        ran
        == {
            "default": {"recorder": ["capture"], "audit": ["watch"]},
            "all": {
                "recorder": ["capture"],
                "audit": ["backfill", "notify", "metrics", "late", "maintain"],
                "metrics": ["metrics"],
            },
        }[case]
    )


def commands(container: Mapping[str, Any]) -> Iterator[list[str]]:
    """What a container runs, as words of the command line; `$week` is an interval."""
    if "command" not in container:
        yield container["args"]
        return
    (script,) = container["args"]
    for line in re.findall(r"(?<=rebalance-audit )[a-z][^;}\n]*", script):
        yield shlex.split(line.replace("$week", "2026-11-21/2026-11-22"), comments=True)


@pytest.mark.parametrize("case", CASES)
def test_every_volume_is_mounted_and_every_mount_is_used(case: str) -> None:
    """By a variable, a script or the configuration; Spark and the admin client use /tmp."""
    configuration = next(one["data"]["audit.yaml"] for one in manifests(case) if one["kind"] == "ConfigMap")
    for component, pod in pods(case).items():
        containers = [*pod.get("initContainers", ()), *pod["containers"]]
        mounts = {mount["name"]: mount["mountPath"] for one in containers for mount in one["volumeMounts"]}
        assert mounts.keys() == {volume["name"] for volume in pod["volumes"]}, component
        used = json.dumps([[one.get("command"), one.get("args"), one.get("env")] for one in containers])
        if "/config/audit.yaml" in used:
            used += configuration
        folders = {*mounts.values()} - {"/tmp", "/data"}  # the image works in /data
        assert [folder for folder in folders if f"{folder}/" not in used] == [], component


@pytest.mark.parametrize(("case", "cadence"), [("default", 20), ("all", 60)])
def test_the_configuration_is_valid_and_has_the_interval_of_the_recorder(
    case: str, cadence: int, tmp_path: Path
) -> None:
    (text,) = (one["data"]["audit.yaml"] for one in manifests(case) if one["kind"] == "ConfigMap")
    (tmp_path / "audit.yaml").write_text(text, encoding="utf-8")
    assert load(str(tmp_path / "audit.yaml")).cadence_seconds == cadence
    env = pods(case)["recorder"]["containers"][0]["env"]
    assert {"name": "REBALANCE_AUDIT_CADENCE", "value": str(cadence)} in env


def test_only_pods_that_share_a_volume_of_one_node_follow_each_other() -> None:
    affinity = {component: pod["affinity"] for component, pod in pods("default").items()}
    (rule,) = affinity["audit"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    labels = [
        one["spec"]["template"]["metadata"]["labels"] for one in manifests("default") if one["kind"] == "Deployment"
    ]
    assert rule["topologyKey"] == "kubernetes.io/hostname"
    assert all(rule["labelSelector"]["matchLabels"].items() <= pod.items() for pod in labels)
    assert affinity["recorder"] == affinity["audit"]
    assert [component for component, pod in pods("all").items() if "affinity" in pod] == []


def test_prometheus_reaches_the_port_that_is_served() -> None:
    (container,) = pods("all")["metrics"]["containers"]
    (port,) = container["ports"]
    assert {"name": "REBALANCE_AUDIT_SERVE", "value": f":{port['containerPort']}"} in container["env"]
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"] == {"path": "/metrics", "port": port["name"]}
    (service, monitor) = (one for one in manifests("all") if one["kind"] in ("Service", "ServiceMonitor"))
    assert service["spec"]["ports"] == [{"name": "metrics", "port": 80, "targetPort": port["name"]}]
    assert monitor["spec"]["endpoints"] == [{"port": "metrics", "honorLabels": True}]
    (labels,) = (
        one["spec"]["template"]["metadata"]["labels"]
        for one in manifests("all")
        if one["kind"] == "Deployment" and one["metadata"]["name"] == "rebalance-audit-metrics"
    )
    assert service["spec"]["selector"].items() <= labels.items()
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()


@needs_helm
def test_metrics_of_a_warehouse_on_the_volume_are_only_read() -> None:
    said = rendered("default", "--set", "metrics.serve.enabled=true")
    assert "- {name: data, mountPath: /data, readOnly: true}" in said.stdout


def test_no_service_of_the_namespace_gives_a_command_an_option() -> None:
    assert {component: pod["enableServiceLinks"] for component, pod in pods("all").items()} == {
        "recorder": False,
        "audit": False,
        "metrics": False,
    }


def test_only_the_owner_reads_the_files_of_routes(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "payments.url").write_text("json://localhost", encoding="utf-8")
    (tmp_path / "routes").mkdir()
    (copying,) = pods("all")["audit"]["initContainers"]
    places = {"/secret": tmp_path / "secret", "/etc/rebalance-audit": tmp_path / "routes"}
    command = [re.sub("|".join(places), lambda place: str(places[place[0]]), word) for word in copying["command"]]
    subprocess.run(command, check=True)
    assert secret_text(tmp_path / "routes" / "payments.url") == "json://localhost"
