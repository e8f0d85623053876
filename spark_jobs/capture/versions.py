"""Which requests each broker answers: by the version that it reports, or by one probe."""

import re
import threading
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from spark_jobs.capture.calls import Answer, Callee, CallOutcome, Request

#: (major, minor, patch).
_Version = tuple[int, int, int]


class _Since(NamedTuple):
    """`first`: the first release whose brokers answer the request; `lost`: what a recording without it cannot show."""

    first: _Version
    lost: str


#: Requests that not all brokers since 4.3.0 answer. Source: `RequestCode` and `AdminBrokerProcessor.processRequest` of
#: the releases 4.3.0 to 5.5.1: 351 and 402 are handled since 5.0.0. Brokers up to 4.9.0 do not answer an unknown
#: request at all; later ones answer code 3, `request type … not supported`.
_SINCE: Final[Mapping[Request, _Since]] = {
    Request.TOPIC_CONFIG: _Since(
        (5, 0, 0), "topics' configuration: message types are unknown, and deleted topics look like lost routes"
    ),
    Request.REQUEST_MODES: _Since((5, 0, 0), "request modes: which groups use POP is unknown"),
}
#: Brokers before this release have no POP, so that nothing is lost without their request modes.
_POP: Final[_Version] = (5, 0, 0)
#: The newest release whose processors the table was made from; a newer broker is probed.
_NEWEST: Final[_Version] = (5, 5, 1)
_RELEASE = re.compile(r"V(\d+)_(\d+)_(\d+)")
#: ResponseCode.REQUEST_CODE_NOT_SUPPORTED.
_NOT_SUPPORTED = re.compile(r"\bcode:? 3\b", re.IGNORECASE)


class BrokerVersions:
    """Known versions of brokers, and of the requests that it answers; for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._versions: dict[str, str] = {}
        self._heard: dict[tuple[str, Request], bool] = {}

    def learn(self, broker: str, version: str) -> None:
        """Store a broker's version, such as V4_7_1. Answers of another version do not count any more."""
        with self._lock:
            if self._versions.get(broker) != version:
                self._versions[broker] = version
                self._heard = {key: heard for key, heard in self._heard.items() if key[0] != broker}

    def answers(self, broker: str, request: Request) -> bool | None:
        """True if the broker answers such a request; None: it is probed."""
        with self._lock:
            heard = self._heard.get((broker, request))
            return self._by_version(broker, request) if heard is None else heard

    def hear(self, called: Callee, request: Request, answer: Answer) -> None:
        """Remember a request that a broker does not know, or a probe's outcome. A failed connection proves nothing."""
        with self._lock:
            if answer.outcome in (CallOutcome.REFUSED, CallOutcome.NOT_ASKED) or request not in _SINCE:
                return
            is_unknown = _NOT_SUPPORTED.search(answer.error) is not None
            if is_unknown or self._by_version(called.name, request) is None:
                self._heard[called.name, request] = not is_unknown and answer.outcome is not CallOutcome.TIMED_OUT

    def left_out(self, brokers: Mapping[str, Callee]) -> Iterator[str]:
        """Yield a line per broker and request that is not asked for: the broker, its version, and what is lost."""
        for name in sorted(brokers):
            version = self._versions.get(name)
            shown = version.removeprefix("V").replace("_", ".") if version else "unknown version"
            for request, since in _SINCE.items():
                if self.answers(name, request) is False and not _is_nothing_lost(request, version):
                    yield f"{name} ({shown}) is not asked for {since.lost}"

    def _by_version(self, broker: str, request: Request) -> bool | None:
        since, release = _SINCE.get(request), _release(self._versions.get(broker))
        if since is None:
            return True
        return None if release is None or release > _NEWEST else release >= since.first


def _release(version: str | None) -> _Version | None:
    """None: no release, such as a snapshot or a fork that names itself otherwise."""
    match = _RELEASE.fullmatch(version or "")
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def _is_nothing_lost(request: Request, version: str | None) -> bool:
    release = _release(version)
    return request is Request.REQUEST_MODES and release is not None and release < _POP
