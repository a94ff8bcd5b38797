"""`vladder ledger diff`: what came into a ledger between two checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from verifier_ladder.cli import options, output

if TYPE_CHECKING:
    from verifier_ladder.ledger.audit import SqlAudit
    from verifier_ladder.ledger.changes import Changes
    from verifier_ladder.verdict import Verdict

_MOST = 50
"""Corrections that are listed."""


def diff(
    first: Annotated[str, typer.Argument(help="A saved checkpoint, or a size of the log.")],
    last: Annotated[
        str | None, typer.Argument(help="A later one. [default: all that is signed for]")
    ] = None,
    ledger: options.LedgerAt = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Tell what came between two checkpoints.

    Entries, verdicts and corrections are told. A saved checkpoint must be one of this ledger's
    past; exit with 1 if it is not.
    """
    from verifier_ladder.cli.proving import signed_log
    from verifier_ladder.ledger.changes import changes
    from verifier_ladder.ledger.offline import RejectedError

    with signed_log(ledger) as log:
        log.signed()
        try:
            sizes = [_size(log, text) for text in (first, last) if text is not None]
        except RejectedError as error:
            output.say(str(error))
            raise typer.Exit(output.Exit.FAILED) from None
        found = changes(log, *sizes)
    output.print_found(found, _tell, as_json=as_json)


def _size(log: SqlAudit, text: str) -> int:
    """The size that is meant; a saved checkpoint must fit the log."""
    from verifier_ladder.cli.proving import saved_checkpoint
    from verifier_ladder.ledger.offline import read_checkpoint
    from verifier_ladder.ledger.proof import prove_growth

    if text.isdecimal():
        return int(text)
    saved = saved_checkpoint(Path(text))
    prove_growth(log, saved)
    return read_checkpoint(saved).size


def _tell(found: Changes) -> None:
    screen = output.console()
    screen.print(
        f"entries {found.first:,} to {found.last:,} of the log: "
        f"{sum(found.verdicts.values()):,} verdicts, {found.rewards:,} rewards, "
        f"{len(found.corrections):,} corrections", soft_wrap=True,
    )  # fmt: skip
    for names, counts in (
        (("campaign", "kind", "entries"), found.entries),
        (("verifier", "version", "outcome", "verdicts"), found.verdicts),
    ):
        if counts:
            made = output.table(*names, right=names[-1:])
            for key, count in sorted(counts.items()):
                made.add_row(*key, f"{count:,}")
            screen.print(made)
    if found.corrections:
        made = output.table("entry", "check", "verifier", "before", "after", right=("entry",))
        for row in found.corrections[:_MOST]:
            said = (_said(row.before), _said(row.after))
            made.add_row(str(row.entry), row.check[:16], row.verifier, *said)
        screen.print(made)
    if len(found.corrections) > _MOST:
        output.say(f"{len(found.corrections) - _MOST:,} more corrections: --json")


def _said(verdict: Verdict) -> str:
    return f"{verdict.outcome} {output.amount(verdict.score)}"
