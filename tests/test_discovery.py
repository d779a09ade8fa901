"""Which equation: terms in normal form, the weak form, selection, what is claimed and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest

import napinn
from napinn.cli.main import run as main
from napinn.discovery.answer import MUCH_LEFT, SURE_FIELD, inclusion_in_refit, poor_fit
from napinn.discovery.bumps import bumps_for
from napinn.discovery.criteria import WORTH, charge, worthwhile
from napinn.discovery.found import FoundTerm
from napinn.discovery.local_means import LocalMeans
from napinn.discovery.polynomial import factor_between
from napinn.discovery.posedness import ill_posed
from napinn.discovery.reading_matrix import reading_matrix
from napinn.discovery.regress import SLIGHT, Columns, Whitened, best_sets
from napinn.discovery.smooth import GROSS, Smooth, smooth_field
from napinn.discovery.smoother import Measured, mesh
from napinn.discovery.terms import default_terms, left_side, read_term, read_terms, slower_terms, split_terms
from napinn.discovery.weak import WeakForm
from napinn.errors import InputError
from napinn.field.splines.space import Space
from napinn.noise.laws import Cauchy
from napinn.problem.equations import Names

HEAT = Names(("t", "x"), ("u",), (), {"a": 2.0})


def logistic(seed=0, count=300):
    """Readings of u' = u - u², 3 % noise, every twentieth a gross error."""
    t = np.linspace(0.0, 6.0, count)
    values = 1.0 / (1.0 + 9.0 * np.exp(-t)) + 0.03 * np.random.default_rng(seed).normal(size=count)
    values[::20] += 1.0
    return pd.DataFrame({"t": t, "u": values})


def readings(frame):
    return napinn.read_table(frame, ("t",), ("u",))


@pytest.fixture(scope="module")
def found():
    return napinn.discover(readings(logistic()), "u_t", ["1", "u", "u**2", "u**3"])


# ---- terms -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("one", "other", "factor"),
    [
        ("u*u_x", "d(u**2, x)", 0.5),
        ("(u + 1)**2", "1 + 2*u + u*u", 1.0),
        ("u_x*u/2", "u*u_x", 0.5),
        ("sin(u + u)", "sin(2*u)", 1.0),
        ("d(u**2, x, x)", "u*u_xx + u_x**2", 2.0),
        ("u**-1", "1/u", 1.0),
    ],
)
def test_terms_that_are_written_differently_are_seen_to_be_the_same(one, other, factor):
    normal = [read_term(text, HEAT).normal for text in (one, other)]
    assert factor_between(*normal) == pytest.approx(factor)


def test_terms_that_differ_are_not_taken_for_one_another():
    assert factor_between(read_term("u*u_x", HEAT).normal, read_term("u_x", HEAT).normal) is None


@pytest.mark.parametrize(
    ("text", "axes", "factor"),
    [
        ("u*u_x", ("x",), 0.5),
        ("u_xxx", ("x", "x", "x"), 1.0),
        ("u*u_xx", (), 1.0),
        ("x*u_x", (), 1.0),
        ("u**3", (), 1.0),
    ],
)
def test_derivatives_stand_outside_where_that_is_possible(text, axes, factor):
    term = read_term(text, HEAT)
    assert (term.axes, term.factor) == (axes, pytest.approx(factor))


def test_the_default_library_holds_known_equations():
    library = read_terms(default_terms(HEAT, "t"), HEAT)
    for text in ("u*u_x", "u_xxx", "u_xx", "u_xxxx", "d(u**2, x, x)", "u", "u**3"):
        normal = read_term(text, HEAT).normal
        assert any(factor_between(normal, term.normal) is not None for term in library), text
    lorenz = default_terms(Names(("t",), ("x", "y", "z"), (), {}), "t")
    assert {"x", "y", "z", "x*y", "x*z"} <= set(lorenz)


