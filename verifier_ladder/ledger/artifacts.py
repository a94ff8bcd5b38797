"""Artifacts in SQL: the bytes of files beside verdicts, in chunks, and what became of them.

Entries hold their digests and are signed; these rows are not, so bytes can be erased: `verify`
tells what is missing or erased, which breaks no proof, from what was changed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from verifier_ladder.artifact import Artifact
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.samples import artifacts_in
from verifier_ladder.ledger.store import WRITTEN, Store
from verifier_ladder.settings import load_settings

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from verifier_ladder.ledger.verification import Verification

CHUNK: Final = 1 << 18
"""Bytes of one row."""
ERASED: Final = "erased"
OVER: Final = "more than a campaign may keep"
_LOG = logging.getLogger("verifier_ladder")
_CHUNKS = "SELECT data FROM artifact_chunk WHERE digest = ? AND place = ?"


def keep(connection: Connection, block: Block) -> None:
    """Keep the bytes of a block's artifacts, as far as its campaign may keep more."""
    for artifact in artifacts_in(block):
        if _note_of(connection, artifact.digest) not in {"", ERASED}:  # Erased is for good.
            _keep(connection, block.campaign, artifact)
        connection.info.setdefault(WRITTEN, []).append(artifact)


def _note_of(connection: Connection, digest: str) -> str | None:
    """What became of the bytes; "" if they are there, None if they never came."""
    found = connection.exec_driver_sql(
        "SELECT note FROM artifact WHERE digest = ?", (bytes.fromhex(digest),)
    ).scalar()
    return None if found is None else str(found)


def _keep(connection: Connection, campaign: str, artifact: Artifact) -> None:
    data, key = artifact.data or b"", bytes.fromhex(artifact.digest)
    kept = connection.exec_driver_sql(
        "SELECT coalesce(sum(size), 0) FROM artifact WHERE campaign = ? AND note = ''", (campaign,)
    ).scalar_one()
    most = load_settings().campaign_artifacts
    note = OVER if int(kept) + len(data) > most else ""
    if note:
        _LOG.warning(
            "%s keeps %d bytes of artifacts and may keep %d: %s is kept by its digest only "
            "(VLADDER_CAMPAIGN_ARTIFACTS)", campaign, kept, most, artifact.digest[:12],
        )  # fmt: skip
    connection.exec_driver_sql(
        "INSERT INTO artifact (digest, campaign, size, note) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (digest) DO UPDATE SET campaign = excluded.campaign, note = excluded.note",
        (key, campaign, len(data), note),
    )
    for place, first in enumerate(range(0, 0 if note else len(data), CHUNK)):
        connection.exec_driver_sql(
            "INSERT INTO artifact_chunk (digest, place, data) VALUES (?, ?, ?) "
            "ON CONFLICT DO NOTHING",
            (key, place, data[first : first + CHUNK]),
        )


def chunks_of(connection: Connection, digest: bytes) -> Iterator[bytes]:
    """The bytes of an artifact, a chunk at a time."""
    place = 0
    while (data := connection.exec_driver_sql(_CHUNKS, (digest, place)).scalar()) is not None:
        yield bytes(data) if isinstance(data, (bytes, memoryview)) else b""
        place += 1


def compare(connection: Connection, named: Connection, found: Verification) -> None:
    """Compare the bytes that are there with the digests that entries hold.

    Args:
        connection: The ledger.
        named: Its table `artifact` holds what the entries name.
        found: Where to note what was found.
    """
    rows = named.exec_driver_sql("SELECT digest, size FROM artifact ORDER BY digest").all()
    for key, size in rows:
        note = _note_of(connection, key.hex())
        hashed, count = sha256(), 0
        for data in chunks_of(connection, key):
            hashed.update(data)
            count += 1
        there = connection.exec_driver_sql(
            "SELECT count(*) FROM artifact_chunk WHERE digest = ?", (key,)
        ).scalar_one()
        if there == 0 and (size or note != ""):
            found.artifacts_erased += note == ERASED
            found.artifacts_left_out += note == OVER
            found.artifacts_missing += note not in {ERASED, OVER}
        elif hashed.digest() != key or count != there:
            found.add(f"artifact {key.hex()}: its bytes were changed")
        elif note != "":
            found.add(f"artifact {key.hex()}: its bytes are there, and its row says they are not")
        else:
            found.artifacts += 1
    _compare_rows(connection, {bytes(key): size for key, size in rows}, found)


def _compare_rows(connection: Connection, sizes: Mapping[bytes, int], found: Verification) -> None:
    """Compare what the tables say of artifacts with what entries name, by digest."""
    for table in ("artifact", "artifact_chunk"):
        for (key,) in connection.exec_driver_sql(f"SELECT DISTINCT digest FROM {table}").all():
            if (known := _bytes(key)) not in sizes:
                told = ascii(key) if known is None else known.hex()
                found.add(f"table {table}, {told}: no entry bears it out")
    told_of = connection.exec_driver_sql(
        "SELECT digest, size, note, campaign IN (SELECT campaign FROM entry) FROM artifact"
    )
    for key, size, note, is_known in told_of.all():
        named = _bytes(key)
        if named is None or named not in sizes:
            continue
        if size != sizes[named] or note not in {"", ERASED, OVER} or not is_known:
            found.add(f"table artifact, {named.hex()}: its row was changed")


def _bytes(found: object) -> bytes | None:
    """What a column holds; None where somebody has written what is no bytes."""
    return bytes(found) if isinstance(found, (bytes, memoryview)) else None


class SqlArtifacts(Store):
    """**Abstract:** the part of the SQL ledger that keeps artifacts."""

    def artifact(self, digest: str) -> bytes | None:
        """See `Ledger.artifact`."""
        key = bytes.fromhex(digest)
        with self._reading() as connection:
            if _note_of(connection, digest) != "":
                return None
            data = b"".join(chunks_of(connection, key))
        return data if sha256(data).digest() == key else None

    def erase_artifacts(self, digests: Sequence[str]) -> int:
        """See `Ledger.erase_artifacts`."""
        count = 0
        with self._writing() as connection:
            for digest in digests:
                key = (bytes.fromhex(digest),)
                connection.exec_driver_sql("DELETE FROM artifact_chunk WHERE digest = ?", key)
                count += connection.exec_driver_sql(
                    f"UPDATE artifact SET note = '{ERASED}' WHERE digest = ? AND note = ''", key
                ).rowcount
        return count
