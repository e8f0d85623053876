"""Faults around a command (disk, permissions, memory, Spark's Java process), as one sentence each."""

import errno
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from subprocess import TimeoutExpired

from spark_jobs.errors import RebalanceAuditError, SetupError, UnexpectedError
from spark_jobs.installation import documentation

#: By the first part of a module's name, or by the package whose metadata is missing.
_EXTRAS = {
    "pyspark": "spark",
    "delta": "spark",
    "delta-spark": "spark",
    "great_expectations": "spark",
    "pandas": "spark",
    "obstore": "s3",
    "bokeh": "report",
    "jinja2": "report",
    "apprise": "notify",
    "py4j": "capture",
    "mcp": "mcp",
    "anyio": "mcp",
    "opentelemetry": "otlp",
}
#: Bytes that a commit needs at least: a disk with less is full.
_A_COMMIT = 1024 * 1024
#: Seconds until the end of a Java process is known, once it answers no more.
_ENDING = 10.0
#: Java's own exit code where it lacks memory.
_LACKS_MEMORY = 52
#: What follows on what the user is to do.
_AGAIN = "then run the same command again. What readers see is as it was"
_MORE_MEMORY = (
    "Spark's Java process has not enough memory. Give it more with PYSPARK_SUBMIT_ARGS='--driver-memory 6g "
    f"pyspark-shell' (spark-submit: --driver-memory), or audit fewer steps at a time, and {_AGAIN}"
)
#: Of the heap; and of direct memory, as Netty and Arrow name its want.
_OF_MEMORY = (
    *("OutOfMemoryError", "GC overhead limit exceeded", "Java heap space"),
    *("OutOfDirectMemoryError", "org.apache.arrow.memory.OutOfMemoryException"),
)
#: What Spark says where a file that it is to read has been removed.
_FILE_GONE = "FILE_NOT_EXIST"
_OF_FILES = (
    *("Mkdirs failed", "mkdir of file", "Failed to create", "failed to create", "does not exist", "DOES_NOT_EXIST"),
    *("NOT_FOUND", "FileNotFoundException", "NoSuchFileException", _FILE_GONE, "Input/output error"),
)
#: How Java names a file of the local file system; what follows a space is cut off.
_JAVA_FILE = re.compile(r"file:/*(/[^\s()\"']+)")
#: What PySpark says where Java ends before it listens.
_NO_JAVA = "JAVA_GATEWAY_EXITED"
#: What Spark says then; what Arrow says of a batch that the worker did not send to its end, or the socket to it.
_WORKER_ENDED = "Python worker exited unexpectedly"
_WORKER_CUT = re.compile(r"Unexpected end of (?:input|stream)|SocketException: (?:Broken pipe|Connection reset)")
#: Where a Java stack shows that Spark was talking to a worker.
_WITH_WORKER = re.compile(r"org\.apache\.spark\.(?:api|sql\.execution)\.python\.")
#: What Python says while, and after, Java goes away.
_OF_CONNECTION = (
    *("Py4JError", "Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError", "BrokenPipeError", "EOFError"),
)


def explained(error: BaseException, folder: Path | None) -> str | None:
    """The fault and its remedy, in a sentence; None: probably a bug. `folder`: the warehouse, if it is local."""
    chain = list(_chain(error))
    text = "\n".join(map(_text, chain))
    if any(name in text for name in _OF_MEMORY):
        return _MORE_MEMORY
    has_lost_connection = any(type(cause).__name__ in _OF_CONNECTION for cause in chain)
    code = _java_exit_code(_ENDING if has_lost_connection else 0.0)
    if code is not None:
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return _MORE_MEMORY if code == _LACKS_MEMORY else _java_ended(how)
    if _NO_JAVA in text:
        return _java_ended("while it started")
    if _WORKER_ENDED in text or (_WORKER_CUT.search(text) and _WITH_WORKER.search(text)):
        return (
            "a Python worker of Spark has ended in the middle of its work: somebody stopped it, or the system did for "
            f"want of memory. See why, {_AGAIN}"
        )
    return _of_files(chain, text, folder)


