# A newcomer needs `make demo`, whoever changes code `make check`, and `make test` before a change is handed on.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo check quick test pytest test-pythons slow-tests lint format docs clean lock bench bench-peers bench-large

demo: $(READY)
	$(BIN)/napinn demo --out demo-run --overwrite

# At the same time, because types are checked by one process.
check: $(READY)
	$(MAKE) --no-print-directory -j 2 --output-sync=target lint quick

quick: $(READY)
	$(BIN)/python -m pytest -m "not slow"

test: lint pytest

# TESTS takes what pytest takes: make pytest TESTS=tests/test_gate.py
pytest: $(READY)
	$(BIN)/python -m pytest $(TESTS)

# Under every supported Python that is installed.
test-pythons:
	.ci/pythons $(TESTS)

# Measure which tests are slow and write tests/slow_tests.txt.
slow-tests: $(READY)
	PYTHONPATH=tests $(BIN)/python -m pytest -p measure_slow -p no:xdist -o addopts="" -q --tb=no || true

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
	rm -rf .venv .venv-* .bench demo-run runs dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): requirements.lock pyproject.toml
	@echo "Installing into $(VENV): about a minute, once."
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(READY)
