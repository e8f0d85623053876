"""An S3 server: moto's, which looks for an object and writes it in two steps, so writes are let in one at a time.

It runs in an environment of its own, which uv makes: moto does not get along with the lock (python-dateutil). With
`--ignore-conditions` it is one of the stores that write an object anew that was to be written only if it is not there;
with `--busy` it answers the first write of each commit as Amazon does while another one is under way.

If `S3_BUCKET` names an empty bucket, the tests without these options run in it, on the server of the variables `AWS_…`.
"""

# mypy: disable-error-code="import-not-found,misc,no-any-return"
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_PACKAGES = ("moto[s3]==5.2.5", "flask==3.1.3", "flask-cors==6.0.5")
_BUSY = "<Error><Code>ConditionalRequestConflict</Code><Message>Busy.</Message></Error>"
_ELSEWHERE = os.environ.get("S3_BUCKET")
BUCKET = _ELSEWHERE or "bucket"
SECRET = os.environ["AWS_SECRET_ACCESS_KEY"] if _ELSEWHERE else "hush-hush-0123456789-of-the-test"


@contextmanager
def s3_server(*options: str) -> Iterator[dict[str, str]]:
    """A server with an empty bucket, and the environment of its clients."""
    if _ELSEWHERE and not options:
        yield dict(os.environ)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        import pytest  # the server's own environment has none

        pytest.skip("there is no uv beside this Python, which fetches the S3 server")
    packages = [part for package in _PACKAGES for part in ("--with", package)]
    command = [str(uv), "run", "--quiet", "--no-project", "--isolated", "--python", sys.executable, *packages]
    # A group of its own: uv starts the server as a child.
    server = subprocess.Popen([*command, "python", __file__, str(port), *options], start_new_session=True)
    try:
        url = f"http://127.0.0.1:{port}"
        _make_bucket(url, server)
        given = {"AWS_ENDPOINT_URL": url, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1"}
        yield os.environ | given | {"AWS_ACCESS_KEY_ID": "AKIAOFTHETEST", "AWS_SECRET_ACCESS_KEY": SECRET}
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _make_bucket(url: str, server: subprocess.Popen[bytes]) -> None:
    request = urllib.request.Request(f"{url}/{BUCKET}", method="PUT")
    for _ in range(300):
        assert server.poll() is None, "the server has ended"
        with contextlib.suppress(urllib.error.URLError):
            urllib.request.urlopen(request).close()
            return
        time.sleep(0.1)
    raise TimeoutError("the server does not answer")


def main(port: int, *, ignores_conditions: bool, says_busy: bool) -> None:
    """Serves until it is killed."""
    # Not of this project's environment.
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, run_simple
    from werkzeug.wrappers import Response as BaseResponse

    class Handler(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"
        # Else each answer waits 40 ms for what acknowledges its headers.
        disable_nagle_algorithm = True

        def log(self, type: str, message: str, *args: Any) -> None:
            return

    served, writing = DomainDispatcherApplication(create_backend_app), threading.Lock()
    seen = set[str]()

    def one_write_at_a_time(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        if ignores_conditions:
            environ.pop("HTTP_IF_NONE_MATCH", None)
        if environ["REQUEST_METHOD"] in ("GET", "HEAD"):
            return list(served(environ, start))
        if says_busy and environ["PATH_INFO"].endswith(".json") and environ["PATH_INFO"] not in seen:
            seen.add(environ["PATH_INFO"])
            return BaseResponse(_BUSY, 409, mimetype="application/xml")(environ, start)
        with writing:
            return [*served(environ, start)]

    run_simple("127.0.0.1", port, one_write_at_a_time, threaded=True, request_handler=Handler)


if __name__ == "__main__":
    main(int(sys.argv[1]), ignores_conditions="--ignore-conditions" in sys.argv, says_busy="--busy" in sys.argv)
