"""Columns: a file of comma-separated values, read with errors that name column and line."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from itertools import compress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from routing.manifest import TierColumns

from verifier_ladder.errors import ConfigError

Floats = NDArray[np.float64]
_NOTHING = {"", "nan", "na", "n/a", "null", "none"}


class Columns:
    """The columns of a file."""

    def __init__(self, path: Path, columns: Mapping[str, list[str]], lines: Sequence[int]) -> None:
        """Hold them; `lines` are the lines of the file that the rows stand on."""
        self._path, self._columns, self._lines = path, columns, lines

    def __len__(self) -> int:
        """Count the rows."""
        return len(self._lines)

    def add(self, more: Mapping[str, list[str]]) -> None:
        """Take computed columns beside those of the file."""
        self._columns = {**self._columns, **more}

    def complete(self, names: Sequence[str]) -> Columns:
        """The rows that have a number, or anything else to complain of, in all these columns."""
        whole = [
            not any(text.strip().lower() in _NOTHING for text in fields)
            for fields in zip(*map(self.text, names), strict=True)
        ]
        kept = {name: list(compress(column, whole)) for name, column in self._columns.items()}
        return Columns(self._path, kept, list(compress(self._lines, whole)))

    def text(self, name: str) -> list[str]:
        """A column as it stands.

        Raises:
            ConfigError: If there is none of that name.
        """
        if name not in self._columns:
            raise ConfigError(
                f"table {self._path} has no column {name!r}; it has {', '.join(self._columns)}"
            )
        return self._columns[name]

    def numbers(self, name: str, missing: float | None = None) -> Floats:
        """A column as numbers.

        Args:
            name: The column.
            missing: What an empty field stands for; None refuses it.

        Raises:
            ConfigError: If a field is not a finite number.
        """
        values = np.empty(len(self.text(name)))
        for row, text in enumerate(self.text(name)):
            if missing is not None and not text.strip():
                values[row] = missing
                continue
            try:
                values[row] = float(text)
            except ValueError:
                values[row] = np.nan
            if not np.isfinite(values[row]):
                raise ConfigError(
                    f"table {self._path}, line {self._lines[row]}, column {name!r}: {text!r} is "
                    "not a finite number; repair it, or leave out all rows that lack a number "
                    "with `skip_incomplete = true` in the manifest"
                )
        return values

    def costs(self, tier: TierColumns) -> Floats:
        """What each check of a tier costs.

        Raises:
            ConfigError: If a cost is not a number from 0 up.
        """
        if isinstance(tier.cost, float):
            return np.full(len(self), tier.cost)
        names = [tier.cost] if isinstance(tier.cost, str) else tier.cost
        costs: Floats = np.sum([self.numbers(name, tier.missing) for name in names], axis=0)
        if (costs < 0).any():
            raise ConfigError(f"table {self._path}: a cost of tier {tier.tier} is negative")
        return costs


def read_columns(path: Path) -> Columns:
    """Read a file; every line has as many fields as the first.

    Raises:
        ConfigError: If it can't be read, has no rows, or a line has another length.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
    except OSError as error:
        raise ConfigError(
            f"can't read table {path}: {error.strerror}; name the folder with --data"
        ) from None
    if len(lines) < 2:  # noqa: PLR2004 - a header and one row
        raise ConfigError(f"table {path} has no rows")
    head, rows = lines[0], lines[1:]
    for number, row in enumerate(rows, start=2):
        if len(row) != len(head):
            raise ConfigError(
                f"table {path}, line {number}: {len(row)} fields instead of {len(head)}"
            )
    columns = dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))
    return Columns(path, columns, range(2, len(lines) + 1))
