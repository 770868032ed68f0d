# `make demo` and `make test` each do all their own set-up in a clean clone; both need Python >= 3.11 and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
OUT ?= demo-output

# Compiled files of Python are kept, whatever the caller's habits: commands that tests start, and the tests themselves, would
# be compiled again in every process.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test checks loops lint types imports docs processors integration coverage matrix installed pictures acceptance bench clean

help: ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "askance needs Python >= 3.11, found " + sys.version.split()[0] + "; call make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable '.[collect]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable '.[dev,docs]'
	@touch $(VENV)/.installed $@

demo: $(VENV)/.installed ## four simulated stories (survey, regression, tagger, collector) beside the truth, and an HTML report
	$(BIN)/askance demo --out $(OUT)

# Files with module fixtures stay in one process; the long ones begin first (tests/conftest.py). Linear algebra has one
# thread in each process: there are as many processes as cores.
SIDE_BY_SIDE := --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest $(SIDE_BY_SIDE)

test: $(VENV)/.installed-dev ## everything that has to hold before a change goes in
	@$(MAKE) --no-print-directory --jobs 2 checks loops
	$(PYTEST)

checks: lint types imports docs

loops: $(VENV)/.installed-dev
	$(BIN)/python -m tests.compile_loops

# What runs again, and why the rest need not: tests/conftest.py. Pages, docstrings, commands and the paper run again as on
# the kind that is least like the machines people have.
PROCESSOR := $(BIN)/python tools/processors.py --only
AGAIN := $(BIN)/python -m tests.compile_loops && $(PYTEST)
processors: $(VENV)/.installed-dev ## the numerical tests, and once the pages, again as on other kinds of processor
	$(PROCESSOR) haswell sh -c '$(AGAIN) --numerical core'
	$(PROCESSOR) generic sh -c '$(AGAIN) --numerical all -m "integration or not integration"'

$(VENV)/.installed-integration: $(VENV)/.installed-dev
	$(PIP) --editable '.[spark]' playwright
	@touch $@

integration: $(VENV)/.installed-integration ## tests that kill processes, in browsers and databases, and the paper quickly; says what was left out, and what it needs
	$(BIN)/python -m pytest -m integration -rs $$(grep -l mark.integration tests/test_*.py)

# One test file traces Python itself, which two cannot do at once.
coverage: loops ## the share of statements in src/ that tests run, in percent; compiled loops count where Python runs them
	$(PIP) 'coverage>=7.10.2'
	$(BIN)/coverage erase
	-OPENBLAS_NUM_THREADS=1 $(BIN)/coverage run -m pytest --quiet $(SIDE_BY_SIDE) --ignore tests/test_even_steps.py
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --format=total

matrix: $(VENV)/.installed-dev ## a smoke suite on every Python at hand, with the lowest and the newest versions
	$(BIN)/python tools/matrix.py

installed: $(VENV)/.installed-dev ## build wheel and source archive, install into an empty environment, run a part of the tests there
	$(BIN)/python tools/installed.py $(ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

imports: $(VENV)/.installed-dev
	$(BIN)/lint-imports

docs: $(VENV)/.installed-dev ## the documentation as a site, site/index.html; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "documentation: site/index.html"

pictures: $(VENV)/.installed-dev ## draw the pictures of the documentation again
	$(BIN)/python docs/tools/draw.py

acceptance: $(VENV)/.installed-dev ## the long checks, statistical and on real data, each beside its goal: hours, acceptance/RESULTS.md
	$(BIN)/python -m acceptance --engine here:2 --store

bench: $(VENV)/.installed-dev ## comparisons with peers, each in an environment of its own; over an hour, benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks

clean: ## remove everything that make made
	rm -rf $(VENV) site demo-output reproduce-output benchmarks/environments .processors .matrix .installed .mypy_cache .ruff_cache .pytest_cache .coverage* .hypothesis .import_linter_cache
