# Every target sets itself up: `make install` builds .venv once and costs nothing after that.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
INTEGRATIONS := .venv/.installed-integrations
MUTANTS := .venv/.installed-mutants

.PHONY: install demo test test-integrations test-long lint format bench mutants claims clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "uflp needs Python 3.11 or later, and $(PYTHON) is older: make PYTHON=python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $(STAMP)

demo: install
	$(BIN)/python examples/demo.py

test: install
	$(BIN)/python -m pytest -n auto

test-long: install
	$(BIN)/python -m pytest -m long -n auto -rP tests/long

# Other people's agents (Stable-Baselines3, torch), which nothing else needs.
test-integrations: $(INTEGRATIONS)
	$(BIN)/python -m pytest -q tests_integrations

$(INTEGRATIONS): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,sb3]'
	@touch $(INTEGRATIONS)

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install
	$(BIN)/python -m benchmarks

# A random sample of changes to the code, each of which some test should notice: hours.
mutants: $(MUTANTS)
	$(BIN)/python -m benchmarks.mutants --quick 15
	$(BIN)/python -m benchmarks.mutants --survivors

$(MUTANTS): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,mutants]'
	@touch $(MUTANTS)

# The pages that compare the paper with the results, from the CSVs in results/.
claims: install
	$(BIN)/python -m uflp.report.claims

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache
