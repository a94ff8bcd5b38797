# `make` alone prints what there is. Each target does its own set-up, once.

VENV := .venv
BIN := $(VENV)/bin
SETUP := tools/setup.sh

# tblite computes with the OpenMP library, RDKit draws with libraries of the X Window System, the
# browser test opens the report, g++ compiles C++ in the sandbox, and coq checks proofs there: a
# gigabyte with OCaml, half a minute to install. A slim system has none of them.
DEMO_PACKAGES := libexpat1 libgomp1 libxext6 libxrender1
TEST_PACKAGES := $(DEMO_PACKAGES) bubblewrap chromium coq g++

# More flags for pytest, for example: make test PYTEST_FLAGS="-x -k ledger"
PYTEST_FLAGS ?=
# Tests run side by side: they wait for processes that they start for a third of their time.
SIDE_BY_SIDE := -n 4 --dist worksteal
# Flags of the chaos run, for example: make chaos CHAOS_FLAGS="--minutes 20 --ranks 8"
CHAOS_FLAGS ?=
# Flags of the routing benchmark, for example: make bench-routing ROUTING_FLAGS="--quick --data ../tables"
ROUTING_FLAGS ?=

# Sizes of the curves, for example: make bench-scale SCALE_FLAGS="--sizes 10000,100000"
SCALE_FLAGS ?=

# Flags of the soak, for example: make soak SOAK_FLAGS="--entries 100000"
SOAK_FLAGS ?=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help:  ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---- What a newcomer runs

.PHONY: demo
demo: demo-packages $(VENV)/.stamp-demo  ## Install, then run the solvation campaign
	@$(BIN)/vladder demo

.PHONY: demo-distributed
demo-distributed: demo-packages $(VENV)/.stamp-test  ## The same on PostgreSQL, Redis and worker hosts, all started for it
	@$(BIN)/vladder demo --distributed

.PHONY: test
test: $(BIN)/python  ## Install, check and run the tests
	@$(MAKE) --no-print-directory --jobs=2 system-deps-install $(VENV)/.stamp-test
	@$(MAKE) --no-print-directory --jobs=2 check $(VENV)/.stamp-compiled
	@$(BIN)/python -m pytest -m "not slow" $(SIDE_BY_SIDE) $(PYTEST_FLAGS)

# ---- What a developer runs

.PHONY: dev
dev: $(VENV)/.stamp-dev  ## Install everything that developers need

.PHONY: check
check: $(VENV)/.stamp-test  ## Lint, formatting and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python tools/linktree.py
	@$(BIN)/mypy

.PHONY: test-full
test-full: system-deps-install $(VENV)/.stamp-test check docs  ## The documentation, and all tests, the slow ones too, with ten times the examples
	@$(BIN)/python -m pytest --hypothesis-profile=full --timeout=900 $(SIDE_BY_SIDE) $(PYTEST_FLAGS)

.PHONY: fuzz
fuzz: $(VENV)/.stamp-test  ## Property tests only, with a hundred times the examples, chosen anew
	@$(BIN)/python -m pytest -m hypothesis --hypothesis-profile=fuzz --timeout=3600 $(SIDE_BY_SIDE) $(PYTEST_FLAGS)

