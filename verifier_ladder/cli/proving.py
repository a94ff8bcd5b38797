"""`vladder ledger verify`, `prove`, `checkpoint`: the history against what was signed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.opening import existing_ledger, ledger_to_read
from verifier_ladder.errors import ConfigError
from verifier_ladder.private import private_text
from verifier_ladder.text import json_printable, plain_lines

if TYPE_CHECKING:
    from verifier_ladder.ledger.audit import SqlAudit
    from verifier_ladder.ledger.offline import Key
    from verifier_ladder.ledger.verification import Verification

KeyGiven = Annotated[
    str | None,
    typer.Option("--key", metavar="KEY", help="Who must have signed: NAME+HASH+KEY."),
]
Saved = Annotated[
    Path | None,
    typer.Option("--checkpoint", help="A checkpoint that was saved; this must be its sequel."),
]
Revealed = Annotated[
    list[str] | None,
    typer.Option(
        "--reveal", metavar="NAME",
        help="Show sealed values too: keys, content, feedback, evidence, groups, facts or all; "
        "may repeat.",
    ),
]  # fmt: skip
_UNPINNED = (
    "no key was pinned, so whoever has signed is believed: give --key with what the ledger's "
    "owner has published"
)
_UNNOTED = (
    "what was signed last is not noted here, so an end that was cut off would not show: give "
    "--checkpoint with a copy that was kept elsewhere"
)
_ADVICE = (
    ", told above; keep this ledger as it is for whoever looks into it, and go on with a backup "
    "(`vladder ledger restore`)"
)
_OTHERWISE = (
    ", told above, and all are of the note of what was signed; if this is a backup that was put "
    "back, or a copy without its note, say so with `vladder ledger accept-restore`. If not, keep "
    "this ledger as it is for whoever looks into it"
)
_OUT = "File to write. [default: stdout]"


def verify(
    ledger: options.LedgerAt = None,
    entry: Annotated[
        int | None, typer.Option("--entry", min=1, help="Only this entry, by its proof.")
    ] = None,
    checkpoint: Saved = None,
    key: KeyGiven = None,
    *,
    index: Annotated[
        bool, typer.Option("--index/--no-index", help="Compare the index tables too.")
    ] = True,
    as_json: options.AsJson = False,
) -> None:
    """Compare a ledger's history with what was signed.

    Exits with 1 if anything differs.
    """
    saved = None if checkpoint is None else saved_checkpoint(checkpoint)
    with signed_log(ledger) as log:
        signer = _key(key)
        if entry is not None:
            _verify_entry(log, entry, saved, signer, as_json=as_json)
            return
        with _progress() as tell:
            found = log.verify(key=signer, saved=saved, index=index, progress=tell)
    output.print_found(found, partial(_tell, is_saved=saved is not None), as_json=as_json)
    if not found.is_intact:
        raise typer.Exit(output.Exit.FAILED)


def _verify_entry(
    log: SqlAudit, entry: int, saved: str | None, key: Key | None, *, as_json: bool
) -> None:
    from verifier_ladder.ledger.offline import RejectedError, check_proof
    from verifier_ladder.ledger.proof import prove, prove_growth

    problem = ""
    head: dict[str, Any] = {}
    try:
        head = dict(check_proof(prove(log, entry), key).head)
        if saved is not None:
            check_proof(prove_growth(log, saved), key)
    except RejectedError as error:
        problem = str(error)
    if as_json:
        output.print_json({"is_intact": not problem, "entry": entry, "problem": problem})
    elif not problem:
        output.console().print(
            f"entry {entry} ({head['kind']}) stands in the signed log", soft_wrap=True
        )
    if problem:
        output.say(f"entry {entry}: {problem}")
        raise typer.Exit(output.Exit.FAILED)


def _tell(found: Verification, *, is_saved: bool) -> None:
    from verifier_ladder.ledger.verification import NOT_COMPARED

    screen = output.console()
    records = f"; {found.records:,} index rows rebuilt from them" if found.records else ""
    screen.print(
        f"compared: {_count(found.entries, 'entry', 'entries')} with "
        f"{_count(found.checkpoints, 'signed checkpoint')}{records}",
        soft_wrap=True,
    )
    lost = {
        "missing": found.artifacts_missing, "erased": found.artifacts_erased,
        "left out because their campaign kept enough": found.artifacts_left_out,
    }  # fmt: skip
    if found.artifacts or any(lost.values()):
        told = [f"{count:,} {why}" for why, count in lost.items() if count]
        screen.print(
            f"artifacts: {', '.join([f'{found.artifacts:,} are what the entries say', *told])}",
            soft_wrap=True,
        )
    screen.print(f"not compared: {', '.join(NOT_COMPARED)}", soft_wrap=True)
    if found.pending:
        screen.print(f"{found.pending:,} newer entries are not signed for yet")
    for key in found.keys:
        screen.print(f"signed by {key}", soft_wrap=True)
    for problem in found.problems:
        output.say(problem)
    if found.more:
        output.say(f"and {found.more:,} more problems")
    if not (found.is_compared_with_note or is_saved):
        screen.print(_UNNOTED, soft_wrap=True)
    count = _count(len(found.problems) + found.more, "problem")
    advice = _OTHERWISE if found.may_be_accepted else _ADVICE
    screen.print("intact" if found.is_intact else f"NOT INTACT: {count}{advice}", soft_wrap=True)
    if not found.is_pinned:
        screen.print(_UNPINNED, soft_wrap=True)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def prove(
    entry: Annotated[int, typer.Argument(min=1, help="An entry's id, from `vladder ledger ls`.")],
    ledger: options.LedgerAt = None,
    *,
    record: Annotated[
        list[str] | None,
        typer.Option("--record", help="Show only SECTION:ROW, as verdicts:17; may be repeated."),
    ] = None,
    check: Annotated[
        str | None, typer.Option("--check", help="Show only the verdicts of this check key.")
    ] = None,
    position: Annotated[
        int | None,
        typer.Option("--position", min=0, help="Show only the sample at this position."),
    ] = None,
    since: Annotated[
        Path | None,
        typer.Option("--since", help="Prove only that the log has grown from a saved checkpoint."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint", help="Prove it under a saved checkpoint, not under the newest one."
        ),
    ] = None,
    reveal: Revealed = None,
    out: Annotated[Path | None, typer.Option("--out", help=_OUT)] = None,
) -> None:
    """Write a proof that an entry stands in the signed log.

    Or that single records of it do.
    """
    import orjson

    from verifier_ladder.ledger.offline import RejectedError
    from verifier_ladder.ledger.proof import find_records, prove, prove_growth
    from verifier_ladder.ledger.sealing import chosen

    if since is not None and (checkpoint or record or check or position is not None or reveal):
        raise ConfigError(
            "--since proves that the log has grown, and nothing of an entry: leave it out to "
            "prove one, or leave out --checkpoint, --record, --check, --position and --reveal"
        )
    older = None if since is None else saved_checkpoint(since)
    under = None if checkpoint is None else saved_checkpoint(checkpoint)
    names = chosen(reveal or [])
    with signed_log(ledger) as log:
        try:
            if older is not None:
                made = prove_growth(log, older)
            else:
                records = [_record(text) for text in record or []]
                records += find_records(log, entry, check=check, position=position)
                made = prove(log, entry, records, reveal=names, under=under)
        except RejectedError as error:
            output.say(str(error))
            raise typer.Exit(output.Exit.FAILED) from None
    text = orjson.dumps(made, option=orjson.OPT_INDENT_2).decode() + "\n"
    write_out(json_printable(text), out)
    if out is not None:
        output.say(
            "check it with: vladder ledger verifier --out verify.py && python verify.py "
            + str(out)
        )


def _record(text: str) -> tuple[str, int]:

    section, _, row = text.partition(":")
    if not row.isdecimal():
        raise ConfigError(f"--record {text!r}: write SECTION:ROW, such as verdicts:17")
    return section, int(row)


def checkpoint(
    ledger: options.LedgerAt = None,
    out: Annotated[Path | None, typer.Option("--out", help=_OUT)] = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Print the newest signed checkpoint.

    Keep copies where the ledger's owner can't write.
    """
    with signed_log(ledger) as log:
        signed, found = log.signed()
        keys = [str(key) for key in log.signers()]
    if as_json:
        output.print_json({
            "origin": found.origin, "size": found.size, "root": found.root,
            "time": found.time, "note": signed, "keys": keys,
        })  # fmt: skip
        return
    write_out(signed, out)
    for key in keys:
        output.say(f"signed by {key}")


