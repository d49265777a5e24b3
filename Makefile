# Fresh machine, two commands: `make demo` and `make test`. Each sets up .venv by itself (tools/set_up.sh).
# LEARNER=dpvi runs the paper's algorithm in the demo; OUT=DIR says where its files go; PYTHON=... chooses the Python.
.PHONY: demo test check setup lock bench verify adult clean
SHELL := /bin/sh
PY := .venv/bin/python
LEARNER ?= measure_once
OUT ?= demo
FROM ?=

demo: setup
	@$(PY) -m vertwin demo --out $(OUT) --learner $(LEARNER) --force

test: setup
	@$(PY) -m pytest --durations=20

# Lint, types, import layers, the documents' paths and generated pages, the locks: what needs no run.
check: setup
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/basedpyright --level error
	@.venv/bin/basedpyright --level error -p pyright_strict.json
	@.venv/bin/lint-imports --no-cache
	@$(PY) tools/check_documents.py
	@$(PY) tools/check_locks.py

setup:
	@tools/set_up.sh

# Pins anew from pyproject.toml. uv comes with the developers' requirements; no index address is written.
lock: setup
	@tools/lock.sh

# Short benchmarks: seconds each; every script prints one JSON object as its last line.
bench: setup
	@$(PY) benchmarks/sampling.py
	@$(PY) benchmarks/secure_step.py

# The slow things; results are committed as small CSV files in benchmarks/results with command and date.
verify: setup
	@$(PY) -m pytest -m slow --durations=20
	@$(PY) benchmarks/verify.py

# make adult FROM=folder-with-adult.data-and-adult.test
adult: setup
	@$(PY) benchmarks/adult.py --from "$(FROM)"

clean:
	@rm -rf .venv .venv-base-* build dist demo data/adult examples/*/data vertwin-demo .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "left alone, since they hold keys and ledgers: $${XDG_STATE_HOME:-$$HOME/.local/state}/vertwin"
