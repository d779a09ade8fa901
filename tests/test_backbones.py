"""What the backbones promise: their size, derivatives that are true, and the identities of their papers."""

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from napinn.errors import InputError
from napinn.field.backbones import (
    FLS,
    KAN,
    MLP,
    Backbone,
    BayesianLinear,
    BayesianMLP,
    Fixed,
    Linear,
    MLPNetwork,
    PirateNet,
    QRes,
    divergence,
    parameter_count,
    sampled,
)
from napinn.field.backbones.kan import SplineBasis, bell
from napinn.field.derivatives import nested_derivatives, stream_sums
from napinn.field.streams import Flow, Stream, seed

LOW, HIGH = jnp.array([0.0, -1.0, 2.0]), jnp.array([1.0, 1.0, 5.0])
VALUE = ((),)
FIRSTS = [((0,),), ((1,),), ((2,),)]
SECONDS = [((i, j),) for i in range(3) for j in range(i, 3)]
LAPLACIAN = ((0, 0), (1, 1))
ALL = [VALUE, *FIRSTS, *SECONDS, LAPLACIAN]

# One width throughout: nothing large is jitted, and operations on equal shapes are compiled only once.
SMALL = [
    MLP(width=6, depth=2),
    FLS(width=6, depth=2),
    QRes(width=6, depth=2),
    PirateNet(width=6, depth=2, embedding=6),
    KAN(width=6, depth=1, intervals=3),
    BayesianMLP(width=6, depth=2),
]
every_backbone = pytest.mark.parametrize("backbone", SMALL, ids=lambda backbone: type(backbone).__name__)


def is_fixed(node: Any) -> bool:
    return isinstance(node, Fixed)


def points(low: jax.Array = LOW, high: jax.Array = HIGH) -> jax.Array:
    """Random points of the box, and its corners, where the splines have knots."""
    unit = np.concatenate([np.random.default_rng(1).uniform(size=(9, 3)), np.zeros((1, 3)), np.ones((1, 3))])
    return jnp.asarray(np.asarray(low) + (np.asarray(high) - np.asarray(low)) * unit, low.dtype)


def built(backbone: Backbone, low: jax.Array = LOW, high: jax.Array = HIGH) -> Any:
    """A network as if trained a while: no parameter at its special start."""
    network = backbone.init(jax.random.key(2), 3, 2, low, high)
    rng = np.random.default_rng(3)

    def moved(leaf: Any) -> Any:
        return leaf if is_fixed(leaf) else jnp.asarray(leaf + 0.3 * rng.normal(size=leaf.shape), low.dtype)

    return jax.tree.map(moved, network, is_leaf=is_fixed)


def plain(network: Callable[[Flow], Flow]) -> Callable[[jax.Array], jax.Array]:
    """The network as a function of arrays only."""

    def values(x: jax.Array) -> jax.Array:
        found = network(x)
        assert not isinstance(found, Stream)
        return found

    return values


@pytest.mark.parametrize(
    ("backbone", "count"),
    [
        (MLP(), 26_402),
        (FLS(), 26_402),
        (QRes(), 52_242),
        (PirateNet(), 110_327),
        (KAN(), 260_000),
        (BayesianMLP(), 52_804),
    ],
    ids=lambda value: type(value).__name__,
)
def test_parameter_counts_are_those_of_the_paper(backbone: Backbone, count: int):
    assert parameter_count(backbone.init(jax.random.key(0), 3, 2, LOW, HIGH)) == count


@every_backbone
def test_streams_agree_with_nested_derivatives(backbone: Backbone):
    network, x = built(backbone), points()
    found = stream_sums(network, x, ALL, [])[0]
    expected = nested_derivatives(plain(network), x, ALL)
    for terms in ALL:
        size = float(jnp.abs(expected[terms]).max())
        assert size > 1e-6, f"{terms} says nothing"
        np.testing.assert_allclose(found[terms], expected[terms], rtol=1e-10, atol=1e-12 * size)


