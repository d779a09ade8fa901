"""Compiled programs are kept by machine, under the user's cache, and never without bound."""

import os
import warnings

import pytest

from napinn.storage import cache as caching


@pytest.fixture
def cache(tmp_path, monkeypatch):
    for name in list(os.environ):
        if name.startswith(("JAX_COMPILATION", "JAX_PERSISTENT")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NAPINN_CACHE", str(tmp_path))
    # Set first, so that what `keep_compiled` sets is taken back after the test.
    for name in ("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"):
        monkeypatch.setenv(name, "0")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "")
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    return tmp_path


def test_programs_are_kept_for_one_kind_of_machine(cache, monkeypatch):
    caching.keep_compiled()
    place = os.environ["JAX_COMPILATION_CACHE_DIR"]
    assert place.startswith(str(cache / "compiled"))
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    monkeypatch.setattr(caching.platform, "machine", lambda: "another")
    caching.keep_compiled()
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] != place


def test_what_the_user_has_set_stays(cache, monkeypatch):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "mine")
    caching.keep_compiled()
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == "mine"


def test_the_longest_unused_programs_go_first(cache, monkeypatch):
    monkeypatch.setattr(caching, "MOST_BYTES", 25)
    place = cache / "compiled" / caching.machine()
    place.mkdir(parents=True)
    for age, name in enumerate(("newest", "older", "oldest")):
        (place / name).write_bytes(b"0123456789")
        os.utime(place / name, (1e9 - age, 1e9 - age))
    caching.keep_compiled()
    assert sorted(path.name for path in place.iterdir()) == ["newest", "older"]


def test_a_cache_that_cannot_be_written_is_not_used_and_nothing_is_said(cache, monkeypatch):
    (cache / "file").touch()
    monkeypatch.setenv("NAPINN_CACHE", str(cache / "file"))
    caching.keep_compiled()
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ
    with warnings.catch_warnings(record=True) as shown:
        # What JAX says when another process removed the entry, or the disk is full.
        warnings.warn("Error writing persistent compilation cache entry for 'jit_f': OSError", stacklevel=1)
    assert shown == []
