"""The pictures of the README, drawn from the run that `make demo` leaves: `python docs/make_pictures.py demo-run`.

The screenshot of the report is taken by Chromium (`apt-get install chromium`)."""

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from napinn import load
from napinn.report.figures import draw_field, draw_gate, draw_noise, new_figure, save

IMAGES = Path(__file__).with_name("images")
CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--virtual-time-budget=20000",
)
WIDTH, HEIGHT = 1280, 1500


def main(folder: str) -> None:
    result = load(folder)
    (field,) = result.problem.fields
    save(draw_field(result, field), IMAGES / "demo_field.png", 110)
    _, (left, right) = new_figure(9.5, 3.2, 2)
    draw_noise(result, field, left)
    draw_gate(result, right)
    save((left, right), IMAGES / "demo_noise.png", 110)
    screenshot(Path(folder) / "report.html", IMAGES / "report.png")


def screenshot(page: Path, picture: Path) -> None:
    """The top of a page, made smaller and of 256 colours, so that the file stays small."""
    if not Path(CHROMIUM).exists():
        sys.exit("The screenshot needs Chromium; 'apt-get install chromium' adds it.")
    with tempfile.TemporaryDirectory() as profile:
        target = Path(profile) / "shot.png"
        window = [f"--window-size={WIDTH},{HEIGHT}", f"--user-data-dir={profile}", f"--screenshot={target}"]
        subprocess.run([CHROMIUM, *FLAGS, *window, page.resolve().as_uri()], check=True, capture_output=True)
        with Image.open(target) as taken:
            small = taken.convert("RGB").resize((WIDTH * 3 // 4, HEIGHT * 3 // 4), Image.Resampling.LANCZOS)
            small.quantize(256, Image.Quantize.MAXCOVERAGE).save(picture, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
