"""Downloads by Spark's own Ivy. They say what they fetch, continue after they broke off, and name what is missing."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from spark_jobs.errors import SetupError

#: Maven's local repository, then Central; `dual`: a jar that one of them lacks comes from the other.
_IVY_SETTINGS = """<ivysettings><settings defaultResolver="all"/><resolvers><chain name="all" dual="true">
<ibiblio name="maven" m2compatible="true" root="file:${user.home}/.m2/repository/"/>
<ibiblio name="central" m2compatible="true"/>
</chain></resolvers></ivysettings>"""
_SETTING = "spark.jars.ivySettings"
_IN_SPARKS = f"{_SETTING} in spark-defaults.conf"
_ATTEMPTS = 4
_FOUND = re.compile(r"^\tfound (\S+)#(\S+);(\S+) in ")
_DOWNLOADING = re.compile(r"^downloading \S+/(\S+\.jar) \.\.\.")
_FAILED = re.compile(r"^\t*:: (\S+)#([^;]+);([^!:\s]+)(?:!|: not found)")
#: What goes by: Ivy says so of a server that does not answer, and of a file that is shorter than announced.
_PASSING = re.compile(r"access error|timed out|reset|refused|Premature|size of|FAILED  ? ?\]|Host \S+ not found")


class Package(NamedTuple):
    """A package: title, Maven coordinates, exclusions, and its required files (`group_artifact-version.jar`).

    `instead`: how to get a version that exists.
    """

    title: str
    coordinates: str
    excluded: str
    needed: Sequence[str]
    instead: str


class _BrokenOffError(SetupError):
    """A download that may succeed the next time."""


def download(package: Package, jars: Path, kept: Path, say: Callable[[str], object]) -> None:
    """Download a package into the folder `jars`, with retries; `kept` keeps parts for the next. Raises `SetupError`."""

    def say_again(state: RetryCallState) -> None:
        say(f"the download broke off; trying again ({state.attempt_number + 1} of {_ATTEMPTS})")

    kept.mkdir(exist_ok=True)
    for attempt in Retrying(
        retry=retry_if_exception_type(_BrokenOffError),
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_exponential(multiplier=2, max=20),
        before_sleep=say_again,
        reraise=True,
    ):
        with attempt:
            _resolve(package, kept, say)
    (kept / "jars").rename(jars)
    shutil.rmtree(kept)


def _resolve(package: Package, kept: Path, say: Callable[[str], object]) -> None:
    """One run of Ivy. Raises `SetupError` unless all jars are in `kept / "jars"`."""
    say(f"resolving {package.title} ({package.coordinates})")
    shutil.rmtree(kept / "jars", ignore_errors=True)  # hard to tell from an older version's
    log = list[str]()
    environment = os.environ | {"SPARK_HOME": str(_home()), "PYSPARK_PYTHON": sys.executable}
    with subprocess.Popen(
        _command(package, kept), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment
    ) as ivy:
        assert ivy.stderr
        artifacts = 0
        for line in ivy.stderr:
            log.append(line)
            artifacts += bool(_FOUND.match(line))
            if fetched := _DOWNLOADING.match(line):
                say(f"downloading {fetched[1]}, one of {artifacts} artifacts")
    if ivy.returncode or any(not (kept / "jars" / name).is_file() for name in package.needed):
        raise _failure(package, log)


def _command(package: Package, kept: Path) -> list[str]:
    nothing, settings = kept / "nothing.py", kept / "ivysettings.xml"
    nothing.touch()
    settings.write_text(_IVY_SETTINGS, encoding="utf-8")
    command = [str(_home() / "bin" / "spark-submit"), "--master", "local[1]"]
    command += ["--packages", package.coordinates, "--exclude-packages", package.excluded]
    command += ["--conf", f"spark.jars.ivy={kept}"]
    command += [] if _has_settings() else ["--conf", f"{_SETTING}={settings}"]
    return [*command, str(nothing)]


def _home() -> Path:
    return Path(str(metadata.distribution("pyspark").locate_file("pyspark")))


def _has_settings() -> bool:
    """Return whether this user's Spark names its own repositories."""
    defaults = Path(os.environ.get("SPARK_CONF_DIR", _home() / "conf"), "spark-defaults.conf")
    return defaults.is_file() and _SETTING in defaults.read_text(encoding="utf-8")


def _failure(package: Package, log: Sequence[str]) -> SetupError:
    """The error: the artifact that is missing, where Ivy names it, and how to bring it."""
    missing = next((":".join(match.groups()) for line in log if (match := _FAILED.match(line))), None)
    failed = f"{package.title} could not be downloaded, nothing was changed: "
    failed += f"{missing} is not found" if missing else _reason(log)
    broke_off = any(_PASSING.search(line) for line in log)
    if missing and not broke_off:  # no repository has it, now or later
        return SetupError(f"{failed}. {package.instead}. Or name a repository that has it, with {_IN_SPARKS}")
    in_maven = missing and not _has_settings()
    by_hand = f"mvn dependency:get -Dartifact={missing}" if in_maven else "setup --from FOLDER"
    return (_BrokenOffError if broke_off else SetupError)(
        f"{failed}. Run the command again to continue; or fetch it by hand ({by_hand}), and run it again. "
        f"Behind a proxy, set {_IN_SPARKS}"
    )


def _reason(log: Sequence[str]) -> str:
    """The last line of spark-submit's output that names an error."""
    lines = [line.strip() for line in log if line.strip()]
    errors = [line for line in lines if re.search(r"not found|Exception|Error|denied|No space", line)]
    return (errors or lines or ["no output"])[-1][:300].rstrip(".")