# Each library in an environment of its own: their requirements contradict each other.
LEARNERS := $(patsubst tests/learners/%/requirements.txt,%,$(wildcard tests/learners/*/requirements.txt))

.PHONY: test-learners
test-learners: $(LEARNERS:%=test-learners-%)  ## Test against the released learners; one alone: make test-learners-trl

test-learners-%: build/learners/%/.stamp
	@echo "Testing against $*"
	@build/learners/$*/bin/python -m pytest -p no:cacheprovider -W default --disable-warnings tests/learners/$* $(PYTEST_FLAGS)

build/learners/%/.stamp: tests/learners/%/*.txt tests/learners/requirements.txt pyproject.toml
	@$(SETUP) learner build/learners/$* $*
	@touch $@

.PHONY: chaos
chaos: $(VENV)/.stamp-test  ## Kill processes at random for minutes, and count what is lost (CHAOS_FLAGS="--minutes 5")
	@PYTHONPATH=benchmarks $(BIN)/python -m chaos $(CHAOS_FLAGS)

.PHONY: coverage
coverage: $(VENV)/.stamp-test  ## Run the tests and name the lines that none reaches
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -m "not slow" $(PYTEST_FLAGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

.PHONY: bench
bench: bench-import bench-overhead bench-throughput bench-workers bench-charged bench-mathematics bench-rate  ## What is promised, each as a ratio within one run

.PHONY: bench-import
bench-import: $(VENV)/.stamp-test  ## How long starting takes, against Python alone
	@$(BIN)/python benchmarks/import_time.py

.PHONY: bench-overhead
bench-overhead: $(VENV)/.stamp-test  ## What scoring costs per sample with a trivial verifier
	@$(BIN)/python benchmarks/score_overhead.py

.PHONY: bench-counters
bench-counters: $(VENV)/.stamp-test  ## What the counters cost a call of score, against the same call without
	@$(BIN)/python benchmarks/counters.py

.PHONY: bench-throughput
bench-throughput: $(VENV)/.stamp-test  ## The fast tier with everything on, against bare RDKit
	@$(BIN)/python benchmarks/fast_tier.py

.PHONY: bench-workers
bench-workers: $(VENV)/.stamp-test  ## How much more sandboxed code two workers judge than one
	@$(BIN)/python benchmarks/workers.py

.PHONY: bench-charged
bench-charged: $(VENV)/.stamp-test  ## What checks are charged, against what the kernel counts
	@$(BIN)/python benchmarks/charged.py

.PHONY: bench-mathematics
bench-mathematics: $(VENV)/.stamp-test  ## How fast mathematics judges, against bare math-verify
	@$(BIN)/python benchmarks/mathematics.py

.PHONY: bench-rate
bench-rate: $(VENV)/.stamp-test  ## What a service of ten calls a second refuses two hosts
	@$(BIN)/python benchmarks/rate.py

.PHONY: bench-http
bench-http: $(VENV)/.stamp-test  ## What a reward costs over HTTP, against calls in process and other servers
	@$(BIN)/python benchmarks/http_rewards.py

.PHONY: bench-strangers
bench-strangers: $(VENV)/.stamp-test  ## What a thousand connections without a token cost a server's clients
	@$(BIN)/python benchmarks/strangers.py

.PHONY: bench-celery
bench-celery: $(VENV)/.stamp-test  ## What the Celery engine adds to a check, with one worker and two
	@$(BIN)/python benchmarks/celery_engine.py

.PHONY: bench-decisions
bench-decisions: $(VENV)/.stamp-test  ## How many decisions a second each policy takes
	@$(BIN)/python benchmarks/decisions.py

.PHONY: bench-sandbox
bench-sandbox: $(VENV)/.stamp-test  ## What an input in the sandbox costs, against a bare interpreter
	@$(BIN)/python benchmarks/sandbox.py

.PHONY: soak
soak: $(VENV)/.stamp-test  ## A million ledger entries: memory, lag of checkpoints (SOAK_FLAGS=--short)
	@$(BIN)/python benchmarks/ledger_soak.py $(SOAK_FLAGS)

.PHONY: bench-pages
bench-pages: $(VENV)/.stamp-test  ## What a million samples cost those who look at them: campaign show, index, pages
	@$(BIN)/python benchmarks/pages.py

.PHONY: bench-scale
bench-scale: $(VENV)/.stamp-test  ## What grows from ten thousand to a million samples, as ratios
	@$(BIN)/python benchmarks/scale.py $(SCALE_FLAGS)

.PHONY: bench-routing
bench-routing: $(VENV)/.stamp-test  ## Where the scheduler spends, on real tables (ROUTING_FLAGS=--quick)
	@PYTHONPATH=benchmarks $(BIN)/python -m routing $(ROUTING_FLAGS)

BENCH_LEARNERS := areal openrlhf skyrl trl verifiers verl

.PHONY: bench-learners
bench-learners: $(BENCH_LEARNERS:%=build/learners/%/.stamp)  ## What a reward costs in each learner's own path
	@for learner in $(BENCH_LEARNERS); do build/learners/$$learner/bin/python benchmarks/learners.py $$learner; done

.PHONY: shape
shape: $(VENV)/.stamp-test  ## How large the library is, how it hangs together, how far a sample goes
	@PYTHONPATH=tools $(BIN)/python -m shape

.PHONY: docs
docs: $(VENV)/.stamp-docs  ## Build the documentation into build/docs; a warning is an error
	@$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs
	@echo "Built build/docs/index.html"

.PHONY: constraints
constraints:  ## Resolve all dependencies anew and write constraints.txt
	@tools/constraints.sh

# ---- System packages

.PHONY: system-deps
system-deps:  ## List the Debian packages that the tests use
	@printf '%s\n' $(TEST_PACKAGES)

.PHONY: system-deps-install
system-deps-install:  ## Install them (root on Debian or Ubuntu)
	@$(SETUP) system-install "xTB, molecule drawings, the browser test, C++ and Coq" $(TEST_PACKAGES)

.PHONY: demo-packages
demo-packages:
	@$(SETUP) system-install "xTB and molecule drawings" $(DEMO_PACKAGES)

# ---- House-keeping

.PHONY: clean
clean:  ## Remove the environment, builds and caches; ledgers stay
	rm -rf $(VENV) build dist htmlcov .coverage .coverage.* *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- Stamps: an installation is repeated only when its inputs change

$(BIN)/python:
	@$(SETUP) venv $(VENV)

$(VENV)/.stamp-%: pyproject.toml constraints.txt | $(BIN)/python
	@$(SETUP) install $(VENV) $*
	@touch $@

# Tests side by side would each compile all tests, and the libraries that they import.
$(VENV)/.stamp-compiled: $(VENV)/.stamp-test
	@$(SETUP) quietly $(BIN)/python -m pytest --collect-only -q
	@touch $@
