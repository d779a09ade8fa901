"""A headless Chromium for tests, or a sentence on how to get one."""

import importlib.resources
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
needs_chromium = pytest.mark.skipif(
    not (CHROMIUM.exists() and DRIVER.exists()),
    reason="no Chromium here; 'apt-get install chromium chromium-driver' adds it.",
)


@contextmanager
def chromium() -> Iterator[Chrome]:
    profile = tempfile.mkdtemp()
    options = ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=Service(str(DRIVER)))
    try:
        yield driver
    finally:
        driver.quit()
        shutil.rmtree(profile, ignore_errors=True)


def size(driver: Chrome, width: int, height: int = 1000) -> None:
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def prefer(driver: Chrome, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def visit(driver: Chrome, path: Path) -> None:
    for log in ("browser", "performance"):
        driver.get_log(log)  # And forget what came before.
    driver.get(path.as_uri())
    WebDriverWait(driver, 30).until(lambda d: d.execute_script("return document.documentElement.dataset.drawn"))


def requests(driver: Chrome) -> list[str]:
    """Addresses that the page has asked for, as the browser itself logs them."""
    entries = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [e["params"]["request"]["url"] for e in entries if e["method"] == "Network.requestWillBeSent"]


def opens_alone(driver: Chrome, path: Path) -> dict[str, tuple[str, str]]:
    """The names of the axes of every chart, on a page that complains of nothing and asks for nothing."""
    visit(driver, path)
    assert driver.get_log("browser") == []
    # On a busy machine the page with which the browser starts is in the log too.
    asked = [url for url in requests(driver) if not url.startswith(("data:", "blob:", "chrome"))]
    assert asked == [path.as_uri()]
    titles = driver.execute_script(
        "return [...document.querySelectorAll('figure:not([hidden]) .plot')].map(p => [p.id, "
        "p.layout.xaxis.title.text, p.layout.yaxis.title.text, p.data.length])"
    )
    assert len(titles) >= 6
    assert all(across and up and traces for _, across, up, traces in titles)
    return {plot: (across, up) for plot, across, up, _ in titles}


def is_readable(driver: Chrome) -> None:
    """By the rules of axe, everything unfolded."""
    driver.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    rules = importlib.resources.files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    driver.execute_script(rules)
    # Every rule meets every element; only what keeps a rule is not described element by element.
    found = driver.execute_async_script(
        "const done = arguments[0]; axe.run(document, {runOnly: ['wcag2a', 'wcag2aa'], iframes: false, "
        "resultTypes: ['violations']}).then(done)"
    )
    assert [(v["id"], [n["html"][:90] for n in v["nodes"][:3]]) for v in found["violations"]] == []
    assert any(rule["id"] == "color-contrast" for rule in found["passes"])


def slides(driver: Chrome) -> bool:
    """Whether moving the first slider of the page changes what its charts show; True where there is none."""
    charts = (
        "return JSON.stringify(['field', 'profile'].map(id => document.getElementById(id)).filter(p => p).map("
        "p => p.data.map(s => s.z ? s.z.flatMap(row => Array.from(row)) : Array.from(s.y))))"
    )
    if not driver.execute_script("return document.querySelector('input[type=range]') !== null"):
        return True
    before = driver.execute_script(charts)
    driver.execute_script(
        "const s = document.querySelector('input[type=range]'); s.value = 0; s.dispatchEvent(new Event('input'))"
    )
    return driver.execute_script(charts) != before
