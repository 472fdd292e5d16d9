# For developers; users need only the two commands of README.md.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help venv demo test check format bench bench-finish pictures schemas clean

help: ## show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: .venv/.made ## make .venv with everything that developing needs

.venv/.made: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,dev]'
	touch $@

demo: venv ## the live screen on simulated GPUs and one real training process
	$(BIN)/traintop --demo

test: venv ## all tests
	$(BIN)/python -m pytest -q

check: venv ## what must be green before a commit: lint, format, types, layers, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy traintop monitor advisor tui tests benchmarks
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q

format: venv ## let ruff put the code in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: venv ## what the monitor costs, beside nvitop and gpustat over the same fake driver
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python -m benchmarks.monitor_cost

bench-finish: venv ## how near finish times come, beside progress bars (TRACES=folder: on recorded runs)
	$(BIN)/python -m benchmarks.finish $(if $(TRACES),--traces $(TRACES))

pictures: venv ## the pictures in docs/pictures, made from the demo
	$(BIN)/python -m benchmarks.pictures

schemas: venv ## the JSON schemas in docs/schemas, made from the output types
	$(BIN)/python -m tui.outputs.schemas

clean: ## remove what was made
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
