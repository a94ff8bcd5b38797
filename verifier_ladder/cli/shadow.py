"""`vladder campaign shadow`: what a shadow's ladder would have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from verifier_ladder.candidate import sample_place
from verifier_ladder.cli import options, output
from verifier_ladder.cli.opening import ledger_to_read, only_campaign
from verifier_ladder.text import printable

if TYPE_CHECKING:
    from verifier_ladder.summary.shadow import ShadowReport

_LONGEST = 40
_MOST_FAILURES = 5


def shadow(
    name: options.CampaignName = None,
    ledger: options.LedgerAt = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", help="Reward at which a sample is good; 0.5 on a 0–1 scale."),
    ] = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Compare a campaign's rewards and costs with its shadow's."""
    from verifier_ladder.summary.shadow import compare_shadow

    with ledger_to_read(ledger) as store:
        report = compare_shadow(store, only_campaign(store, name).name, threshold=threshold)
    output.print_found(report, _tell, as_json=as_json)


def _tell(report: ShadowReport) -> None:
    screen = output.console()
    for line in _lines(report):
        screen.print(line, soft_wrap=True)
    if report.flips:
        _marks(report)
    if report.largest:
        _largest(report)
    if report.costs:
        _costs(report)
    for failure in report.failures[:_MOST_FAILURES]:
        where = sample_place(printable(failure.run, 60), failure.step)
        screen.print(
            f"{failure.samples:,} samples of {where} were not shadowed: "
            f"{printable(failure.reason, 120)}", soft_wrap=True,
        )  # fmt: skip


def _lines(report: ShadowReport) -> list[str]:
    pending = f", {report.pending:,} of them still pending" if report.pending else ""
    good = f"at {report.threshold:g} or above" if report.threshold is not None else "no reject"
    lines = [f"{report.compared:,} of {report.samples:,} samples compared{pending}"]
    if report.flip_rate is not None:
        lines.append(f"{report.flips:,} flip ({report.flip_rate:.1%}); good is {good}")
    if report.mean_change is not None:
        spread = f" ± {output.amount(report.deviation)}" if report.deviation is not None else ""
        lines.append(
            f"reward changes by {output.amount(report.mean_change)}{spread} (shadow − campaign)"
        )
    if report.swapped is not None:
        lines.append(
            f"{report.swapped:.1%} of the pairs in {report.groups:,} groups change their order; "
            f"rank correlation {output.amount(report.correlation)}"
        )
    return lines


def _marks(report: ShadowReport) -> None:
    made = output.table("campaign", "shadow", "samples", right=("samples",), title="Flips")
    moved = [(pair, count) for pair, count in report.marks.items() if pair[0] != pair[1]]
    for (here, there), count in sorted(moved, key=lambda found: -found[1]):
        made.add_row(here.value, there.value, f"{count:,}")
    output.console().print(made)


def _largest(report: ShadowReport) -> None:
    from rich.text import Text

    numbers = ("reward", "shadow")
    made = output.table("candidate", *numbers, "sample", right=numbers, title="Largest changes")
    for change in report.largest:
        where = sample_place(change.run, change.step, change.position)
        made.add_row(
            Text(printable(change.content, _LONGEST)), output.amount(change.reward),
            output.amount(change.shadow), Text(printable(where, 80)),
        )  # fmt: skip
    output.console().print(made)


def _costs(report: ShadowReport) -> None:
    numbers = ("campaign", "shadow")
    made = output.table("tier", "resource", *numbers, right=numbers, title="Costs")
    for cost in report.costs:
        spent = output.amount(cost.campaign), output.amount(cost.shadow)
        made.add_row(cost.tier.replace("_", " "), cost.resource.replace("_", " "), *spent)
    output.console().print(made)
