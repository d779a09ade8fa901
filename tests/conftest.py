"""The environment of every test process, and which tests are slow. What tests share is in `shared_fixtures.py`."""

import atexit
import gc
import os
import shutil
import tempfile
from collections import Counter

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # As the command line has it.
# There is a test process for each core; threads of BLAS and of XLA (NPROC) would wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("NPROC", "1")
if "PYTEST_XDIST_WORKER" not in os.environ:
    # All processes of one run share what they compile, in a folder that ends with it: most fits are alike.
    shared = tempfile.mkdtemp(prefix="napinn-tests-")
    atexit.register(shutil.rmtree, shared, ignore_errors=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = shared
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
# Tests compile hundreds of small programs and run each for moments: quick compilation beats quick code.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "true")
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)

import pytest

import slow_tests

# Imports and compiled programs leave millions of objects that live as long as the process: to look for rubbish among
# them again and again takes a tenth of the time of collection and of tracing.
gc.set_threshold(20_000, 20, 100)

SLOW = slow_tests.listed()


def pytest_configure(config: pytest.Config) -> None:
    """Fixtures import JAX and napinn, which takes seconds; a process that only hands out tests does not need them."""
    if getattr(config.option, "dist", "no") == "no" or config.option.collectonly:
        config.pluginmanager.import_plugin("shared_fixtures")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test is slow if it is in the list itself, or needs a fixture that is.

    Files that take long come first: a worker runs whole files, and so all workers end at about the same time."""
    of_file: Counter[str] = Counter()
    for name, seconds in SLOW.items():
        of_file[name.partition("::")[0]] += seconds
    items.sort(key=lambda item: -of_file[item.nodeid.partition("::")[0]])
    for item in items:
        needed = {item.nodeid.partition("[")[0]}
        if isinstance(item, pytest.Function):
            for definitions in item._fixtureinfo.name2fixturedefs.values():
                needed |= {slow_tests.fixture_name(definition) for definition in definitions}
        if needed & SLOW.keys():
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    """Modules and tests stay until the end: the collector need not visit them."""
    gc.collect()
    gc.freeze()
