"""`vladder run export`: a run's samples as a training set, with what is known of them by now."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.opening import ledger_to_read
from verifier_ladder.errors import ConfigError
from verifier_ladder.text import printable

if TYPE_CHECKING:
    from verifier_ladder.datasets import TrainingSet


class SetKind(StrEnum):
    """Kinds of training sets."""

    SFT = "sft"
    PREFERENCES = "preferences"
    HINTS = "hints"
    TURNS = "turns"
    DISTILLATION = "distillation"


class Form(StrEnum):
    """Forms of its files."""

    PARQUET = "parquet"
    JSONL = "jsonl"


def export(
    name: options.RunName = None,
    kind: Annotated[
        SetKind,
        typer.Option(
            "--as",
            help="sft: what passes. preferences: pairs. hints: feedback as privileged context. "
            "turns: a score for each turn. distillation: trajectories for a teacher.",
        ),
    ] = SetKind.SFT,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Folder. [default: RUN-KIND]")
    ] = None,
    ledger: options.LedgerAt = None,
    *,
    campaign: options.OfCampaign = None,
    at: options.AtSize = None,
    split: Annotated[
        list[str] | None,
        typer.Option("--split", help="NAME=SHARE, as train=0.9; repeat it. [default: train=1]"),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Another one gives other splits.")] = 0,
    prompts: Annotated[
        Path | None,
        typer.Option(
            "--prompts",
            metavar="FILE",
            help="Prompts, if the ledger holds none: JSON lines or "
            "Parquet with the column prompt, and group.",
        ),
    ] = None,
    tier: Annotated[
        str | None, typer.Option("--tier", help="Only what this tier or a higher one has judged.")
    ] = None,
    pass_at: options.PassAt = None,
    best: Annotated[
        int | None, typer.Option("--best", min=1, help="At most this many of each task.")
    ] = None,
    sure: Annotated[
        float,
        typer.Option("--sure", min=0, help="Standard deviations by which to pass or to differ."),
    ] = 1.0,
    margin: Annotated[
        float, typer.Option("--margin", min=0, help="Least difference of a pair's rewards.")
    ] = 0.0,
    pairs: Annotated[int, typer.Option("--pairs", min=1, help="Most pairs of one task.")] = 8,
    teacher: Annotated[
        list[str] | None, typer.Option("--teacher", help="Model to teach; may be repeated.")
    ] = None,
    without_terms: Annotated[
        list[str] | None,
        typer.Option(
            "--without-terms",
            metavar="NAME",
            help="Leave out samples whose verdicts come under these terms; may be repeated.",
        ),
    ] = None,
    evaluation: options.OfEvaluation = False,
    form: Annotated[Form, typer.Option("--form", help="Form of the files.")] = Form.PARQUET,
    as_json: options.AsJson = False,
) -> None:
    """Export a run's samples for training.

    Their rewards are those that stand now. Samples of one task never fall in two splits. What is
    left out is counted, and export.json in the folder names the checkpoint of the ledger that all
    of it was read at.
    """  # fmt: skip
    from verifier_ladder.datasets import Selection, training_set

    selection = Selection(
        pass_at=pass_at, best=best, sure=sure, margin=margin, pairs=pairs, tier=tier,
        teachers=tuple(teacher or ()), without_terms=tuple(without_terms or ()),
    )  # fmt: skip
    with ledger_to_read(ledger) as store:
        made = training_set(
            store, kind.value, run=name, campaign=campaign, at=at, selection=selection,
            splits=_shares(split or ["train=1"]), seed=seed, prompts=_prompts(prompts),
            evaluation=evaluation,
        )  # fmt: skip
        folder = out or Path(f"{made.run}-{kind.value}".replace("/", "-"))
        written = made.write(folder, form.value, inputs=[prompts, store.url])
    if as_json:
        output.print_json({**made.as_json(), "files": [str(path) for path in written]})
    else:
        _tell(made, folder)


def _shares(given: list[str]) -> dict[str, float]:

    made: dict[str, float] = {}
    for text in given:
        name, _, share = text.partition("=")
        try:
            made[name.strip()] = float(share)
        except ValueError:
            raise ConfigError(
                f"--split {text}: write the split and its share, such as train=0.9"
            ) from None
    return made


def _prompts(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    from verifier_ladder.badrow import BadRow
    from verifier_ladder.datasets.examples import prompts_of
    from verifier_ladder.rollouts.records import RolloutFile

    def rows() -> Iterator[Any]:
        for record in RolloutFile(path).records():
            if isinstance(record, BadRow):
                raise ConfigError(f"line {record.line} of {path} can't be read: {record.reason}")
            yield record.values

    found = prompts_of(rows())
    if not found:
        raise ConfigError(f"{path} has no column prompt")
    return found


def _tell(made: TrainingSet, folder: Path) -> None:
    from verifier_ladder.summary.amounts import plural

    screen = output.console()
    total = f"{made.samples:,} samples, {made.pending:,} of them pending"
    screen.print(
        f"{len(made):,} rows of {made.kind} from run {printable(made.run)} ({total})",
        soft_wrap=True,
    )
    listed = output.table("split", "rows", right=("rows",))
    for name, rows in made.splits.items():
        listed.add_row(name, f"{len(rows):,}" if rows else "none, so no file")
    screen.print(listed)
    if made.left_out:
        listed = output.table("left out", "samples", right=("samples",))
        for why, count in made.left_out.items():
            listed.add_row(printable(why), f"{count:,}")
        screen.print(listed)
    if made.selection.without_terms and not made.terms:
        output.say("no verdict of this run comes under terms, so none was left out by them")
    if not all(made.splits.values()):
        tasks = len({str(row["prompt"]) for rows in made.splits.values() for row in rows})
        its = "its" if tasks == 1 else "their"
        told = f"{plural(tasks, 'task')} fell into splits by {its}"
        output.say(f"{told} hash; another --seed gives others")
    screen.print(f"Read at {printable(made.moment.text, None)}", soft_wrap=True)
    screen.print(f"Written to {printable(folder, None)}", soft_wrap=True)
