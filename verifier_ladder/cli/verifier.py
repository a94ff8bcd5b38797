"""`vladder verifier`: which verifiers there are, what one is, whether one keeps its word."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.opening import existing_ledger, ledger_to_read
from verifier_ladder.errors import ConfigError, LadderError
from verifier_ladder.tags import CAPABILITIES
from verifier_ladder.text import printable

if TYPE_CHECKING:
    from verifier_ladder.candidate import Candidate
    from verifier_ladder.summary.versions import VersionReport
    from verifier_ladder.verifiers import Verifier

app = output.Noun(help="List verifiers, show one, check one, compare versions.")
Name = Annotated[str, typer.Argument(help="Its name.")]


_LONGEST = 40


@app.command("diff")
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
    output.print_found(report, _tell_versions, as_json=as_json)


@app.command("reverify")
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
    from verifier_ladder.cli.code import found_at
    from verifier_ladder.reverify import reverify as look_again

    verifier = found_at(name)
    with existing_ledger(ledger) as store:
        report = look_again(store, verifier, old=old, limit=limit, workers=workers)
    output.print_found(report, _tell_versions, as_json=as_json)


def _tell_versions(report: VersionReport) -> None:
    screen = output.console()
    for line in _version_lines(report):
        screen.print(line, soft_wrap=True)
    if report.flips:
        made = output.table(*report.versions, "candidates", right=("candidates",), title="Flips")
        moved = [(pair, count) for pair, count in report.outcomes.items() if pair[0] != pair[1]]
        for pair, count in sorted(moved, key=lambda found: -found[1]):
            made.add_row(*pair, f"{count:,}")
        screen.print(made)
    if report.largest:
        _largest(report)


def _version_lines(report: VersionReport) -> list[str]:
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


@app.command("ls")
def ls(
    *,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="A table of domains and capabilities.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """List every verifier that can be looked up by name.

    Broken ones say why. With --matrix, see which capability is checked in which domain, and where
    nothing is.
    """
    from verifier_ladder.registry import REGISTRY

    packages = _packages()
    rows = [_row(name, packages.get(name, "")) for name in REGISTRY.names()]
    if matrix:
        _tell_matrix(rows, as_json=as_json)
        return
    if as_json:
        output.print_json(rows)
        return
    made = output.table(
        "verifier", "version", "tier", "kind", "package", "state", whole="verifier"
    )
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

    empty = {
        "name": name, "version": "", "tier": "", "kind": "", "capabilities": [], "domain": "",
        "package": package, "error": "",
    }  # fmt: skip
    try:
        found = REGISTRY.get(name)
    except LadderError as error:
        return {**empty, "error": printable(error, 300)}
    except Exception as error:  # noqa: BLE001 - a plugin's constructor may raise anything
        return {**empty, "error": printable(f"{type(error).__name__}: {error}", 300)}
    known = found.as_json()
    declared = ("version", "tier", "kind", "capabilities", "domain")
    return {**empty, **{key: known[key] for key in declared if key in known}}


def _tell_matrix(rows: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    """Print which capability is checked in which domain, and by whom."""
    described = [row for row in rows if row["domain"] and row["capabilities"]]
    domains = sorted({row["domain"] for row in described})
    cells = {
        domain: {
            capability: [
                row["name"] for row in described
                if row["domain"] == domain and capability in row["capabilities"]
            ]
            for capability in CAPABILITIES
        }
        for domain in domains
    }  # fmt: skip
    broken = {row["name"]: row["error"] for row in rows if row["error"]}
    others = [row["name"] for row in rows if row not in described and not row["error"]]
    if as_json:
        output.print_json({"domains": cells, "not_described": others, "broken": broken})
        return
    made = output.table("domain", *CAPABILITIES, right=CAPABILITIES)
    for column in made.columns:  # So that the table fits into 80 columns.
        column.header = str(column.header).replace(" ", "\n").replace("-", "-\n")
    for domain, row in cells.items():
        made.add_row(domain, *(str(len(names) or "-") for names in row.values()))
    screen = output.console()
    screen.print(made if cells else "no verifier says what it is about")
    empty = sum(not names for row in cells.values() for names in row.values())
    told = f"{empty} of {len(domains) * len(CAPABILITIES)} cells are empty; --json tells the names"
    screen.print(told)
    if others:
        screen.print(f"not described: {printable(', '.join(others), 500)}", soft_wrap=True)
    for name, error in broken.items():
        screen.print(f"broken: {printable(name, 60)}: {error}", soft_wrap=True)


@app.command("info")
def info(
    name: options.VerifierAt,
    version: Annotated[str | None, typer.Option("--version", help="Its version.")] = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Show what a verifier declares: cost, limits, settings, secrets."""
    from verifier_ladder.cli.code import found_at
    from verifier_ladder.registry import REGISTRY

    found = found_at(name) if ":" in name else REGISTRY.get(name, version)
    if version not in {None, found.version}:
        raise ConfigError(f"{name} has version {found.version}, not {version}; leave it out")
    facts = _facts(found, _packages().get(name, ""))
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

    from verifier_ladder.environment import shown

    fields = found.task_fields
    about = inspect.getdoc(getattr(found, "function", type(found))) or ""
    return {
        **found.as_json(), "package": package, "about": about.partition("\n")[0],
        "isolation": found.isolation, "cost": {k: v for k, v in asdict(found.cost).items() if v},
        "timeout": found.timeout, "memory": found.memory, "batch_size": found.batch_size,
        "reads": found.reads, "task_fields": "all" if fields is None else list(fields),
        "reads_turns": found.reads_turns, "replicates": found.replicates, "unit": found.unit,
        "observed": found.observed, "waits": found.waits, "max_processes": found.max_processes,
        "rate": None if found.shared_rate is None else found.shared_rate.limit, **shown(found),
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
    key: Annotated[
        Path | None,
        typer.Option(help="An answer key; the one of its name that comes along if not given."),
    ] = None,
    *,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail for what is only advised.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Hold a verifier to its contract, and to its answer key.

    Exits with 1 if it breaks it.
    """
    from verifier_ladder.cli.code import found_at
    from verifier_ladder.scheduler.engines.pool import WorkerPool
    from verifier_ladder.testing.answerkey import AnswerKey
    from verifier_ladder.testing.conformance import Conformance, State, key_of

    verifier = found_at(name)
    candidates = _samples(verifier, candidate or [], task)
    cases = key_of(verifier) if key is None else AnswerKey.load(key)
    with WorkerPool(1, memory=verifier.memory, name="check") as pool:
        results = list(Conformance(verifier, candidates, pool, cases).results())
    broken = {State.FAIL, State.ADVICE} if strict else {State.FAIL}
    failed = [result for result in results if result.state in broken]
    if as_json:
        rows = [{**each._asdict(), "passed": each not in failed} for each in results]
        output.print_json({"verifier": verifier.name, "ok": not failed, "checks": rows})
    else:
        screen = output.console()
        for result in results:
            screen.print(f"{result.state:6} {result.name}", soft_wrap=True)
            if result.text:
                screen.print(f"       {result.text}", soft_wrap=True)
        told = f"{len(failed)} of {len(results)} failed"
        screen.print(f"\n{verifier.name} {verifier.version}: {told}")
    raise typer.Exit(output.Exit.FAILED if failed else output.Exit.OK)


def _samples(
    verifier: Verifier, contents: Sequence[str | bytes], task: str | None
) -> list[Candidate]:
    """The candidates to try: those given, or the verifier's control, or some of its kind.

    Raises:
        ConfigError: If the task is not a JSON object.
    """
    from verifier_ladder.candidate import Candidate
    from verifier_ladder.testing.conformance import sample_candidates

    try:
        fields = None if task is None else json.loads(task)
    except ValueError as error:
        raise ConfigError(f"--task is not JSON: {error}") from None
    if fields is not None and not isinstance(fields, dict):
        raise ConfigError('--task must be a JSON object, such as \'{"answer": "4"}\'')
    known = sample_candidates(verifier)
    if not contents and task is None:
        return known
    chosen = contents or [each.content for each in known]
    return [Candidate(verifier.kind, each, fields, known[0].turns) for each in chosen]
