"""`vladder verifier`: which verifiers there are, what one is, whether one keeps its word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from verifier_ladder.cli import options, output, versions
from verifier_ladder.errors import LadderError
from verifier_ladder.text import printable

if TYPE_CHECKING:
    from verifier_ladder.verifiers import Verifier

app = output.Noun(help="List verifiers, show one, check one, compare versions.")
app.command("diff")(versions.diff)
app.command("reverify")(versions.reverify)
Name = Annotated[str, typer.Argument(help="Its name.")]


@app.command("ls")
def ls(*, as_json: options.AsJson = False) -> None:
    """List every verifier that can be looked up by name.

    Broken ones say why.
    """
    from verifier_ladder.registry import REGISTRY

    packages = _packages()
    rows = [_row(name, packages.get(name, "")) for name in REGISTRY.names()]
    if as_json:
        output.print_json(rows)
        return
    made = output.table("verifier", "version", "tier", "kind", "package", "state")
    for row in rows:
        cells = (row["name"], row["version"], row["tier"], row["kind"], row["package"])
        made.add_row(*cells, row["error"] or "ok")
    output.console().print(made if rows else "no verifiers are installed")


def _packages() -> dict[str, str]:
    """Which package offers each name."""
    from importlib.metadata import entry_points

    from verifier_ladder.registry import VERIFIER_GROUP

    points = entry_points(group=VERIFIER_GROUP)
    return {point.name: point.dist.name if point.dist else "" for point in points}


def _row(name: str, package: str) -> dict[str, Any]:
    from verifier_ladder.registry import REGISTRY

    empty = {"name": name, "version": "", "tier": "", "kind": "", "package": package, "error": ""}
    try:
        found = REGISTRY.get(name)
    except LadderError as error:
        return {**empty, "error": printable(error, 300)}
    except Exception as error:  # noqa: BLE001 - a plugin's constructor may raise anything
        return {**empty, "error": printable(f"{type(error).__name__}: {error}", 300)}
    known = found.as_json()
    return {**empty, **{key: known[key] for key in ("version", "tier", "kind")}}


@app.command("info")
def info(
    name: Name,
    version: Annotated[str | None, typer.Option("--version", help="Its version.")] = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Show what a verifier declares: tier, cost, limits, settings."""
    from verifier_ladder.registry import REGISTRY

    facts = _facts(REGISTRY.get(name, version), _packages().get(name, ""))
    if as_json:
        output.print_json(facts)
        return
    screen = output.console()
    for key, value in facts.items():
        if value not in ("", None, {}, [], ()):
            screen.print(f"{key:<16} {_words(value)}", soft_wrap=True)


def _facts(found: Verifier, package: str) -> dict[str, Any]:
    import inspect
    from dataclasses import asdict

    fields = found.task_fields
    about = inspect.getdoc(getattr(found, "function", type(found))) or ""
    return {
        **found.as_json(), "package": package, "about": about.partition("\n")[0],
        "isolation": found.isolation, "cost": {k: v for k, v in asdict(found.cost).items() if v},
        "timeout": found.timeout, "memory": found.memory, "batch_size": found.batch_size,
        "reads": found.reads, "task_fields": "all" if fields is None else list(fields),
        "reads_turns": found.reads_turns, "replicates": found.replicates, "unit": found.unit,
        "waits": found.waits,
    }  # fmt: skip


def _words(value: Any) -> str:

    if isinstance(value, dict):
        return printable(", ".join(f"{key} {item}" for key, item in value.items()), 500)
    if isinstance(value, (list, tuple)):
        return printable(", ".join(map(str, value)), 500)
    return printable(value, 500)


@app.command("check")
def check(
    name: options.VerifierAt,
    candidate: Annotated[
        list[str] | None,
        typer.Option("--candidate", help="A sample candidate's content; may be repeated."),
    ] = None,
    task: Annotated[
        str | None, typer.Option("--task", help="The candidates' task, as a JSON object.")
    ] = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Hold a verifier to its contract on sample candidates.

    Exits with 1 if it breaks it.
    """
    from verifier_ladder.cli.conformance import examine, found_at, sample_candidates

    verifier = found_at(name)
    results = examine(verifier, sample_candidates(verifier, candidate or [], task))
    failed = [result for result in results if not result.passed]
    if as_json:
        rows = [result._asdict() for result in results]
        output.print_json({"verifier": verifier.name, "ok": not failed, "checks": rows})
    else:
        screen = output.console()
        for result in results:
            mark = "ok  " if result.passed else "fail"
            screen.print(f"{mark} {result.name}", soft_wrap=True)
            if result.text:
                screen.print(f"     {result.text}", soft_wrap=True)
        told = f"{len(failed)} of {len(results)} failed"
        screen.print(f"\n{verifier.name} {verifier.version}: {told}")
    raise typer.Exit(output.Exit.FAILED if failed else output.Exit.OK)
