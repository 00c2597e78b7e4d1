# Everything a newcomer needs: `make demo`, `make test`. Each target sets itself up.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DEMO   := results/demo
MINUTES ?= 5
SEED   ?= 0
JOBS   ?= 2

.PHONY: help demo test test-all fuzz lint format bench docs docs-serve docs-pictures docs-tables experiments clean

help:            ## what there is
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "manyviews needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev,bench,explore]'
	@touch $@

demo: $(READY)   ## fit two views of the digits of scikit-learn and write a report
	$(BIN)/manyviews demo --out $(DEMO)

test: lint       ## lint, types, quick examples of the documentation, quick tests
	$(BIN)/python -m pytest --doctest-glob='*.md' -n 2 --dist worksteal -m 'not long' tests docs README.md

test-all: test   ## and the longer tests and examples
	$(BIN)/python -m pytest --doctest-glob='*.md' -n 2 --dist worksteal -m long tests docs

fuzz: $(READY)   ## odd inputs, broken files, kills: MINUTES=5 SEED=0 JOBS=2; see docs/robustness.md
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --seed $(SEED) --jobs $(JOBS) --json results/fuzz.json

lint: $(READY)   ## format check, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY) ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)  ## speed, memory and agreement, side by side with GPy and GPflow
	$(BIN)/python -m benchmarks --json results/benchmarks.json

docs: $(READY)   ## build the documentation into site/; the first time runs its examples
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html in a browser, or: make docs-serve"

docs-serve: docs ## build the documentation and serve it at http://localhost:8000
	$(BIN)/python -m http.server 8000 --bind 127.0.0.1 --directory site

docs-pictures: $(READY) ## draw the committed pictures of the documentation anew (needs Chromium)
	$(BIN)/python docs/assets/overview.py
	$(BIN)/python docs/assets/explorer.py

docs-tables: $(READY) ## write the tables of docs/experiments from experiments/results
	$(BIN)/python -m experiments.pages

experiments: $(READY) ## reproduce what is stale or absent: says how long, then runs; JOBS=2 (needs MANYVIEWS_DATA)
	$(BIN)/python -m experiments all --jobs $(JOBS)

clean:           ## remove what the targets made
	rm -rf $(VENV) .venv-gpy .venv-gpflow .venv-cca_zoo .venv-mofa results site .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