def test_beside_a_second_derivative_in_time_the_library_holds_damping():
    side = left_side("u_tt", HEAT)
    assert slower_terms(HEAT, "t", side) == ["u_t", "u*u_t", "u**2*u_t"]
    assert slower_terms(HEAT, "t", left_side("u_t", HEAT)) == []
    pair = Names(("t",), ("x", "y"), (), {})
    assert slower_terms(pair, "t", left_side("y_tt", pair)) == ["x_t", "y_t"]


def test_commas_inside_brackets_separate_nothing():
    assert split_terms("1, u, d(u**2, x, x), min(u, 1)") == ["1", "u", "d(u**2, x, x)", "min(u, 1)"]


@pytest.mark.parametrize(
    ("terms", "sentence"),
    [
        (["u", "u +"], "cannot be read"),
        (["u*u_x", "d(u**2, x)"], "the same up to a factor"),
        (["u", "u_x", "2*u - u_x"], "sum of multiples of terms before it"),
        (["u", ""], "empty entry"),
        (["u - u"], "is zero"),
        (["w"], "'w' is not known"),
        (["d(sin(u), x)"], "derivative of a function"),
        (["d(u**2, z)"], "'z' is not a coordinate"),
    ],
)
def test_a_library_that_makes_no_sense_is_refused(terms, sentence):
    with pytest.raises(InputError, match=sentence):
        read_terms(terms, HEAT)


@pytest.mark.parametrize("text", ["u", "u*u_t", "2*u_t", "x"])
def test_a_left_side_must_be_a_derivative(text):
    with pytest.raises(InputError, match="is not a derivative of a field"):
        left_side(text, HEAT)


# ---- weak form -------------------------------------------------------------------------------------------
def test_the_weak_form_of_an_exact_solution_vanishes_and_that_of_a_wrong_equation_does_not():
    t, x = (part.ravel() for part in np.meshgrid(np.linspace(0, 0.2, 60), np.linspace(0, 2, 60), indexing="ij"))
    values = np.exp(-(np.pi**2) * t) * np.sin(np.pi * x)
    measured = Measured(np.stack([t, x], axis=1), values, np.zeros(len(t), int))
    field = smooth_field(measured, (0.0, 0.0), (0.2, 2.0))
    bumps = bumps_for((0.0, 0.0), (0.2, 2.0), (12, 12), (1, 2))
    weak = WeakForm(bumps, ("t", "x"), {"u": field}, {"u": np.zeros(bumps.shape)})
    left, bent = weak.left(left_side("u_t", HEAT))[0], weak.column(read_term("u_xx", HEAT))[0]
    assert np.abs(left - bent).max() < 2e-3 * np.abs(left).max()
    assert np.abs(left - 1.1 * bent).max() > 0.05 * np.abs(left).max()


def test_partial_integration_agrees_with_derivatives_of_the_field():
    t = np.linspace(0.0, 1.0, 200)
    field = smooth_field(Measured(t[:, None], np.sin(3.0 * t), np.zeros(200, int)), (0.0,), (1.0,))
    names, bumps = Names(("t",), ("u",), (), {}), bumps_for((0.0,), (1.0,), (16,), (2,))
    weak = WeakForm(bumps, ("t",), {"u": field}, {"u": np.zeros(bumps.shape)})
    outside, inside = weak.column(read_term("u*u_t", names))[0], weak.column(read_term("u*u_t + 0*u", names))[0]
    assert outside == pytest.approx(inside, rel=1e-6)


