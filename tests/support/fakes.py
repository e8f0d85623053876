"""A cluster in memory that answers as RocketMQ does."""

import gzip
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spark_jobs.capture.asking import Backoff, CallRunner, RateLimit
from spark_jobs.capture.calls import Call, CallError

NOT_ONLINE = "MQBrokerException CODE: 206  DESC: the consumer group[g] not online BROKER: 10.0.0.1:10911"
NOT_IN_GROUP = "MQClientException CODE: 1  DESC: The Consumer Group <g> not exist in this consumer"
NO_ROUTE = "MQClientException CODE: 17  DESC: No topic route info in name server for the topic: t"
TIMED_OUT = "RemotingTimeoutException wait response on the channel </10.0.0.1:10911> timeout, 3000(ms)"
REFUSED = "RemotingConnectException connect to 10.0.0.2:10911 failed"


#: As brokers before 5.0 say of requests that they do not know.
NOT_SUPPORTED = "MQBrokerException CODE: 3  DESC:  request type 351 not supported"
NO_MODES = '{"messageRequestModeMap":{}}'


#: By (request, who is called, subject), or by (request, who is called).
Answers = dict[tuple[str, ...], str]


def version(number: str) -> str:
    """A broker's runtime info, as far as it is read."""
    return json.dumps({"table": {"brokerVersionDesc": f"V{number.replace('.', '_')}", "brokerVersion": "1"}})


class FakeAdmin:
    """What has no answer times out."""

    def __init__(self, answers: Answers, seconds: float = 0.0) -> None:
        self.answers, self._seconds, self._lock = dict(answers), seconds, threading.Lock()
        self.asked: list[tuple[float, Call]] = []
        self.under_way, self.most_at_once = 0, 0
        #: Runs when a call has come and is not answered yet: it may wait, change answers, or raise.
        self.before_answer: Callable[[Call], None] = lambda _: None

    def ask(self, call: Call) -> str:
        with self._lock:
            self.asked.append((time.monotonic(), call))
            self.under_way += 1
            self.most_at_once = max(self.most_at_once, self.under_way)
        try:
            self.before_answer(call)
            time.sleep(self._seconds)
            key = (call.request.value, call.called.name)
            text = self.answers.get((*key, call.subject), self.answers.get(key, TIMED_OUT))
        finally:
            with self._lock:
                self.under_way -= 1
        if text.startswith(("MQ", "Remoting")):
            raise CallError(text)
        return text

    def version(self) -> str:
        return "V5_4_0"

    def close(self) -> None:
        """There is nothing to end."""

    def counts(self) -> Counter[str]:
        """Calls by request."""
        return Counter(call.request.value for _, call in self.asked)


def asking(admin: FakeAdmin) -> CallRunner:
    """As fast as it gets."""
    return CallRunner(admin, RateLimit(10_000), Backoff(60), lambda _: None)


def broker_answers(name: str, *groups: str, **answers: str) -> Answers:
    """Those of a broker of 5.4.0 without request modes that knows these groups; others by request."""
    told = {"groups": "\n".join(groups), "request_modes": NO_MODES, "broker_version": version("5.4.0")} | answers
    return {(request, name): text for request, text in told.items()}


def brokers(**addresses: str) -> str:
    told = ",".join(
        f'"{name}":{{"brokerAddrs":{{0:"{address}"}},"brokerName":"{name}","cluster":"Main"}}'
        for name, address in addresses.items()
    )
    return f'{{"brokerAddrTable":{{{told}}},"clusterAddrTable":{{"Main":["a"]}}}}'


def connections(topics: str, *clients: str, model: str = "CLUSTERING") -> str:
    """Client ids, each at a port of its own on 10.9.9.9."""
    connected = [
        {"clientAddr": f"10.9.9.9:{port}", "clientId": client, "language": "JAVA", "version": 493}
        for port, client in enumerate(clients, start=4000)
    ]
    table = {topic: {"subString": "*", "topic": topic} for topic in topics.split()}
    return json.dumps({"connectionSet": connected, "messageModel": model, "subscriptionTable": table})


def route(*names: str) -> str:
    """A queue for each time that a broker is named."""
    queues = [
        {"brokerName": name, "perm": 6} | dict.fromkeys(("readQueueNums", "writeQueueNums"), count)
        for name, count in Counter(names).items()
    ]
    return json.dumps({"brokerDatas": [], "queueDatas": queues})


def queue(broker: str, topic: str, queue_id: int = 0, **numbers: int) -> str:
    """One entry of an offsetTable, in RocketMQ's own form; by default of 9 messages, of which 8 are consumed."""
    numbers = numbers or {"brokerOffset": 9, "consumerOffset": 8, "lastTimestamp": 7, "pullOffset": 8}
    told = ",".join(f'"{name}":{number}' for name, number in numbers.items())
    return f'{{"brokerName":"{broker}","queueId":{queue_id},"topic":"{topic}"}}:{{{told}}}'


def offset_table(*entries: str) -> str:
    return f'{{"consumeTps":0.0,"offsetTable":{{{",".join(entries)}}}}}'


def recorded(folder: Path) -> list[dict[str, Any]]:
    """The lines of all files that are closed."""
    return [json.loads(line) for path in sorted(folder.glob("*.jsonl.gz")) for line in gzip.open(path, "rt")]
