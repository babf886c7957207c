# `make demo` and `make test` need nothing but Python 3.11 or later and the package registry.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One thread: some tests fork, which a pool of OpenMP's threads does not outlive, and two are no faster.
TESTS := OMP_NUM_THREADS=1 $(BIN)/python -m pytest
PIP := $(BIN)/python -m pip install --quiet --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test test-engines test-integrations test-service test-web soak lint types check coverage docs bench clean

help:            ## list these commands
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */  make \1\t/'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# torch goes first and pinned: a later resolution would otherwise pick a build with gigabytes of GPU libraries.
$(VENV)/.runtime: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) torch==2.13.0
	$(PIP) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	$(PIP) --editable '.[dev]'
	@touch $@

$(VENV)/.integrations: $(VENV)/.dev
	$(PIP) --editable '.[haystack,langchain,llamaindex,mcp]'
	@touch $@

$(VENV)/.service: $(VENV)/.dev
	$(PIP) --editable '.[serve]' 'schemathesis>=4,<5'
	@touch $@

# The browser is Debian's (apt-get install chromium): no package here downloads one.
$(VENV)/.web: $(VENV)/.service
	$(PIP) 'playwright>=1.50,<2' 'axe-playwright-python>=0.1.4,<0.2'
	@touch $@

demo: $(VENV)/.runtime   ## set up, index the bundled corpus, search it with and without an exclusion
	$(BIN)/excise demo

test: $(VENV)/.dev       ## set up and run the tests
	$(TESTS) --numprocesses 2 --dist loadfile --ignore=tests/service --ignore=tests/web   # those are for make test-service and make test-web

test-service: $(VENV)/.service   ## the tests of the HTTP service, with schemathesis against its OpenAPI document
	$(TESTS) tests/service src/excise/service

test-web: $(VENV)/.web   ## the tests of the page, in Chromium; skipped where there is none
	$(TESTS) tests/web

# The import comes first: tests of a library that is missing would be passed over.
test-integrations: $(VENV)/.integrations   ## the drop-ins and their examples, against the real libraries
	$(BIN)/python -c 'import haystack, langchain_core, llama_index.core, mcp'
	$(TESTS) tests/integrations src/excise/integrations

soak: $(VENV)/.dev       ## the long form of the tests with faults, threads and broken input
	EXCISE_SOAK=1 $(TESTS) -m soak

$(VENV)/.engines: $(VENV)/.dev
	$(PIP) --editable '.[dev,engines]'
	@touch $@

test-engines: $(VENV)/.engines   ## the engine contract on Qdrant, LanceDB and PostgreSQL, which it starts itself
	$(TESTS) -m engines tests

$(VENV)/.docs: $(VENV)/.runtime
	$(PIP) --editable '.[docs]'
	@touch $@

docs: $(VENV)/.docs      ## the documentation as a site, in site/: every link checked, nothing fetched
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# make bench BENCH='--sizes 1000 10000 100000 1000000' takes 8 GB of disk and half an hour; benchmarks/bench.py has more options.
bench: $(VENV)/.dev      ## what searching, excluding and indexing cost; writes docs/performance.md
	$(BIN)/python benchmarks/bench.py $(BENCH)

lint: $(VENV)/.dev       ## ruff: lint and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev      ## mypy, strict
	$(BIN)/mypy

check: lint types test   ## lint, types and tests; .ci/run has the rest

coverage: $(VENV)/.dev   ## the tests with line coverage
	$(TESTS) --cov --cov-report=term-missing

clean:           ## remove the environment and caches
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
