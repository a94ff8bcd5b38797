"""Columns: a file of comma-separated values, read with errors that name column and line."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from routing.manifest import TierColumns

from verifier_ladder.errors import ConfigError

Floats = NDArray[np.float64]


class Columns:
    """The columns of a file."""

    def __init__(self, path: Path, columns: Mapping[str, list[str]]) -> None:
        self._path, self._columns = path, columns

    def __len__(self) -> int:
        """Count the rows."""
        return len(next(iter(self._columns.values())))

    def add(self, more: Mapping[str, list[str]]) -> None:
        """Take computed columns beside those of the file."""
        self._columns = {**self._columns, **more}

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
        for line, text in enumerate(self.text(name)):
            if missing is not None and not text.strip():
                values[line] = missing
                continue
            try:
                values[line] = float(text)
            except ValueError:
                values[line] = np.nan
            if not np.isfinite(values[line]):
                raise ConfigError(
                    f"table {self._path}, line {line + 2}, column {name!r}: {text!r} is not a "
                    "finite number; leave the row out or repair it"
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
    return Columns(path, dict(zip(head, map(list, zip(*rows, strict=True)), strict=True)))