def test_gaps_between_readings_are_not_taken_for_zeros():
    """Local means give a constant back wherever readings are, and none where no reading is within reach."""
    bumps = bumps_for((0.0,), (1.0,), (16,), (2,))
    points = np.concatenate([np.random.default_rng(0).uniform(0.0, 0.6, (40, 1)), [[0.0], [1.0]]])
    means = LocalMeans(bumps, points)
    every = np.ones(42, bool)
    found = means(np.full(42, 3.0), every)
    assert set(np.round(found, 9)) == {0.0, 3.0}
    assert found[bumps.places[0] < 0.55] == pytest.approx(3.0)
    assert means(np.full(42, 3.0), points[:, 0] > 0.3)[0] == 0.0
    assert means.volumes(every).sum() == pytest.approx(np.count_nonzero(found) * bumps.spacing[0])


def test_products_of_test_functions_are_their_integrals():
    """Against the sum over the grid of the product of both, each taken from the integrals of a unit at every point."""
    bumps = bumps_for((0.0,), (1.0,), (20,), (2,))
    values, units = np.random.default_rng(0).normal(size=bumps.shape), np.eye(bumps.shape[0])
    one, two = (np.stack([bumps.integrals(unit, (order,)) for unit in units], axis=1) for order in (1, 2))
    expected = (one * values) @ two.T
    assert bumps.products(values, (1,), (2,)) == pytest.approx(expected, abs=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("axes", [2, 3])
def test_readings_at_common_instants_are_smoothed_as_any_others(axes):
    random = np.random.default_rng(0)
    places = random.uniform(size=(9, axes - 1))
    points = np.array([(t, *place) for t in np.linspace(0, 1, 12) for place in places])[random.permutation(108)[:80]]
    space = Space(mesh((0.0,) * axes, (1.0,) * axes, (5, 3, 4)[:axes]), 1)
    product, plain = reading_matrix(space, points), space.design(points, 0)
    found, values = random.normal(size=space.size), random.normal(size=80)
    assert type(product).__name__ == "_Product"
    assert product.values(found) == pytest.approx(plain @ found)
    assert product.sums(values) == pytest.approx(plain.T @ values)
    scattered = random.uniform(size=(80, axes))
    assert reading_matrix(space, scattered).values(found) == pytest.approx(space.design(scattered, 0) @ found)


@pytest.mark.parametrize(("size", "kept"), [(0.9 * GROSS, True), (1.1 * GROSS, False)])
def test_a_gross_error_counts_as_a_missing_reading(size, kept):
    misfits = np.append(np.random.default_rng(0).normal(size=99), size)
    field = Smooth((), np.zeros(0), 1.0, Cauchy().curvature(misfits), misfits, 0.0, 0.0, ())
    assert field.kept[-1] == kept
    assert field.kept[:-1].all()


@pytest.mark.parametrize(("finer", "resolved"), [((8, 16), (8, 16)), ((4, 16), (4, 8)), ((4, 8), (4, 8))])
def test_test_functions_keep_the_proportions_that_held_out_readings_chose(finer, resolved):
    axes = mesh((0.0, 0.0), (1.0, 1.0), finer)
    assert Smooth(axes, np.zeros(0), 1.0, np.ones(1), np.ones(1), 0.0, 0.0, (4, 8)).resolved == resolved


# ---- selection -------------------------------------------------------------------------------------------
def system(noise=0.0, seed=0):
    random = np.random.default_rng(seed)
    terms = random.normal(size=(200, 6))
    left = 3.0 * terms[:, 1] - 2.0 * terms[:, 4] + random.normal(size=200)
    return Whitened(Columns(terms + noise * random.normal(size=terms.shape), left, np.zeros((0, 200, 7))))


def test_the_best_set_of_every_size_is_found():
    sets = {len(chosen): chosen for chosen, _ in best_sets(system(), (), 4)}
    assert sets[2] == (1, 4)
    quick = {len(chosen): chosen for chosen, _ in best_sets(system(), (), 4, quick=True)}
    assert quick == sets


def test_coefficients_are_corrected_for_noise_in_the_terms():
    """Noise as large as the terms halves the coefficients of plain least squares."""
    random = np.random.default_rng(1)
    terms = random.normal(size=(4000, 1))
    draws = np.concatenate([random.normal(size=(8, 4000, 1)), np.zeros((8, 4000, 1))], axis=2)
    columns = Columns(terms + random.normal(size=terms.shape), 3.0 * terms[:, 0], draws)
    assert Whitened(columns).fit((0,))[0][0] == pytest.approx(1.5, abs=0.1)
    assert Whitened(columns).corrected((0,))[0] == pytest.approx(3.0, abs=0.2)


def test_a_term_must_be_worth_its_place():
    sets = [(), (0,), (0, 1)]
    assert worthwhile(sets, [9.0, 1.0 + 0.9 * WORTH, 1.0], (0, 1)) == (0,)
    assert worthwhile(sets, [9.0, 1.0 + 1.1 * WORTH, 1.0], (0, 1)) == (0, 1)
    assert worthwhile(sets, [9.0, 1.0 + 1.1 * WORTH, 1.0], (0, 1), unit=2.0) == (0,)
    assert worthwhile(sets, [9.0, 1.0 + 2.2 * WORTH, 1.0], (0, 1), unit=2.0) == (0, 1)
    assert charge(100, 20) > charge(100, 10) > charge(50, 10)


@pytest.mark.parametrize(("share", "claimed"), [(0.5 * SLIGHT, False), (2.0 * SLIGHT, True)])
def test_a_slight_term_is_not_claimed(share, claimed):
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(100, 2)))[0]
    left = basis @ np.array([1.0, share])
    assert Whitened(Columns(basis, left, np.zeros((0, 100, 3)))).claimable((0, 1)) == claimed


