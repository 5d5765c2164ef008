# make demo   sets up .venv, runs the main job on bundled data, ends with a report
# make test   sets up .venv, lints, checks types and imports, runs the tests
# make snapshots  writes what the tests have recorded of sentences anew: read the diff
# make audit  the checks that take too long for every change (see docs/audit.md for their last result)
# make bench  the ratios of benchmarks/ in one table: what is wanted, what is, what was last time
# make docs   the docs as a site, in build/site
# make gallery  screenshots of every picture, report and page, into docs/images/gallery

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
COMMA  := ,
CORE   := tests/evidence tests/pareto tests/policies

# Where Python may not keep what it has compiled, each of the hundreds of processes of the tests compiles it anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test checked lint types imports collected pytest snapshots kernels kernels-of-studies kernels-of-logs audit bench docs gallery clean
.DELETE_ON_ERROR:

demo: $(VENV)/demo.stamp
	$(BIN)/frontguard demo

# Kernels are compiled, and modules of tests prepared, beside the checks that need neither: otherwise each worker of the
# tests would do both for itself. The kernels of logs come last: by then, those that they share with studies are there.
test: $(VENV)/dev.stamp
	$(MAKE) --no-print-directory --jobs=2 kernels-of-studies checked kernels-of-logs
	$(MAKE) --no-print-directory pytest

checked: lint imports types collected

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev.stamp
	$(BIN)/mypy

imports: $(VENV)/dev.stamp
	$(BIN)/python -m tools.contract

pytest: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n logical --dist worksteal -m "not audit" --durations=5 $(PYTEST_ARGS)

collected: $(VENV)/dev.stamp
	@$(BIN)/python -m pytest --collect-only --quiet --no-header -p no:cacheprovider -p no:syrupy > $(VENV)/collected || cat $(VENV)/collected

# What commands, reports, pages and errors say, written anew: read the diff.
snapshots: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n logical --dist worksteal -m "not audit" --snapshot-update $(PYTEST_ARGS)

kernels: kernels-of-studies kernels-of-logs

kernels-of-studies: $(VENV)/dev.stamp
	$(BIN)/python -m tests.support.kernels simulate study

kernels-of-logs: $(VENV)/dev.stamp
	$(BIN)/python -m tests.support.kernels pairs analyze

audit: $(VENV)/audit.stamp docs
	$(BIN)/python -m pytest -m audit $(PYTEST_ARGS)
	$(BIN)/python -m audit --runs 1000 --seed 1
	FRONTGUARD_KERNELS=interpreted $(BIN)/python -m pytest -n logical --dist worksteal -m "not audit" $(CORE)
	FRONTGUARD_KERNELS=compiled $(BIN)/python -m pytest -n logical --dist worksteal -m "not audit" $(CORE)

bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks

# Warnings are errors: a page that no table of contents has, a link that leads nowhere, a docstring that is not numpydoc's.
docs: $(VENV)/docs.stamp
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --builder html --conf-dir docs . build/site

gallery: $(VENV)/dev.stamp
	$(BIN)/python -m gallery

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "frontguard needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Give one with: make PYTHON=..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

# uv installs in a quarter of pip's time; pip does it where uv cannot be had, or knows nothing of an index or a certificate
# that pip was told of. Python compiles what it imports, which is a third of what is installed.
PIP     := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
install  = @echo 'install $(1)'; $(PIP) uv && $(BIN)/uv pip install --quiet --python $(BIN)/python $(1) || $(PIP) $(1)

$(VENV)/demo.stamp: pyproject.toml | $(BIN)/python
	$(call install,--editable ".[plot]")
	@touch $@

$(VENV)/audit.stamp: pyproject.toml | $(BIN)/python
	$(call install,--editable ".[dev$(COMMA)diabetes]")
	@touch $@

$(VENV)/docs.stamp: pyproject.toml | $(BIN)/python
	$(call install,--editable ".[docs]")
	@touch $@

$(VENV)/dev.stamp: pyproject.toml | $(BIN)/python
	$(call install,--editable ".[dev]")
	@touch $@
