"""The public names of napinn, and where each is defined; `napinn/__init__.py` loads them from here when first used."""

from .data.readings import Clock as Clock
from .data.readings import Columns as Columns
from .data.readings import Conversion as Conversion
from .data.readings import Readings as Readings
from .data.readings import read_table as read_table
from .diagnostics.findings import Verification as Verification
from .diagnostics.status import judge_seeds as judge_seeds
from .discovery.discover import discover as discover
from .discovery.found import Discovery as Discovery
from .engines.fitting import fit as fit
from .engines.network.methods import as_printed as as_printed
from .engines.network.methods import b_pinn as b_pinn
from .engines.network.methods import lad_pinn as lad_pinn
from .engines.network.methods import law_pinn as law_pinn
from .engines.network.methods import mad_pinn as mad_pinn
from .engines.network.methods import na_pinn as na_pinn
from .engines.network.methods import or_pinn as or_pinn
from .engines.network.methods import pinn as pinn
from .engines.splines.method import automatic as automatic
from .engines.splines.method import bsplines as bsplines
from .errors import InputError as InputError
from .errors import StorageError as StorageError
from .evaluation.comparison import compare as compare
from .evaluation.intervals import estimate_uncertainty as estimate_uncertainty
from .evaluation.seeds import SeedFits as SeedFits
from .evaluation.seeds import fit_seeds as fit_seeds
from .evaluation.verify import verify as verify
from .problem import Problem as Problem
from .problem import Unknown as Unknown
from .problem import VaryingUnknown as VaryingUnknown
from .problem.experiment import Experiment as Experiment
from .problem.file import read_problem as read_problem
from .problem.file import read_readings as read_readings
from .problem.prior import Prior as Prior
from .problem.several import with_experiments as with_experiments
from .problem.tables import Table as Table
from .report import plot as plot
from .report.html import write_report as write_report
from .report.truth import Truth as Truth
from .results.intervals import Interval as Interval
from .results.intervals import Uncertainty as Uncertainty
from .results.prediction import predict as predict
from .results.result import FitResult as FitResult
from .results.result import FitStatus as FitStatus
from .runs.folder import load as load
from .runs.folder import resume as resume
from .runs.folder import save as save
from .runs.pipeline import run as run
from .storage.checkpoints import Checkpoints as Checkpoints

__version__: str
__all__ = [
    "Checkpoints",
    "Clock",
    "Columns",
    "Conversion",
    "Discovery",
    "Experiment",
    "FitResult",
    "FitStatus",
    "InputError",
    "Interval",
    "Prior",
    "Problem",
    "Readings",
    "SeedFits",
    "StorageError",
    "Table",
    "Truth",
    "Uncertainty",
    "Unknown",
    "VaryingUnknown",
    "Verification",
    "as_printed",
    "automatic",
    "b_pinn",
    "bsplines",
    "compare",
    "discover",
    "estimate_uncertainty",
    "fit",
    "fit_seeds",
    "judge_seeds",
    "lad_pinn",
    "law_pinn",
    "load",
    "mad_pinn",
    "na_pinn",
    "or_pinn",
    "pinn",
    "plot",
    "predict",
    "read_problem",
    "read_readings",
    "read_table",
    "resume",
    "run",
    "save",
    "verify",
    "with_experiments",
    "write_report",
]
