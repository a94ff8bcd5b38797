"""Bad rows: what is wrong with a row of somebody's table."""

from __future__ import annotations

from typing import NamedTuple


class BadRow(NamedTuple):
    """A row that can't be used. It becomes no reward and no verdict, and never stops the rest."""

    line: int
    """Counted from 1; where there are no lines, as in a Parquet file, the number of the row."""
    reason: str
