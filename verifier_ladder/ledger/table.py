"""Tables: rows of one kind of record, kept as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar, overload

R = TypeVar("R", bound=NamedTuple)


class Table(Sequence[R]):
    """Rows kept as columns; a row is made when somebody looks at it.

    The rows of a large call would be thousands of small objects, and Python's garbage collector
    would walk through them, and through all that the learner holds, again and again.

    Example:
        >>> from verifier_ladder.ledger.records import Alias
        >>> table = Table(Alias)
        >>> table.extend([b"a", b"b"], ["CCO", None], [None, None])
        >>> len(table), table[0].canonical
        (2, 'CCO')
    """

    def __init__(self, row: type[R]) -> None:
        """Start without rows of this class."""
        self._row = row
        self.columns: tuple[list[Any], ...] = tuple([] for _ in row._fields)
        """The values of each field, in the order of the rows."""

    def extend(self, *columns: Sequence[Any]) -> None:
        """Add rows, given as one column for each field.

        Raises:
            ValueError: If the columns differ in length, or one is missing.
        """
        lengths = set(map(len, columns))
        if len(lengths) > 1:
            raise ValueError(f"columns of different lengths are no rows: {sorted(lengths)}")
        for column, more in zip(self.columns, columns, strict=True):
            column.extend(more)

    def __len__(self) -> int:
        """How many rows."""
        return len(self.columns[0])

    def __iter__(self) -> Iterator[R]:
        """Make one row after the other."""
        return map(self._row._make, zip(*self.columns, strict=True))

    @overload
    def __getitem__(self, place: int) -> R: ...
    @overload
    def __getitem__(self, place: slice) -> list[R]: ...
    def __getitem__(self, place: int | slice) -> R | list[R]:
        """Make one row, or the rows of a slice."""
        parts = [column[place] for column in self.columns]
        if isinstance(place, slice):
            return list(map(self._row._make, zip(*parts, strict=True)))
        return self._row._make(parts)


def columns_of(rows: Sequence[NamedTuple]) -> Sequence[Sequence[Any]]:
    """Rows as one column for each field.

    Args:
        rows: At least one, all of one class.
    """
    if isinstance(rows, Table):
        return rows.columns
    return list(zip(*rows, strict=True))