@every_backbone
def test_a_weighted_sum_is_carried_as_the_sum_of_its_derivatives(backbone: Backbone):
    network, x = built(backbone), points()

    def sums(weight: jax.Array) -> list[jax.Array]:
        heat = [(FIRSTS[2], jnp.asarray(1.5)), (LAPLACIAN, -weight)]
        bent = [(FIRSTS[0], weight), (((0, 1),), jnp.asarray(2.0)), (((2, 2),), weight**2)]
        return stream_sums(network, x, [VALUE, FIRSTS[1]], [heat, bent])[1]

    weight = jnp.asarray(0.7)
    found, slopes = jax.jvp(sums, (weight,), (jnp.ones(()),))
    by_terms = nested_derivatives(plain(network), x, ALL)
    heat = 1.5 * by_terms[FIRSTS[2]] - 0.7 * by_terms[LAPLACIAN]
    bent = 0.7 * by_terms[FIRSTS[0]] + 2.0 * by_terms[((0, 1),)] + 0.49 * by_terms[((2, 2),)]
    leaning = by_terms[FIRSTS[0]] + 1.4 * by_terms[((2, 2),)]
    for array, expected in zip([*found, *slopes], [heat, bent, -by_terms[LAPLACIAN], leaning], strict=True):
        np.testing.assert_allclose(array, expected, rtol=1e-10, atol=1e-12 * float(jnp.abs(expected).max()))


@every_backbone
def test_a_stream_has_the_value_of_the_plain_call(backbone: Backbone):
    network, x = built(backbone), points()
    stream = network(seed(x, [0], [LAPLACIAN]))
    np.testing.assert_allclose(stream.value, network(x), rtol=1e-13, atol=1e-13)


@every_backbone
def test_higher_orders_are_derivatives_of_the_lower(backbone: Backbone):
    """The nested third derivative is the derivative of the stream's second; the fourth is finite."""
    network, x = built(backbone), points()
    ahead = jnp.zeros_like(x).at[:, 2].set(1.0)
    mixed, third, fourth = ((0, 1),), ((0, 1, 2),), ((0, 0, 1, 1),)
    found = jax.jvp(lambda x: stream_sums(network, x, [mixed], [])[0][mixed], (x,), (ahead,))[1]
    nested = nested_derivatives(plain(network), x, [third, fourth])
    size = float(jnp.abs(found).max())
    assert size > 1e-6
    np.testing.assert_allclose(found, nested[third], rtol=1e-9, atol=1e-11 * size)
    assert bool(jnp.isfinite(nested[fourth]).all())


@every_backbone
def test_single_precision_stays_single_and_close(backbone: Backbone):
    # The box that scaling makes. In one far from the origin the phases of FLS and the products of QRes grow,
    # and their rounding alone can reach 1e-5.
    low, high = -jnp.ones(3, jnp.float32), jnp.ones(3, jnp.float32)
    single, x = built(backbone, low, high), points(low, high)
    double = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), single)
    found = stream_sums(single, x, ALL, [])[0]
    expected = stream_sums(double, x.astype(jnp.float64), ALL, [])[0]
    for terms in ALL:
        assert found[terms].dtype == jnp.float32
        error = float(jnp.abs(found[terms] - expected[terms]).max() / jnp.abs(expected[terms]).max())
        assert error < 1e-5, terms


@every_backbone
def test_gradients_reach_everything_but_the_fixed(backbone: Backbone):
    @eqx.filter_grad
    def gradient(network, x):
        drawn = sampled(network, jax.random.key(4))
        found = stream_sums(drawn, x, [VALUE, LAPLACIAN], [])[0]
        return jnp.mean(found[VALUE] ** 2) + jnp.mean(found[LAPLACIAN] ** 2)

    leaves = jax.tree.leaves(gradient(built(backbone), points()), is_leaf=is_fixed)
    for leaf in leaves:
        if is_fixed(leaf):
            assert not leaf.array.any()
        else:
            assert bool(jnp.isfinite(leaf).all())
            assert bool(leaf.any())