@pytest.mark.parametrize(
    ("side", "sizes", "ill"),
    [
        ("u_t", {"u_xx": 1.0}, False),
        ("u_t", {"u_xx": -1.0}, True),
        ("u_t", {"u_xxxx": 0.001, "d(u**2, x, x)": 1.0}, True),
        ("u_t", {"u_xx": -1.0, "u_xxxx": -1.0, "u*u_x": -1.0}, False),
        ("u_t", {"u_xx": -0.1, "u_xxx": -1.0}, True),
        ("u_t", {"u_xx": -0.01, "d(u**2, x, x)": 1.0}, False),
        ("u_tt", {"u_xx": -1.0}, False),
    ],
)
def test_an_equation_under_which_short_waves_explode_is_told(side, sizes, ill):
    terms = [read_term(text, HEAT) for text in sizes]
    assert ill_posed(left_side(side, HEAT), terms, list(sizes.values()), ("t", "x")) == ill


# ---- the whole -------------------------------------------------------------------------------------------
def test_the_equation_is_found_with_its_coefficients(found):
    (equation,) = found.equations
    assert {term.text for term in equation.terms} == {"u", "u**2"}
    for term, truth in zip(equation.terms, (1.0, -1.0), strict=True):
        assert term.low < truth < term.high
        assert abs(term.coefficient - truth) < 0.1
    assert found.claimed
    assert found.result is not None
    assert found.problem.equations == found.result.problem.equations


def test_rivals_and_inclusion_are_told_for_every_size_and_term(found):
    (equation,) = found.equations
    assert [rival.size for rival in equation.rivals] == [0, 1, 2, 3, 4]
    assert equation.rivals[0].score > 10.0 * equation.rivals[2].score
    assert set(equation.inclusion) == {"1", "u", "u**2", "u**3"}
    assert all(0.0 <= share <= 1.0 + 1e-9 for share in equation.inclusion.values())


def test_a_known_part_is_kept_and_not_looked_for():
    found = napinn.discover(readings(logistic()), "u_t", ["1", "u", "u**3"], known=["-u**2"], refit_seconds=0)
    assert [term.text for term in found.equations[0].terms] == ["u"]
    assert found.equations[0].terms[0].coefficient == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_no_equation_is_claimed_from_noise(seed):
    frame = pd.DataFrame({"t": np.linspace(0, 1, 300), "u": np.random.default_rng(seed).normal(size=300)})
    found = napinn.discover(readings(frame))
    assert not found.claimed
    assert "only noise" in found.sentences()[0]
    assert found.problem is None


