"""Bundles: a whole log as files that anybody can check without the ledger.

The folder follows C2SP tlog-tiles: `checkpoint`, `tile/LEVEL/…` with the hashes and
`tile/entries/…` with what was logged of each entry. Beside them `tile/records/…` holds the whole
bodies of the entries, each after its length in eight bytes, `artifacts/…` the files that verdicts
rest on, by their digests, `keys` the public keys, and `verify.py` checks all of it. Sealed values
leave the ledger only where that is asked for.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from pathlib import Path

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import offline
from verifier_ladder.ledger.log import Leaf, SqlLog
from verifier_ladder.ledger.offline import LONGEST, WIDTH, logged, tile_path
from verifier_ladder.ledger.sealing import is_sealed, revealing
from verifier_ladder.ledger.tiles import tiles_of
from verifier_ladder.private import beside, make_private_folder, unwritable


def export_tiles(log: SqlLog, folder: str | Path, *, reveal: Collection[str] = ()) -> int:
    """Write a log into a folder, with the stand-alone verifier.

    Args:
        log: The ledger; entries that wait for their place get it first.
        folder: Where to; it must not exist yet.
        reveal: Which sealed values to write, from `sealing.NAMES`.

    Returns:
        How many entries were written.

    Raises:
        ConfigError: If the folder exists, or can't be written there.
        LedgerError: If the ledger is empty, or the disk is full.
    """
    folder = Path(folder)
    if folder.exists():
        raise ConfigError(f"{folder} exists already; name a new folder for the export")
    signed, checkpoint = log.signed()
    try:
        with beside(folder) as part:
            _write(log, part, checkpoint.size, reveal)
            _write_artifacts(log, part, checkpoint.size, reveal)
            _put(part / "checkpoint", signed.encode())
            part.rename(folder)
    except OSError as error:
        raise unwritable(folder, error) from error
    return checkpoint.size


def _write(log: SqlLog, folder: Path, size: int, reveal: Collection[str]) -> None:
    make_private_folder(folder)  # What it holds can be handed out; that is a person's to say.
    tiles = log.tiles(size)
    for tile in tiles_of(size):
        _put(folder / tile.path, tiles.data(tile))
    batch: list[Leaf] = []
    for leaf in log.leaves(until=size):
        batch.append(leaf)
        if len(batch) == WIDTH:
            _write_bundle(folder, batch, reveal)
            batch.clear()
    if batch:
        _write_bundle(folder, batch, reveal)
    _put(folder / "keys", "".join(f"{key}\n" for key in log.signers()).encode())
    shutil.copyfile(offline.__file__, folder / "verify.py")


def _write_artifacts(log: SqlLog, folder: Path, size: int, reveal: Collection[str]) -> None:
    """Write the artifacts that the entries name, but for those of sealed entries."""
    for leaf in log.leaves(until=size):
        if is_sealed(leaf.entry.body) and "evidence" not in reveal:
            continue
        for row in log.read(leaf.entry).verdicts:
            for artifact in row.verdict.files.values():
                data = None if artifact.note else log.artifact(artifact.digest)
                if data is not None:
                    _put(folder / offline.artifact_path(artifact.digest), data)


def _write_bundle(folder: Path, leaves: Sequence[Leaf], reveal: Collection[str]) -> None:
    """Write the entries below one tile of level 0."""
    place = leaves[0].place // WIDTH
    paths = [folder / tile_path(kind, place, len(leaves)) for kind in ("entries", "records")]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
    with paths[0].open("wb") as entries, paths[1].open("wb") as records:
        for leaf in leaves:
            data = logged(leaf.entry.body)
            if len(data) > LONGEST:  # Of the first format; its body stands in the records.
                data = b""
            entries.write(len(data).to_bytes(2, "big") + data)
            body = revealing(leaf.entry.body, reveal)
            records.write(len(body).to_bytes(8, "big"))
            records.write(body)


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
