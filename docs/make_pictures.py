"""The pictures of the README, drawn from the run that `make demo` leaves: `python docs/make_pictures.py demo-run`."""

import sys
from pathlib import Path

from napinn import load
from napinn.report.figures import draw_field, draw_gate, draw_noise, new_figure, save

IMAGES = Path(__file__).with_name("images")


def main(folder: str) -> None:
    result = load(folder)
    (field,) = result.problem.fields
    save(draw_field(result, field), IMAGES / "demo_field.png", 110)
    _, (left, right) = new_figure(9.5, 3.2, 2)
    draw_noise(result, field, left)
    draw_gate(result, right)
    save((left, right), IMAGES / "demo_noise.png", 110)


if __name__ == "__main__":
    main(sys.argv[1])