def test_a_field_is_told_from_noise_by_held_out_readings():
    t, random = np.linspace(0, 1, 300), np.random.default_rng(0)
    groups, noise = np.zeros(300, int), random.normal(size=300)
    assert smooth_field(Measured(t[:, None], noise, groups), (0.0,), (1.0,)).explained < SURE_FIELD
    signal = noise + 2.0 * np.sin(9.0 * t)
    assert smooth_field(Measured(t[:, None], signal, groups), (0.0,), (1.0,)).explained > SURE_FIELD


@pytest.mark.parametrize(("left_over", "said"), [(0.9 * MUCH_LEFT, False), (1.1 * MUCH_LEFT, True)])
def test_an_equation_that_leaves_more_than_noise_says_so(left_over, said):
    assert ("may be missing" in poor_fit("u_t", left_over)) == said


def test_a_term_that_the_joint_refit_brings_in_has_its_probability_there():
    """At the charge of a term the odds are even; more standard errors make it surer."""
    price = charge(100, 10)
    assert inclusion_in_refit(price**0.5, price) == pytest.approx(0.5)
    assert inclusion_in_refit(6.0, price) > 0.99 > 0.1 > inclusion_in_refit(2.0, price)
    assert FoundTerm("u", "u", 1.0, 0.9, 1.1, 0.987, by_refit=True).shown_inclusion == "0.99 (joint refit)"
    assert FoundTerm("u", "u", 1.0, 0.9, 1.1, 0.987).shown_inclusion == "0.99"


def test_a_derivative_of_an_expression_is_shown_as_one_and_worked_out_in_the_problem():
    term = read_term("d(u**2, x, x)", HEAT)
    assert (term.text, term.shown) == ("d(u**2, x, x)", "∂²(u²)/∂x²")
    assert read_term(term.spelled, HEAT).normal == term.normal
    assert read_term("d(u, x, x)", HEAT).shown == "∂²u/∂x²"


def test_a_library_without_the_right_term_gives_no_equation():
    t = np.linspace(0, 6, 300)
    frame = pd.DataFrame({"t": t, "u": np.sin(3 * t) + 0.05 * np.random.default_rng(0).normal(size=300)})
    found = napinn.discover(readings(frame), "u_t", ["1", "u", "u**2"])
    assert not found.claimed
    assert "No equation is claimed" in found.sentences()[0]
    assert found.sentences()[0].endswith("If 'u' oscillates, try --left u_tt.")


def test_diffusion_is_found_on_a_small_grid():
    t, x = (part.ravel() for part in np.meshgrid(np.linspace(0, 0.1, 30), np.linspace(0, 1, 30), indexing="ij"))
    true = np.exp(-(np.pi**2) * t) * np.sin(np.pi * x) + 0.5 * np.exp(-4 * np.pi**2 * t) * np.sin(2 * np.pi * x)
    frame = pd.DataFrame({"t": t, "x": x, "u": true + 0.02 * np.random.default_rng(0).normal(size=len(t))})
    found = napinn.discover(napinn.read_table(frame, ("t", "x"), ("u",)), refit_seconds=0)
    (term,) = found.equations[0].terms
    assert term.text == "u_xx"
    assert term.coefficient == pytest.approx(1.0, abs=0.05)


