"""Each service gets what it documents: the real Apprise, over TLS, to a local server that answers by its protocol.

A local proxy stands between, so that the names of the services lead to it. No Spark.
"""

import email
import json
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from email.policy import default as POLICY
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from spark_jobs.cli.main import main
from spark_jobs.domain.incidents.notices import News, audit_notice
from spark_jobs.operate.deliver import VARIABLE, deliver
from spark_jobs.operate.messages import NoticeEntry
from tests.support.published import publish_hours

#: A host of each service, and what it answers where it has a message.
ANSWERS: dict[str, tuple[int, str]] = {
    "hooks.slack.com": (200, "ok"),
    "prod-00.westus.logic.azure.com": (202, ""),
    "events.pagerduty.com": (202, '{"status": "success", "message": "Event processed", "dedup_key": "k"}'),
    "oapi.dingtalk.com": (200, '{"errcode": 0, "errmsg": "ok"}'),
    "open.feishu.cn": (200, '{"code": 0, "data": {}, "msg": "success"}'),
    "qyapi.weixin.qq.com": (200, '{"errcode": 0, "errmsg": "ok"}'),
}
TITLE = "rebalance-audit c: 1 incident opened"
#: The id of the incident of G.
ID = "19a098e50de7d9e2"
TOKEN, HEX, KEY = "12345678-1234-1234-1234-123456789012", "d" * 64, "k" * 20
PAGERDUTY = f"pagerduty://{KEY}@{'r' * 32}"


class Request(NamedTuple):
    """What a service got: the URL, and the JSON of the body."""

    url: str
    body: dict[str, Any]


class Services:
    """The services behind the proxy, what they got, and what each answers."""

    def __init__(self, certificate: Path) -> None:
        self.got: list[Request] = []
        self.answers = dict(ANSWERS)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        services = self

        class Proxy(BaseHTTPRequestHandler):
            def do_CONNECT(self) -> None:
                """From here on the client speaks TLS with the host: this handler answers in its place."""
                self.send_response(200)
                self.end_headers()
                self.host = self.path.partition(":")[0]
                self.connection = context.wrap_socket(self.connection, server_side=True)
                self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
                self.close_connection = False

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                services.got.append(Request(f"https://{self.host}{self.path}", body))
                status, text = services.answers[self.host]
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                """It is quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key with a certificate of all services."""
    file = tmp_path_factory.mktemp("tls") / "services.pem"
    names = ",".join(f"DNS:{host}" for host in ANSWERS)
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=services"]
    files = ["-addext", f"subjectAltName={names}", "-keyout", str(file), "-out", str(file.with_suffix(".crt"))]
    subprocess.run([*request, *files], check=True, capture_output=True)
    file.write_text(file.read_text() + file.with_suffix(".crt").read_text())
    return file


@pytest.fixture
def services(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    made = Services(certificate)
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{made.server.server_port}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate.with_suffix(".crt")))
    monkeypatch.setattr("apprise.plugins.base.NotifyBase.request_rate_per_sec", 0)
    yield made
    made.server.shutdown()
    made.server.server_close()


Send = Callable[[str], int]
Printed = pytest.CaptureFixture[str]


