"""Frames: verdicts and rewards as an Arrow table, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.export import COLUMNS, entry_rows
from verifier_ladder.ledger.records import Entry

if TYPE_CHECKING:
    import pyarrow as pa

    from verifier_ladder.ledger.base import Ledger

_ROWS = 20_000

Record = Literal["verdict", "reward"]


def frame(
    ledger: Ledger,
    *,
    campaign: str | None = None,
    record: Record | None = None,
    verifier: str | None = None,
    size: int | None = None,
) -> pa.Table:
    """See `Ledger.frame`."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ConfigError("frames need pyarrow: pip install '.[frames]' in a clone") from error
    schema = pa.schema([(name, getattr(pa, kind)()) for name, kind in COLUMNS.items()])
    rows = (
        row
        for entry in _entries(ledger, campaign, size)
        for row in entry_rows(ledger, entry)
        if record in {None, row["record"]} and verifier in {None, row["verifier"]}
    )
    tables = [pa.Table.from_pylist(part, schema=schema) for part in _parts(rows)]
    return pa.concat_tables(tables) if tables else schema.empty_table()


def _entries(ledger: Ledger, campaign: str | None, size: int | None) -> Iterable[Entry]:
    """Those to read: all, or those that a checkpoint covers."""
    from verifier_ladder.ledger.log import SqlLog

    if size is None:
        return ledger.entries(campaign=campaign)
    if not isinstance(ledger, SqlLog):
        raise ConfigError("a ledger in memory has no signed log, so no size of one")
    covered = (leaf.entry for leaf in ledger.leaves(until=size))
    return (entry for entry in covered if campaign in {None, entry.campaign})


def _parts(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while part := list(islice(rows, _ROWS)):
        yield part
