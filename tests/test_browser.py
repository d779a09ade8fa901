"""The report as a browser shows it: complete without a network, moving, readable, and safe with any name."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from browser import chromium, is_readable, needs_chromium, opens_alone, prefer, size, visit
from napinn import Problem, Unknown, fit, read_table
from napinn.engines.network.methods import mad_pinn, na_pinn
from napinn.engines.network.training import Method
from napinn.field.backbones import MLP
from napinn.noise.density import EBM
from napinn.report.html import write_report
from napinn.report.truth import Truth

pytestmark = needs_chromium
NASTY = "<script>document.title='hit'</script>"
TINY = {"backbone": MLP(8, 2), "collocation_batch": 16, "reading_batch": 64, "log_every": 10}


def tiny_fit(problem: Problem, table: pd.DataFrame, method: Method):
    return fit(problem, read_table(table, tuple(problem.coordinates), problem.fields), method)


def spoilt(values: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(0)
    return values + rng.normal(0.0, 0.02, values.shape) + np.where(rng.random(values.shape) < 0.1, 1.0, 0.0)


def curve():
    t = np.linspace(0.0, 3.0, 60)
    problem = Problem(
        {"t": (0, 3)}, ("u", "v"), ("u_t = v", "v_t = -k*u"), {"k": Unknown(1.0)}, name="spring",
        units={"t": "s", "u": "m", "v": "m/s"},
    )  # fmt: skip
    return tiny_fit(
        problem,
        pd.DataFrame({"t": t, "u": spoilt(np.cos(t)), "v": spoilt(-np.sin(t))}),
        na_pinn(40, estimator=EBM(width=8, depth=1, nodes=64), **TINY),
    ), None


def rod():
    x, t = (axis.reshape(-1) for axis in np.meshgrid(np.linspace(0.1, 0.9, 5), np.linspace(0, 1, 11), indexing="ij"))
    problem = Problem(
        {"x": (0, 1), "t": (0, 1)}, ("T",), ("T_t = D*T_xx",), {"D": Unknown(0.1)}, name=f"rod {NASTY}",
        units={"x": "m", "t": "h", "T": "K"},
    )  # fmt: skip
    table = pd.DataFrame({"sensor": np.repeat([NASTY, "b", "c", "d", "e"], 11), "x": x, "t": t, "T": spoilt(x * t)})
    # A method that screens by misfit and learns no law: the page has to do without one.
    return tiny_fit(problem, table, mad_pinn(40, **TINY)), None


def plane():
    axes = np.meshgrid(np.linspace(0, 1, 4), np.linspace(0, 2, 4), np.linspace(0, 1, 6), indexing="ij")
    x, y, t = (axis.reshape(-1) for axis in axes)
    problem = Problem(
        {"x": (0, 1), "y": (0, 2), "t": (0, 1)}, ("u",), ("u_t = D*(u_xx + u_yy)",), {"D": Unknown(0.1)},
        units={"x": "m", "y": "m", "t": "s", "u": "K"},
    )  # fmt: skip
    values = spoilt(x + y * t)
    result = tiny_fit(problem, pd.DataFrame({"x": x, "y": y, "t": t, "u": values}), mad_pinn(40, **TINY))
    truth = Truth(lambda p: (p[:, 0] + p[:, 1] * p[:, 2])[:, None], values - (x + y * t) > 0.5, {"D": 0.0})
    return result, truth


CASES = {"curve": curve, "rod": rod, "plane": plane}


@pytest.fixture(scope="module")
def driver():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    paths = {}
    for name, make in CASES.items():
        result, truth = make()
        paths[name] = folder / f"{name}.html"
        write_report(result, paths[name], truth)
    return paths


@pytest.mark.parametrize("name", CASES)
def test_a_report_opens_alone_and_every_axis_is_named(driver, pages, name):
    size(driver, 1280)
    prefer(driver, "light")
    shown = opens_alone(driver, pages[name])
    units = {"curve": ["s", "m"], "rod": ["h", "m"], "plane": ["m", "m"]}[name]
    assert [f"[{unit}]" in text for unit, text in zip(units, shown["field"], strict=True)] == [True, True]


@pytest.mark.parametrize(("name", "plot"), [("rod", "profile"), ("plane", "field")])
def test_the_slider_moves_the_field(driver, pages, name, plot):
    visit(driver, pages[name])
    values = (
        f"return JSON.stringify(document.getElementById('{plot}').data.map("
        "s => s.z ? s.z.flatMap(row => Array.from(row)) : Array.from(s.y)))"
    )
    before, label = driver.execute_script(values), driver.find_element(By.ID, "at-t").text
    driver.execute_script(
        "const s = document.getElementById('slide-t'); s.value = 0; s.dispatchEvent(new Event('input'))"
    )
    assert driver.execute_script(values) != before
    assert driver.find_element(By.ID, "at-t").text.split()[0] == "0" != label.split()[0]


def test_hovering_shows_a_value_and_a_click_chooses_the_sensor(driver, pages):
    size(driver, 1280)
    visit(driver, pages["rod"])
    place = driver.find_element(By.CSS_SELECTOR, "#sensors .points path")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", place)
    ActionChains(driver).move_to_element(place).perform()
    WebDriverWait(driver, 10).until(lambda d: d.find_elements(By.CSS_SELECTOR, "#sensors .hovertext"))
    said = driver.find_element(By.CSS_SELECTOR, "#sensors .hovertext").text
    assert "reliability" in said
    assert NASTY in said
    select = Select(driver.find_element(By.ID, "choose-sensor"))
    select.select_by_index(len(select.options) - 1 if NASTY in select.options[0].text else 0)
    ActionChains(driver).move_to_element(place).click().perform()
    WebDriverWait(driver, 10).until(lambda d: NASTY in select.first_selected_option.text)


def test_names_are_shown_as_text(driver, pages):
    visit(driver, pages["rod"])
    assert driver.title == f"napinn: rod {NASTY}"
    assert driver.find_element(By.TAG_NAME, "h1").text == f"rod {NASTY}"
    assert driver.execute_script("return document.scripts.length") == 3


def test_the_field_that_is_chosen_is_the_one_shown(driver, pages):
    visit(driver, pages["curve"])
    assert driver.execute_script("return document.getElementById('noise-1').closest('figure').hidden")
    Select(driver.find_element(By.ID, "choose-field")).select_by_value("1")
    assert driver.execute_script("return document.getElementById('noise-0').closest('figure').hidden")
    assert driver.execute_script("return document.getElementById('field').layout.yaxis.title.text") == "v [m/s]"


def test_the_truth_of_a_simulation_can_be_looked_at(driver, pages):
    visit(driver, pages["plane"])
    assert "Verdicts against the truth" in driver.find_element(By.CSS_SELECTOR, "table.confusion").text
    Select(driver.find_element(By.ID, "choose-layer")).select_by_value("truth")
    # The truth is x + y t; at the far corner of the map it is 1 + 2 t.
    corner = driver.execute_script("return document.getElementById('field').data[0].z.at(-1).at(-1)")
    assert corner == pytest.approx(1.0 + 2.0 * float(driver.find_element(By.ID, "at-t").text.split()[0]), abs=1e-3)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_text_is_readable_by_the_rules_of_axe(driver, pages, width, scheme):
    size(driver, width)
    prefer(driver, scheme)
    visit(driver, pages["plane"])
    assert driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert driver.execute_script("return document.documentElement.dataset.theme") == scheme
    is_readable(driver)


def test_the_button_changes_the_dress(driver, pages):
    prefer(driver, "light")
    visit(driver, pages["curve"])
    ink = "return document.getElementById('field').layout.font.color"
    light = driver.execute_script(ink)
    driver.find_element(By.ID, "theme").click()
    WebDriverWait(driver, 10).until(lambda d: d.execute_script(ink) != light)


def test_a_map_is_whole_when_a_phone_is_turned(driver, pages):
    """Its colour bar is level on a narrow screen and upright on a wide one, and never both."""
    drawn = "const p = document.getElementById('field'); return p._fullLayout._size.w / p.clientWidth"
    bars = "return document.querySelectorAll('#field .cbtitle text').length"
    size(driver, 390)
    visit(driver, pages["rod"])
    for width in (1280, 390):
        size(driver, width)
        WebDriverWait(driver, 10).until(lambda d, width=width: d.execute_script("return window.innerWidth") == width)
        WebDriverWait(driver, 10).until(lambda d: d.execute_script(drawn) > 0.6)
        assert driver.execute_script(bars) == 1
