"""Set-up: Python, Java and Delta's jars are checked in plain words, and the jars come whole or not at all."""

import os
import re
import shutil
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

from spark_jobs.capture.jars import check_tools
from spark_jobs.errors import SetupError
from spark_jobs.runtime.session import JARS_DIR
from spark_jobs.setup.class_archive import make_archive
from spark_jobs.setup.download import Package, download
from spark_jobs.setup.jars import check_jars, fetch_jars, fetch_s3, fetch_tools, jar_names
from spark_jobs.setup.java import check_java
from spark_jobs.store.s3 import s3a as s3

ROOT = Path(__file__).parents[2]
INSTALL = "install Java 17 or 21 (any OpenJDK), or point JAVA_HOME at one"


def program(directory: Path, name: str, script: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def java_of_version(directory: Path, version: str) -> Path:
    return program(directory, "java", f"echo 'openjdk version \"{version}\" 2026-01-01' >&2")


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of PATH; JAVA_HOME is not set."""
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tmp_path / "path"


@pytest.mark.parametrize("version", ["17.0.15", "17", "21.0.2", "21-ea"])
def test_java_17_and_21_will_do(version: str, on_path: Path) -> None:
    java_of_version(on_path, version)
    check_java()


@pytest.mark.parametrize(("version", "major"), [("1.8.0_392", 8), ("11.0.1", 11), ("25.0.1", 25), ("170", 170)])
def test_another_java_is_named(version: str, major: int, on_path: Path) -> None:
    java = java_of_version(on_path, version)
    with pytest.raises(SetupError) as raised:
        check_java()
    assert str(raised.value) == f"{java} is version {major}: {INSTALL}"


def test_java_home_comes_before_the_path(on_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SetupError, match=re.escape(f"no Java on the PATH: {INSTALL}")):
        check_java()
    java_of_version(on_path, "17.0.1")
    java = java_of_version(tmp_path / "home" / "bin", "11.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    with pytest.raises(SetupError, match=re.escape(f"{java} is version 11: {INSTALL}")):
        check_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(SetupError, match=re.escape(f"no Java in JAVA_HOME ({tmp_path}/nowhere): {INSTALL}")):
        check_java()


def make_check_tools(python: str, path: Path) -> tuple[int, list[str]]:
    """Exit code of `make`, and what it printed beside its own words."""
    environment = {key: value for key, value in os.environ.items() if key not in ("JAVA_HOME", "MAKEFLAGS")}
    answer = subprocess.run(
        ["make", "--directory", str(ROOT), "--no-print-directory", "check-tools", f"PYTHON={python}"],
        env=environment | {"PATH": f"{path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = (answer.stdout + answer.stderr).splitlines()
    return answer.returncode, [line for line in lines if not line.startswith("make")]


def test_make_reports_a_python_and_a_java_that_are_too_old(tmp_path: Path) -> None:
    program(tmp_path, "old-python", "exit 1")
    for python in ("old-python", "no-such-python"):
        message = f"rebalance-audit: needs Python 3.11 or newer, which {python} is not: "
        message += "install it, or name another with make PYTHON=python3.12"
        assert make_check_tools(python, tmp_path) == (2, [message])
    java = java_of_version(tmp_path, "11.0.1")
    message = f"rebalance-audit: {java} is version 11: {INSTALL}"
    assert make_check_tools("python3", tmp_path) == (2, [message])


def test_missing_jars_are_an_error_that_says_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=rf"{tmp_path} has no io.delta_delta-spark.*rebalance-audit setup` once"):
        check_jars(tmp_path)
    with pytest.raises(SetupError, match=rf"{tmp_path} has no rocketmq-tools.*rebalance-audit setup --capture` once"):
        check_tools(tmp_path)


def test_an_archive_of_classes_is_made_once_and_may_be_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive, calls = tmp_path / "classes-2.jsa", list[list[str]]()

    def made(command: list[str], **_: object) -> None:
        calls.append(command)
        Path(command[-1]).write_text("classes")

    def failed(command: list[str], **_: object) -> None:
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(subprocess, "run", failed)
    assert not make_archive(archive)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(subprocess, "run", made)
    (tmp_path / "classes-1.jsa").touch()  # of a Spark before
    assert make_archive(archive)
    assert make_archive(archive)
    assert len(calls) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["classes-2.jsa"]


@pytest.mark.slow
def test_preparing_the_classes_leaves_nothing_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark makes its `spark-warehouse` where it works."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert make_archive(tmp_path / "classes-1.jsa")
    assert list((tmp_path / "here").iterdir()) == []
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["classes-1.jsa"]


def repository(root: Path, jars: tuple[str, ...]) -> None:
    """Fills a Maven repository on disk with Delta's jars."""
    for name in jars:
        artifact, _, version = name.removeprefix("io.delta_").removesuffix(".jar").rpartition("-")
        storage = (
            "<dependency><groupId>io.delta</groupId><artifactId>delta-storage</artifactId>"
            f"<version>{version}</version></dependency>"
        )
        into_repository(root, "io.delta", artifact, version, JARS_DIR / name, "" if "storage" in artifact else storage)


def into_repository(root: Path, group: str, artifact: str, version: str, jar: Path, dependencies: str = "") -> None:
    folder = root.joinpath("repository", *group.split("."), artifact, version)
    folder.mkdir(parents=True)
    shutil.copy(jar, folder / f"{artifact}-{version}.jar")
    (folder / f"{artifact}-{version}.pom").write_text(
        f"<project><modelVersion>4.0.0</modelVersion><groupId>{group}</groupId>"
        f"<artifactId>{artifact}</artifactId><version>{version}</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )


def configuration(root: Path) -> Path:
    """Spark's folder of configuration, which makes Ivy ask the repository alone."""
    settings = root / "ivysettings.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="disk"/><resolvers>'
        f'<ibiblio name="disk" m2compatible="true" root="file://{root}/repository/"/></resolvers></ivysettings>'
    )
    (root / "spark-defaults.conf").write_text(f"spark.jars.ivySettings {settings}\n")
    return root


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is not there yet; what it is to hold comes from the repository below `tmp_path` alone."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(configuration(tmp_path)))
    return tmp_path / "share" / "jars"


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_jars_come_once(target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository(tmp_path, jar_names())
    target.mkdir(parents=True)
    (target / "io.delta_delta-storage-0.1.0.jar").touch()  # of a version before
    fetch_jars(target)
    assert names(target) == sorted(jar_names())
    monkeypatch.setenv("PATH", "")  # no Java, no shell: nothing can be resolved now
    fetch_jars(target)
    check_jars(target)


def test_half_of_the_jars_is_none_and_a_second_download_fetches_only_the_rest(target: Path, tmp_path: Path) -> None:
    repository(tmp_path, jar_names()[:1])
    with pytest.raises(
        SetupError, match=r"Delta's jars could not be downloaded.*io.delta:delta-storage:\S+ is not found"
    ):
        fetch_jars(target)
    assert not target.exists()
    shutil.rmtree(tmp_path / "repository")
    repository(tmp_path, jar_names()[1:])
    said = list[str]()
    fetch_jars(target, say=said.append)
    assert names(target) == sorted(jar_names())
    assert said[0].startswith("resolving Delta's jars (io.delta:delta-spark")
    assert any(re.fullmatch(r"downloading delta-storage-\S+\.jar, one of 2 artifacts", line) for line in said)
    assert names(target.parent) == ["jars"]


def test_a_version_without_jars_names_one_that_has_them(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No repository has the jars of delta-spark 4.4.1: to try again, or to ask Maven for them, would not bring them."""
    versions = {"delta-spark": "4.4.1", "pyspark": "4.1.3"}
    monkeypatch.setattr("spark_jobs.setup.jars.metadata.version", versions.__getitem__)
    with pytest.raises(SetupError) as raised:
        fetch_jars(target)
    assert str(raised.value) == (
        "Delta's jars could not be downloaded, nothing was changed: io.delta:delta-spark_4.1_2.13:4.4.1 is not found. "
        "Install the version that rebalance-audit needs (pip install delta-spark==4.4.0), and run the command again. "
        "Or name a repository that has it, with spark.jars.ivySettings in spark-defaults.conf"
    )


@pytest.mark.parametrize(("broken_off", "works"), [(3, True), (4, False)])
def test_a_download_that_breaks_off_is_tried_again(
    broken_off: int, works: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `spark-submit` whose first runs lose their connection; pauses are not waited for."""
    jars, tries = tmp_path / "kept" / "jars", tmp_path / "tries"
    script = (
        f"echo x >> {tries}; if [ $(wc -l < {tries}) -le {broken_off} ]; then "
        'echo "\t\t:: g#a;1.0!a.jar" >&2; echo "Connection reset" >&2; exit 1; fi; '
        f"mkdir -p {jars}; touch {jars}/g_a-1.0.jar"
    )
    program(tmp_path / "bin", "spark-submit", script)
    monkeypatch.setattr("spark_jobs.setup.download._home", lambda: tmp_path)
    monkeypatch.setattr("time.sleep", lambda _: None)
    said = list[str]()
    package = Package("A", "g:a:1.0", "", ["g_a-1.0.jar"], "Take 1.1")
    failed = pytest.raises(SetupError, match=r"nothing was changed: g:a:1\.0 is not found.*mvn dependency:get")
    with nullcontext() if works else failed:
        download(package, tmp_path / "jars", tmp_path / "kept", said.append)
    assert not works or names(tmp_path / "jars") == ["g_a-1.0.jar"]
    again = "the download broke off; trying again"
    assert [line for line in said if line.startswith(again)] == [f"{again} ({n} of 4)" for n in (2, 3, 4)]


def test_s3a_is_fetched_whole_or_not_at_all(target: Path) -> None:
    target.mkdir(parents=True)
    (target / "half.jar").touch()
    assert s3.installed(target) == []
    with pytest.raises(SetupError, match=r"Hadoop's S3A could not be downloaded, nothing was changed"):
        fetch_s3(target, JARS_DIR)
    assert [file.name for file in target.parent.rglob("*.jar")] == ["half.jar"]


def test_the_admin_client_comes_in_the_place_of_another_version(
    target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = JARS_DIR / jar_names()[1]
    into_repository(tmp_path, "org.apache.rocketmq", "rocketmq-tools", "5.5.0", jar)
    target.mkdir(parents=True)
    (target / "org.apache.rocketmq_rocketmq-tools-5.4.0.jar").touch()
    with pytest.raises(
        SetupError, match=r"admin client could not be downloaded.*5\.6\.0 is not found.* fetches 5\.4\.0\."
    ):
        fetch_tools(target, "5.6.0")
    assert names(target) == ["org.apache.rocketmq_rocketmq-tools-5.4.0.jar"]
    fetch_tools(target, "5.5.0")
    assert names(target) == ["org.apache.rocketmq_rocketmq-tools-5.5.0.jar"]
    monkeypatch.setenv("PATH", "")  # nothing can be resolved now
    fetch_tools(target, "5.5.0")
    check_tools(target)
