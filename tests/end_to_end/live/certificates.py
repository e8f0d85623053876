"""A certificate authority of a test, and the files of RocketMQ's TLS that name it."""

import subprocess
from pathlib import Path
from typing import NamedTuple


class Certificates(NamedTuple):
    """Where they are."""

    folder: Path

    def server_options(self) -> list[str]:
        """Options of JVMs that take nothing but TLS, reach others by it, and verify them."""
        names = {"server.keyPath": "server.key", "server.certPath": "server.pem", "client.trustCertPath": "ca.pem"}
        told = [f"-Dtls.{name}={self.folder / file}" for name, file in names.items()]
        modes = ["-Dtls.server.mode=enforcing", "-Dtls.enable=true", "-Dtls.client.authServer=true"]
        return [*told, *modes, "-Dtls.test.mode.enable=false", f"-Dtls.config.file={self.folder / 'none'}"]

    def client_file(self) -> Path:
        """What `--tls-config` is given."""
        file = self.folder / "client.properties"
        file.write_text(f"tls.client.trustCertPath={self.folder / 'ca.pem'}\n")
        return file


def make(folder: Path) -> Certificates:
    """A new authority, and a server's key and certificate of it."""
    folder.mkdir()
    new_key = ["-newkey", "rsa:2048", "-nodes", "-days", "2"]

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=folder)

    openssl("req", "-x509", *new_key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority")
    openssl("req", *new_key[:-2], "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=no-host")
    by = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"]
    openssl("x509", "-req", "-in", "server.csr", *by, "-out", "server.pem")
    return Certificates(folder)
