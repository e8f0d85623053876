"""Great Expectations evaluates the tables of a run by what Spark has counted: suites, results and Data Docs.

Only this module, `suites` and `step_expectations` import it: that takes seconds. Its own pages load styles and scripts
from a dozen hosts: without them the index is empty. Its renderers stay; the templates in `views/` come before its own,
and are plain HTML with one style sheet, which need no network and run no script, whatever the rows are named.
"""

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import great_expectations as gx
from filelock import FileLock
from great_expectations.core.expectation_validation_result import ExpectationValidationResult
from great_expectations.data_context.data_context.ephemeral_data_context import EphemeralDataContext
from great_expectations.data_context.types.base import (
    DataContextConfig,
    InMemoryStoreBackendDefaults,
    ProgressBarsConfig,
)
from great_expectations.data_context.types.resource_identifiers import (
    ExpectationSuiteIdentifier,
    ValidationResultIdentifier,
)
from great_expectations.render.view.view import DefaultJinjaIndexPageView, DefaultJinjaPageView
from jinja2 import ChoiceLoader, FileSystemLoader

from spark_jobs.errors import QualitySiteError
from spark_jobs.pipeline.quality.checks import CheckResults, Result
from spark_jobs.pipeline.quality.facts import CLUSTERS, EXAMPLES, ROWS, STEP, Facts
from spark_jobs.pipeline.quality.step_expectations import as_batch

#: Data Docs show so many runs; what was before is in quality_results.
_RUNS_SHOWN = 50


def validate(suites: Iterable[gx.ExpectationSuite], facts: Facts) -> CheckResults:
    """The results of the suites, by what was counted of their tables: a row per (table, expectation, step)."""
    source = _context(None).data_sources.add_pandas("facts")
    seen = CheckResults()
    steps_by_table = {table.name: steps for table, steps in facts.items()}
    for suite in suites:
        data = source.add_dataframe_asset(suite.name).add_batch_definition_whole_dataframe(suite.name)
        batch = data.get_batch({"dataframe": as_batch(steps_by_table[suite.name])})
        # Not by a checkpoint: it stores and compares definitions that nobody asks for, most of the time.
        validated = batch.validate(suite)
        results = [result for expectation in validated.results for result in _results(suite.name, expectation)]
        seen += CheckResults(results, [validated])
    return seen


def write_pages(checked: CheckResults, run_id: str, site: Path) -> Path:
    """Data Docs with the pages of these results of a run; their index. Raises `QualitySiteError` if the folder cannot
    be written.
    """
    run = gx.RunIdentifier(run_name=run_id)
    with _writing(site), FileLock(site / "pages.lock"):  # runs side by side forget the same old ones
        context = _context(site)
        pages = []
        for validated in checked.for_pages:
            suite = ExpectationSuiteIdentifier(name=validated.suite_name)
            pages.append(ValidationResultIdentifier(suite, run, validated.batch_id))
            validated.meta |= {"run_id": run, "validation_time": run.run_time}
            context.validation_results_store.store_validation_results(validated, pages[-1])
        _forget_old_runs(site)
        context.build_data_docs(resource_identifiers=pages)
    return site / "data_docs" / "index.html"


@contextmanager
def _writing(site: Path | None) -> Iterator[None]:
    """Turns what the file system says into an error that names the folder."""
    try:
        yield
    except OSError as error:
        raise QualitySiteError(
            f"the pages of the data-quality checks cannot be written to {site}: {error.strerror or error}. "
            "Free some space, or give this user the right to write there; audit_runs says whether the run was published"
        ) from error


def _forget_old_runs(site: Path) -> None:
    """Leaves the newest runs in the results and pages; their folders are <suite>/<run>/<time>."""
    runs = {path.name: path.stat().st_mtime for path in (site / "validations").glob("*/*")}
    old = sorted(runs, key=lambda run: runs[run], reverse=True)[_RUNS_SHOWN:]
    for run in old:
        for folder in (*site.glob(f"validations/*/{run}"), *site.glob(f"data_docs/validations/*/{run}")):
            shutil.rmtree(folder)


def _context(site: Path | None) -> EphemeralDataContext:
    defaults = InMemoryStoreBackendDefaults()
    sites: dict[str, Any] = {}
    if site is not None:
        defaults.stores[defaults.validation_results_store_name]["store_backend"] = _folder(site / "validations")
        sites["data_docs"] = {
            "class_name": "SiteBuilder",
            "show_how_to_buttons": False,
            "store_backend": _folder(site / "data_docs"),
            "site_index_builder": {
                "class_name": "DefaultSiteIndexBuilder",
                "show_cta_footer": False,
                "view": offline(OfflineIndex),
            },
            "site_section_builders": {
                "expectations": "None",
                "profiling": "None",
                "validations": {"view": offline(OfflinePage)},
            },
        }
    config = DataContextConfig(
        store_backend_defaults=defaults,
        data_docs_sites=sites,
        analytics_enabled=False,
        progress_bars=ProgressBarsConfig(globally=False),
    )
    return gx.get_context(project_config=config, mode="ephemeral")


def _folder(path: Path) -> dict[str, str]:
    return {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(path)}


def _results(table: str, validated: ExpectationValidationResult) -> Iterator[Result]:
    config = validated.expectation_config
    assert config is not None  # every result of a suite has the expectation it is of
    _raise_what_was_caught(validated.exception_info)
    for step in validated.result["details"]["steps"]:
        unexpected = step.get("unexpected")
        yield Result(
            step_start=datetime.fromisoformat(step[STEP]),
            table_name=table,
            expectation=config.kwargs["name"],
            column_name=config.kwargs.get("column"),
            severity=str(config.severity.value),
            success=step["success"],
            observed_value=float(step["observed"]),
            unexpected_count=unexpected,
            unexpected_percent=None if unexpected is None else 100 * unexpected / step[ROWS],
            examples=step[EXAMPLES],
            clusters=step[CLUSTERS],
        )


def _raise_what_was_caught(caught: Mapping[str, Any]) -> None:
    """Great Expectations makes a failed expectation of an error; an error is none."""
    for exception in (caught, *caught.values()):
        if isinstance(exception, Mapping) and exception.get("raised_exception"):
            raise RuntimeError(str(exception["exception_message"]).partition("\n")[0])


_VIEWS = Path(__file__).with_name("views")


class _Offline(DefaultJinjaPageView):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        assert self.env.loader is not None  # Great Expectations gives it one
        self.env.loader = ChoiceLoader([FileSystemLoader(_VIEWS), self.env.loader])


class OfflinePage(_Offline):
    """The page of a table in a run. Its link to a page of the suite is left out: docs/expectations.md is that page."""

    def render(self, document: Any, template: str | None = None, **values: Any) -> str:
        """HTML of the page."""
        page = str(super().render(document, template, **values))  # type: ignore[no-untyped-call]
        return re.sub(r'<a href="[./]*/expectations/[^"]*"\s*>(.*?)</a>', r"\1", page)


class OfflineIndex(_Offline, DefaultJinjaIndexPageView):
    """The list of runs."""


def offline(view: type[_Offline]) -> dict[str, str]:
    """How the configuration of a site names a view."""
    return {"module_name": view.__module__, "class_name": view.__name__}
