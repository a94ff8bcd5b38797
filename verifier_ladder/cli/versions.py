"""`vladder verifier diff` and `reverify`: what another version says of the same candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.opening import existing_ledger, ledger_to_read
from verifier_ladder.text import printable

if TYPE_CHECKING:
    from verifier_ladder.summary.versions import VersionReport

_LONGEST = 40


def diff(
    name: Annotated[str, typer.Argument(help="The verifier's name.")],
    old: Annotated[str, typer.Argument(help="The older version.")],
    new: Annotated[str, typer.Argument(help="The newer version.")],
    ledger: options.LedgerAt = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Compare two versions of a verifier.

    They are compared on the candidates that both have looked at.
    """
    from verifier_ladder.summary.versions import compare_versions

    with ledger_to_read(ledger) as store:
        report = compare_versions(store, name, old, new)
    output.print_found(report, _tell, as_json=as_json)


def reverify(
    name: options.VerifierAt,
    old: Annotated[
        str | None, typer.Option("--from", help="The older version. [default: the last]")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Only so many, the latest.")
    ] = None,
    workers: options.Workers = None,
    ledger: options.LedgerAt = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Judge an older version's candidates with a newer one.

    Nothing is replaced. Run the same command again after an interruption: what is known is not
    paid for twice.
    """
    from verifier_ladder.cli.conformance import found_at
    from verifier_ladder.reverify import reverify as look_again

    verifier = found_at(name)
    with existing_ledger(ledger) as store:
        report = look_again(store, verifier, old=old, limit=limit, workers=workers)
    output.print_found(report, _tell, as_json=as_json)


def _tell(report: VersionReport) -> None:
    screen = output.console()
    for line in _lines(report):
        screen.print(line, soft_wrap=True)
    if report.flips:
        made = output.table(*report.versions, "candidates", right=("candidates",), title="Flips")
        moved = [(pair, count) for pair, count in report.outcomes.items() if pair[0] != pair[1]]
        for pair, count in sorted(moved, key=lambda found: -found[1]):
            made.add_row(*pair, f"{count:,}")
        screen.print(made)
    if report.largest:
        _largest(report)


def _lines(report: VersionReport) -> list[str]:
    old, new = report.versions
    alone = f"{report.only[0]:,} only by {old}, {report.only[1]:,} only by {new}"
    lines = [f"{report.verifier} {old} and {new}: {report.compared:,} compared, {alone}"]
    if report.flip_rate is not None:
        lines.append(f"{report.flips:,} flip ({report.flip_rate:.1%})")
    if report.mean_change is not None:
        spread = f" ± {output.amount(report.deviation)}" if report.deviation is not None else ""
        lines.append(
            f"scores change by {output.amount(report.mean_change)}{spread} ({new} − {old})"
        )
    if report.swapped is not None:
        lines.append(
            f"{report.swapped:.1%} of the pairs change their order; "
            f"rank correlation {output.amount(report.correlation)}"
        )
    if None not in report.seconds:
        lines.append(
            f"cpu-seconds {output.amount(report.seconds[0])} → {output.amount(report.seconds[1])}"
        )
    return lines


def _largest(report: VersionReport) -> None:
    from rich.text import Text

    old, new = report.versions
    made = output.table(
        "candidate", old, new, "outcomes", right=(old, new), title="Largest changes"
    )
    for change in report.largest:
        made.add_row(
            Text(printable(change.content, _LONGEST)), output.amount(change.before),
            output.amount(change.after), " → ".join(change.outcomes),
        )  # fmt: skip
    output.console().print(made)