@every_backbone
def test_the_key_decides_the_network(backbone: Backbone):
    x = points()
    networks = (backbone.init(jax.random.key(seed), 3, 2, LOW, HIGH) for seed in (0, 0, 1))
    one, again, other = (plain(network)(x) for network in networks)
    np.testing.assert_array_equal(one, again)
    assert float(jnp.abs(one - other).max()) > 1e-3


def test_fls_begins_with_sines_of_cycles():
    network = FLS(width=400, depth=1, sigma=2.0).init(jax.random.key(0), 3, 1, LOW, HIGH)
    assert float(jnp.std(network.waves.weight)) == pytest.approx(2.0, rel=0.1)
    x = points()
    features = jnp.asarray(np.sin(2.0 * math.pi * np.asarray(x @ network.waves.weight)))
    np.testing.assert_allclose(plain(network)(x), plain(network.rest)(features), rtol=1e-12, atol=1e-12)
    # A shift of a whole cycle in every wave changes nothing.
    turned = eqx.tree_at(lambda n: n.waves.bias, network, jnp.ones(400))
    np.testing.assert_allclose(plain(turned)(x), plain(network)(x), rtol=1e-9, atol=1e-10)


def test_qres_layer_is_the_formula():
    layer = QRes(width=6, depth=1).init(jax.random.key(0), 3, 2, LOW, HIGH).layers[0]
    layer = eqx.tree_at(lambda it: it.bias, layer, jnp.arange(6.0))
    x = points()
    first, second = np.asarray(x @ layer.weight), np.asarray(x @ layer.partner)
    np.testing.assert_allclose(plain(layer)(x), first * second + first + np.arange(6.0), rtol=1e-13)


def test_qres_without_its_second_weights_is_the_perceptron():
    network, x = built(QRes(width=6, depth=3)), points()
    perceptron = MLPNetwork((*(Linear(layer.weight, layer.bias) for layer in network.layers), network.head))
    expected = plain(perceptron)(x)
    partners = [jnp.zeros_like(layer.partner) for layer in network.layers]
    without = eqx.tree_at(lambda n: [layer.partner for layer in n.layers], network, partners)
    assert float(jnp.abs(network(x) - expected).max()) > 1e-2
    np.testing.assert_allclose(without(x), expected, rtol=1e-13)


def test_piratenet_starts_as_a_linear_head_on_its_embedding():
    network, x = PirateNet(width=6, depth=3, embedding=6).init(jax.random.key(0), 3, 2, LOW, HIGH), points()
    phase = np.asarray(x @ network.embedding.frequencies.array)
    embedded = jnp.asarray(np.concatenate([np.cos(phase), np.sin(phase)], axis=1))
    np.testing.assert_allclose(plain(network.embedding)(x), embedded, rtol=1e-12)
    base, span = jnp.full((11, 6), 0.3), jnp.full((11, 6), -0.8)
    for block in network.blocks:
        np.testing.assert_array_equal(block(embedded, base, span), embedded)
    expected = plain(network.head)(plain(network.embedding)(x))
    np.testing.assert_array_equal(plain(network)(x), expected)


def test_piratenet_block_is_the_formula():
    network, x = built(PirateNet(width=6, depth=1, embedding=6)), points()
    (block,) = network.blocks
    e = network.embedding(x)
    u, v = np.tanh(network.upper(e)), np.tanh(network.lower(e))
    f = np.tanh(block.first(e))
    f = np.tanh(block.second(jnp.asarray(f * u + (1 - f) * v)))
    h = np.tanh(block.third(jnp.asarray(f * u + (1 - f) * v)))
    share = float(block.share)
    expected = network.head(jnp.asarray(share * h + (1 - share) * np.asarray(e)))
    np.testing.assert_allclose(network(x), expected, rtol=1e-12, atol=1e-13)


def test_piratenet_wants_an_even_embedding():
    with pytest.raises(InputError, match="even"):
        PirateNet(embedding=7)


