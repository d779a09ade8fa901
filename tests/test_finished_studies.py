"""Names are data: the committed studies were written before modules and settings moved, and count as finished."""

from pathlib import Path

import pytest

from napinn.studies.jobs.store import finished
from napinn.studies.jobs.work import resolve
from napinn.studies.paper.cases import WORK, run_case
from napinn.studies.paper.names import NAMES
from napinn.studies.paper.names import PRESETS as PRESET_NAMES
from napinn.studies.paper.presets import PRESETS
from napinn.studies.paper.reproduce import preset_of
from napinn.studies.paper.studies import STUDIES

FITS = Path(__file__).parents[1] / "benchmarks" / "results" / "quick" / "fits"
NOT_RUN: dict[str, int] = {}
"""Fits of a study that were never committed; every other one was."""


@pytest.mark.parametrize("study", STUDIES.values(), ids=list(STUDIES))
def test_no_committed_fit_has_to_be_run_again(study):
    cases = list(study.cases(preset_of("quick")))
    missing = [case for case in cases if finished(case.job(), FITS) is None]
    assert len(missing) == NOT_RUN.get(study.name, 0)


def test_the_id_of_the_work_is_the_one_that_finished_jobs_were_hashed_with():
    assert WORK == "napinn" + ".experiments.cases:run_case"
    assert resolve(WORK, ()) is run_case


def test_names_that_the_command_line_checks_are_those_of_the_studies():
    assert tuple(STUDIES) == NAMES
    assert set(PRESETS) == set(PRESET_NAMES)
