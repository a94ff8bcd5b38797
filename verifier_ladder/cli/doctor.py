"""`vladder doctor`: what works here, and what to do about the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.opening import ledger_place
from verifier_ladder.text import printable

if TYPE_CHECKING:
    from verifier_ladder.doctor import Finding

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def doctor(ledger: options.LedgerAt = None, *, as_json: options.AsJson = False) -> None:
    """Look at Python, extras, plugins, workers and the ledger.

    Every finding says what to do about it; exits with 1 if something fails.
    """
    from verifier_ladder.doctor import State, examine

    findings = []
    for finding in examine(ledger_place(ledger)):
        findings.append(finding)
        if not as_json:
            _tell(finding)
    failed = sum(finding.state is State.FAIL for finding in findings)
    if as_json:
        output.print_json({"ok": not failed, "findings": [f._asdict() for f in findings]})
    else:
        warned = sum(finding.state is State.WARN for finding in findings)
        told = f"\n{len(findings)} things looked at: {failed} failed, {warned} to know of"
        output.console().print(told)
    raise typer.Exit(output.Exit.FAILED if failed else output.Exit.OK)


def _tell(finding: Finding) -> None:
    from rich.text import Text

    line = Text.assemble(
        (f"{finding.state:<5}", _STYLES[finding.state]), f"{finding.name:<18} ",
        printable(finding.text, 500),
    )  # fmt: skip
    screen = output.console()
    screen.print(line, soft_wrap=True)
    if finding.advice:
        screen.print(Text(f"{'':<24} → {printable(finding.advice, 500)}"), soft_wrap=True)
