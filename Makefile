# Every target sets itself up in .venv, with what it needs and no more, and costs nothing after that:
# `demo` and `claims` the package alone, `lint` and `test` what their extras name, `install` all of it.
PYTHON ?= python3
BIN := .venv/bin
HAS := .venv/.has-
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
SOURCES := pyproject.toml constraints.txt

.NOTPARALLEL:
.PHONY: install demo test test-integrations test-long lint format bench mutants claims pictures docs dist matrix lowest clean

# A stamp for each set of extras; that of `dev` stands for the smaller ones, too.
install: $(HAS)dev

$(HAS)%: $(SOURCES)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "uflp needs Python 3.11 or later, and $(PYTHON) is older: make PYTHON=python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --editable '.$(if $(filter core,$*),,[$*])'
	@touch $@ $(HAS)core $(if $(filter dev,$*),$(HAS)test $(HAS)lint $(HAS)docs $(HAS)release)

demo: $(HAS)core
	$(BIN)/python examples/demo.py

test: $(HAS)test
	$(BIN)/python -m pytest -n auto

test-long: $(HAS)test
	$(BIN)/python -m pytest -m long -n auto -rP tests/long

# Other people's agents (Stable-Baselines3, torch), which nothing else needs.
test-integrations: $(HAS)test $(HAS)sb3
	$(BIN)/python -m pytest -q tests_integrations

lint: $(HAS)lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(HAS)lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(HAS)dev
	$(BIN)/python -m benchmarks

# A random sample of changes to the code, each of which some test should notice: hours.
mutants: $(HAS)test $(HAS)mutants
	$(BIN)/python -m benchmarks.mutants --quick 15
	$(BIN)/python -m benchmarks.mutants --survivors

# The pages that compare the paper with the results, from the CSVs in results/.
claims: $(HAS)core
	$(BIN)/python -m uflp.report.claims

# The pictures of results/, drawn again from the CSVs beside them.
pictures: $(HAS)core
	$(BIN)/python -m uflp.report.redraw

# The documentation, into build/site/index.html; a warning is an error, and no network is needed.
docs: $(HAS)docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

# Source distribution and wheel in dist/, each tried in a fresh environment without extras.
dist: $(HAS)release
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m release.check_dist dist

# The wheel with every Python that is here, and the lowest, the pinned and the highest dependencies.
matrix: $(HAS)release
	$(BIN)/python -m release.matrix

# The lowest versions that pyproject.toml allows, as constraints.
lowest: $(HAS)release
	$(BIN)/python -m release.lowest

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache
