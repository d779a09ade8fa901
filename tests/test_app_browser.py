"""The app in a real browser: from a file to a report, with a wrong column, a wrong equation and a second tab."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from browser import chromium, is_readable, needs_chromium, prefer, requests, size
from napinn.app.server import Application, server
from napinn.app.workspace import open_workspace

pytestmark = needs_chromium
RATE = 0.8
WIDE, NARROW = (1200, "light"), (390, "dark")


@contextlib.contextmanager
def launched(folder: Path, port: int = 0) -> Iterator[str]:
    """The address of a running app, as it is printed."""
    application = Application(open_workspace(folder))
    with contextlib.closing(application), server(application, port) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        # Also where a test fails: a server whose socket is closed while it serves would never end.
        try:
            yield f"http://127.0.0.1:{running.server_port}/#token={application.token}"
        finally:
            running.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    rng = np.random.default_rng(0)
    times = np.linspace(0.0, 3.0, 40)
    values = np.exp(-RATE * times) + 0.01 * rng.standard_normal(40)
    values[[7, 23]] += 0.5
    lines = [
        f"{t:.4f},{u:.4f},{'ok' if number else 'begins'}"
        for number, (t, u) in enumerate(zip(times, values, strict=True))
    ]
    path = tmp_path_factory.mktemp("data") / "decay of <b>u.csv"
    path.write_text("\n".join(["t,u,remark", *lines]) + "\n")
    return path


class Page:
    def __init__(self, driver: Chrome):
        self.driver, self.wait = driver, WebDriverWait(driver, 60)

    def find(self, name: str):
        return self.driver.find_element(By.ID, name)

    def shows(self, name: str) -> None:
        self.wait.until(lambda _: self.find(name).is_displayed())

    def says(self, name: str, text: str) -> None:
        self.wait.until(lambda _: text in self.find(name).text)

    def saved(self) -> None:
        """Waits until everything that was typed is on disk and answered."""
        self.wait.until(lambda d: d.execute_script("return !app.state.edited"))

    def types(self, name: str, text: str) -> None:
        """Replaces what a box holds; tried again if the page draws the box anew, as after a change in another tab."""

        def typed(_: Chrome) -> bool:
            with contextlib.suppress(StaleElementReferenceException):
                self.find(name).send_keys(Keys.CONTROL, "a")
                self.find(name).send_keys(text)
                return self.find(name).get_attribute("value") == text
            return False

        self.wait.until(typed)

    def readable(self, *dresses: tuple[int, str]) -> None:
        """By the rules of axe, in each width and scheme, and never wider than the screen."""
        for across, worn in dresses:
            size(self.driver, across)
            prefer(self.driver, worn)
            self.wait.until(
                lambda d, worn=worn: d.execute_script("return document.documentElement.dataset.theme") == worn
            )
            assert self.driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
            is_readable(self.driver)
        size(self.driver, WIDE[0])
        prefer(self.driver, WIDE[1])


def test_from_a_file_to_a_report(tmp_path, readings):
    with chromium() as driver:
        page = Page(driver)
        with launched(tmp_path) as address:
            own = address.partition("#")[0]
            driver.get(own)
            page.shows("locked")
            page.readable(NARROW)
            driver.get_log("browser")  # The refusal without the key is in it.
            driver.get(address)
            page.shows("home")
            assert "token" not in driver.current_url
            page.readable(WIDE, NARROW)
            _replicates(page, tmp_path / "plate.csv")
            driver.get(address)
            page.shows("home")
            page.find("file").send_keys(str(readings))
            _columns(page)
            _equation(page)
            _second_tab(page)
            told = [entry["message"] for entry in driver.get_log("browser")]
            # The only complaint is the browser's own line about the answer to the tab that came second.
            assert all("409" in line for line in told), told
        _started_again(page, tmp_path, urlsplit(own).port)
        assert all(url.startswith((own, "data:", "blob:", "chrome")) for url in requests(driver))


def _started_again(page: Page, folder: Path, port: int | None) -> None:
    """What is typed while the server is away is kept, and saved by the next one; then the fit and its report."""
    page.types("name-0-start", "0.5")
    page.says("notice", "does not answer")
    first = page.driver.current_window_handle
    with launched(folder, port or 0) as address:
        page.driver.switch_to.new_window("tab")
        page.driver.get(address)
        page.shows("home")
        page.driver.close()
        page.driver.switch_to.window(first)
        page.wait.until(lambda _: any('"0.5"' in path.read_text() for path in folder.glob("analyses/*/analysis.json")))
        page.shows("step-equation")
        page.driver.get_log("browser")
        _fit(page)
        _report(page)
        assert page.driver.get_log("browser") == []


def _replicates(page: Page, path: Path) -> None:
    """Three wells are sensors of one quantity by one click, under one name, and what is no reading is listed."""
    path.write_text("t,A1,A2,A3\n0,1,1.1,0.9\n1,OVER,0.8,0.7\n2,0.6,0.7,0.5\n")
    page.find("file").send_keys(str(path))
    page.shows("as-sensors")
    assert page.find("missing").get_attribute("value") == "OVER"
    page.find("as-sensors").click()
    page.types("column-2-name", "N")
    page.wait.until(lambda d: "Readings of N" in page.find("readings").text)
    assert [page.find(f"column-{number}-name").get_attribute("value") for number in (1, 2, 3)] == ["N"] * 3
    assert page.driver.switch_to.active_element.get_attribute("id") == "column-2-name"
    page.readable(NARROW)
    page.types("missing", "-1")
    page.says("columns-problem", "list what means 'no reading' under 'missing'")


def _columns(page: Page) -> None:
    """A guess of the roles, a wrong choice that is answered with row and column, and the correction."""
    page.shows("step-columns")
    assert page.find("heading").text == "decay of <b>u"
    roles = [Select(page.find(f"column-{number}-role")).first_selected_option.text for number in range(3)]
    assert roles == ["time or place", "what is measured", "not used"]
    page.wait.until(
        lambda d: d.execute_script("return document.getElementById('readings-0')?.data?.[0].x.length") == 40
    )
    page.readable(WIDE, NARROW)
    Select(page.find("column-2-role")).select_by_visible_text("what is measured")
    page.says("columns-problem", "'begins'")
    page.readable(WIDE)
    Select(page.find("column-2-role")).select_by_visible_text("not used")
    page.wait.until(lambda _: not page.find("columns-problem").is_displayed())
    page.types("column-0-unit", "h")
    page.saved()
    page.find("to-equation").send_keys(Keys.ENTER)


def _equation(page: Page) -> None:
    """What is wrong while it is typed, then mathematics, then the coefficient with a bound that is no number."""
    page.shows("step-equation")
    # Who listens to the page hears where it has led.
    assert page.driver.switch_to.active_element.text == "Which equation should the readings obey?"
    page.says("equations-0-note", "For example: u_t = -k*u")
    page.types("equations-0", "u_t = -k*u*")
    page.says("equations-0-wrong", "cannot be read")
    assert page.find("equations-0").get_attribute("aria-invalid") == "true"
    page.readable(NARROW)
    page.types("equations-0", "u_t = -k*u")
    page.wait.until(lambda d: d.find_elements(By.CSS_SELECTOR, "#equations-0-shown math mfrac"))
    page.wait.until(lambda d: d.find_elements(By.ID, "name-0-low"))
    page.types("name-0-low", "zero")
    page.says("name-0-wrong", "'zero', is not a number")
    page.types("name-0-low", "0")
    page.wait.until(lambda _: not page.find("name-0-wrong").text)
    page.saved()
    page.readable(NARROW)


def _second_tab(page: Page) -> None:
    """Another tab shows the same and changes something; both changes are kept, whichever tab is quicker."""
    place, first = page.driver.current_url, page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    page.driver.get(place.replace("/equation", "/columns"))
    page.shows("step-columns")
    page.types("title", "decay, seen twice")
    page.wait.until(lambda d: d.find_element(By.ID, "saved").text == "Saved.")
    page.driver.close()
    page.driver.switch_to.window(first)
    page.types("name-0-high", "5")
    page.says("notice", "changed in another tab")
    page.wait.until(lambda _: page.find("heading").text == "decay, seen twice")
    page.saved()
    assert page.find("name-0-high").get_attribute("value") == "5"


def _fit(page: Page) -> None:
    """Check, fit, and a page that is loaded again meanwhile."""
    page.find("to-fit").click()
    page.wait.until(lambda _: page.find("fit-start").is_enabled())
    assert "40 readings of u" in page.find("summary").text
    page.says("expected", "A fit by splines will take roughly")
    page.readable(WIDE)
    page.find("fit-start").click()
    page.wait.until(lambda _: page.find("fit-stop").is_displayed() or page.find("to-report").is_displayed())
    page.driver.refresh()
    page.shows("step-fit")
    page.shows("to-report")
    value, unit = page.driver.find_element(By.CSS_SELECTOR, "#fit-values b").text.split()
    assert (float(value), unit) == (pytest.approx(RATE, rel=0.03), "1/h")
    command = page.find("command").get_attribute("textContent") or ""
    assert "napinn fit readings.csv --problem problem.yaml --out run-1" in command
    text = page.find("yaml").get_attribute("textContent") or ""
    assert "u_t = -k*u" in text
    assert "high: 5.0" in text
    page.readable(NARROW)
    page.find("fit-verify").click()
    page.says("trust-message", "No check casts doubt")
    page.readable(WIDE)
    page.find("to-report").click()


def _report(page: Page) -> None:
    """The report in its frame, from which nothing of the app can be reached, and the files."""
    driver = page.driver
    page.shows("report")
    names = [each.text.splitlines()[0] for each in driver.find_elements(By.CSS_SELECTOR, "#files .main")]
    assert names == ["report.html", "readings.csv", "sensors.csv", "field.nc", "result.json", "problem.yaml"]
    driver.switch_to.frame(page.find("report"))
    page.wait.until(lambda d: d.execute_script("return document.documentElement.dataset.drawn"))
    assert driver.find_element(By.TAG_NAME, "h1").text == "decay, seen twice"
    height = driver.execute_script("return document.body.getBoundingClientRect().height")
    reached = "try { return String(window.parent.document.title) } catch (error) { return error.name }"
    assert driver.execute_script(reached) == "SecurityError"
    driver.switch_to.default_content()
    page.wait.until(lambda _: page.find("report").size["height"] >= height)
    page.readable(WIDE, NARROW)
