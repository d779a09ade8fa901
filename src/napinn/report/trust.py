"""What the trust check has found, as a table of the report."""

from napinn.diagnostics.findings import Verification
from napinn.report.templating import Markup, render


def checks_table(verification: Verification) -> Markup:
    rows = [(check.name, check.outcome.value, check.found) for check in verification.checks]
    colour = "green" if verification.trusted else "red"
    return render("checks", colour=colour, sentence=verification.sentence(), rows=rows)
