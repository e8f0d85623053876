"""Name servers, brokers, and a cluster-mode proxy, all on loopback."""

import json
import os
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.end_to_end.live import processes

VERSION = os.environ.get("ROCKETMQ", "5.4.0")
_BROKER = """brokerClusterName=LiveCluster
brokerName={name}
brokerId=0
brokerIP1=127.0.0.1
bindAddress=127.0.0.1
listenPort={port}
haListenPort={ha_port}
namesrvAddr={namesrv}
storePathRootDir={store}
storePathCommitLog={store}/commitlog
mappedFileSizeCommitLog=16777216
mappedFileSizeConsumeQueue=600000
timerWheelEnable=false
diskMaxUsedSpaceRatio=99
autoCreateTopicEnable=false
"""


class Cluster:
    """Its processes by name; `stop` and `start` of a broker keep what it has stored."""

    def __init__(
        self,
        folder: Path,
        settings: str,
        options: Sequence[str],
        version: str,
        brokers: Mapping[str, str],
        namesrvs: int,
        program: str,
    ) -> None:
        """`settings`: additional lines of the brokers' configuration; `options`: of all JVMs but those of gRPC clients;
        `version`: of the name servers and the clients; `brokers`: name → version; `namesrvs`: how many; `program`: of
        the clients.
        """
        self.folder, self._settings, self._options, self._program = folder, settings, options, program
        self.jars = processes.servers(version)
        self._broker_jars = {name: processes.servers(of_broker) for name, of_broker in brokers.items()}
        addresses = [f"127.0.0.1:{processes.free_port()}" for _ in range(namesrvs)]
        self.namesrv = ";".join(addresses)
        self.namesrvs = dict(zip(("namesrv", "namesrv-2", "namesrv-3"), addresses, strict=False))
        self.brokers = {name: processes.free_port() for name in brokers}
        self.proxy, self.grpc = processes.free_port(), processes.free_port()
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Everything; returns when it answers."""
        for server in ("namesrv", "broker"):
            # Servers of 4.x do not start without their configuration of logging.
            self._file(f"conf/logback_{server}.xml", "<configuration/>")
        for name, address in self.namesrvs.items():
            self.start_namesrv(name)
            processes.wait_listening(_port(address))
        for name in self.brokers:
            self.start_broker(name)
        for port in self.brokers.values():
            processes.wait_listening(port)
        time.sleep(3)

    def start_namesrv(self, name: str = "namesrv") -> None:
        """Starts the name server; brokers register with it again within 30 s."""
        config = self._file(f"{name}.conf", f"listenPort={_port(self.namesrvs[name])}\nbindAddress=127.0.0.1\n")
        main, home = "org.apache.rocketmq.namesrv.NamesrvStartup", f"-Drocketmq.home.dir={self.folder}"
        self.running[name] = self._java(name, main, ["-c", config], 96, home)

    def start_further(self, name: str, settings: str) -> None:
        """A further broker with settings of its own, such as whose slave it is; returns when it answers."""
        self.brokers[name] = processes.free_port()
        self.start_broker(name, settings)
        processes.wait_listening(self.brokers[name])

    def start_broker(self, name: str, settings: str = "") -> None:
        """Starts the broker, which comes up within seconds; of settings that stand there twice the last counts."""
        port, store = self.brokers[name], self.folder / name
        told = _BROKER.format(name=name, port=port, ha_port=port - 1, namesrv=self.namesrv, store=store)
        told += self._settings.replace("STORE", str(store)) + settings
        main, home = "org.apache.rocketmq.broker.BrokerStartup", f"-Drocketmq.home.dir={self.folder}"
        arguments = ["-c", self._file(f"{name}.conf", told)]
        self.running[name] = self._java(name, main, arguments, 256, home, jars=self._broker_jars.get(name))

    def start_proxy(self) -> None:
        """In cluster mode: gRPC and remoting."""
        named = dict.fromkeys(("rocketMQClusterName", "proxyClusterName"), "LiveCluster")
        named |= {"proxyName": "proxy", "proxyMode": "CLUSTER", "namesrvAddr": self.namesrv}
        ports = {"grpcServerPort": self.grpc, "remotingListenPort": self.proxy, "localServeAddr": "127.0.0.1"}
        config = self._file("proxy.json", json.dumps(named | ports))
        main, home = "org.apache.rocketmq.proxy.ProxyStartup", f"-Drocketmq.home.dir={self.folder}"
        self.running["proxy"] = self._java("proxy", main, ["-pc", config], 256, home)
        processes.wait_listening(self.proxy)
        processes.wait_listening(self.grpc)

    def clients(
        self,
        name: str,
        role: str,
        arguments: Sequence[str],
        jars: Path | None = None,
        namesrv: str = "",
    ) -> subprocess.Popen[bytes]:
        """A JVM of the clients' program; `jars`: another version's."""
        told = [role, namesrv or self.namesrv, *arguments]
        self.running[name] = self._java(name, self._program, told, 256, jars=jars)
        return self.running[name]

    def consumers(self, name: str, members: Sequence[str]) -> None:
        """A JVM with these members, as the program takes them; returns when all are started."""
        self.clients(name, "consume", members)
        self.wait_started(name)

    def wait_started(self, name: str) -> None:
        """Returns when the log says that all clients of the JVM are."""
        processes.wait_until(lambda: "started" in self.log(name), 90, lambda: self.log(name)[-2000:])

    def log(self, name: str) -> str:
        """What the JVM, or `capture`, has printed."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def admin(self, role: str, *arguments: str, brokers: Iterable[str] = ("broker-a", "broker-b")) -> None:
        """A call of the program that ends by itself, for every broker."""
        for name in brokers:
            self.ended(f"admin-{name}", role, f"127.0.0.1:{self.brokers[name]}", *arguments)

    def ended(self, name: str, role: str, *arguments: str) -> None:
        """A call of the program that ends by itself."""
        done = self.clients(name, role, arguments)
        assert done.wait(60) == 0, self.log(name)

    def reader(self, chief: str, secret: str, user: str, password: str) -> None:
        """A user of each broker's ACL 2 who may read everything, made by a chief."""
        for name, port in self.brokers.items():
            arguments = [chief, secret, self.namesrv, f"127.0.0.1:{port}", user, password]
            done = self._java(f"reader-{name}", "Reader.java", arguments, 128)
            assert done.wait(60) == 0, self.log(f"reader-{name}")

    def grpc_consumers(self, group: str, topic: str, count: int) -> None:
        """Push consumers of `rocketmq-client-java` behind the proxy, in one JVM; returns when they are started."""
        arguments = [f"127.0.0.1:{self.grpc}", group, topic, str(count)]
        class_path = processes.compiled(processes.grpc_client(), "GrpcConsumers.java", self.folder)
        self.running["grpc"] = processes.java(class_path, "GrpcConsumers", arguments, self.folder / "grpc.log")
        self.wait_started("grpc")

    def program(self, name: str, command: Sequence[str]) -> None:
        """Starts a client that is no JVM."""
        self.running[name] = processes.program(command, self.folder / f"{name}.log")

    def stop(self, name: str) -> None:
        """Kills the process."""
        processes.kill(self.running.pop(name))

    def _java(
        self, name: str, main: str, arguments: Sequence[str], heap: int, *options: str, jars: Path | None = None
    ) -> subprocess.Popen[bytes]:
        """`main`: a class of RocketMQ's, or a source of this folder."""
        jars = jars or self.jars
        log, class_path = self.folder / f"{name}.log", f"{jars}/*"
        if main.endswith(".java"):
            class_path, main = processes.compiled(jars, main, self.folder), main.removesuffix(".java")
        return processes.java(class_path, main, arguments, log, heap, *self._options, *options)

    def _file(self, name: str, content: str) -> str:
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(content)
        return str(self.folder / name)


@contextmanager
def cluster(
    folder: Path,
    settings: str = "",
    options: Sequence[str] = (),
    version: str = VERSION,
    brokers: Mapping[str, str] | None = None,
    namesrvs: int = 1,
    program: str = "Clients.java",
) -> Iterator[Cluster]:
    """A cluster that is gone afterwards, with its clients. `brokers`: their versions, if others than `version`;
    `program`: `OldClients.java` runs with all versions.
    """
    of_brokers = brokers or dict.fromkeys(("broker-a", "broker-b"), version)
    made = Cluster(folder, settings, options, version, of_brokers, namesrvs, program)
    try:
        made.start()
        yield made
    finally:
        for process in made.running.values():
            process.kill()
        for process in made.running.values():
            process.wait(30)


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])
