"""More commands of `hostile.py`: tables as instruments and spreadsheets write them, problems that contradict
themselves, options that do not go together, links, and runs by other names."""

import gzip
import math
import os
from pathlib import Path

ROWS = [(0.1 * step, math.exp(-0.08 * step)) for step in range(30)]
DECAY = "coordinates: {t: [0, 3]}\nfields: [u]\nunknowns: {k: 0.3}\nequations: ['u_t = -k*u']\n"
TINY = "-m splines --quiet"


def table(header: str = "t,u", row: str = "{t:.1f},{u:.4f}", end: str = "\n", rows: list = ROWS) -> str:
    """A table whose rows are written by a format of time, value and number."""
    lines = [header, *(row.format(t=t, u=u, n=number) for number, (t, u) in enumerate(rows))]
    return end.join(lines) + end


ODD_TABLES: dict[str, str | bytes] = {
    "bom.csv": b"\xef\xbb\xbf" + table().encode(),
    "bom_only.csv": b"\xef\xbb\xbf",
    "wide_characters.csv": table().encode("utf-16"),
    "old_mac.csv": table(end="\r").encode(),
    "windows.csv": table(end="\r\n").encode(),
    "tabs.csv": table("t\tu", "{t}\t{u}"),
    "spaces.csv": table(" t , u ", " {t} , {u} "),
    "capitals.csv": table("T,U"),
    "trailing.csv": table("t,u,", "{t},{u},"),
    "comments.csv": "# made by a logger\n# on a Monday\n" + table(),
    "blank_lines.csv": table(end="\n\n"),
    "two_times.csv": table("t,t,u", "{t},{t},{u}"),
    "quoted.csv": table('"t","u"', '"{t}","{u}"'),
    "minus.csv": table(row="{t},\u2212{u}"),
    "percent.csv": table(row="{t},{u}%"),
    "with_unit.csv": table(row="{t},{u} K"),
    "complex.csv": table(row="{t},{u}+2j"),
    "truth.csv": table(row="{t},True"),
    "hexadecimal.csv": table(row="{t},0x1F"),
    "huge_integer.csv": table(row="{t}," + "9" * 400),
    "beyond_int64.csv": table(row="{t},1{n:020d}"),
    "subnormal.csv": table(row="{t},1e-310"),
    "no_value.csv": table(row="{t},nan"),
    "no_time.csv": table(row="nan,{u}"),
    "empty_column.csv": table("t,u,w", "{t},{u},nan"),
    "constant.csv": table(row="{t},5"),
    "zero_field.csv": table(row="{t},0"),
    "nul.csv": table().replace("0.5,", "0.5\0,"),
    "descending.csv": table(rows=ROWS[::-1]),
    "unsorted.csv": table(rows=ROWS[::2] + ROWS[1::2]),
    "one_instant.csv": table(row="1.0,{u}"),
    "each_twice.csv": table(rows=sorted(ROWS * 2)),
    "negative_time.csv": table(row="-{t},{u}"),
    "one_inside.csv": table(row="1{n}.5,{u}"),
    "sensor_each.csv": table("sensor,t,u", "s{n},{t},{u}"),
    "sensor_moves.csv": table("sensor,x,t,u", "a,{n},{t},{u}"),
    "sensor_empty.csv": table("sensor,t,u", ",{t},{u}"),
    "sensor_long.csv": table("sensor,t,u", "a" * 10_000 + ",{t},{u}"),
    "sensor_right_to_left.csv": table("sensor,t,u", "\u202ea\u0007b,{t},{u}"),
    "sensor_markup.csv": table("sensor,t,u", "<script>alert(1)</script>[red],{t},{u}"),
    "sensor_path.csv": table("sensor,t,u", "../../x,{t},{u}"),
    "deviation_zero.csv": table("t,u,sigma", "{t},{u},0"),
    "deviation_negative.csv": table("t,u,sigma", "{t},{u},-1"),
    "deviation_missing.csv": table("t,u,sigma", "{t},{u},"),
    "deviation_infinite.csv": table("t,u,sigma", "{t},{u},inf"),
    "flag_of_no_scheme.csv": table("t,u,quality_flag", "{t},{u},77"),
    "flags_all_bad.csv": table("t,u,u_qc", "{t},{u},4"),
    "experiment_each.csv": table("experiment,t,u", "e{n},{t},{u}"),
    "experiment_empty.csv": table("experiment,t,u", ",{t},{u}"),
    "packed.csv": gzip.compress(table().encode(), mtime=0),
    "archive.csv": b"PK\x03\x04" + bytes(100),
    "picture.csv": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "-dash.csv": table(),
    "new\nline.csv": table(),
}
ODD_PROBLEMS = {
    "nitric_oxide": DECAY.replace("[u]", "[NO]").replace("u_t = -k*u", "NO_t = -k*NO"),
    "same_key": DECAY + "fields: [v]\n",
    "merge": "base: &b {t: [0, 3]}\n" + DECAY.replace("{t: [0, 3]}", "{<<: *b}"),
    "field_is_unknown": DECAY.replace("k", "u"),
    "field_is_coordinate": DECAY.replace("[u]", "[t]"),
    "field_twice": DECAY.replace("[u]", "[u, u]"),
    "hidden_is_field": DECAY + "hidden: [u]\n",
    "unknown_unused": DECAY.replace("k: 0.3", "k: 0.3, q: 1"),
    "no_unknown": DECAY.replace("k: 0.3", "").replace("k*u", "0.8*u"),
    "no_field": DECAY.replace("-k*u", "-k").replace("u_t", "0"),
    "not_time": DECAY.replace("u_t = -k*u", "u = k"),
    "impossible": DECAY.replace("-k*u']", "-k*u', 'u_t = k*u + 1']"),
    "condition_outside": DECAY + "conditions: ['u = 1 at t = -5']\n",
    "condition_of_nothing": DECAY + "conditions: ['w = 1 at t = 0']\n",
    "condition_on_unknown": DECAY + "conditions: ['k = 1 at t = 0']\n",
    "condition_code": DECAY + "conditions: [\"u = __import__('os').system('touch hacked') at t = 0\"]\n",
    "conditions_at_odds": DECAY + "conditions: ['u = 1 at t = 0', 'u = 2 at t = 0']\n",
    "periodic_time": DECAY + "periodic: [t]\n",
    "box_elsewhere": DECAY.replace("[0, 3]", "[100, 103]"),
    "box_of_a_point": DECAY.replace("[0, 3]", "[1, 1]"),
    "bounds_apart": DECAY.replace("k: 0.3", "k: {start: 5, low: 0, high: 1}"),
    "bounds_equal": DECAY.replace("k: 0.3", "k: {low: 1, high: 1}"),
    "start_huge": DECAY.replace("0.3", "1.0e300"),
    "prior_odd": DECAY.replace("k: 0.3", "k: {prior: 'normal(0, -1)'}"),
    "prior_code": DECAY.replace("k: 0.3", "k: {prior: \"__import__('os').system('touch hacked')\"}"),
    "varies_by_nothing": DECAY.replace("k: 0.3", "k: {of: [z]}"),
    "subscript": DECAY.replace("k", "k\u2082"),
    "emoji": DECAY.replace("k", "\U0001f525"),
    "space": DECAY.replace("k:", "'k 1':"),
    "all_missing": DECAY + f"missing: [{', '.join(f'{u:.4f}' for _, u in ROWS)}]\n",
    "noise_by_nothing": DECAY + "noise: {by: laboratory}\n",
    "constant_by_nothing": DECAY + "constants: {q: {column: dose}}\n",
    "observable_of_itself": DECAY + "observables: {y: y + 1}\n",
    "observable_code": DECAY + "observables: {y: \"__import__('os').system('touch hacked')\"}\n",
    "table_of_itself": DECAY + "tables: {q: {file: table_of_itself.yaml, coordinates: [t]}}\n",
    "table_in_itself": DECAY + "tables: {q: {file: q.csv, coordinates: [t, t]}}\n",
    "sensors_file_missing": DECAY + "sensors: places.csv\n",
    "rename_to_one": DECAY + "columns: {rename: {t: u, u: u}}\n",
    "version": "%YAML 9.9\n---\n" + DECAY,
    "two_documents": DECAY + "---\n" + DECAY,
}  # fmt: skip
ODD_READERS = ("check {problem} {table} --no-time", f"fit {{table}} -p {{problem}} {TINY} -o new")
ODD_ALONE = (
    "fit readings.csv readings.csv -p problem.yaml -m splines --quiet -o new",
    "fit problem.yaml -p problem.yaml -o new",
    "fit readings.csv -p readings.csv -o new",
    "check readings.csv problem.yaml",
    "fit readings.csv -p problem.yaml -o . --overwrite",
    "fit readings.csv -p problem.yaml -o ..",
    "fit readings.csv -p problem.yaml -o run/../run",
    "fit readings.csv -p problem.yaml -o linked_run",
    "fit readings.csv -p problem.yaml -o run/inner",
    "fit readings.csv -p problem.yaml -o dangling",
    f"fit readings.csv -p problem.yaml {TINY} --json --verbose -o new",
    f"fit linked.csv -p linked.yaml {TINY} -o new",
    f"fit readings.csv -p problem.yaml {TINY} --intervals --profile --seeds 2 -o new",
    f"fit readings.csv -p problem.yaml {TINY} --minutes 1e300 -o new",
    f"fit readings.csv -p problem.yaml {TINY} --steps 5 -o new",
    f"fit readings.csv -p problem.yaml {TINY} --backbone mlp -o new",
    f"fit readings.csv -p problem.yaml {TINY} --leave-out-bad -o new",
    f"fit readings.csv -p problem.yaml {TINY} --flags none -o new",
    f"fit readings.csv -p problem.yaml {TINY} --checkpoint-every nan -o new",
    "fit -- -dash.csv -p problem.yaml",
    "fit ring.html -p problem.yaml -o new",
    "check dangling.csv problem.yaml",
    "report linked_run -o new.html",
    "report run/ -o new.html",
    "report run/result.json -o new.html",
    "report run run -o new.html",
    "verify linked_run",
    "verify run --refit --json",
    "profile run",
    "intervals run",
    "profile thesis",
    "intervals none",
    "plot run --what sensors -o new.png",
    "plot run --what parameters -o new.pdf",
    "plot run --what discrepancy -o new.png",
    "plot run --what profile -o new.png",
    "plot run --what correlation -o new.svg",
    "plot run -o new.exe",
    "predict run --at descending.csv -o new.csv",
    "predict run --at beyond.csv -o new.csv",
    "predict run --at bom.csv -o new.csv",
    "predict run --at two_times.csv -o new.csv",
    "predict run --at no_time.csv -o new.csv",
    "predict run --at header.csv -o new.csv",
    "predict run --grid -3 -o new.csv",
    "predict run --grid 3 --grid 4 -o new.csv",
    "predict run --grid 3 -o new",
    "predict run --grid 3 -o linked_run/field.csv",
    "export run --what readings -o ./run/../readings.csv --overwrite",
    "export linked_run --what readings -o linked.csv --overwrite",
    "bundle linked_run -o linked_run/new.zip",
    "init",
    "init readings.csv",
    "init readings.csv -o linked.yaml",
    "init empty.csv -o new.yaml",
    "init none.csv",
    "new new.txt",
    "new none/new.yaml",
    "discover readings.csv -o new",
    "discover none.csv -o new",
    "discover words.csv -o new",
    "rerun linked_run -o linked_run",
    "resume linked_run",
    "resume no_model",
    "resume no_request",
    "resume torn_request",
    "compare linked_run run -o new",
    "compare run thesis -o new",
    "compare problem.yaml problem.yaml -o new",
    "compare readings.csv readings.csv -o new",
    "simulate burgers -o /dev/full",
    "schema -o /dev/full",
    "reproduce main -o run",
    "methods extra",
    "fit --help extra",
    "--seed 3",
    "-o new",
    "fit -o",
    "'' ''",
    "'fit readings.csv'",
    "FIT readings.csv",
)


def prepare_odd(folder: Path) -> None:
    """Add the tables, problems and links to the folder that the commands find."""
    for name, content in ODD_TABLES.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    for name, text in ODD_PROBLEMS.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    links = {"linked.csv": "readings.csv", "linked.yaml": "problem.yaml", "linked_run": "run", "dangling": "gone"}
    for name, target in (links | {"dangling.csv": "gone.csv"}).items():
        os.symlink(target, folder / name)


def odd_texts() -> list[tuple[str, ...]]:
    """The words of commands that read the tables and problems."""
    found = [("problem.yaml", name) for name in ODD_TABLES] + [
        (f"{name}.yaml", "readings.csv") for name in ODD_PROBLEMS
    ]
    return [
        tuple(word.format(problem=problem, table=f"./{name}") for word in reader.split())
        for problem, name in found
        for reader in ODD_READERS
    ]
