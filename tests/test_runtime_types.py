"""Types and shapes are checked while tests run, in functions, methods and settings of every module."""

import jax.numpy as jnp
import pytest
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import TypeCheckError

import runtime_types
from napinn import Experiment, read_table
from napinn.noise.losses import Squared


def test_a_wrong_type_is_refused_by_functions_and_settings():
    with pytest.raises(BeartypeCallHintViolation):
        read_table(3, ("t",), ("u",))  # pyright: ignore[reportArgumentType]
    with pytest.raises(BeartypeCallHintViolation):
        Experiment(constants=3)  # pyright: ignore[reportArgumentType]


def test_shapes_that_do_not_agree_are_refused():
    assert "napinn.noise.losses" in runtime_types.with_shapes()
    assert float(Squared().plain_value(jnp.ones((3,)), jnp.ones((3,)))) == 1.0
    with pytest.raises(TypeCheckError):
        Squared().plain_value(jnp.ones((3,)), jnp.ones((1,)))
