# Everything runs in .venv, which any target makes first: exact pins from requirements.lock, Delta's jars once.
PYTHON ?= $(firstword $(wildcard .venv/bin/python) python3)
UV_VERSION := 0.13.8
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo test lint format fuzz slow reliability live test-airflow bench bench-quick lock licences \
  site docs dist release-test advisories clean check-tools

help: ## show the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: .venv/installed ## load the recording that ships with the project, audit it, show the incidents, write the report
	@$(BIN)/rebalance-audit demo

# With bytecode: its processes, some fifty, import the same modules.
test: lint ## linters, types and all tests
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses 2 --no-loadscope-reorder

lint: .venv/installed ## ruff and mypy
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy

format: .venv/installed ## put the code into its one format
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

fuzz: .venv/installed ## the kernel against a brute-force oracle on 20,000 random histories (CASES=…)
	@FUZZ_CASES=$(or $(CASES),20000) $(BIN)/python -m pytest -m fuzz

slow: .venv/installed ## tests of whole runs that would make `make test` too long
	@$(BIN)/python -m pytest -m slow

reliability: .venv/installed ## hostile lines and rows, no network, old warehouses, S3, a catalog (tests/end_to_end/reliability/README.md; Maven)
	@$(BIN)/rebalance-audit setup --s3
	@$(BIN)/python -m pytest -m reliability tests/end_to_end/reliability -s

live: .venv/installed ## a real cluster on loopback, recorded, ingested, audited (an hour, Maven, Go, Node; ROCKETMQ=5.5.0; 10 minutes for 4.3.0 to 5.1.4)
	@$(BIN)/rebalance-audit setup --capture $(or $(filter-out 4.% 5.0.% 5.1.%,$(ROCKETMQ)),5.4.0)
	@ROCKETMQ=$(or $(ROCKETMQ),5.4.0) $(BIN)/python -m pytest -m live tests/end_to_end/live

test-airflow: .venv/installed ## a real Airflow: a backfill with kills, a closed gate, a cleared run, a cluster (tests/end_to_end/reliability/README.md)
	@$(BIN)/python -m pytest -m airflow tests/end_to_end/dags

bench: .venv/installed ## made fleets: what auditing them costs, beside its goals (hours; BEFORE=checkout, LOG=of make test)
	@$(BIN)/python -m benchmarks $(if $(BEFORE),--before $(BEFORE)) $(if $(LOG),--test-log $(LOG))

bench-quick: .venv/installed ## the same, small: the fixed costs (3 minutes)
	@$(BIN)/python -m benchmarks --quick

SITE := $(BIN)/uv tool run --quiet --with mkdocs-material==9.8.1 --with mkdocs-redirects==1.2.2 --with mkdocs-static-i18n==1.3.1 \
  --from mkdocs==1.6.1 mkdocs

site: .venv/installed ## the documentation as a site, in build/site (fetches MkDocs)
	@NO_MKDOCS_2_WARNING=1 $(SITE) build --quiet

docs: site ## the site, its links and code blocks, and how it looks in a browser
	@$(BIN)/python -m pytest tests/unit/project/test_docs.py
	@$(BIN)/python -m pytest -m site tests/end_to_end/site

dist: .venv/bin/uv ## the wheel and the sdist, in dist
	@$(BIN)/uv build --quiet --out-dir dist

release-test: .venv/installed ## the wheel and the sdist in fresh environments (10 minutes; fetches packages)
	@$(BIN)/python -m pytest -m release tests/end_to_end/release -s

lock: .venv/bin/uv ## pin what setup.cfg asks for; UPGRADE=1 takes the newest versions
	@$(BIN)/uv pip compile setup.cfg --quiet --all-extras --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --custom-compile-command "make lock" --output-file requirements.lock \
	  $(if $(UPGRADE),--upgrade)
	@$(BIN)/uv pip compile setup.cfg --quiet --extra spark --extra s3 --extra report --extra notify --extra capture --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --constraint requirements.lock --custom-compile-command "make lock" --no-annotate \
	  --output-file deploy/requirements.lock

licences: .venv/installed ## make THIRD_PARTY_LICENSES.md from the lock and the installed packages
	@$(BIN)/python -m tests.unit.supply_chain.licences

advisories: .venv/bin/uv ## known vulnerabilities of the lock (asks a vulnerability service; fails where one cannot be asked)
	@$(BIN)/uv tool run pip-audit==2.10.1 --strict --disable-pip --require-hashes --requirement requirements.lock

clean: ## remove .venv, caches and the demo's warehouse
	rm -rf .venv warehouse spark-warehouse metastore_db derby.log build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

check-tools:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo 'rebalance-audit: needs Python 3.11 or newer, which $(PYTHON) is not:' \
	    'install it, or name another with make PYTHON=python3.12' >&2; exit 3; }
	@$(PYTHON) -m spark_jobs.setup.java

.venv/bin/uv: | check-tools
	@echo 'Making .venv …'
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

.venv/installed: requirements.lock setup.cfg pyproject.toml | check-tools .venv/bin/uv
	@echo 'Installing the pinned packages (a minute, and the download) …'
	@$(BIN)/uv pip sync --quiet --compile-bytecode --python $(BIN)/python requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	@echo "Fetching Delta's jars and preparing Java's classes, once (a minute) …"
	@$(BIN)/rebalance-audit setup >/dev/null
	@touch $@