def along_the_box() -> jax.Array:
    """Eleven points from corner to corner: ends, knots and middles of the five intervals."""
    return jnp.asarray(np.linspace(LOW, HIGH, 11))


def test_splines_sum_to_one_in_the_box():
    x = along_the_box()
    streams: Any = SplineBasis(Fixed(LOW), Fixed(HIGH), 5)(seed(x, [0, 1, 2], [((0, 0),), ((2, 2),)]))
    assert len(streams) == 8
    values = sum(np.asarray(stream.value) for stream in streams)
    np.testing.assert_allclose(values, np.ones(x.shape), rtol=1e-13)
    for axis in range(3):
        slopes = sum(np.asarray(stream.firsts[axis]) for stream in streams)
        np.testing.assert_allclose(slopes, np.zeros(x.shape), atol=1e-12)
    for pairs in [((0, 0),), ((2, 2),)]:
        curves = sum(np.asarray(stream.seconds[pairs]) for stream in streams)
        np.testing.assert_allclose(curves, np.zeros(x.shape), atol=1e-11)


def test_splines_reproduce_quadratics_with_the_coefficients_of_marsden():
    """With `t` in knot spacings, `t² - 1/3` at the centres gives back `t²`: each bell is in its place."""
    x = along_the_box()
    features = np.stack([np.asarray(feature) for feature in SplineBasis(Fixed(LOW), Fixed(HIGH), 5)(x)])
    t = 5.0 * np.asarray((x - LOW[None]) / (HIGH - LOW)[None])
    centres = np.arange(-1.0, 7.0)
    for coefficients, expected in ((centres, t), (centres**2 - 1.0 / 3.0, t**2)):
        found = np.einsum("b,bnw->nw", coefficients, features)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_bell_derivatives_agree_with_automatic_differentiation_on_knots_too():
    x = jnp.concatenate([jnp.arange(-3.0, 4.0), jnp.linspace(-2.5, 2.5, 37)])
    value, slope, curve = bell.with_derivatives(x)
    np.testing.assert_allclose(slope, jax.jit(jax.vmap(jax.grad(bell)))(x), atol=1e-14)
    np.testing.assert_allclose(curve, jax.jit(jax.vmap(jax.grad(jax.grad(bell))))(x), atol=1e-14)
    # The values at the knots are those of the textbook.
    np.testing.assert_allclose(value[:7], [0, 0, 1 / 6, 2 / 3, 1 / 6, 0, 0], atol=1e-15)
    np.testing.assert_allclose(slope[:7], [0, 0, 1 / 2, 0, -1 / 2, 0, 0], atol=1e-15)
    np.testing.assert_allclose(curve[:7], [0, 0, 1, -2, 1, 0, 0], atol=1e-15)


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1.0 + np.exp(-x))


def test_kan_layer_is_the_formula():
    layer, x = built(KAN(width=6, depth=1)).layers[0], points()
    features = np.stack([np.asarray(feature) for feature in layer.basis(x)])
    curves = np.einsum("bni,bio,io->no", features, layer.coefficients, layer.gain)
    np.testing.assert_allclose(layer(x), silu(np.asarray(x)) @ layer.base + curves, rtol=1e-12, atol=1e-12)


def test_kan_outside_its_grid_is_silu():
    layer = built(KAN(width=6, depth=1)).layers[0]
    x = np.resize([[-0.7, 2.3, 7.0], [1.7, -2.3, -1.0]], (11, 3))
    np.testing.assert_allclose(layer(jnp.asarray(x)), silu(x) @ layer.base, rtol=1e-13)


def test_bayesian_mean_network_is_the_perceptron():
    network, x = built(BayesianMLP(width=6, depth=2)), points()
    perceptron = MLPNetwork(tuple(Linear(layer.weight, layer.bias) for layer in network.layers))
    np.testing.assert_array_equal(network(x), plain(perceptron)(x))


