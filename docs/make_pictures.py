"""The pictures of the README, drawn from the run that `make demo` leaves: `python docs/make_pictures.py demo-run`."""

import sys
from pathlib import Path

from napinn import load
from napinn.report.figures import draw_field, draw_noise, draw_reliability, new_figure

IMAGES = Path(__file__).with_name("images")


def main(folder: str) -> None:
    result = load(folder)
    (field,) = result.problem.fields
    draw_field(result, field).savefig(IMAGES / "demo_field.png", dpi=110)
    figure, (left, right) = new_figure(9.5, 3.2, 2)
    draw_noise(result, field, left)
    draw_reliability(result, right)
    figure.savefig(IMAGES / "demo_noise.png", dpi=110)


if __name__ == "__main__":
    main(sys.argv[1])
