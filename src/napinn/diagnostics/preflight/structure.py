"""What the equations themselves leave open, as findings: unknowns, exchanges, levels of hidden fields."""

from napinn.data.readings import Readings
from napinn.diagnostics.exchange import exchange_sentences
from napinn.diagnostics.identifiability import free_level_sentences, sparsity_sentences, undeterminable
from napinn.diagnostics.preflight.findings import Finding, Weight
from napinn.problem import Problem


def inspect_problem(problem: Problem, readings: Readings) -> list[Finding]:
    """A doubt for every unknown that cannot be determined and for every exchange that leaves the equations as they are;
    a note for every hidden field whose level is free and every unknown that only few jumps determine."""
    reasons = undeterminable(problem, readings)
    clocks = frozenset(readings.columns.clocks)
    return [
        *(Finding(Weight.DOUBT, f"unknown '{name}' cannot be determined: {why}.") for name, why in reasons.items()),
        *(Finding(Weight.DOUBT, _lower(text)) for text in exchange_sentences(problem, reasons)),
        *(Finding(Weight.NOTE, _lower(text)) for text in free_level_sentences(problem, clocks)),
        *(Finding(Weight.NOTE, _lower(text)) for text in sparsity_sentences(problem)),
    ]


def _lower(sentence: str) -> str:
    """As it stands behind the weight of a finding."""
    return sentence[0].lower() + sentence[1:]
