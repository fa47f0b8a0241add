# The two commands of the README are `make demo` and `make test`; everything happens in .venv here.
PYTHON ?= python3
BIN := .venv/bin
SCALE ?= 0.1
WORKERS ?= 2
SPREAD := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: demo test check golden test-long lint bench docs clean fuzz

demo: .venv/ready
	$(BIN)/headwater demo --scale $(SCALE) $(ARGS)

# What catches most mistakes soon, by two workers. With ARGS: what they select, by one.
test: .venv/ready lint
	$(BIN)/python -m pytest --hypothesis-profile quick -m "not long and not thorough" $(or $(ARGS),$(SPREAD))

# Every test that is not long; continuous integration runs it for each push.
check: .venv/ready lint
	$(BIN)/python -m pytest -m "not long" $(or $(ARGS),$(SPREAD))

# Writes the golden plans of derivation, the shim's table of formats and the tables of docs/performance.md anew, and
# recomputes each case by Spark.
golden: .venv/ready
	$(BIN)/python -m benchmarks tables
	$(BIN)/python -m pytest --golden -m "not long" tests/spark/test_derive_recompute.py tests/golden tests/unit/test_format.py $(ARGS)

test-long: .venv/ready
	$(BIN)/python -m pytest -m long --durations-path tests/durations.json $(ARGS)

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini tests benchmarks
	$(BIN)/towncrier build --draft --version next >/dev/null

# A suite, or some of its cases: SUITE=overhead, SUITE="overhead writes". A full form writes into benchmarks/results.
# ARGS=--quick is a short one. Without SUITE: the list of all; ARGS=--help: the options of a suite.
bench: .venv/ready
	$(BIN)/python -m benchmarks $(or $(SUITE),--help) $(ARGS)

# Views of random queries; QUERIES=5000 takes a day. A failure shows a script for spark-sql.
QUERIES ?= 200
SEED ?= 0
fuzz: .venv/ready
	QUERIES=$(QUERIES) SEED=$(SEED) $(BIN)/python -m pytest -m long --timeout 86400 tests/spark/test_fuzz.py $(ARGS)

# The documentation as a site, into build/site.
docs: .venv/ready
	$(BIN)/mkdocs build --strict --quiet

# Made anew when the metadata changes.
.venv/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "Python 3.10 or newer is needed; name one with: make PYTHON=python3.11"; exit 1; }
	@command -v java >/dev/null || [ -n "$$JAVA_HOME" ] || { echo "A JDK 17 is needed; install one and put java on PATH"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean:
	rm -rf .venv build target
