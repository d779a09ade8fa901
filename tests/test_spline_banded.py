"""Banded matrices: assembly, products and solutions against dense algebra."""

import numpy as np
import pytest
import scipy.sparse as sparse

from napinn.field.splines import banded
from napinn.field.splines.banded import Banded, NotPositiveError, Pattern

SIZE, OFFSETS = 24, np.array([0, 1, 4, 5])
FIRST = np.array([0, 2, 2, 7, 11, 18])


def dense(matrix):
    """The whole matrix, by its products with unit vectors."""
    return np.stack([matrix.times(unit) for unit in np.eye(matrix.size)], axis=1)


def cell_matrices(seed=0):
    rows = np.random.default_rng(seed).normal(size=(len(FIRST), len(OFFSETS), len(OFFSETS)))
    return np.matmul(rows.transpose(0, 2, 1), rows)


def assembled():
    """A banded matrix of cell matrices, and the same matrix added up entry by entry."""
    matrices, whole = cell_matrices(), np.zeros((SIZE, SIZE))
    band = Banded(SIZE, 5)
    band.add_cells(Pattern(FIRST, OFFSETS, SIZE, 5), matrices)
    for first, matrix in zip(FIRST, matrices, strict=True):
        whole[np.ix_(first + OFFSETS, first + OFFSETS)] += matrix
    return band, whole


def test_assembly_equals_the_dense_sum_over_cells():
    band, whole = assembled()
    np.testing.assert_allclose(dense(band), whole, atol=1e-13)
    np.testing.assert_array_equal(band.diagonal, np.diag(whole))


@pytest.mark.parametrize("at_once", [1, 25, 4_000_000])
def test_assembly_in_parts_gives_the_same(monkeypatch, at_once):
    monkeypatch.setattr(banded, "MOST_AT_ONCE", at_once)
    band, whole = assembled()
    np.testing.assert_allclose(dense(band), whole, atol=1e-13)


def test_cells_can_be_added_from_any_number_on():
    pattern, matrices, (whole, _) = Pattern(FIRST, OFFSETS, SIZE, 5), cell_matrices(), assembled()
    band = Banded(SIZE, 5)
    band.add_cells(pattern, matrices[:2])
    band.add_cells(pattern, matrices[2:], start=2)
    np.testing.assert_allclose(band.entries, whole.entries, atol=1e-13)


def test_a_symmetric_sparse_matrix_is_added():
    band, whole = assembled()
    other = sparse.diags_array([1.0, -2.0, 1.0], offsets=[-3, 0, 3], shape=(SIZE, SIZE)).tocsr()
    band.add_sparse(sparse.csr_array(other))
    np.testing.assert_allclose(dense(band), whole + other.toarray(), atol=1e-13)


def test_a_factor_solves_for_one_and_for_several_right_sides():
    band, whole = assembled()
    added = np.linspace(0.5, 1.5, SIZE)
    factor = band.factor(added)
    right = np.random.default_rng(1).normal(size=(SIZE, 3))
    solution = factor.solve(right)
    np.testing.assert_allclose((whole + np.diag(added)) @ solution, right, atol=1e-12)
    np.testing.assert_allclose(factor.solve(right[:, 0]), solution[:, 0], rtol=1e-12)
    assert factor.solve(np.zeros((SIZE, 0))).shape == (SIZE, 0)


def test_a_factor_leaves_the_matrix_as_it_was():
    band, whole = assembled()
    band.factor(np.ones(SIZE))
    np.testing.assert_allclose(dense(band), whole, atol=1e-13)


def test_a_copy_does_not_share_its_entries():
    band, whole = assembled()
    band.copy().entries[:] = 0.0
    np.testing.assert_allclose(dense(band), whole, atol=1e-13)


def test_a_matrix_that_is_not_positive_has_no_factor():
    band, _ = assembled()
    with pytest.raises(NotPositiveError):
        band.factor(-np.full(SIZE, 100.0))


def test_a_bandwidth_beyond_the_size_is_the_whole_matrix():
    rows = np.random.default_rng(2).normal(size=(1, 4, 4))
    band = Banded(4, 50)
    band.add_cells(Pattern(np.zeros(1, int), np.arange(4), 4, 50), rows + rows.transpose(0, 2, 1))
    np.testing.assert_allclose(dense(band), (rows + rows.transpose(0, 2, 1))[0], atol=1e-14)
