"""The kinds of value a configuration holds, each with its own check and its own words."""

import difflib
import re
import warnings
from datetime import UTC, date, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ValidationError

from spark_jobs.domain.model.intervals import parse_utc
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.rocketmq.strategies import MACHINE_ROOM_NEARBY, STRATEGY_NAMES
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.errors import IntervalError

#: What only Python's `re` reads (Java's Pattern has another form, or takes it for an error).
_PYTHON_ONLY = re.compile(r"\(\?[P#(]|\{,")

#: How far back a run reads is the same for all its groups.
_OF_A_RUN = ("persistent_after_seconds", "verdict_window_seconds", "verdict_window_readings")
#: A strategy that a group can be configured to use: MACHINE_ROOM_NEARBY needs its inner one.
_STRATEGIES = tuple(name for name in STRATEGY_NAMES if name != MACHINE_ROOM_NEARBY)
_RULE_NAMES = tuple(rule.name for rule in RULES)


def nearest(name: str, known: tuple[str, ...]) -> str:
    """Words that help who mistyped a name: the nearest known one, else all of them."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    return f"did you mean '{near[0]}'?" if near else f"known are {', '.join(known)}"


def _check_known(kind: str, name: str, known: tuple[str, ...]) -> str:
    if name not in known:
        raise ValueError(f"unknown {kind} '{name}'; {nearest(name, known)}")
    return name


def _check_pattern(pattern: str) -> str:
    if match := _PYTHON_ONLY.search(pattern):
        raise ValueError(f"'{pattern}' has '{match.group()}', which Java reads differently")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)  # nested sets and `&&`, which Java knows and Python does not
            re.compile(pattern)
    except (re.error, FutureWarning) as error:
        raise ValueError(f"'{pattern}' is not a regular expression that Python and Java agree on: {error}") from None
    return pattern


def _check_report_url(url: str) -> str:
    if "{id}" not in url:
        raise ValueError(f"'{url}' must contain {{id}}, which becomes the id of an incident")
    return url


def _check_room_pattern(pattern: str) -> str:
    if re.compile(_check_pattern(pattern)).groups != 1:
        raise ValueError(f"'{pattern}' must have exactly one (group), which is the room")
    return pattern


def _moment(value: Any) -> Any:
    """A time as YAML reads it: a text, a day, or a time, which is UTC if it names no zone."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if not isinstance(value, str):
        return value
    try:
        return parse_utc(value)
    except IntervalError as error:
        raise ValueError(str(error)) from None


def _check_thresholds(values: dict[str, Any]) -> dict[str, Any]:
    """Those of one entry for its groups, which are checked as the thresholds of all groups are."""
    for name in values:
        _check_known("key", name, tuple(Thresholds.model_fields))
        if name in _OF_A_RUN:
            raise ValueError(f"{name} is the same for all groups: it says how far back a run reads")
    try:
        Thresholds.model_validate(values)
    except ValidationError as error:
        details = error.errors(include_url=False)[0]
        mistake = details["msg"].replace("Input should be", "must be")
        raise ValueError(f"{details['loc'][0]} {mistake}, not {details['input']!r}") from None
    return values


def _check_rule_pattern(pattern: str) -> str:
    if not any(re.fullmatch(_check_pattern(pattern), name) for name in _RULE_NAMES):
        raise ValueError(f"'{pattern}' matches no rule; {nearest(pattern, _RULE_NAMES)}")
    return pattern


StrategyName = Annotated[str, AfterValidator(lambda name: _check_known("strategy", name, _STRATEGIES))]
#: Matches a whole name, by Python's `re` and Java's Pattern: beware of `\w`, `\d`, `\s` on names beyond ASCII.
NamePattern = Annotated[str, AfterValidator(_check_pattern)]
#: Thresholds by name, where they differ from those of all groups.
GroupThresholds = Annotated[dict[str, Any], AfterValidator(_check_thresholds)]
RuleName = Annotated[str, AfterValidator(lambda name: _check_known("rule", name, _RULE_NAMES))]
RulePattern = Annotated[str, AfterValidator(_check_rule_pattern)]
Moment = Annotated[datetime, BeforeValidator(_moment)]
#: Searched in a name; its one group is the room.
ReportUrl = Annotated[str, AfterValidator(_check_report_url)]
RoomPattern = Annotated[str, AfterValidator(_check_room_pattern)]
