"""The application: all commands under one name, and what happens when one of them fails."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from verifier_ladder import __version__
from verifier_ladder.cli import (
    alert,
    campaign,
    case,
    check,
    demo,
    doctor,
    ledger,
    output,
    review,
    run,
    score,
    serve,
    token,
    trial,
    verifier,
    view,
    worker,
)
from verifier_ladder.errors import LadderError

_EPILOG = (
    "Exit codes: 0 done · 1 looked, and the answer is no · 2 a wrong option, name, file or "
    "configuration · 3 ledger, disk, engine or tool failed · 130 interrupted."
)


class Commands(TyperGroup):
    """The root command: errors of ours end in one sentence, never in a traceback."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run and exit with the documented code.

        A reader that went away, as with `| head`, ends it quietly; a full disk in one line.
        """
        try:
            try:
                return super().main(*args, **kwargs)
            finally:
                sys.stdout.flush()
        except LadderError as error:
            sys.exit(int(output.report(error)))
        except OSError as error:
            output.stop_output(error)
        except Exception as error:  # noqa: BLE001 - a fault of ours has its exit code too
            sys.exit(int(output.crashed(error)))

    def invoke(self, ctx: Any) -> Any:
        """Run one command, and print all of it before anybody else handles its errors."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except OSError as error:
            output.stop_output(error)
        return result


app = output.Noun(
    cls=Commands, add_completion=False, epilog=_EPILOG, pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip


def _version(value: bool) -> None:  # noqa: FBT001 - typer calls it so
    if value:
        typer.echo(f"verifier-ladder {__version__}")
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Spend verification where it changes the answer: score, look, review."""


app.command("demo")(demo.demo)
app.command("doctor")(doctor.doctor)
app.command("score")(score.score)
app.command("serve")(serve.serve)
app.command("try")(trial.trial)
app.command("view")(view.view)
app.add_typer(campaign.app, name="campaign")
app.add_typer(run.app, name="run")
app.add_typer(ledger.app, name="ledger")
app.add_typer(verifier.app, name="verifier")
app.add_typer(review.app, name="review")
app.add_typer(case.app, name="case")
app.add_typer(check.app, name="check")
app.add_typer(alert.app, name="alert")
app.add_typer(token.app, name="token")
app.add_typer(worker.app, name="worker")
