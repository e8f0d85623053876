"""A cluster with ACL 2 is recorded with the right keys; with others one sentence says so, and no secret is anywhere."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.cluster import Cluster, cluster

pytestmark = pytest.mark.live

SECRET = "a-secret-of-the-test"
ACL = f"""authenticationEnabled=true
authConfigPath=STORE/auth
authenticationProvider=org.apache.rocketmq.auth.authentication.provider.DefaultAuthenticationProvider
authenticationMetadataProvider=org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider
initAuthenticationUser={{"username":"auditor","password":"{SECRET}"}}
innerClientAuthenticationCredentials={{"accessKey":"auditor","secretKey":"{SECRET}"}}
"""


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("access"), os.environ.get("ROCKETMQ", "5.4.0"), ACL) as made:
        yield made


def captured(closed: Cluster, out: Path, *options: str, **keys: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "spark_jobs.cli", "capture", "--namesrv", closed.namesrv, "--once", "--verbose"]
    environment = {name: text for name, text in os.environ.items() if not name.startswith("ROCKETMQ_")} | keys
    return subprocess.run(
        [*command, "--out", str(out), *options], check=False, capture_output=True, text=True, env=environment
    )


def test_right_keys_from_the_environment_and_from_a_file(closed: Cluster, tmp_path: Path) -> None:
    done = captured(closed, tmp_path / "one", ROCKETMQ_ACCESS_KEY="auditor", ROCKETMQ_SECRET_KEY=SECRET)
    assert done.returncode == 0, done.stderr
    keys = tmp_path / "tools.yml"
    keys.write_text(f"accessKey: auditor\nsecretKey: {SECRET}\n")
    keys.chmod(0o600)
    assert captured(closed, tmp_path / "two", "--access", str(keys)).returncode == 0
    (file,) = (tmp_path / "one").glob("*.jsonl.gz")
    text = gzip.decompress(file.read_bytes()).decode()
    assert '"request":"groups"' in text
    assert "FAILED" not in text
    assert SECRET not in text + done.stderr + done.stdout


@pytest.mark.parametrize("keys", [{"ROCKETMQ_ACCESS_KEY": "auditor", "ROCKETMQ_SECRET_KEY": "another"}, {}])
def test_wrong_keys_are_one_sentence(keys: dict[str, str], closed: Cluster, tmp_path: Path) -> None:
    done = captured(closed, tmp_path / "out", **keys)
    assert done.returncode == 3
    said = [line for line in done.stderr.splitlines() if line.startswith("rebalance-audit:")]
    assert said == [
        "rebalance-audit: the cluster does not accept the access key and secret key: check them and their rights"
    ]
    assert not (tmp_path / "out").exists()