def own_error(error: BaseException, folder: Path | None, unexplained: str = "{}") -> RebalanceAuditError:
    """The error as one of the project's, with its notes: a missing extra, a fault as `explained`, else in the words of
    `unexplained`, which has {} for its type and first line.
    """
    missing = needed_extra(error) if isinstance(error, ImportError) else None
    if missing is not None:
        return missing
    explanation = explained(error, folder)
    sentence = explanation or unexplained.format(_text(error).splitlines()[0])
    own = UnexpectedError("\n".join((sentence, *getattr(error, "__notes__", ()))))
    own.is_explained = explanation is not None
    return own


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _text(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # an error of Java's asks Java for its text
        return type(error).__name__


def _java_exit_code(seconds: float) -> int | None:
    """Of the JVM that this process has started; None while it is alive, where there is none, or another started it."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    java = getattr(getattr(context, "_gateway", None), "proc", None)
    if java is None:
        return None
    try:
        return int(java.wait(seconds))
    except TimeoutExpired:
        return None


def _java_ended(how: str) -> str:
    return f"Spark's Java process has ended {how}: it was stopped, or the system lacked memory. See why, {_AGAIN}"


def _of_files(chain: list[BaseException], text: str, folder: Path | None) -> str | None:
    """By what is said, else by how things are now."""
    of_system = [cause for cause in chain if isinstance(cause, OSError)]
    codes = {cause.errno for cause in of_system}
    files = [str(cause.filename) for cause in of_system if cause.filename]
    files += [name.rstrip(".,:;") for name in _JAVA_FILE.findall(text)]
    where = f"the warehouse {folder or ''}".strip() + (f" ({files[0]})" if files else "")
    by_words = (
        kind for kind, (numbers, words) in _SIGNS.items() if codes & numbers or any(word in text for word in words)
    )
    is_of_files = isinstance(chain[0], OSError) or any(name in text for name in _OF_FILES)
    kind = next(by_words, None) or (_state_of(folder, files) if is_of_files else None)
    if kind is None and _FILE_GONE in text and files:
        kind, where = "vanished", files[0]
    return None if kind is None else _ADVICE[kind].format(where=where, scratch=_scratch(), again=_AGAIN)


def _state_of(folder: Path | None, files: list[str]) -> str | None:
    """The fault of the warehouse's folder, or of the place of files that are named."""
    if folder is not None and not folder.exists() and folder.parent.is_dir() and _state(folder) is None:
        return "vanished"
    places = [*([folder] if folder else []), *map(Path, files)]
    return next((state for state in map(_state, places) if state), None)


def _state(place: Path) -> str | None:
    folder = next(path for path in (place, *place.parents) if path.exists())
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        return "read-only"
    if not os.access(folder, os.W_OK):
        return "forbidden"
    return "full" if min(map(_free, (folder, _scratch()))) < _A_COMMIT else None


def _scratch() -> Path:
    """Return the folder in which Spark puts what does not fit into memory, as it does by default."""
    return Path(os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).partition(",")[0])


def _free(place: Path) -> int:
    file_system = os.statvfs(place if place.exists() else "/")
    return file_system.f_bavail * file_system.f_frsize


_SIGNS: Mapping[str, tuple[set[int], tuple[str, ...]]] = {
    "read-only": ({errno.EROFS}, ("Read-only file system",)),
    "forbidden": ({errno.EACCES, errno.EPERM}, ("Permission denied", "AccessControlException")),
    "full": ({errno.ENOSPC, errno.EDQUOT}, ("No space left on device", "Disk quota exceeded")),
}
_ADVICE = {
    "read-only": "{where} is on a file system that is read-only: mount it so that it can be written, {again}",
    "forbidden": "this user may not write in {where}: give the user its folders and files, or run the command as their "
    "owner, {again}",
    "full": "there is no space left for {where}, or for Spark's scratch files in {scratch}: make room, {again}",
    "vanished": "{where} is not there any more: it was moved, removed or unmounted meanwhile. Bring it back, and run "
    "the same command again",
}


def needed_extra(error: ImportError) -> SetupError | None:
    """An error with the extra that makes the import work; None if no extra brings it: that is a bug."""
    package = (error.name or "").partition(".")[0]
    extra = _EXTRAS.get(package)
    if extra is None:
        return None
    return SetupError(
        f"this needs {package}, which is not installed: install rebalance-audit with its extra [{extra}] "
        f"({documentation('install')})"
    )
