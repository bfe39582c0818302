# Each target makes what it needs first and is silent about what is done already.
PYTHON ?= python3
OHA := 1.16.0
BIN := .venv/bin
DIST := dist
RUST_SOURCES := Cargo.toml Cargo.lock pyproject.toml native/Cargo.toml $(shell find native/src -name '*.rs' 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help serve test soak check wheel bench bench-tools bench-report lock clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

serve: .venv/.native ## Run memex on 127.0.0.1:8000 with its own PostgreSQL
	@$(BIN)/memex serve

test: .venv/.dev .venv/.native ## Run every test, against the embedded PostgreSQL
	@cargo test --quiet --locked -p memex-native
	@$(BIN)/pytest

soak: .venv/.dev .venv/.native ## Run the tests that take many minutes: memory over 100,000 texts and 10,000 calls, 100,000 steps of several processes, random requests, the wheel from an index
	@$(BIN)/pytest -n0 -v -m soak tests/soak

check: .venv/.dev .venv/.native ## Lint, types, layers, Rust and SQL checks
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m mypy.stubtest memex._native
	@$(BIN)/lint-imports --no-logo
	@cargo fmt --check
	@cargo clippy --quiet --locked --all-targets --features python -- -D warnings
	@$(BIN)/squawk memex/store/migrations/versions/*.sql

wheel: .venv/.native ## Build an installable wheel into dist/, with the native module and the model
	@VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin build --release --locked --interpreter $(BIN)/python --out $(DIST)

bench: .venv/.dev .venv/.native ## Micro-benchmarks of what a request passes through, beside NumPy, numba and json
	@$(BIN)/python -m bench.micro

bench-report: .venv/.dev .venv/.native ## Every result of the benchmarks as one page, HTML and Markdown
	@$(BIN)/python -m bench.report

.venv/bin/oha: .venv/bin/python
	@echo "memex: building oha $(OHA), the open-loop load generator (once, about four minutes)"
	@cargo install --quiet --locked --root .venv --version $(OHA) oha

bench-tools: .venv/.dev .venv/.native .venv/bin/oha ## Everything that the benchmarks need
	@cargo build --quiet --release --locked -p memex-native --example ceilings

lock: ## Resolve the Python locks anew (needs uv)
	@uv pip compile pyproject.toml --group build --universal --generate-hashes --python-version 3.11 \
	  --no-annotate --custom-compile-command "make lock" --quiet --output-file requirements.txt
	@uv pip compile pyproject.toml --group build --group dev --universal --generate-hashes --python-version 3.11 \
	  --no-annotate --custom-compile-command "make lock" --quiet --output-file requirements-dev.txt

clean: ## Remove everything that make built
	@rm -rf .venv target dist memex/_native*.so
	@find memex bench tests -name __pycache__ -prune -exec rm -rf {} +

.venv/bin/python:
	@command -v cargo >/dev/null || { echo "memex: cargo is missing: install a Rust toolchain, 1.89 or newer, then run make again"; exit 1; }
	@echo "memex: creating the virtual environment in .venv"
	@$(PYTHON) -c 'import sys; sys.exit("memex needs Python 3.11 or newer: make PYTHON=/path/to/python3.11" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv .venv

.venv/.run: requirements.txt | .venv/bin/python
	@echo "memex: installing the locked dependencies (once, about a minute)"
	@$(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r requirements.txt
	@touch $@

.venv/.dev: requirements-dev.txt .venv/.run
	@echo "memex: installing the locked development tools (once, about a minute)"
	@$(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@touch $@

.venv/.native: .venv/.run $(RUST_SOURCES)
	@echo "memex: building the native module"
	@VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --release --locked --skip-install
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable .
	@touch $@
