"""The chart of Helm, and the manifests that it renders: `python -m tests.support.chart` writes them.

They are kept in `tests/data/chart`, with a hash of what they were made of, so that tests read them without Helm.
"""

import shutil
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm" / "rebalance-audit"
RENDERED = ROOT / "tests" / "data" / "chart"
#: The defaults, and every value that adds something.
CASES = ("default", "all")


def helm() -> str | None:
    """The path of Helm; None if it is not installed."""
    return shutil.which("helm")


def rendered_by_helm(case: str, *options: str) -> subprocess.CompletedProcess[str]:
    """What Helm prints for the values of the case. One that `go install` made says that its Kubernetes is 1.20."""
    command = [helm() or "helm", "template", "rebalance-audit", str(CHART), "--kube-version", "1.29", *options]
    values = str(RENDERED / f"{case}.values.yaml")
    return subprocess.run([*command, "--values", values], capture_output=True, text=True, check=False)


def hash_of_sources(case: str) -> str:
    """The hash of all files that the manifests of a case are made of."""
    files = [*sorted(path for path in CHART.rglob("*") if path.is_file()), RENDERED / f"{case}.values.yaml"]
    return sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def kept(case: str) -> tuple[str, str]:
    """The kept manifests of a case: the hash of their sources, and the text."""
    first, _, text = (RENDERED / f"{case}.yaml").read_text(encoding="utf-8").partition("\n")
    return first.removeprefix("# of "), text


def manifests(case: str) -> list[dict[str, Any]]:
    """The kept manifests of a case, in their order."""
    return [*yaml.safe_load_all(kept(case)[1])]


def pods(case: str) -> dict[str, dict[str, Any]]:
    """The spec of each pod of a case, by the component."""
    templates = {}
    for manifest in manifests(case):
        job = manifest.get("spec", {}).get("jobTemplate", manifest)
        if template := job.get("spec", {}).get("template"):
            templates[template["metadata"]["labels"]["app.kubernetes.io/component"]] = template["spec"]
    return templates


if __name__ == "__main__":
    for name in CASES:
        said = rendered_by_helm(name)
        assert said.returncode == 0, said.stderr
        (RENDERED / f"{name}.yaml").write_text(f"# of {hash_of_sources(name)}\n{said.stdout}", encoding="utf-8")
