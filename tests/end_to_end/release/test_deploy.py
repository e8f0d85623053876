"""The deployment: the Dockerfile's steps, done by hand in an empty folder, the compose file and the manifests."""

import re
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.end_to_end.release.environments import ROOT, UV, Environment, environment, must
from tests.support.chart import CASES, manifests

pytestmark = pytest.mark.release

DEPLOY = ROOT / "deploy"
#: Where the Dockerfile installs.
INSTALLED = "/opt/rebalance-audit"


@pytest.fixture(scope="module")
def image(source: Path, with_spark: Environment, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """What the first stage makes, by uv instead of pip, which keeps what it fetches. What set-up fetched for the wheel
    or the checkout, and the archive of classes, which takes a minute, are there already.
    """
    folder = tmp_path_factory.mktemp("image")
    context, made = folder / "source", Environment(folder / "environment")
    shared = Path("share", "rebalance-audit")
    shutil.copytree(with_spark.folder / shared, made.folder / shared)
    for name in ("rocketmq-tools", "s3"):
        if (sys.prefix / shared / name).is_dir():
            shutil.copytree(sys.prefix / shared / name, made.folder / shared / name)
    made.here.mkdir()
    for name in re.findall(r"^!(.*)", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE):
        (context / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (source / name).is_dir() else shutil.copyfile
        copy(source / name, context / name)
    for step in steps():
        here = step.replace(INSTALLED, str(made.folder)).replace("python -m venv", f"{sys.executable} -m venv")
        here = here.replace("pip install --no-cache-dir", f"{UV} pip install --python {made.folder}")
        must(made("sh", "-ec", f"cd {context}; {here}"))
    return made


def steps() -> Iterator[str]:
    """The commands of the Dockerfile's first stage, but those that install the system's packages."""
    first = (ROOT / "Dockerfile").read_text(encoding="utf-8").split("\nFROM ")[1]
    for step in re.findall(r"^RUN ((?:.*\\\n)*.*)", first, re.MULTILINE):
        if "apt-get" not in step:
            yield step.replace("\\\n", "")


def test_the_image_audits_and_records_and_fetches_nothing_more(image: Environment, warehouse: Path) -> None:
    fetched = {path.name for path in (image.folder / "share" / "rebalance-audit").iterdir() if path.is_dir()}
    assert fetched == {"jars", "rocketmq-tools", "s3"}
    said = must(image("rebalance-audit", "status", "--warehouse", str(warehouse)), 1)
    assert "payment-service" in said
    asked = image("rebalance-audit", "capture", "--namesrv", "127.0.0.1:9", "--for", "1s", "--out", "recordings")
    assert asked.returncode == 3
    assert "127.0.0.1:9 does not answer" in asked.stdout


def test_its_user_may_read_everything(image: Environment) -> None:
    modes = {path: path.stat().st_mode for path in (image.folder / "share" / "rebalance-audit").rglob("*")}
    wanted = {path: stat.S_IROTH | (stat.S_IXOTH if path.is_dir() else 0) for path in modes}
    assert [path for path, mode in modes.items() if mode & wanted[path] != wanted[path]] == []


def test_the_manifests_are_those_that_kubernetes_knows(tmp_path: Path) -> None:
    checks = environment(tmp_path)
    checks.install("kubernetes-validate==1.37.0")
    # A ServiceMonitor is the Prometheus operator's.
    known = [one for case in CASES for one in manifests(case) if one["kind"] != "ServiceMonitor"]
    (tmp_path / "known.yaml").write_text(yaml.safe_dump_all(known), encoding="utf-8")
    for version in ("1.29", "1.37"):
        must(checks("kubernetes-validate", "--strict", "--kubernetes-version", version, str(tmp_path / "known.yaml")))


def test_the_compose_file_names_what_it_has() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    assert set(compose["services"]) == {"capture", "audit", "metrics"}
    for service in compose["services"].values():
        assert (DEPLOY / service["build"] / "Dockerfile").is_file()
        assert {volume.partition(":")[0] for volume in service["volumes"]} == {*compose["volumes"], "${CONFIG"}