# ---- the command -----------------------------------------------------------------------------------------
def command(monkeypatch, capsys, *words):
    monkeypatch.setattr("sys.argv", ["napinn", "discover", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code, *capsys.readouterr()


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "readings.csv"
    logistic(count=120).to_csv(path, index=False)
    return path


def test_the_command_writes_a_folder_to_go_on_from(table, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "run"
    words = (table, "--left", "u_t", "--terms", "u, u**2", "--refit-seconds", 0, "-o", folder, "--json")
    code, out, _ = command(monkeypatch, capsys, *words)
    assert code == 0
    told = json.loads(out)
    assert [term["text"] for term in told["equations"][0]["terms"]] == ["u", "u**2"]
    assert (folder / "report.html").read_text().count("inclusion-0") > 1
    problem, _ = napinn.read_problem(folder / "problem.yaml", table)
    assert list(problem.unknowns) == ["c1", "c2"]
    assert problem.unknowns["c1"].start == pytest.approx(1.0, abs=0.2)


def test_the_position_of_an_oscillator_is_measured_where_its_derivative_is_the_left_side(tmp_path, monkeypatch, capsys):
    """A column x is a place by its name alone."""
    t, random = np.linspace(0.0, 12.0, 240), np.random.default_rng(0)
    swing = pd.DataFrame({"t": t, "x": np.exp(-0.1 * t) * np.cos(2.0 * t) + random.normal(0.0, 0.01, len(t))})
    path = tmp_path / "swing.csv"
    swing.assign(v=0.3 + random.normal(0.0, 0.01, len(t))).to_csv(path, index=False)
    words = ("--left", "x_tt", "--refit-seconds", 0, "-o", tmp_path / "run", "--json")
    code, out, _ = command(monkeypatch, capsys, path, *words)
    assert code == 0
    found = {term["text"]: term["coefficient"] for term in json.loads(out)["equations"][0]["terms"]}
    assert found == {"x": pytest.approx(-4.01, rel=0.02), "x_t": pytest.approx(-0.2, abs=0.03)}
    code, out, _ = command(monkeypatch, capsys, path, "--left", "v_t", "-o", tmp_path / "other", "--json")
    assert "d(v, x" in out or "v_x" in out


def test_terms_may_stand_in_the_problem_file(table, tmp_path, monkeypatch, capsys):
    path = tmp_path / "problem.yaml"
    path.write_text("coordinates: {t: }\nfields: [u]\nleft: [u_t]\nterms: [u, u**2]\n")
    words = (table, "--problem", path, "--refit-seconds", 0, "-o", tmp_path / "run", "--json")
    code, out, _ = command(monkeypatch, capsys, *words)
    assert (code, json.loads(out)["claimed"]) == (0, True)


def test_a_problem_without_coordinates_is_refused_in_a_sentence(table, tmp_path, monkeypatch, capsys):
    path = tmp_path / "problem.yaml"
    path.write_text("coordinates: {}\nfields: [u]\nleft: [u_t]\nterms: [u]\n")
    code, _, err = command(monkeypatch, capsys, table, "--problem", path, "-o", tmp_path / "run")
    assert code == 2
    assert "the problem has no coordinates; name at least one" in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--terms", "u, u +"], "cannot be read"),
        (["--terms", "u*u, u**2"], "the same up to a factor"),
        (["--left", "u"], "is not a derivative of a field"),
        (["--terms", ", ".join(["1", *(f"u**{power}" for power in range(1, 9))])], "too few to choose among 9 terms"),
        (["--terms", "u_t"], "is the left side itself"),
        (["--terms", "v_t: u"], "'v"),
        (["--terms", "u, w"], "'w' is not known"),
        (["--left", "w_t"], "'w"),
        (["--terms", "u, d(u**2, z)"], "'z' is not a coordinate"),
    ],
)
def test_bad_input_is_one_sentence(words, sentence, tmp_path, monkeypatch, capsys):
    path = tmp_path / "few.csv"
    logistic(count=9).to_csv(path, index=False)
    code, out, error = command(monkeypatch, capsys, path, "-o", tmp_path / "run", *words)
    assert (code, out) == (2, "")
    assert sentence in " ".join(error.split())
    assert "Traceback" not in error
    assert not (tmp_path / "run").exists()
