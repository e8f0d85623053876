"""A failure of the disk, a permission, memory or Spark's Java process is one sentence with exit code 4."""

import errno
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pyspark
import pytest
from py4j.protocol import Py4JError

from spark_jobs.runtime import faults
from spark_jobs.runtime.faults import explained, own_error
from tests.support.commands import Typed


def os_error(number: int, file: str | None = "/w/_claims/all.lock") -> OSError:
    return OSError(number, "words", file)


def caused(cause: Exception) -> Exception:
    error = RuntimeError("the step failed")
    error.__cause__ = cause
    return error


_CUT_STREAM = "java.io.IOException: Unexpected end of input"
_OF_PYTHON = "at org.apache.spark.sql.execution.python.PythonArrowOutput$$anon$1.read"
_TO_PYTHON = "java.net.SocketException: Broken pipe\n\tat org.apache.spark.api.python.BasePythonRunner$Writer.open"
_MKDIRS = "Mkdirs failed to create file:"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (os_error(errno.ENOSPC), "no space left for the warehouse {w} (/w/_claims/all.lock), or for Spark's scratch"),
        (caused(os_error(errno.ENOSPC)), "no space left"),
        (os_error(errno.EDQUOT), "no space left"),
        (os_error(errno.EROFS), "the warehouse {w} (/w/_claims/all.lock) is on a file system that is read-only"),
        (os_error(errno.EACCES), "may not write in the warehouse {w} (/w/_claims/all.lock)"),
        (RuntimeError("java.io.IOException: No space left on device"), "no space left for the warehouse {w}, or"),
        (RuntimeError("java.io.FileNotFoundException: /w/x (Permission denied)"),
         "may not write in the warehouse {w}:"),
        # The kernel's own files are on a file system in which no user may create any.
        (RuntimeError(f"{_MKDIRS}/proc/self/none/step_start=1 10%3A00"), "{w} (/proc/self/none/step_start=1)"),
        (RuntimeError("[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file file:/w/t/0.parquet. "
                      "File does not exist."), "/w/t/0.parquet is not there any more: it was moved, removed or"),
        (RuntimeError("SparkException: Python worker exited unexpectedly (crashed)"),
         "a Python worker of Spark has ended"),
        (RuntimeError(f"SparkException: Task 0 failed 1 times\n{_CUT_STREAM} trying to read batch.\n\t{_OF_PYTHON}"),
         "a Python worker of Spark has ended"),
        (RuntimeError(_TO_PYTHON), "a Python worker of Spark has ended"),
        (RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number."),
         "Spark's Java process has ended while it started: it was stopped, or the system lacked memory"),
        (RuntimeError("java.lang.OutOfMemoryError: Java heap space"), "not enough memory. Give it more with PYSPARK_"),
        (RuntimeError("io.netty.util.internal.OutOfDirectMemoryError: failed to allocate 1305044992 byte(s) of direct "
                      "memory (used: 1315167888, max: 2386558976)"), "Java process has not enough memory"),
        (RuntimeError("org.apache.arrow.memory.OutOfMemoryException: Failure allocating buffer."),
         "Java process has not enough memory"),
    ],
)  # fmt: skip
def test_a_failure_of_the_system_is_one_sentence(error: Exception, sentence: str, tmp_path: Path) -> None:
    assert sentence.format(w=tmp_path) in (explained(error, tmp_path) or "")


@pytest.mark.parametrize("error", [RuntimeError(_CUT_STREAM), RuntimeError(f"{_MKDIRS}/w/x"), ValueError("no number")])
def test_another_error_is_a_bug(error: Exception, tmp_path: Path) -> None:
    assert explained(error, tmp_path) is None
    assert explained(KeyError("x"), None) is None


def test_a_warehouse_that_is_gone_explains_only_errors_of_files(tmp_path: Path) -> None:
    assert "is not there any more" in (explained(RuntimeError(f"{_MKDIRS}/w/x"), tmp_path / "gone") or "")
    assert explained(ValueError("no number"), tmp_path / "gone") is None


@pytest.mark.parametrize(
    ("code", "sentence"), [("kill -9 $$", "by signal 9"), ("exit 52", "enough memory"), ("exit 1", "code 1")]
)
@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(111, "Connection refused"),
        Py4JError("org.apache.spark.sql.functions.explode does not exist in the JVM"),
    ],
)
def test_java_that_has_ended(code: str, sentence: str, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["sh", "-c", f"sleep 0.2; {code}"]) as java:
        monkeypatch.setattr(pyspark.SparkContext, "_gateway", SimpleNamespace(proc=java))
        assert sentence in (explained(error, None) or "")


def test_java_that_is_alive_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["sleep", "60"]) as java:
        monkeypatch.setattr(pyspark.SparkContext, "_gateway", SimpleNamespace(proc=java))
        monkeypatch.setattr(faults, "_ENDING", 0.1)
        assert explained(ValueError("x"), None) is None
        assert explained(ConnectionResetError(), None) is None
        java.kill()


def test_the_command_line_says_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: Typed) -> None:
    file = tmp_path / "recording.jsonl"
    file.write_text("{}\n", encoding="utf-8")
    monkeypatch.setattr("spark_jobs.api.start.start_spark", lambda *_, **__: None)
    monkeypatch.setattr("spark_jobs.cli.commands.ingest.ingest", _full_disk)
    last = typed("ingest", file, warehouse=tmp_path / "w", code=4).err.splitlines()[-1]
    assert last.startswith("rebalance-audit: there is no space left for the warehouse ")


def _full_disk(*_: object, **__: object) -> None:
    raise os_error(errno.ENOSPC)


class _OfJavaError(Exception):
    """As py4j's: its text comes from Java, which is there once."""

    def __init__(self, answers: int) -> None:
        self._answers = answers

    def __str__(self) -> str:
        self._answers -= 1
        if self._answers < 0:
            raise ConnectionRefusedError
        return "java.lang.OutOfMemoryError: Java heap space"


@pytest.mark.parametrize(("answers", "said"), [(1, "not enough memory"), (0, "this is a bug: _OfJavaError")])
def test_java_is_asked_for_its_words_once(
    answers: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: Typed
) -> None:
    def fails(*_: object, **__: object) -> None:
        error = _OfJavaError(answers)
        raise own_error(error, None) from error

    file = tmp_path / "recording.jsonl"
    file.write_text("{}\n", encoding="utf-8")
    monkeypatch.setattr("spark_jobs.api.start.start_spark", lambda *_, **__: None)
    monkeypatch.setattr("spark_jobs.cli.commands.ingest.ingest", fails)
    assert said in typed("ingest", file, warehouse=tmp_path / "w", code=4).err
