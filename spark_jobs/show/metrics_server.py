"""Metrics that Prometheus asks for by HTTP: answers are those that were read last, whatever happens since."""

import logging
import time
from collections.abc import Callable, Sequence
from threading import Event

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from spark_jobs.errors import RebalanceAuditError, UsageError
from spark_jobs.runtime.faults import own_error
from spark_jobs.show.metrics import read_gauge

_LOG = logging.getLogger(__name__)
#: Seconds between two looks, and after which the metrics are read again though no run has published: some depend on
#: the clock.
_PAUSE, _AT_MOST = 5.0, 300.0


class ServedMetrics(Collector):
    """The metrics that `read` gave last, and when. `version`: a number that changes with each run."""

    def __init__(self, read: Callable[[], CollectorRegistry], version: Callable[[], int]) -> None:
        self._read, self._version = read, version
        self._known: int | None = None
        self._read_at = 0.0
        self._metrics: Sequence[Metric] = ()
        self._answer: Sequence[Metric] = ()

    def collect(self) -> Sequence[Metric]:
        """The last answer."""
        return self._answer

    def refresh(self, now: float) -> None:
        """Read the metrics if a run was recorded since, or five minutes ago. What they raise leaves the answer as it
        was; `now`: seconds since 1970.
        """
        version = self._version()
        if version != self._known or now >= self._read_at + _AT_MOST:
            self._metrics = [*self._read().collect()]
            self._known, self._read_at = version, now
        self._answer = [*self._metrics, read_gauge(now)]


def serve(
    metrics: ServedMetrics, host: str, port: int, stopped: Event, started: Callable[[int], None] = lambda _: None
) -> None:
    """Answer at the address, and refresh, until `stopped` is set; `started` gets the port. Raises `UsageError` for an
    address that cannot be used.
    """
    registry = CollectorRegistry()
    registry.register(metrics)
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise UsageError(f"cannot serve at {host}:{port}: {error.strerror}. Choose another address") from None
    try:
        started(server.server_port)
        _refresh(metrics, stopped)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _refresh(metrics: ServedMetrics, stopped: Event) -> None:
    """An error is logged once while it lasts."""
    logged = ""
    while not stopped.is_set():
        try:
            metrics.refresh(time.time())
            logged = ""
        except Exception as error:
            text = str(error if isinstance(error, RebalanceAuditError) else own_error(error, None))
            if text != logged:
                _LOG.error("the metrics stay as they were read last: %s", text)
            logged = text
        stopped.wait(_PAUSE)
