"""Tensor-product B-splines: one axis, the product space, and the banded matrices of its basis."""
