"""From a YAML file to a `Configuration`, or to one error that names every mistake and where it stands."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from spark_jobs.config.model import Configuration, GroupEntry, MuteEntry, Quality, QueueList, TeamRouteEntry
from spark_jobs.config.values import nearest
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.errors import ConfigurationError

#: Which keys are known where; positions in lists left out.
_SECTIONS: dict[tuple[str, ...], type[BaseModel]] = {
    (): Configuration,
    ("thresholds",): Thresholds,
    ("quality",): Quality,
    ("groups",): GroupEntry,
    ("mutes",): MuteEntry,
    ("routes",): TeamRouteEntry,
    ("groups", "config_queues"): QueueList,
}
_WORDS = {
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "string_type": "must be text (quote it)",
    "tuple_type": "must be a list",
    "model_type": "must be a mapping of keys to values",
    "model_attributes_type": "must be a mapping of keys to values",
}


def load(path: Path | str | None) -> Configuration:
    """The configuration of a file, or the defaults without one. Raises `ConfigurationError`."""
    if path is None:
        return Configuration()
    values = _read_yaml(Path(path))
    if not isinstance(values, dict):
        raise ConfigurationError(f"{path}: must be a mapping of keys to values, not {_shown(values)}")
    try:
        return Configuration.model_validate(values)
    except ValidationError as error:
        mistakes = [_mistake(details) for details in error.errors(include_url=False)]
        raise ConfigurationError("\n".join(f"{path}: {mistake}" for mistake in mistakes)) from None


class _StrictLoader(yaml.SafeLoader):
    """YAML's safe loader, which also refuses a key that stands twice in one mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key '{key.value}' stands twice in one mapping", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _read_yaml(path: Path) -> Any:
    """The content of the file; that of an empty file is an empty mapping."""
    try:
        values = yaml.load(path.read_bytes().decode("utf-8"), Loader=_StrictLoader)  # a safe loader
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: is not UTF-8 (byte {error.start})") from None
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise ConfigurationError(f"{path}: {line}{error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: is not YAML: {error}") from None
    return {} if values is None else values


def _mistake(details: ErrorDetails) -> str:
    """One validation error in words, after the path of its key."""
    path, value = _path(details["loc"]), details["input"]
    match details["type"]:
        case "extra_forbidden" | "invalid_key":
            section = tuple(str(part) for part in details["loc"][:-1] if not isinstance(part, int))
            known = tuple(_SECTIONS[section].model_fields)
            return f"{path}: unknown key; {nearest(str(details['loc'][-1]), known)}"
        case "missing":
            return f"{path}: is missing"
        case "value_error":
            text = str(details["ctx"]["error"])
            return f"{path}: {text}" if path else text
        case kind:
            text = _WORDS.get(kind) or details["msg"].replace("Input should be", "must be")
            return f"{path}: {text}, not {_shown(value)}"


def _path(location: tuple[int | str, ...]) -> str:
    parts = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return parts.removeprefix(".")


def _shown(value: object) -> str:
    """A value in a message: short, and in the words of YAML."""
    if value is None:
        return "empty"
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
