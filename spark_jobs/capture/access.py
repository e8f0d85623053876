"""The access key and secret key of a cluster with ACL: from the environment or a file of one's own, never shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from spark_jobs.errors import CaptureError
from spark_jobs.runtime.secret_file import secret_text

ACCESS_KEY, SECRET_KEY = "ROCKETMQ_ACCESS_KEY", "ROCKETMQ_SECRET_KEY"
#: As in the tools.yml of RocketMQ's mqadmin.
_FILE_KEYS = ("accessKey", "secretKey")


@dataclass(frozen=True)
class Credentials:
    """The keys that a call is signed with; the secret is in no text of it."""

    access_key: str
    secret_key: str = field(repr=False)


def credentials(environment: Mapping[str, str], file: Path | None) -> Credentials | None:
    """The keys from the file, else from the environment; None: no ACL. Raises `CaptureError`, and as `secret_text`."""
    if file is not None:
        return _of_file(file)
    keys = [environment.get(name, "") for name in (ACCESS_KEY, SECRET_KEY)]
    if any(keys) and not all(keys):
        raise CaptureError(f"{ACCESS_KEY} and {SECRET_KEY} belong together: set both or neither")
    return Credentials(*keys) if all(keys) else None


def _of_file(file: Path) -> Credentials:
    try:
        content = yaml.safe_load(secret_text(file))
    except yaml.YAMLError:
        raise CaptureError(f"{file} cannot be read as YAML. Check its syntax") from None
    keys = [content.get(name) for name in _FILE_KEYS] if isinstance(content, dict) else []
    if not keys or not all(keys):
        raise CaptureError(f"{file} must contain {' and '.join(_FILE_KEYS)}, like the tools.yml of mqadmin")
    access_key, secret_key = map(str, keys)
    return Credentials(access_key, secret_key)
