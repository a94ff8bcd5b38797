"""`vladder try`: a reward function of one's own against cheats and right answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.errors import ConfigError

if TYPE_CHECKING:
    from verifier_ladder.testing.trial import Trial


def trial(
    function: Annotated[
        str, typer.Argument(help="The function, as file.py:name or module:name; or a verifier.")
    ],
    kind: Annotated[
        str, typer.Option("--kind", help="Its answer key, such as mathematics, code or json.")
    ],
    column: Annotated[
        list[str] | None,
        typer.Option("--column", help="Argument of the function = field of tasks; repeatable."),
    ] = None,
    pass_at: Annotated[
        float, typer.Option("--pass-at", help="Reward from which on an answer counts as paid.")
    ] = 0.5,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write a page of it, as HTML, to this file.")
    ] = None,
    *,
    seconds: Annotated[float, typer.Option("--seconds", min=1, help="When to stop.")] = 30.0,
    messages: Annotated[
        bool, typer.Option("--messages", help="It takes completions as chat messages.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """See which cheats a reward function of yours pays.

    It counts right answers that it loses too, and exits with 1 if there is anything.
    """
    from verifier_ladder.cli.code import object_at
    from verifier_ladder.testing.trial import page, try_reward

    made = try_reward(
        object_at(function), kind, columns=_columns(column), messages=messages,
        pass_at=pass_at, seconds=seconds,
    )  # fmt: skip
    if out is not None:
        _write(out, page(made))
    _print(made, out, as_json=as_json)
    raise typer.Exit(int(output.Exit.OK if made.is_clean else output.Exit.FAILED))


def _columns(given: list[str] | None) -> dict[str, str]:
    pairs = [each.partition("=") for each in given or ()]
    if wrong := [name for name, sign, field in pairs if not (name and sign and field)]:
        raise ConfigError(f"--column {wrong[0]}: write argument=field, such as solution=answer")
    return {name: field for name, _, field in pairs}


def _print(made: Trial, out: Path | None, *, as_json: bool) -> None:
    if as_json:
        output.print_json(made.as_json())
        return
    screen = output.console()
    screen.print(str(made), soft_wrap=True)
    if out is not None:
        screen.print(f"\nThe page: {out}", soft_wrap=True)


def _write(target: Path, text: str) -> None:
    from verifier_ladder.private import replacing, unwritable

    try:
        with replacing(target) as part:
            part.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise unwritable(target, error) from error
