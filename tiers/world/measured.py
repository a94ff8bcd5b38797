"""Measured values: a table that stands in for the laboratory, as far as it goes."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError
from verifier_ladder.resource import Resource
from verifier_ladder.tiers.fast.molecule import as_text, parse, rdkit
from verifier_ladder.tiers.versions import versions
from verifier_ladder.tiers.world.case import WorldVerifier, check_bounds
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import A_CASE

COLUMNS = ("smiles", "name", "value", "unit", "uncertainty", "citation")


class Measurement(NamedTuple):
    """One row of a table."""

    smiles: str
    name: str
    value: float
    uncertainty: float | None
    citation: str


class MeasuredValues(WorldVerifier):
    """Answers from a table of measured values at once; asks the laboratory for the rest.

    The table is CSV with the columns smiles, name, value, unit, uncertainty and citation;
    uncertainty, one standard deviation, may be empty. SMILES may be spelled in any way.

    Results are filed under the table's digest: after a change of the table nothing is answered
    from what the old one said.
    """

    kind = "molecule"
    domain = "chemistry"
    capabilities = ("reasoning",)
    cost = Cost(seconds=1e-4)

    @checked()
    def __init__(
        self,
        *,
        table: str = "",
        unit: str = "",
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        """Read the table.

        Args:
            table: Path of the CSV file; empty for a table of the package, if there is one.
            unit: Unit of the values; every row must have it.
            low: Smallest value that can be true.
            high: Largest value that can be true.

        Raises:
            ConfigError: If the table can't be read or a row makes no sense.
        """
        check_bounds(low, high)
        self.unit, self.low, self.high = unit, low, high
        text = self._text(table)
        self.rows = read_table(text, where=table or self.name, unit=unit, low=low, high=high)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        super().__init__(**self._settings(table))
        self.tools = {"table": digest, **versions("rdkit")}

    def _settings(self, table: str) -> dict[str, Any]:
        return {"table": table, "unit": self.unit, "low": self.low, "high": self.high}

    def _text(self, table: str) -> str:
        try:
            return Path(table).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"can't read the table {table!r} of {self.name}: {error}") from None

    @cached_property
    def known(self) -> Mapping[str, Measurement]:
        """The rows by canonical SMILES.

        Raises:
            CandidateError: If a row's SMILES is not a molecule.
        """
        return {rdkit().MolToSmiles(parse(row.smiles)): row for row in self.rows}

    def setup(self) -> None:
        """Bring the table's SMILES to canonical form."""
        _ = self.known

    @property
    def spends(self) -> tuple[Resource, ...]:
        """The laboratory's attention, for what the table lacks."""
        return tuple({*super().spends, Resource.PERSON_MINUTES})

    def expected_cost(self, candidate: Candidate) -> Cost:
        """What is declared; where the table lacks the molecule, somebody's attention as well."""
        is_known = as_text(candidate.content) in self.known
        return self.cost if is_known or self.cost.person_minutes else self.cost + A_CASE

    def look_up(self, candidate: Candidate) -> Verdict | None:
        """Find the molecule in the table."""
        row = self.known.get(as_text(candidate.content))
        if row is None:
            return None
        return Verdict.accept(
            row.value, uncertainty=row.uncertainty, unit=self.unit,
            evidence={"name": row.name, "citation": row.citation},
        )  # fmt: skip


class MeasuredSettings(BaseModel):
    """Settings of `MeasuredHydration` that a campaign's row may choose: never a file to read."""

    table: Literal[""]
    low: float
    high: float


class MeasuredHydration(MeasuredValues):
    """Measured hydration free energies of well-known molecules at 298 K, 1 mol/L to 1 mol/L.

    Example:
        >>> lab = MeasuredHydration()
        >>> lab.judge([Candidate("molecule", "CO")])[0].score
        -5.1
        >>> lab.question(Candidate("molecule", "OCCCO"))
        "Measure the hydration free energy of 'OCCCO' at 298 K, in kcal/mol (1 mol/L in both)."
    """

    name = "measured-hydration"
    version = "1"
    same_quantity = True
    deviation = 0.6
    """That of most of the table's values, for answers that state none."""
    data_settings = MeasuredSettings

    @checked()
    def __init__(self, *, table: str = "", low: float = -50.0, high: float = 20.0) -> None:
        """Read the table: by default, that of the package.

        Args:
            table: Path of another CSV file.
            low: Smallest value that can be true.
            high: Largest value that can be true.

        Raises:
            ConfigError: If the table can't be read or a row makes no sense.
        """
        super().__init__(table=table, unit="kcal/mol", low=low, high=high)

    def _settings(self, table: str) -> dict[str, Any]:
        return {"table": table, "low": self.low, "high": self.high}

    def _text(self, table: str) -> str:
        if table:
            return super()._text(table)
        folder = files("verifier_ladder.tiers.world")
        return folder.joinpath("hydration.csv").read_text(encoding="utf-8")

    def question(self, candidate: Candidate) -> str:
        """What the laboratory is asked to measure."""
        return (
            f"Measure the hydration free energy of {candidate.content!r} at 298 K, "
            f"in {self.unit} (1 mol/L in both)."
        )


def read_table(
    text: str, *, where: str, unit: str, low: float | None = None, high: float | None = None
) -> tuple[Measurement, ...]:
    r"""Read a table of measured values.

    Args:
        text: The CSV text.
        where: What to call it in errors.
        unit: Unit that every row must have.
        low: Smallest value that can be true.
        high: Largest value that can be true.

    Raises:
        ConfigError: If a column is missing, or a row makes no sense: says which line.

    Example:
        >>> row = "CO,methanol,-5.1,kcal/mol,0.6,somebody 1990"
        >>> read_table(",".join(COLUMNS) + "\n" + row, where="x", unit="kcal/mol")[0].value
        -5.1
    """
    reader = csv.DictReader(text.splitlines())
    missing = set(COLUMNS) - set(reader.fieldnames or ())
    if missing:
        raise ConfigError(
            f"table {where} lacks the columns {', '.join(sorted(missing))}; "
            f"it needs {', '.join(COLUMNS)}"
        )
    found = []
    for row in _rows(reader, where):
        place = f"table {where}, line {reader.line_num}"
        if None in row.values():
            raise ConfigError(f"{place}: it has fewer than {len(COLUMNS)} fields")
        if row["unit"] != unit:
            raise ConfigError(f"{place}: the unit is {row['unit']!r}, it must be {unit!r}")
        value = _number(row["value"], place)
        if (low is not None and value < low) or (high is not None and value > high):
            raise ConfigError(f"{place}: {value:g} lies outside {low} to {high}")
        spread = _number(row["uncertainty"], place) if row["uncertainty"].strip() else None
        if spread is not None and spread < 0:
            raise ConfigError(f"{place}: the uncertainty is negative")
        found.append(Measurement(row["smiles"], row["name"], value, spread, row["citation"]))
    return tuple(found)


def _rows(reader: csv.DictReader[str], where: str) -> Iterator[dict[str, str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise ConfigError(f"table {where}, line {reader.line_num + 1}: {error}") from None


def _number(text: str, place: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise ConfigError(f"{place}: {text!r} is not a finite number")
    return value