def test_bayesian_samples_have_the_posterior_mean_and_deviation():
    layer, count = built(BayesianMLP(width=6, depth=1)).layers[0], 4000
    draw = jax.jit(jax.vmap(lambda key: sampled(layer, key)))(jax.random.split(jax.random.key(5), count))
    assert isinstance(draw, Linear)
    for mean, raw, drawn in (
        (layer.weight, layer.raw_weight, draw.weight),
        (layer.bias, layer.raw_bias, draw.bias),
    ):
        std, drawn = np.log1p(np.exp(np.asarray(raw))), np.asarray(drawn)
        # Five standard errors, for the mean and for the deviation.
        assert np.all(np.abs(np.mean(drawn, axis=0) - mean) < 5.0 * std / math.sqrt(count))
        assert np.all(np.abs(np.std(drawn, axis=0) / std - 1.0) < 5.0 / math.sqrt(2 * count))


def test_bayesian_draws_are_independent_and_repeatable():
    network = built(BayesianMLP(width=6, depth=3))
    one, again, other = (sampled(network, jax.random.key(seed)) for seed in (0, 0, 1))
    unit = [
        (np.asarray(drawn.weight) - layer.weight) / np.log1p(np.exp(layer.raw_weight))
        for drawn, layer in zip(one.layers, network.layers, strict=True)
    ]
    for left, right in combinations([noise.ravel()[:12] for noise in unit], 2):
        assert not np.isclose(left, right).any()
    assert eqx.tree_equal(one, again)
    assert not eqx.tree_equal(one, other)


def test_bayesian_deviations_start_small():
    network = BayesianMLP(width=6, depth=1).init(jax.random.key(0), 3, 2, LOW, HIGH)
    for layer in network.layers:
        assert isinstance(layer, BayesianLinear)
        np.testing.assert_array_equal(layer.raw_weight, np.full(layer.weight.shape, -3.0))
        np.testing.assert_array_equal(layer.raw_bias, np.full(layer.bias.shape, -3.0))


def posterior(mean: float, std: float) -> BayesianLinear:
    raw = math.log(math.expm1(std))
    weight, bias = np.ones((6, 2)), np.ones(2)
    arrays = mean * weight, mean * bias, raw * weight, raw * bias
    return BayesianLinear(*(jnp.asarray(array) for array in arrays))


@pytest.mark.parametrize("prior", [1.0, 0.3])
def test_divergence_vanishes_only_at_the_prior(prior: float):
    assert float(divergence(posterior(0.0, prior), prior)) == pytest.approx(0.0, abs=1e-12)
    for mean, ratio in [(0.2, 1.0), (-0.2, 1.0), (0.0, 1.5), (0.0, 0.5)]:
        assert float(divergence(posterior(mean, ratio * prior), prior)) > 0.1


def test_divergence_is_the_closed_form_summed_over_the_tree():
    mean, std, prior = 0.7, 0.2, 0.5
    each = math.log(prior / std) + (std**2 + mean**2) / (2 * prior**2) - 0.5
    tree = {"a": posterior(mean, std), "b": [posterior(mean, std), LOW, None]}
    assert float(divergence(tree, prior)) == pytest.approx(2 * 14 * each, rel=1e-12)


def test_trees_without_bayesian_layers_are_left_alone():
    tree = {"network": built(KAN(width=6, depth=1)), "number": jnp.asarray(2.0), "text": "x"}
    assert eqx.tree_equal(sampled(tree, jax.random.key(0)), tree)
    single = divergence(tree) + jnp.asarray(1.0, jnp.float32)
    assert float(divergence(tree)) == 0.0
    assert single.dtype == jnp.float32


def test_sampling_leaves_the_rest_of_the_tree():
    tree = {"layer": posterior(0.0, 0.5), "number": jnp.asarray(2.0), "frozen": Fixed(jnp.ones(2))}
    drawn = sampled(tree, jax.random.key(0))
    assert isinstance(drawn["layer"], Linear)
    assert eqx.tree_equal({**drawn, "layer": None}, {**tree, "layer": None})
