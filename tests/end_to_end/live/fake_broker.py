"""A name server and broker in one that answers as RocketMQ does, but for one kind of request."""

import json
import socket
import struct
import threading
import time
from collections.abc import Mapping
from contextlib import suppress


class FakeBroker:
    """Listens on loopback. `fault`: (request code, what happens: `never answers`, `is late`, `closes`). `hangs`: it
    accepts connections and requests, and answers none.
    """

    def __init__(self) -> None:
        self._bodies: Mapping[int, str] = {}
        self.fault = (0, "")
        self.hangs = False
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def answer(self, bodies: Mapping[int, str]) -> None:
        """From now on with these bodies by request code; any other request with none."""
        self._bodies = bodies

    def close(self) -> None:
        """No connection is accepted any more."""
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        """Answers each request of the connection in a thread, as a late one holds no other up."""
        lock = threading.Lock()
        with suppress(OSError, struct.error), connection:
            while True:
                request = _read(connection)
                code, (faulty, fault) = request["code"], self.fault
                if code == faulty and fault == "closes":
                    return
                if self.hangs or (code == faulty and fault == "never answers"):
                    continue
                # Longer than the client waits.
                seconds = 3.5 if code == faulty and fault else 0.0
                answer = _frame(request, self._bodies.get(code, ""))
                threading.Thread(target=_send, args=(connection, lock, answer, seconds), daemon=True).start()


def _send(connection: socket.socket, lock: threading.Lock, answer: bytes, seconds: float) -> None:
    time.sleep(seconds)
    with suppress(OSError), lock:
        connection.sendall(answer)


def _read(connection: socket.socket) -> dict[str, int]:
    """The header of the next request. Source: RemotingCommand.decode; the serialization is JSON."""
    length, header_length = struct.unpack(">ii", _exactly(connection, 8))
    content = _exactly(connection, length - 4)
    header: dict[str, int] = json.loads(content[: header_length & 0xFFFFFF])
    return header


def _exactly(connection: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        part = connection.recv(size - len(content))
        if not part:
            raise OSError("closed")
        content += part
    return content


def _frame(request: Mapping[str, int], body: str) -> bytes:
    header = {"code": 0, "flag": 1, "language": "JAVA", "opaque": request["opaque"], "version": 0}
    encoded = json.dumps(header | {"serializeTypeCurrentRPC": "JSON"}).encode()
    content = struct.pack(">i", len(encoded)) + encoded + body.encode()
    return struct.pack(">i", len(content)) + content
