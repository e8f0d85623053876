"""docs/json-keys.txt lists what `--json` prints, key by key, and rows for programs have the same types. No Spark."""

import csv
import io
import json
import re
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import rebalance_audit
from schemas import AUDIT_RUNS, FINDINGS, TABLES
from spark_jobs.cli.commands import COMMANDS as ALL
from spark_jobs.cli.commands import backfill, late, validate
from spark_jobs.cli.commands.run import run_document
from spark_jobs.cli.documents import answered, as_json
from spark_jobs.cli.main import main
from spark_jobs.cli.show_what_if import rollout_document
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.rules.rollout import Rollout
from spark_jobs.errors import PublishConflictError
from spark_jobs.ingest.load import IngestReport
from spark_jobs.installation import ROOT
from spark_jobs.operate.backfill import Filling
from spark_jobs.operate.missing import MissingStep, RecordedSteps, missing_times
from spark_jobs.operate.retention import ExpiredRows, ForgottenCluster
from spark_jobs.operate.upgrade import Upgraded
from spark_jobs.operate.upkeep import Maintained
from spark_jobs.operate.validate import Validation
from spark_jobs.operate.verify import Verified
from spark_jobs.pipeline.quality.checks import Result
from spark_jobs.pipeline.run_record import RunRecord
from spark_jobs.show.what_if import GroupRollout, GroupSteps
from spark_jobs.store.arrow import arrow_schema
from spark_jobs.what_if.rollout import RolloutComparison, RolloutOutcome
from tests.support.commands import ANSWERED, Typed
from tests.support.recordings import HOUR

_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
#: By kind of value as the page calls it, whether a value is one.
_IS: Mapping[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) in (int, float),
    "boolean": lambda value: isinstance(value, bool),
    "time": lambda value: bool(re.fullmatch(_TIME, value)),
    "interval": lambda value: bool(re.fullmatch(f"{_TIME}/{_TIME}", value)),
    "object": lambda value: isinstance(value, dict),
    "map": lambda value: isinstance(value, dict),
}
_BY_NAME = {table.name: table for table in TABLES}
#: Columns that a page's words leave out of a table.
_LEFT_OUT = {
    "without its key": ("cluster", "consumer_group", "step_start"),
    "without those of the run": ("run_id", "checked_at"),
}
#: By path, the kind of its values; the path of a list is that of its elements.
Keys = dict[str, str]


