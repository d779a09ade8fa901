"""Problems and problem files: bounds that hold by construction, and a sentence for every mistake."""

import copy
import math
import random

import jax.numpy as jnp
import numpy as np
import pytest

from napinn.errors import InputError
from napinn.problem import Problem, Unknown
from napinn.problem.checks import as_tuple, check_unknowns
from napinn.problem.file import load_problem_file, parse_problem

GOOD = {
    "coordinates": {"x": [0, 1], "t": [0, 2]},
    "fields": ["u"],
    "unknowns": {"D": {"start": 1.0, "low": 0.0}},
    "equations": ["u_t = D*u_xx"],
}


@pytest.mark.parametrize(
    "unknown",
    [
        Unknown(0.3),
        Unknown(0.3, low=0.0),
        Unknown(0.3, high=1.0),
        Unknown(0.3, 0.1, 0.9),
        Unknown(1e-7, low=0.0),
        Unknown(900.0, 0.0),
    ],
)
def test_an_unknown_starts_where_it_should_and_stays_inside(unknown):
    assert float(unknown.value(jnp.asarray(unknown.raw_start()))) == pytest.approx(unknown.start, rel=1e-9)
    for raw in (-30.0, -3.0, 0.0, 3.0, 30.0):
        value = float(unknown.value(jnp.asarray(raw)))
        assert unknown.low is None or value >= unknown.low
        assert unknown.high is None or value <= unknown.high


@pytest.mark.parametrize(
    "bad", [dict(start=0.0, low=0.0), dict(start=2.0, high=1.0), dict(start=math.nan), dict(start=1.0, low=math.inf)]
)
def test_an_impossible_unknown_is_refused(bad):
    with pytest.raises(InputError):
        Unknown(**bad)


def changed(**entries):
    return {**GOOD, **entries}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (changed(fields=["u", "w"]), "field 'w' is in no equation"),
        (changed(unknowns={"D": 1.0, "k": 2.0}), "unknown 'k' is in no equation"),
        (changed(equations=["u_t = D*u_xz"]), "'u_xz' is not known"),
        (changed(equations=["u_t - D*u_xx"]), "has no '='"),
        (changed(equations=[]), "has no equations"),
        (changed(fields=[]), "has no fields"),
        (changed(coordinates={}), "has no coordinates"),
        (changed(coordinates={"x": [1, 0], "t": [0, 1]}), "low before high"),
        (changed(coordinates={"x": [0], "t": [0, 1]}), "coordinates.x"),
        (changed(unknowns={"D": {"start": -1.0, "low": 0.0}}), "unknown 'D': an unknown starts at -1"),
        (changed(unknowns={"D": {"begin": 1.0}}), "unknowns.D"),
        (changed(unknowns={"D": "much"}), "unknowns.D"),
        (changed(equation=["u_t = 0"]), "'equation' is not an entry of a problem file; did you mean 'equations'?"),
        (changed(date="2024-03-01"), "'date' is not an entry of a problem file; known here"),
        (changed(constants={"u": 1.0}), "'u' is declared as field and as constant"),
        (changed(constants={"sin": 1.0}), "has the name of a function"),
        (changed(constants={"pi": 1.0}), "has the name of π"),
        (changed(constants={"u_x": 1.0}), "reads like a derivative"),
        (changed(constants={"2k": 1.0}), "is not a usable name"),
        (changed(constants={"k": float("nan")}), "constants.k"),
        ({k: v for k, v in GOOD.items() if k != "equations"}, "the entry 'equations' is missing"),
    ],
)
def test_each_mistake_in_a_problem_gets_its_sentence(content, said):
    with pytest.raises(InputError) as caught:
        parse_problem(content, "p.yaml").problem()
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("unknowns", "said"),
    [
        (["D"], "unknowns must be given by name"),
        ({"D": None}, "'D' is None; write napinn.Unknown()"),
        ({"D": 1.0}, "is 1.0"),
    ],
)
def test_unknowns_of_another_kind_get_the_way_to_write_them(unknowns, said):
    with pytest.raises(InputError, match=said):
        check_unknowns(unknowns)


def test_one_text_is_one_entry():
    assert as_tuple("temp") == ("temp",)
    assert as_tuple(["u", "v"]) == ("u", "v")


def test_a_problem_file_is_read_as_written(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(
        "coordinates: {x: [0, 1], t: [0, 2]}\nfields: [u]\nunknowns: {D: 0.5}\n"
        "equations: ['u_t = D*u_xx']\nunits: {x: m}\n"
    )
    problem = load_problem_file(path).problem()
    assert problem.coordinates == {"x": (0.0, 1.0), "t": (0.0, 2.0)}
    assert problem.unknowns == {"D": Unknown(0.5)}
    assert problem.show() == "∂u/∂t = D ∂²u/∂x²"
    assert problem.units == {"x": "m"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no problem"),
        ("- 1\n- 2\n", "holds no problem"),
        ("a: [1, 2\n", "is not valid YAML"),
        ("a: !!python/object/apply:os.system ['true']\n", "is not valid YAML"),
        ("\x00", "is not valid YAML"),
    ],
)
def test_a_file_that_is_no_problem_is_refused(tmp_path, text, said):
    path = tmp_path / "p.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        load_problem_file(path)


def test_a_problem_can_be_checked_without_reading_or_training():
    problem = Problem({"t": (0, 1)}, ("u",), ("d(u, t, t) + w**2*u = 0",), {"w": Unknown(1.0, low=0.0)})
    assert problem.wanted == {((),), (("t", "t"),)}


STRANGE = [
    None, 1, -1, 0, "u", "", [], {}, [1, 2], [[0, 1]], {"a": 1}, True, "x" * 50, "u_t = 1", "__import__('os')",
    float("nan"), float("inf"), "é", {"start": "a"}, {"start": 1, "low": 2}, [0, 1, 2], ["u", "u"], ["u_t = 0"] * 2,
]  # fmt: skip


def places(node, path=()):
    """Every path into a nest of dicts and lists."""
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(deeper for key, child in inner for deeper in places(child, (*path, key)))]


def test_four_hundred_broken_problem_files_are_each_a_problem_or_a_sentence():
    choose = random.Random(0)
    whole = {**GOOD, "constants": {"k": 2.0}, "units": {"x": "m"}, "columns": {"rename": {"u": "value"}}}
    refused = 0
    for _ in range(400):
        content = copy.deepcopy(whole)
        *way, last = choose.choice([path for path in places(content) if path])
        owner = content
        for key in way:
            owner = owner[key]
        if isinstance(owner, dict) and choose.random() < 0.2:
            owner[choose.choice(["zz", "u", "x y", "class", "pi", 3])] = owner.pop(last)
        else:
            owner[last] = copy.deepcopy(choose.choice(STRANGE))
        try:
            parse_problem(content, "p.yaml").problem(np.array([[0.0, 0.0], [1.0, 1.0]]))
        except InputError as error:
            refused += 1
            said = str(error)
        else:
            said = "fine."
        assert len(said.splitlines()) == 1
        assert said.endswith((".", "?"))
    assert refused > 300
