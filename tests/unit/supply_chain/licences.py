"""Makes THIRD_PARTY_LICENSES.md, by `make licences`: what the lock installs and set-up fetches, with licences.

From the metadata of what is installed; of what is not (other systems, jars), by the tables below.
"""

import re
from collections.abc import Iterable, Iterator
from configparser import ConfigParser
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from spark_jobs.capture.jars import ROCKETMQ

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "THIRD_PARTY_LICENSES.md"
#: Of other systems or versions of Python only.
_ELSEWHERE = {"colorama": "BSD-3-Clause", "httpx2-jsfetch": "BSD-3-Clause", "pywin32": "PSF-2.0", "pyyaml-ft": "MIT"}
#: Their `License` is a text, or says less than is so.
_KNOWN = {
    "text-unidecode": "Artistic-1.0 OR GPL-2.0-or-later",
    "isoduration": "ISC",
    "lockfile": "MIT",
    "promql-parser": "MIT",
}
#: As classifiers and old metadata call them.
_CALLED = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
_LONGEST = 60
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)", re.MULTILINE)
#: By licence, the beginnings of the names of jars of RocketMQ's admin client: group_artifact-version, as set-up names
#: them.
_JARS = {
    "Apache-2.0": """
        at.yawk.lz4 com.alibaba com.fasterxml.jackson com.github.ben-manes.caffeine com.google.code.findbugs
        com.google.errorprone com.google.guava com.google.j2objc com.googlecode.concurrentlinkedhashmap
        com.squareup commons- io.netty io.opentelemetry io.prometheus org.apache org.awaitility
        org.jetbrains org.lz4 org.yaml
    """,
    "BSD-2-Clause": "com.github.luben_zstd-jni",
    "BSD-3-Clause": "com.google.protobuf org.hamcrest",
    "EPL-1.0 OR LGPL-2.1": "io.github.aliyunmq_rocketmq-logback-classic",
    "MIT": "io.github.aliyunmq_rocketmq-slf4j-api org.checkerframework org.slf4j",
    "Apache-2.0 OR MPL-1.1 OR LGPL-2.1": "org.javassist",
    "BSD-3-Clause OR WTFPL": "org.reflections",
}
CAPTURE_JARS = {prefix: licence for licence, prefixes in _JARS.items() for prefix in prefixes.split()}


def page() -> str:
    """The page, from the lock, the installed metadata and the tables above."""
    packages = (f"| {name} | {version} | {licence} | {part} |" for name, version, licence, part in _packages())
    jars = (f"| `{prefix}…` | {licence} |" for prefix, licence in sorted(CAPTURE_JARS.items()))
    return (
        (ROOT / "tests" / "unit" / "supply_chain" / "licences.md.in")
        .read_text(encoding="utf-8")
        .format(
            packages="\n".join(packages), jars="\n".join(jars), delta=metadata.version("delta-spark"), rocketmq=ROCKETMQ
        )
    )


def pins() -> list[tuple[str, str]]:
    """Name and version of every line of the lock."""
    return _PIN.findall((ROOT / "requirements.lock").read_text(encoding="utf-8"))


def licence(name: str) -> str:
    """As its metadata says, in SPDX's words where they are known; raises where nothing says."""
    if name in _KNOWN or name in _ELSEWHERE:
        return (_KNOWN | _ELSEWHERE)[name]
    told = metadata.metadata(name).json
    text = str(told.get("license_expression") or told.get("license") or "")
    named = [one.rpartition(" :: ")[2] for one in told.get("classifier", []) if one.startswith("License ::")]
    if not text or text == "UNKNOWN" or len(text) > _LONGEST or "\n" in text:
        text = " OR ".join(sorted({_CALLED[one] for one in named}))
    if not text:
        raise LookupError(f"{name} does not tell its licence: add it to _KNOWN")
    return _CALLED.get(text, text)


def _packages() -> Iterator[tuple[str, str, str, str]]:
    """Name, version, licence, and the first part of the project that needs it."""
    versions: dict[str, list[str]] = {}
    for name, version in pins():
        versions.setdefault(name, []).append(version)
    parts = _parts()
    for name, several in versions.items():
        yield name, ", ".join(several), licence(name), parts.get(name, "other systems")


def _parts() -> dict[str, str]:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    roots = {"run time": setup["options"]["install_requires"], **setup["options.extras_require"]}
    found: dict[str, str] = {}
    for part, lines in roots.items():
        _reach((line for line in lines.splitlines() if line and not line.startswith("#")), part, found)
    return found


def _reach(lines: Iterable[str], part: str, found: dict[str, str]) -> None:
    waiting, seen = [(Requirement(line), "") for line in lines], set()
    while waiting:
        requirement, extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        key = name, frozenset(requirement.extras)
        if key in seen or name in _ELSEWHERE:
            continue
        seen.add(key)
        found.setdefault(name, part)
        for one in metadata.requires(name) or ():
            waiting += [(Requirement(one), extra) for extra in ("", *requirement.extras)]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