def documented() -> dict[str, Keys]:
    """By section of the file, its keys: `name, name: kind, meaning`, those of an object below it."""
    sections: dict[str, Keys] = {}
    for section in re.split("^## ", (ROOT / "docs" / "json-keys.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)[
        1:
    ]:
        title, _, body = section.partition("\n")
        keys, above = sections.setdefault(title, Keys()), [""]
        for indent, names, kind, meaning in re.findall(r"^( *)([\w\[\], ]+): (\w+)(.*)$", body, re.MULTILINE):
            del above[len(indent) // 2 + 1 :]
            for name in names.split(", "):
                path = above[-1] + _plain(name)
                keys[path] = kind.removesuffix("s") if name.endswith("[]") else kind
            above.append(f"{path}.")
            keys |= {f"{path}.{column}": kind for column, kind in _of_columns(meaning).items()}
            if reference := re.search(r"keys of `(.*?)`(?: of `(.*?)`)?", meaning):
                keys[f"{path} = {_plain(' '.join(filter(None, reference.groups()[::-1])))}"] = ""
    return {title: _resolved(keys, sections) for title, keys in sections.items()}


def _plain(path: str) -> str:
    return path.replace("[]", "")


def _of_columns(meaning: str) -> Keys:
    """The keys of the table that a meaning names."""
    table = re.search(r"columns of `(\w+)`", meaning)
    left_out = next((names for words, names in _LEFT_OUT.items() if words in meaning), ())
    fields = arrow_schema(_BY_NAME[table[1]]) if table else ()
    return Keys(pair for field in fields if field.name not in left_out for pair in _of_field(field, ""))


def _of_field(field: pa.Field, above: str) -> Iterator[tuple[str, str]]:
    kind = field.type.value_type if pa.types.is_list(field.type) else field.type
    yield above + field.name, _kind(kind)
    if pa.types.is_struct(kind):
        for inner in kind:
            yield from _of_field(inner, f"{above}{field.name}.")


def _kind(kind: pa.DataType) -> str:
    names = {"string": "text", "bool": "boolean", "double": "number", "int32": "integer", "int64": "integer"}
    if pa.types.is_nested(kind):
        return "map" if pa.types.is_map(kind) else "object"
    return "time" if pa.types.is_timestamp(kind) else names[str(kind)]


def _resolved(keys: Keys, sections: Mapping[str, Keys]) -> Keys:
    """The keys, with those of other paths in the place of references to them; these may refer again."""
    while references := [path for path in keys if " = " in path]:
        for path in references:
            del keys[path]
            here, _, there = path.partition(" = ")
            section, is_other, part = there.partition(" --json")
            of, above = (sections[section], part.strip()) if is_other else (keys, there)
            prefix = f"{above}." if above else ""
            keys |= {
                f"{here}.{name.removeprefix(prefix)}": kind for name, kind in of.items() if name.startswith(prefix)
            }
    return keys


def printed(document: Mapping[str, Any], keys: Keys, above: str = "") -> Iterator[tuple[str, Any]]:
    """Every (path, value) of the document, that of each element of a list; nothing below a map."""
    for name, value in document.items():
        for element in value if isinstance(value, list) else [value]:
            path = above + name
            yield path, element
            if isinstance(element, dict) and keys.get(path) != "map":
                yield from printed(element, keys, f"{path}.")
        if value == []:
            yield above + name, None


_GROUP = "--group payment-service"

#: By section of the page the commands that print such a document.
COMMANDS = {
    "status": ["status"],
    "incidents": ["incidents", "incidents --interval 2026-11-21T01:00/2026-11-21T03:00"],
    "explain": [
        f"explain {_GROUP} --at 2026-11-21T02:10",
        "explain --group batch-export --at 2026-11-21T02:20",
        f"explain {_GROUP} --at 2026-11-21T02:59",
        f"explain {_GROUP} --at 2026-11-21T02:00",
    ],
    "message": [
        "message --topic payments --queue broker-a:0 --stored-at 2026-11-21T02:10",
        "message --topic orders --queue broker-a:1 --offset 2400",
    ],
    "trends": ["trends"],
    "runs": ["runs"],
    "clients": ["clients 172 --interval 2026-11-21T02:00/2026-11-21T03:00"],
    "what-if": [f"what-if {_GROUP} --autoscale lag=500,max=4,min=2,every=1m,down-after=2m,start=0s"],
    "what-if --plan": [f"what-if {_GROUP} --plan 1"],
    "what-if --size": [f"what-if {_GROUP} --size"],
    "what-if --size, all groups": ["what-if --size"],
    "validate --sources": ["validate --sources"],
}
TABLE = {section for section in COMMANDS if not section.startswith(("explain", "message", "what-if", "validate"))}
_RECORD = RunRecord(
    dict.fromkeys(AUDIT_RUNS.columns), [{**dict.fromkeys(FINDINGS.columns), "team": "t"}], {}, ["w"], ["q"]
)
_STEPS, _ROLLOUT = GroupSteps("c", "g", HOUR, [], StrategySettings()), Rollout(0, 1, set(), set(), set(), 1, [])
_OUTCOME = RolloutOutcome("as it was", 4, 8, 40.0, 9, 30)
NEXT = Interval(HOUR.end, HOUR.end + timedelta(hours=1))
_FAILED = Result(HOUR.start, "findings", "e", "c", "critical", False, 0.5, 1, 2.0, ["x"], ["eu"])
_EXPIRED = ExpiredRows("t", 1, HOUR.start, HOUR.end)
_FORGOTTEN = ForgottenCluster("eu", 3, HOUR.start, HOUR.end)
_MISSING = missing_times(RecordedSteps({}, [MissingStep("c", HOUR, None)], {}, HOUR.start))
#: By section of the page, documents of commands that start Spark.
DOCUMENTS: Mapping[str, list[Mapping[str, Any]]] = {
    "ingest": [vars(IngestReport(span=(HOUR.start, HOUR.end)))],
    "run": [run_document(_RECORD)],
    "backfill": [
        backfill._backfill_document(
            HOUR, {HOUR: _RECORD, NEXT: PublishConflictError("e")}, Filling([HOUR], [NEXT], [HOUR])
        )
    ],
    "late": [
        {"interval": HOUR, "late": [late._late_document(HOUR, outcome)], "missing": _MISSING}
        for outcome in (_RECORD, PublishConflictError("e"))
    ],
    "runs --missing": [{"missing": _MISSING}],
    "validate": [validate._validation_document(Validation("r", HOUR, [_FAILED], Path("p")), [_FAILED])],
    "what-if --rollout": [rollout_document(GroupRollout(_STEPS, RolloutComparison(_ROLLOUT, 40.0, [_OUTCOME])))],
    "validate --store": [{"store": "s", "passed": ["p"]}],
    "verify": [vars(Verified("r", HOUR, {}, "1", "2"))],
    "maintain": [
        {
            "tables": [Maintained("t", 2, 1, 9, 8, 1, 2, 30)],
            "upgraded": [Upgraded("t", "created")],
            "deleted": [_EXPIRED],
            "forgotten": [_FORGOTTEN],
        },
        {"would_delete": [_EXPIRED], "would_forget": [_FORGOTTEN]},
    ],
}


def test_every_command_with_json_is_on_the_page() -> None:
    described = {section.split(" ")[0] for section in documented()}
    assert described == {name for name, command in ALL.items() if "--json" in command.options}
    assert documented().keys() == COMMANDS.keys() | DOCUMENTS.keys()


@pytest.mark.parametrize("section", [*COMMANDS, *DOCUMENTS])
def test_the_page_lists_every_key(section: str, example_warehouse: str, typed: Typed) -> None:
    keys = documented()[section]
    documents = [
        typed(f"{command} --json --quiet", warehouse=example_warehouse, code=ANSWERED).document
        for command in COMMANDS.get(section, ())
    ]
    documents += [json.loads(as_json(document)) for document in DOCUMENTS.get(section, ())]
    found = [pair for document in documents for pair in printed(document, keys)]
    paths = {path for path, _ in found}
    assert sorted(paths - keys.keys()) == [], "printed, but not on the page"
    filled = {path for path, value in found if isinstance(value, dict)}
    below = {path for path in keys if "." not in path or path.rpartition(".")[0] in filled}
    assert sorted(below - paths) == [], "on the page, but not printed"
    wrong = [(path, value) for path, value in found if value is not None and not _IS[keys[path]](value)]
    assert wrong[:3] == [], "of another kind than the page says"


@pytest.mark.parametrize("section", sorted(TABLE))
def test_columns_have_one_type_with_and_without_rows(
    section: str, example_warehouse: str, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def written(command: str) -> pa.Table:
        assert main([*command.split(), "--warehouse", example_warehouse, "--format", "parquet", "--quiet"]) in ANSWERED
        return parquet.read_table(io.BytesIO(capsysbinary.readouterr().out))

    table = written(COMMANDS[section][0])
    assert table.num_rows
    assert not [field.name for field in table.schema if pa.types.is_null(field.type)]
    times = {field.name for field in table.schema if pa.types.is_timestamp(field.type)}
    assert all(table.schema.field(name).type.tz == "UTC" for name in times)
    nothing = {"incidents": "incidents --rule REBALANCE_STORM --severity ERROR", "clients": "clients nobody"}
    if section in nothing:
        none = written(nothing[section])
        assert (none.num_rows, none.schema) == (0, table.schema)


def test_a_table_without_rows_has_its_columns(example_warehouse: str, typed: Typed) -> None:
    assert typed("clients nobody --format csv", warehouse=example_warehouse, code=2).out == (
        "cluster,consumer_group,client_id,client_addr,language,version,first_seen,last_seen,topics\n"
    )


def test_a_text_is_no_formula_in_a_spreadsheet(capsys: pytest.CaptureFixture[str]) -> None:
    formulas, others = ["=1+2", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"], ["10.0.0.1@7", "a\r=1", "b\n=1"]
    table = pa.table({"client_id": [*formulas, *others], "backlog": [-1] * 9, "share": [-0.5] * 9, "all": [["="]] * 9})
    assert answered(Namespace(json=False, format="csv"), {}, lambda: table)
    rows = [*csv.reader(io.StringIO(capsys.readouterr().out, newline=""))]
    assert [row[0] for row in rows] == ["client_id", *(f"'{text}" for text in formulas), *others]
    assert {tuple(row[1:]) for row in rows[1:]} == {("-1", "-0.5", '["="]')}


def test_iterating_an_answer_gives_its_table(example_warehouse: str) -> None:
    answers = rebalance_audit.open(example_warehouse)
    for answer in (answers.status(), answers.incidents(), answers.trends(), answers.findings()):
        assert len(answer) > 1
        assert pa.Table.from_pylist([*answer], answer.to_arrow().schema) == answer.to_arrow()
