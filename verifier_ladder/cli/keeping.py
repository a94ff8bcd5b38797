"""`vladder ledger upgrade`, `backup`, `restore`, `merge` and `seal`: looking after ledgers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.opening import existing_ledger, ledger_place, ledger_to_read
from verifier_ladder.errors import ConfigError


def upgrade(ledger: options.LedgerAt = None, *, as_json: options.AsJson = False) -> None:
    """Bring a ledger to this program's schema.

    An older file is copied first. Opening a ledger does the same; this does nothing else.
    """
    from verifier_ladder.ledger.creation import schema_of
    from verifier_ladder.ledger.schema import REVISION

    path = _file(ledger)
    found = schema_of(path)
    with existing_ledger(ledger):
        pass
    copy = None if found in {None, REVISION} else path.with_name(f"{path.name}.backup-{found}")
    if as_json:
        output.print_json({"path": path, "from": found, "to": REVISION, "backup": copy})
    elif copy is None:
        output.say(f"{path} has schema {REVISION} already")
    else:
        output.say(f"{path} went from schema {found} to {REVISION}; as it was before: {copy}")


def backup(
    out: Annotated[Path, typer.Argument(help="The new file.")],
    ledger: options.LedgerAt = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Copy a ledger into a new file, while others use it.

    It is copied whole, but for its key.
    """
    from verifier_ladder.ledger.backup import backup as copy

    copy(_file(ledger), out)
    output.say_done({"backup": out}, f"copied to {out}", as_json=as_json)


def restore(
    copy: Annotated[Path, typer.Argument(help="A backup.")],
    ledger: options.LedgerAt = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Put a backup in the place of a ledger.

    Nobody may use that ledger meanwhile. What stood there is kept.
    """
    from verifier_ladder.ledger.backup import restore as put_back

    target = _file(ledger)
    aside = put_back(copy, target)
    if as_json:
        output.print_json({"path": target, "backup": copy, "aside": aside})
        return
    output.say(f"{target} is what {copy} was")
    if aside is not None:
        output.say(
            f"what stood there is {aside}; checkpoints that were saved since the backup do not "
            "fit any more"
        )
    output.say(
        "nothing is signed behind it until `vladder ledger accept-restore` says that the backup "
        "is meant"
    )


def accept_restore(ledger: options.LedgerAt = None, *, as_json: options.AsJson = False) -> None:
    """Go on behind a backup that was put back.

    More was signed than it holds; an entry of the log tells so.
    """
    from verifier_ladder.cli.proving import signed_log

    with signed_log(ledger, writes=True) as log:
        accepted = log.accept_restore()
    if as_json:
        output.print_json({"accepted": None if accepted is None else accepted.as_json()})
    elif accepted is None:
        output.say("this ledger holds all that its key has signed; there is nothing to accept")
    else:
        was = accepted.noted
        before = (
            "it is not known what" if was is None else f"{was.last.size:,} entries of {was.origin}"
        )
        output.say(
            f"{before} was signed before; the log goes on behind the {accepted.tree.size:,} "
            "entries that are here, and an entry of it tells so"
        )


def merge(
    others: Annotated[list[str], typer.Argument(help="Ledgers to read.")],
    ledger: options.LedgerAt = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Take over what other ledgers know.

    Their verdicts answer here from now on. The other ledgers are only read. Samples and rewards
    stay with them. A new ledger is made if there is none.
    """
    from verifier_ladder.cli.proving import signed_log
    from verifier_ladder.ledger import open_ledger
    from verifier_ladder.ledger.merging import merge as take_over

    for place in others:  # A name that is wrong makes no ledger.
        with signed_log(place):
            pass
    open_ledger(ledger_place(ledger)).close()
    rows = []
    with signed_log(ledger, writes=True) as mine:
        for place in others:
            with signed_log(place) as other:
                rows.append({"ledger": other.url, **take_over(mine, other)._asdict()})
    if as_json:
        output.print_json(rows)
        return
    for row in rows:
        known = f", {row['known']:,} were here before" if row["known"] else ""
        output.say(
            f"{row['ledger']}: {row['entries']:,} entries, {row['verdicts']:,} verdicts{known}"
        )


def seal(ledger: options.LedgerAt = None, *, as_json: options.AsJson = False) -> None:
    """Log only salted hashes of contents, from now on.

    What candidates hold and verifiers say is hashed, for good. A new ledger is made if there is
    none. This ledger is read as before; proofs and exports show sealed values only with --reveal.
    """
    from verifier_ladder.ledger import open_ledger

    with open_ledger(ledger_place(ledger)) as store:
        is_new = not store.is_sealed
        store.seal()
        place, earlier = store.url, store.newest() - 1
    if as_json:
        output.print_json({"ledger": place, "was_sealed": not is_new, "open_entries": earlier})
        return
    if not is_new:
        output.say(f"{place} was sealed before")
        return
    output.say(f"{place} is sealed from now on")
    if earlier:
        output.say(f"the {earlier:,} entries before stay open: they are in the log as they are")


def artifact(
    digest: Annotated[str, typer.Argument(help="Its digest, from `vladder ledger show`.")],
    out: Annotated[Path, typer.Option("--out", help="The new file.")],
    ledger: options.LedgerAt = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Write a file that a verdict rests on.

    Such as a log or a structure, by the digest that its entry holds.
    """
    from verifier_ladder.private import replacing, unwritable

    (key,) = _digests([digest])
    with ledger_to_read(ledger) as store:
        data = store.artifact(key)
    if data is None:
        raise ConfigError(
            f"the ledger does not hold the bytes of artifact {digest:.64}: they were not kept, "
            "are missing or erased; `vladder ledger verify` counts which"
        )
    try:
        with replacing(out) as part:
            part.write_bytes(data)
    except OSError as error:
        raise unwritable(out, error) from error
    output.say_done(
        {"artifact": key, "bytes": len(data), "out": out}, f"{len(data):,} bytes", as_json=as_json
    )


def erase(
    digests: Annotated[list[str], typer.Argument(help="Digests, from `vladder ledger show`.")],
    ledger: options.LedgerAt = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Erase the bytes of artifacts, for good.

    Entries, digests and proofs stay as they are. Backups and other ledgers keep their copies.
    """
    keys = _digests(digests)
    with existing_ledger(ledger) as store:
        count = store.erase_artifacts(keys)
    told = f"{count:,} of {len(keys):,} were there, and are erased"
    output.say_done({"erased": count, "asked": len(keys)}, told, as_json=as_json)


def _digests(given: list[str]) -> list[str]:
    found = [digest.strip().lower() for digest in given]
    for digest in found:
        if not re.fullmatch(r"[0-9a-f]{64}", digest):
            raise ConfigError(f"{digest:.80} is no digest; give 64 hexadecimal digits")
    return found


def _file(given: str | None) -> Path:
    """The file of a ledger.

    Raises:
        ConfigError: If it lies in a database, which has tools of its own.
    """
    place = ledger_place(given)
    path = place.removeprefix("sqlite:///")
    if "://" in path or path == ":memory:":
        raise ConfigError(
            "this works on ledger files; for PostgreSQL use pg_dump and pg_restore, and upgrade "
            "by opening the ledger"
        )
    if Path(path).is_dir():
        raise ConfigError(f"{path} is a folder; name a file in it")
    return Path(path)
