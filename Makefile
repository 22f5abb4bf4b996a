# Everything a person or a pipeline does here. `make` alone lists the targets.
# `run`, `test` and `check` need nothing done before them: they install first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= 2

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install run test test-fast check fmt bench openapi lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP) ## Make .venv with the locked dependencies and this package (no-op when up to date)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) \
		|| { echo "python3 -m venv failed; on Debian: apt-get install python3-venv"; rm -rf $(VENV); exit 1; }
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

run: install ## Start the whole coordinator, PostgreSQL, API and ticks, and two factories that do real work
	$(BIN)/fleet up --demo

test: install ## Run every test on real PostgreSQL, with the coverage gates
	$(BIN)/pytest -n $(WORKERS) --cov --cov-report=
	$(BIN)/python tests/coverage_gates.py

test-fast: install ## Run the pure core only: no database, milliseconds
	$(BIN)/pytest -q tests/core

check: install ## Lint, format check, types, import contracts, dependencies, architecture
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .
	$(BIN)/pytest -q tests/architecture

fmt: install ## Format and fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install ## Measure the floors, then the service; options: make bench ARGS="--help"
	$(BIN)/python -m tests.bench $(ARGS)

openapi: install ## Write the contract, openapi/openapi.json, from the application
	$(BIN)/python -m app openapi --output openapi/openapi.json

lock: install ## Remake requirements.lock: names, versions and hashes, no address
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --upgrade \
		--generate-hashes --no-annotate --no-header --quiet --output-file requirements.lock

clean: ## Remove what the other targets made, .venv included
	rm -rf $(VENV) .coverage .coverage.* htmlcov build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find app tests alembic -name __pycache__ -type d -prune -exec rm -rf {} +
