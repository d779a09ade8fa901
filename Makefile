# The two commands a newcomer needs are `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test lint format docs clean lock bench bench-peers bench-large

demo: $(READY)
	$(BIN)/napinn demo --out demo-run --overwrite

test: lint
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY)
	$(BIN)/python docs/make_api.py

# Speed: napinn's own, beside its peers (each in an environment of its own under .bench/), and with ten million readings.
bench: $(READY)
	$(BIN)/python benchmarks/speed.py

bench-peers: $(READY)
	$(BIN)/python benchmarks/side_by_side.py
	$(BIN)/python benchmarks/time_to_accuracy.py

bench-large: $(READY)
	$(BIN)/python benchmarks/large.py

# Resolve the newest versions that pyproject.toml allows and write them down.
lock:
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/pip install --quiet ".[dev]"
	.venv-lock/bin/pip freeze --exclude napinn > requirements.lock
	rm -rf .venv-lock

clean:
	rm -rf .venv .bench demo-run runs dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(READY)
