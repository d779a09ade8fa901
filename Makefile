# A newcomer needs `make demo`, whoever changes code `make check`, and `make test` before a change is handed on.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.docs-ready
# Each of the many processes of a test run would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo check quick test pytest test-pythons slow-tests lint format docs wheel wheel-test clean lock bench bench-peers bench-large

demo: $(READY)
	$(BIN)/napinn demo --out demo-run --overwrite

# Lint at the same time as tests, because types are checked by one process.
check: $(READY)
	$(MAKE) --no-print-directory -j 2 --output-sync=target lint quick

quick: $(READY)
	$(BIN)/python -m pytest -m "not slow"

test: $(READY)
	$(MAKE) --no-print-directory -j 2 lint pytest

# TESTS takes what pytest takes: make pytest TESTS=tests/test_gate.py
pytest: $(READY)
	$(BIN)/python -m pytest $(TESTS)

# Under every supported Python that is installed.
test-pythons:
	.ci/pythons $(TESTS)

# Measure which tests are slow and write tests/slow_tests.txt; TESTS as above, and the entries of other files are kept.
slow-tests: $(READY)
	PYTHONPATH=tests $(BIN)/python -m pytest -p slow_tests -p no:xdist -o addopts="" -q --tb=no $(TESTS) || true

# With 128 MB for young objects the type checker spends less of its time on collecting them.
lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	NODE_OPTIONS=--max-semi-space-size=128 $(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/sp-repo-review . --show err --format rich

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The site in docs/_build/html; a warning, such as a link that leads nowhere, is an error.
docs: $(DOCS_READY)
	$(BIN)/python docs/make_api.py
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "The site is in docs/_build/html/index.html."

# Source archive and wheel in dist/; wheel-test fits with the wheel, installed in a folder of its own.
wheel: $(READY)
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist

wheel-test: wheel
	.ci/wheel $(BIN)/python

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
	.venv-lock/bin/pip install --quiet --upgrade "pip>=25.1"
	.venv-lock/bin/pip install --quiet . --group dev
	.venv-lock/bin/pip freeze --exclude napinn > requirements.lock
	.venv-lock/bin/pip install --quiet --group docs
	.venv-lock/bin/pip freeze --exclude napinn | grep -vxFf requirements.lock > docs/requirements.lock
	rm -rf .venv-lock

clean:
	rm -rf .venv .venv-* .bench demo-run runs dist docs/_build .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): requirements.lock pyproject.toml
	@echo "Installing into $(VENV): about a minute, once."
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(READY)

$(DOCS_READY): docs/requirements.lock $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement docs/requirements.lock
	touch $(DOCS_READY)