def verifier(
    out: Annotated[Path | None, typer.Option("--out", help=_OUT)] = None,
) -> None:
    """Write the stand-alone verifier, one Python file.

    It needs `cryptography` only.
    """
    from verifier_ladder.ledger import offline

    write_out(Path(offline.__file__).read_text("utf-8"), out)


@contextmanager
def signed_log(given: str | None, *, writes: bool = False) -> Iterator[SqlAudit]:
    """Open a ledger whose history is signed, to read it or to write to it too."""
    from verifier_ladder.ledger.audit import SqlAudit

    with (existing_ledger if writes else ledger_to_read)(given) as store:
        if not isinstance(store, SqlAudit):
            raise ConfigError("a ledger in memory is not signed; name one on disk with --ledger")
        yield store


def _key(text: str | None) -> Key | None:
    from verifier_ladder.ledger.offline import Key, RejectedError

    try:
        return None if text is None else Key.read(text)
    except RejectedError as error:
        raise ConfigError(f"--key: {error}") from None


def saved_checkpoint(path: Path) -> str:
    """A checkpoint that was saved in a file.

    Raises:
        ConfigError: If the file can't be read, or holds none.
    """
    from verifier_ladder.ledger.offline import RejectedError, read_checkpoint

    try:
        saved = path.read_text("utf-8")
        read_checkpoint(saved)
    except (OSError, UnicodeDecodeError, RejectedError) as error:
        why = error.strerror if isinstance(error, OSError) else "this is no checkpoint"
        raise ConfigError(
            f"{path}: {why}; give a file that `vladder ledger checkpoint` wrote"
        ) from None
    return saved


def write_out(text: str, out: Path | None) -> None:
    """Write to a file that only its owner reads, or to standard output."""
    if out is None:
        sys.stdout.write(plain_lines(text))
    else:
        private_text(out, text)


@contextmanager
def _progress() -> Iterator[Any]:
    """A bar on stderr, for whoever waits at a terminal."""
    from rich.progress import Progress

    with Progress(console=output.console(to_stderr=True), transient=True) as bar:
        task = bar.add_task("comparing entries", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
