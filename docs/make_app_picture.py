"""The picture of the app page, of its example of a rod: `python docs/make_app_picture.py`.

It is taken by Chromium through its driver (`apt-get install chromium chromium-driver`)."""

import contextlib
import io
import tempfile
import threading
from pathlib import Path

from PIL import Image
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from napinn.app.server import Application, server
from napinn.app.workspace import open_workspace

PICTURE = Path(__file__).with_name("images") / "app.png"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--hide-scrollbars",
    "--window-size=1100,1180",
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        application = stack.enter_context(contextlib.closing(Application(open_workspace(Path(folder)))))
        analysis = application.workspace.example("rod").identifier
        running = stack.enter_context(server(application))
        threading.Thread(target=running.serve_forever, daemon=True).start()
        stack.callback(running.shutdown)
        options = ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for flag in (*FLAGS, f"--user-data-dir={stack.enter_context(tempfile.TemporaryDirectory())}"):
            options.add_argument(flag)
        driver = Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        stack.callback(driver.quit)
        taken = picture(driver, f"http://127.0.0.1:{running.server_port}/", application.token, analysis)
    small = Image.open(io.BytesIO(taken)).convert("RGB")
    small.quantize(64, Image.Quantize.MAXCOVERAGE).save(PICTURE, optimize=True)


def picture(driver: Chrome, address: str, token: str, analysis: str) -> bytes:
    """The step of the equation as PNG.

    :param driver: A browser.
    :param address: Of the server.
    :param token: Of the launch.
    :param analysis: What to show."""
    driver.get(f"{address}#token={token}")
    wait = WebDriverWait(driver, 30)
    wait.until(lambda d: d.find_element(By.ID, "home").is_displayed())
    driver.get(f"{address}#/{analysis}/equation")
    wait.until(lambda d: d.find_elements(By.CSS_SELECTOR, "#equations-0-shown math"))
    return driver.get_screenshot_as_png()


if __name__ == "__main__":
    main()
