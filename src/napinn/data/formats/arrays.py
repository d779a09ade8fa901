"""Tables from NumPy (.npz) and MATLAB (.mat) files: named arrays, of which the problem file says which is what.

Without axes, all arrays have one entry a reading. With `axes: [x, t]` a field is an array over a grid, and the arrays
of x and t hold the nodes. Nothing is unpickled, and headers are checked before any array is made."""

import math
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.lib import format as npy

from napinn.data.formats.hdf5 import check_heaps
from napinn.data.formats.mat5 import matlab_arrays
from napinn.data.formats.sizes import check_count, check_file
from napinn.errors import InputError, nearest

HDF5 = b"\x89HDF"
NUMERIC_MATLAB = frozenset(
    {"double", "single", "logical", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
)


@dataclass(frozen=True)
class ArrayName:
    """The array that holds a coordinate or field, and for a field on a grid the coordinates of its axes."""

    name: str
    axes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Contents:
    """What a header says, and how to get one array."""

    shapes: Mapping[str, tuple[int, ...]]
    array: Callable[[str], np.ndarray]


def read_npz(path: Path, mapping: Mapping[str, ArrayName]) -> pd.DataFrame:
    check_file(path, "NumPy")
    try:
        shapes = npz_shapes(path)
        with np.load(path, allow_pickle=False) as loaded:
            return _rows(path, _Contents(shapes, lambda name: loaded[name]), mapping)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{path} is not a NumPy archive that can be read ({type(error).__name__}).") from None


def npz_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """What the headers of a NumPy archive say of its arrays; none of them is loaded."""
    with zipfile.ZipFile(path) as archive:
        return {name.removesuffix(".npy"): _npy_shape(archive, name, path) for name in archive.namelist()}


def read_mat(path: Path, mapping: Mapping[str, ArrayName]) -> pd.DataFrame:
    check_file(path, "MATLAB")
    try:
        with path.open("rb") as stream:
            # A file of version 7.3 is HDF5 behind a block of text; one of version 4 has no text and so begins with a
            # number, which has a zero in it.
            first = stream.read(4)
            is_hdf5 = HDF5 in (first, stream.read(512)[508:512])
        if is_hdf5:
            check_heaps(path)
            import h5py  # As scipy.io below: only a file of this kind needs to wait for it.

            with h5py.File(path, "r") as file:
                return _rows(path, _hdf5_contents(file), mapping)
        if 0 in first:
            import scipy.io

            shapes = {name: tuple(shape) for name, shape, kind in scipy.io.whosmat(path) if kind in NUMERIC_MATLAB}
            return _rows(path, _Contents(shapes, lambda name: _loaded(path, name)), mapping)
        arrays = matlab_arrays(path.read_bytes())
        known = {name: array.shape for name, array in arrays.items()}
        return _rows(path, _Contents(known, lambda name: arrays[name].values), mapping)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{path} is not a MATLAB file that can be read ({type(error).__name__}).") from None


def _npy_shape(archive: zipfile.ZipFile, name: str, path: Path) -> tuple[int, ...]:
    with archive.open(name) as stream:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read(stream)
    if dtype.hasobject:
        raise InputError(f"{path}, array '{name.removesuffix('.npy')}' holds Python objects; save plain numbers.")
    return shape


def _hdf5_contents(file: Any) -> _Contents:
    import h5py

    # A soft or external link could lead to any other file.
    own = [str(name) for name in file if isinstance(file.get(name, getlink=True), h5py.HardLink)]
    datasets: dict[str, Any] = {name: file[name] for name in own if isinstance(file[name], h5py.Dataset)}
    # MATLAB counts axes the other way round.
    return _Contents(
        {name: item.shape[::-1] for name, item in datasets.items() if item.dtype.kind in "fiub"},
        lambda name: np.asarray(datasets[name]).T,
    )


def _loaded(path: Path, name: str) -> np.ndarray:
    import scipy.io

    return scipy.io.loadmat(path, variable_names=[name])[name]


def _rows(path: Path, contents: _Contents, mapping: Mapping[str, ArrayName]) -> pd.DataFrame:
    entries = mapping or {name: ArrayName(name) for name in contents.shapes}
    for column, entry in entries.items():
        if entry.name not in contents.shapes:
            raise InputError(
                f"{path} has no array '{entry.name}' for '{column}'; {nearest(entry.name, contents.shapes)}"
            )
    check_count(path, sum(math.prod(contents.shapes[entry.name]) for entry in entries.values()) * len(entries))
    arrays = {column: np.squeeze(contents.array(entry.name)) for column, entry in entries.items()}
    for column, array in arrays.items():
        if array.dtype.kind not in "fiub":
            raise InputError(f"{path}, array '{entries[column].name}' holds no real numbers; save plain numbers.")
    axes = next((entry.axes for entry in entries.values() if entry.axes), ())
    return _on_grid(path, arrays, entries, axes) if axes else _side_by_side(path, arrays, entries)


def _side_by_side(path: Path, arrays: Mapping[str, np.ndarray], entries: Mapping[str, ArrayName]) -> pd.DataFrame:
    sizes = {column: array.size for column, array in arrays.items()}
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"'{entries[column].name}' {size}" for column, size in sizes.items())
        raise InputError(
            f"{path}: the arrays have different numbers of entries ({counts}); for a field on a grid, say which axes "
            "it has in the problem file, as 'arrays: {u: {name: u, axes: [x, t]}}'."
        )
    return pd.DataFrame({column: array.reshape(-1) for column, array in arrays.items()})


def _on_grid(
    path: Path, arrays: Mapping[str, np.ndarray], entries: Mapping[str, ArrayName], axes: tuple[str, ...]
) -> pd.DataFrame:
    for axis in axes:
        if axis not in arrays:
            raise InputError(f"{path}: axis '{axis}' has no array of its own; name it under 'arrays'.")
    check_count(path, math.prod(arrays[axis].size for axis in axes) * len(arrays))
    mesh = np.meshgrid(*(arrays[axis].reshape(-1) for axis in axes), indexing="ij")
    columns = {axis: grid.reshape(-1) for axis, grid in zip(axes, mesh, strict=True)}
    for column, array in arrays.items():
        if column in axes:
            continue
        own = entries[column].axes or axes
        if set(own) != set(axes) or len(own) != len(axes):
            raise InputError(f"{path}: '{column}' has axes ({', '.join(own)}), and others have ({', '.join(axes)}).")
        wanted = tuple(arrays[axis].size for axis in own)
        if array.shape != tuple(size for size in wanted if size != 1):
            raise InputError(
                f"{path}, array '{entries[column].name}' has shape {array.shape}, but its axes "
                f"({', '.join(own)}) have {wanted} nodes; correct the order of 'axes'."
            )
        grid = array.reshape(wanted).transpose([own.index(axis) for axis in axes])
        columns[column] = grid.reshape(-1)
    return pd.DataFrame(columns)
