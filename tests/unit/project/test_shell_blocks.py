"""Every shell block of the pages runs. Commands that only read run on the recording; all others as far as their
arguments, in a shell in which each other program notes what it is given.
"""

import importlib.util
import re
import shlex
import subprocess
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_jobs.cli.commands import COMMANDS
from spark_jobs.cli.environment import with_environment
from spark_jobs.cli.main import build_parser, check_names, main

ROOT = Path(__file__).parents[3]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("*.md"))]
#: Programs that note their arguments, and those of the system that run.
NOTED = "airflow docker git helm kubectl make mqadmin mvn pip python python3 rebalance-audit"
NOTED += " spark-class spark-submit venv-pack"
REAL = "bash cat date grep ls paste"
SAMPLE = "status incidents explain trends suggest clients runs report metrics what-if"
#: Commands that have answered. A report takes seconds: one is made.
ANSWERED: set[tuple[object, ...]] = set()
STUB = '#!/bin/bash\nprintf "%s\\0" "${0##*/}" "$@" >> "$CALLS"; printf "\\n" >> "$CALLS"\n'


def blocks() -> Iterator[tuple[str, str]]:
    """(page and number, script) of every block of shell commands and of every line for cron."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        fences = re.findall(r"^ *```(console|cron)\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
        for number, (kind, block) in enumerate(fences, 1):
            yield f"{page.name}-{number}", of_cron(block) if kind == "cron" else re.sub(r"(?m)^ *\$ ", "", block)


def of_cron(table: str) -> str:
    """The commands of a cron table: five fields of time before each, and a percent sign is written with a backslash."""
    lines = [line.split(maxsplit=5) for line in table.splitlines() if not line.strip().startswith("#")]
    assert all(len(fields) == 6 for fields in lines)
    return "\n".join(fields[5].replace("\\%", "%") for fields in lines)


@pytest.fixture(scope="module")
def folder(example_warehouse: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a reader types: the clone's files, recordings, the warehouse of the demo; and the programs, in `bin`."""
    here = tmp_path_factory.mktemp("typed")
    for name in ("examples", "spark_jobs", "deploy"):
        (here / name).symlink_to(ROOT / name)
    for path in (
        "recordings/1.jsonl.gz",
        "logs/broker-a/broker.log",
        ".venv/share/rebalance-audit/jars/a.jar",
        ".venv/share/rebalance-audit/s3/b.jar",
    ):
        (here / path).parent.mkdir(parents=True)
        (here / path).touch()
    (here / "bin").mkdir()
    for name in NOTED.split():
        (here / "bin" / name).write_text(STUB)
        (here / "bin" / name).chmod(0o755)
    for name in REAL.split():
        (here / "bin" / name).symlink_to(Path("/bin", name))
    (here / "warehouse").symlink_to(example_warehouse)
    return here


def calls(script: str, folder: Path) -> list[list[str]]:
    """What the script calls: programs with their arguments. Fails if a program or a file is missing."""
    noted = folder / "calls"
    noted.write_bytes(b"")
    by_name = re.sub(r"(?<![\w./$-])[\w./$-]*/bin/(?=[\w-]+ )", "", script)
    environment = {"PATH": str(folder / "bin"), "CALLS": str(noted), "AIRFLOW_HOME": "/airflow", "HOME": str(folder)}
    command = [str(folder / "bin" / "bash"), "-euo", "pipefail", "-c", f"{by_name}\nwait"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode in (0, 1), done.stderr) == (True, "")
    return [line.split("\0")[:-1] for line in noted.read_text(encoding="utf-8").split("\n") if line]


@pytest.mark.parametrize("script", [pytest.param(script, id=name) for name, script in blocks()])
def test_it_runs(
    script: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    called = calls(script, folder)
    assert called or script.startswith("export")
    for program, *words in called:
        match program:
            case "rebalance-audit":
                accepted(words, capsys)
            case "spark-submit" if "spark_jobs/submit/main.py" in words:
                accepted(words[words.index("spark_jobs/submit/main.py") + 1 :], capsys)
            case "make":
                targets = re.findall(r"^([\w./-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
                assert {word for word in words if "=" not in word} <= {*targets}
            case "python" | "python3" if words[0] == "-m":
                assert importlib.util.find_spec(words[1]), words


def accepted(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The command takes the arguments; if it only reads the warehouse of the demo, it answers."""
    if words[0].startswith("--"):  # it answers without a command
        assert main(words) == 0
        return
    words = with_environment(words, {})
    check_names(words, COMMANDS)
    arguments = build_parser().parse_args(words)
    # Another group, another incident, and a time that counts from now are not the demo's.
    of_the_demo = getattr(arguments, "group", None) != "G" and {"id", "last"}.isdisjoint(given(arguments))
    if of_the_demo and arguments.name in SAMPLE.split() and Path(arguments.warehouse) == Path("warehouse"):
        kind = (arguments.name,) if arguments.name == "report" else tuple(words)
        if kind not in ANSWERED:
            assert main(words) in (0, 1, 2), capsys.readouterr().err
            ANSWERED.add(kind)


def given(arguments: Namespace) -> set[str]:
    """The names of the options that have a value."""
    return {name for name, value in vars(arguments).items() if value is not None}


def test_no_command_hides_in_another_block() -> None:
    for page in PAGES:
        for block in re.findall(r"^ *```text\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            for line in block.splitlines():
                first, second, *_ = [*shlex.split(line.replace("'", "")), "", ""] if '"' not in line else ["", ""]
                assert first not in {*NOTED.split()} or second not in COMMANDS, f"{page.name}: {line}"
