"""Keys come from the environment or a file of one's own, and stand in no text."""

from pathlib import Path

import pytest

from spark_jobs.capture.access import Credentials, credentials
from spark_jobs.errors import CaptureError, SecretFileError
from tests.support.commands import Typed

KEYS = {"ROCKETMQ_ACCESS_KEY": "reader", "ROCKETMQ_SECRET_KEY": "s3cret"}


def file(folder: Path, content: str, mode: int = 0o600) -> Path:
    path = folder / "tools.yml"
    path.write_text(content)
    path.chmod(mode)
    return path


def test_the_environment_has_both_or_none() -> None:
    assert credentials(KEYS, None) == Credentials("reader", "s3cret")
    assert credentials({}, None) is None
    with pytest.raises(CaptureError, match="belong together"):
        credentials({"ROCKETMQ_ACCESS_KEY": "reader"}, None)


def test_a_file_counts_more(tmp_path: Path) -> None:
    path = file(tmp_path, "accessKey: auditor\nsecretKey: 12345678\n")
    assert credentials(KEYS, path) == Credentials("auditor", "12345678")


def test_the_secret_is_in_no_text() -> None:
    assert "s3cret" not in f"{credentials(KEYS, None)} {credentials(KEYS, None)!r}"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_can_read_is_refused(mode: int, tmp_path: Path) -> None:
    with pytest.raises(SecretFileError, match="chmod 600"):
        credentials({}, file(tmp_path, "accessKey: a\nsecretKey: s3cret\n", mode))


@pytest.mark.parametrize("content", ["accessKey: a\n", "- s3cret\n", "", "accessKey: a\nsecretKey:\n", "a: [s3cret"])
def test_a_file_without_both_keys_is_named_and_its_content_is_not(content: str, tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=r"tools\.yml") as raised:
        credentials({}, file(tmp_path, content))
    assert "s3cret" not in str(raised.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SecretFileError, match=r"nothing does not exist\. Check its name"):
        credentials({}, tmp_path / "nothing")


@pytest.mark.parametrize(
    ("options", "keys", "warned"),
    [
        ("--tls", KEYS, True),
        ("--tls", {}, False),
        ("--tls --tls-config tls.properties", KEYS, False),
        ("", KEYS, False),
    ],
)
def test_a_key_for_servers_that_nothing_verifies_is_warned_of(
    options: str, keys: dict[str, str], warned: bool, monkeypatch: pytest.MonkeyPatch, typed: Typed, tmp_path: Path
) -> None:
    """Before Java starts, which is not there."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    err = typed(f"capture --namesrv 127.0.0.1:9 --out {tmp_path} {options}", code=3).err
    assert ("warning: --tls verifies no server" in err) is warned
    assert "no Java in JAVA_HOME" in err
