"""Clusters with ACL 2, with ACL 1 and with TLS: recorded with the right keys and certificates, and with others one
sentence says so. No secret is anywhere.
"""

import gzip
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.end_to_end.live import certificates
from tests.end_to_end.live.cluster import VERSION, Cluster, cluster

pytestmark = pytest.mark.live

#: The last release on Maven Central whose brokers have ACL 1.
WITH_ACL_1 = "5.2.0"
SECRET, READERS = "a-secret-of-the-test", "another-secret-of-the-test"
_AUTH = "org.apache.rocketmq.auth"
ACL_2 = f"""authenticationEnabled=true
authorizationEnabled=true
authConfigPath=STORE/auth
authenticationProvider={_AUTH}.authentication.provider.DefaultAuthenticationProvider
authenticationMetadataProvider={_AUTH}.authentication.provider.LocalAuthenticationMetadataProvider
authorizationProvider={_AUTH}.authorization.provider.DefaultAuthorizationProvider
authorizationMetadataProvider={_AUTH}.authorization.provider.LocalAuthorizationMetadataProvider
initAuthenticationUser={{"username":"auditors-chief","password":"{SECRET}"}}
innerClientAuthenticationCredentials={{"accessKey":"auditors-chief","secretKey":"{SECRET}"}}
"""
PLAIN_ACL = f"""accounts:
- accessKey: auditors-chief
  secretKey: {SECRET}
  admin: true
- accessKey: auditor
  secretKey: {READERS}
  admin: false
  defaultTopicPerm: DENY
  defaultGroupPerm: DENY
"""
REFUSED = "rebalance-audit: the cluster does not accept the access key and secret key: check them and their permissions"
READER = {"ROCKETMQ_ACCESS_KEY": "auditor", "ROCKETMQ_SECRET_KEY": READERS}


@contextmanager
def closed(folder: Path, settings: str, version: str = VERSION) -> Iterator[Cluster]:
    """A cluster with one group, whose members have the keys of the chief."""
    with pytest.MonkeyPatch.context() as patched, cluster(folder, settings, version=version) as made:
        patched.setenv("LIVE_KEYS", f"auditors-chief:{SECRET}")
        with_group(made)
        yield made


def with_group(made: Cluster) -> None:
    made.admin("topics", "bills:4")
    made.clients("producer", "produce", ["bills"])
    made.consumers("consumers", ["acl-service,bills,10.9.8.1,1,avg", "acl-service,bills,10.9.8.2,1,avg"])
    time.sleep(10)


@pytest.fixture(scope="module")
def acl_2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with closed(tmp_path_factory.mktemp("acl2"), ACL_2) as made:
        made.reader("auditors-chief", SECRET, "auditor", READERS)
        yield made


def captured(made: Cluster, out: Path, *options: str, **keys: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "spark_jobs.cli", "capture", "--namesrv", made.namesrv, "--verbose"]
    environment = {name: text for name, text in os.environ.items() if not name.startswith("ROCKETMQ_")} | keys
    command += ["--out", str(out), *(options or ["--once"])]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment)


def text_of(folder: Path) -> str:
    return "".join(gzip.decompress(file.read_bytes()).decode() for file in sorted(folder.glob("*.jsonl.gz")))


def fates(folder: Path) -> Counter[tuple[str, str]]:
    calls = [line for line in map(json.loads, text_of(folder).splitlines()) if line["kind"] == "call"]
    return Counter((line["request"], json.loads(line["body"])["fate"]) for line in calls)


def check_whole(done: subprocess.CompletedProcess[str], folder: Path) -> None:
    """Everything that is asked was answered, and nothing shows a secret."""
    assert done.returncode == 0, done.stderr
    found = fates(folder)
    asked = {"brokers", "broker_version", "groups", "request_modes", "route", "topic_config"}
    asked |= {"connection", "stats", "topicstats", "running"}
    assert {request for request, fate in found if fate == "ANSWERED"} == asked
    assert not [request for request, fate in found if fate in ("FAILED", "TIMED_OUT", "REFUSED") and request != "route"]
    for secret in (SECRET, READERS):
        assert secret not in text_of(folder) + done.stderr + done.stdout


def sentences(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("rebalance-audit:")]


def test_a_reader_with_keys_from_the_environment_and_from_a_file(acl_2: Cluster, tmp_path: Path) -> None:
    minute = captured(acl_2, tmp_path / "one", "--cadence", "5s", "--for", "40s", **READER)
    check_whole(minute, tmp_path / "one")
    keys = tmp_path / "tools.yml"
    keys.write_text(f"accessKey: auditor\nsecretKey: {READERS}\n")
    keys.chmod(0o600)
    check_whole(captured(acl_2, tmp_path / "two", "--once", "--access", str(keys)), tmp_path / "two")


@pytest.mark.parametrize("keys", [READER | {"ROCKETMQ_SECRET_KEY": "another"}, {}])
def test_wrong_keys_are_one_sentence(keys: dict[str, str], acl_2: Cluster, tmp_path: Path) -> None:
    done = captured(acl_2, tmp_path / "out", **keys)
    assert done.returncode == 3
    assert sentences(done) == [REFUSED]
    assert not (tmp_path / "out").exists()


def test_capture_reads_a_cluster_with_acl_1(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "plain_acl.yml").write_text(PLAIN_ACL)
    with closed(tmp_path, "aclEnable=true\n", WITH_ACL_1) as made:
        check_whole(captured(made, tmp_path / "one", **READER), tmp_path / "one")
        wrong = captured(made, tmp_path / "out", **READER | {"ROCKETMQ_SECRET_KEY": "another"})
        assert (wrong.returncode, sentences(wrong)) == (3, [REFUSED])


def test_capture_reads_a_cluster_over_tls(tmp_path: Path) -> None:
    made_of = certificates.make(tmp_path / "certificates")
    stranger = certificates.make(tmp_path / "stranger")
    with cluster(tmp_path, options=made_of.server_options()) as made:
        with_group(made)
        trusted = captured(made, tmp_path / "one", "--once", "--tls-config", str(made_of.client_file()))
        check_whole(trusted, tmp_path / "one")
        # By itself RocketMQ's client trusts every server.
        assert captured(made, tmp_path / "two", "--once", "--tls").returncode == 0
        for options in (["--tls-config", str(stranger.client_file())], []):
            done = captured(made, tmp_path / "out", "--once", *options)
            (sentence,) = sentences(done)
            assert done.returncode == 3
            assert sentence.startswith(f"rebalance-audit: {made.namesrv} does not answer (")
            assert sentence.endswith("check --namesrv, TLS and the network")
        absent = captured(made, tmp_path / "out", "--once", "--tls-config", str(tmp_path / "nothing"))
        assert sentences(absent) == [
            f"rebalance-audit: {tmp_path}/nothing cannot be read: check its name and permissions"
        ]
        wrong = made_of.folder / "wrong.properties"
        wrong.write_text("tls.client.keyPath=/nothing/key.pem\ntls.client.certPath=/nothing/cert.pem\n")
        (sentence,) = sentences(captured(made, tmp_path / "out", "--once", "--tls-config", str(wrong)))
        assert "/nothing/cert.pem" in sentence
        assert not (tmp_path / "out").exists()