@pytest.fixture
def send(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Send:
    """Sends what is new of the warehouse to a URL, and returns the exit code."""
    config = tmp_path / "audit.yaml"
    config.write_text("report_url: https://audit.example.com/report.html#incident-{id}")

    def run(url: str) -> int:
        monkeypatch.setenv(VARIABLE, url)
        return main(["notify", "--warehouse", str(tmp_path), "--config", str(config)])

    return run


@pytest.fixture
def opened(tmp_path: Path) -> Path:
    """Two hours, G is offline in the second."""
    publish_hours(tmp_path, [0, 1], offline=[1])
    return tmp_path


def message(warehouse: Path) -> str:
    """The text that every service gets of it."""
    return (
        "OPENED ERROR No consumer of G is connected\n"
        f"Since 2026-03-01T11:00Z (1 h 00 min). Group G: backlog now unknown. Id {ID}.\n"
        "What to do: Start it.\n"
        f"https://audit.example.com/report.html#incident-{ID}\n"
        "\n"
        f"In full: rebalance-audit incidents --warehouse {warehouse} --id ID"
    )


#: By URL where the message goes, and the title and text that the JSON has.
SERVICES: dict[str, tuple[str, Callable[[dict[str, Any]], tuple[str, ...]]]] = {
    "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ": (
        "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ",
        lambda body: (body["attachments"][0]["title"], body["attachments"][0]["text"]),
    ),
    "workflows://prod-00.westus.logic.azure.com:443/WORKFLOW/SIGNATURE": (
        "https://prod-00.westus.logic.azure.com/workflows/WORKFLOW/triggers/manual/paths/invoke"
        "?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=SIGNATURE",
        lambda body: tuple(part["text"] for part in body["attachments"][0]["content"]["body"] if "text" in part),
    ),
    f"dingtalk://{HEX}": (
        f"https://oapi.dingtalk.com/robot/send?access_token={HEX}",
        lambda body: tuple(body["text"]["content"].split("\r\n")),
    ),
    f"feishu://{TOKEN}": (
        f"https://open.feishu.cn/open-apis/bot/v2/hook/{TOKEN}/",
        lambda body: tuple(body["content"]["text"].split("\r\n")),
    ),
    f"wecombot://{TOKEN}": (
        f"https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key={TOKEN}",
        lambda body: tuple(body["text"]["content"].split("\r\n")),
    ),
}


@pytest.mark.parametrize("url", SERVICES)
def test_a_chat_gets_the_title_and_the_text(url: str, opened: Path, services: Services, send: Send) -> None:
    address, content = SERVICES[url]
    assert send(url) == 0
    (request,) = services.got
    assert (request.url, content(request.body)) == (address, (TITLE, message(opened)))


@pytest.mark.parametrize(
    ("url", "host", "answer", "code"),
    [
        (f"dingtalk://{HEX}", "oapi.dingtalk.com", '{"errcode": 310000, "errmsg": "keywords"}', "errcode 310000"),
        (f"wecombot://{TOKEN}", "qyapi.weixin.qq.com", '{"errcode": 45009, "errmsg": "limit"}', "errcode 45009"),
        (f"feishu://{TOKEN}", "open.feishu.cn", '{"code": 19001, "msg": "token"}', "code 19001"),
        (f"feishu://{TOKEN}", "open.feishu.cn", "<p>Log in", "without code"),
    ],
)
def test_a_refusal_with_status_200_is_one(
    url: str, host: str, answer: str, code: str, opened: Path, services: Services, send: Send, capfd: Printed
) -> None:
    services.answers[host] = 200, answer
    assert send(url) == 4
    assert f"the service answered {code}; the message was not recorded as sent" in capfd.readouterr().err
    services.answers[host] = ANSWERS[host]
    assert [send(url), send(url)] == [0, 0]
    assert len(services.got) == 2


def test_a_long_message_is_split(opened: Path, services: Services, send: Send) -> None:
    """WeCom takes 2,048 characters."""
    names = [f"group-{number:02}" for number in range(20)]
    for name in names:
        publish_hours(opened, [1], offline=[1], group=name)
    assert send(f"wecombot://{TOKEN}") == 0
    texts = [request.body["text"]["content"] for request in services.got]
    assert [len(text) <= 2048 for text in texts] == [True] * 3
    assert all(f"No consumer of {name} is connected" in "".join(texts) for name in names)


def test_pagerduty_gets_an_event_per_incident_and_resolves_it(opened: Path, services: Services, send: Send) -> None:
    publish_hours(opened, [1], offline=[1], group="H")
    assert send(PAGERDUTY) == 0
    publish_hours(opened, [2, 3])
    assert [send(PAGERDUTY), send(PAGERDUTY)] == [0, 0]
    *triggers, resolved = (request.body for request in services.got)
    assert {request.url for request in services.got} == {"https://events.pagerduty.com/v2/enqueue"}
    of_h, of_g = sorted(triggers, key=lambda event: bool(event["dedup_key"] == ID))
    assert of_h["payload"]["summary"] == "No consumer of H is connected"
    assert {name: value for name, value in of_g.items() if name != "images"} == {
        "routing_key": KEY,
        "event_action": "trigger",
        "dedup_key": ID,
        "client": "rebalance-audit",
        "links": [{"href": f"https://audit.example.com/report.html#incident-{ID}"}],
        "payload": {
            "summary": "No consumer of G is connected",
            "severity": "critical",
            "source": "c",
            "component": "Notification",
            "class": "GROUP_OFFLINE",
            "custom_details": {"notification": message(opened).partition("\n\n")[0]},
        },
    }
    assert resolved == {"routing_key": KEY, "event_action": "resolve", "dedup_key": ID}


@pytest.mark.parametrize(("severity", "expected"), [("ERROR", "critical"), ("WARN", "warning"), ("INFO", "info")])
def test_pagerduty_gets_the_severity(severity: str, expected: str, services: Services) -> None:
    notice = audit_notice("c", "missing", "AUDIT_MISSING", "The audit is missing", (0, 1), "k")._replace(
        severity=severity
    )
    entry = NoticeEntry(News(notice, None, (notice.incident_id,)), "text")
    deliver({VARIABLE: PAGERDUTY}, None, "title", "text", [entry])
    assert services.got[0].body["payload"]["severity"] == expected


def test_mail_gets_the_title_and_the_text(opened: Path, send: Send) -> None:
    got: list[bytes] = []

    class Mail(socketserver.StreamRequestHandler):
        """A server of RFC 5321, as far as a message needs it."""

        def handle(self) -> None:
            self.wfile.write(b"220 mail\r\n")
            for line in self.rfile:
                command = line.strip().upper()
                self.wfile.write({b"DATA": b"354 go\r\n", b"QUIT": b"221 bye\r\n"}.get(command, b"250 ok\r\n"))
                if command == b"DATA":
                    got.append(b"".join(iter(self.rfile.readline, b".\r\n")))
                    self.wfile.write(b"250 ok\r\n")
                if command == b"QUIT":
                    return

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mail) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sender = "smtp=127.0.0.1&mode=insecure&from=audit@example.com&to=oncall@example.com"
        assert send(f"mailto://127.0.0.1:{server.server_address[1]}?{sender}") == 0
        server.shutdown()
    (mail,) = (email.message_from_bytes(each, policy=POLICY) for each in got)
    assert (mail["Subject"], mail["To"]) == (TITLE, "oncall@example.com")
    assert "audit@example.com" in mail["From"]
    body = mail.get_body(("plain",))
    assert body is not None
    assert body.get_content().splitlines() == message(opened).splitlines()
