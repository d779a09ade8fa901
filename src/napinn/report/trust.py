"""What the trust check has found, as a table of the report."""

import html

from napinn.verification.findings import Verification


def checks_table(verification: Verification) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(check.name)}</td><td>{check.outcome.value}</td><td>{html.escape(check.found)}</td></tr>"
        for check in verification.checks
    )
    colour = "green" if verification.trusted else "red"
    head = "<tr><th>check</th><th>outcome</th><th>what was found</th></tr>"
    return (
        f'<p class="status {colour}">{html.escape(verification.sentence())}</p>'
        f'<div class="wide" tabindex="0"><table>{head}{rows}</table></div>'
    )
