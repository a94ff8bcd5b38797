"""Manifests: what the columns of a table of recorded checks mean."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from verifier_ladder.errors import ConfigError
from verifier_ladder.tier import Tier

_STRICT = ConfigDict(extra="forbid", frozen=True)


class TierColumns(BaseModel):
    """One tier of the table's ladder."""

    model_config = _STRICT

    tier: str
    """Its place in the ladder: fast, simulation, high_fidelity or world."""
    score: str
    """Column of what it says."""
    cost: float | str | list[str] = 0.0
    """Cost of a check: a number, a column, or columns that are added up."""
    missing: float | None = None
    """What a check costs where the column is empty; None refuses such a table."""
    declared: float | None = None
    """The order of magnitude that the verifier declares beforehand; by default the cost, where
    that is a number, else the power of ten nearest to its median."""
    evidence: list[str] = []
    """Columns that it tells besides, as numbers."""
    same_quantity: bool = False
    """Whether its score estimates the target itself, in the target's unit."""

    @property
    def place(self) -> Tier:
        """The tier itself."""
        return Tier.parse(self.tier)

    @property
    def needed(self) -> list[str]:
        """Columns that must hold a number in every row."""
        made = [self.score, *self.evidence]
        if self.missing is None and not isinstance(self.cost, float):
            made += [self.cost] if isinstance(self.cost, str) else self.cost
        return made


class Features(BaseModel):
    """Numbers that are known of a row before any check, offered by the lowest tier."""

    model_config = _STRICT

    numbers: list[str] = []
    """Columns as they are; an empty field is not known."""
    logarithms: list[str] = []
    """Columns whose logarithm counts."""
    categories: list[str] = []
    """Columns that name something; one number, 0 or 1, for each of its values."""
    products: list[tuple[str, str]] = []
    """A column that names something, and a number or logarithm: the number for each of its
    values, 0 elsewhere."""


class Manifest(BaseModel):
    """What the columns of one table mean."""

    model_config = _STRICT

    name: str
    file: str
    """File in the data folder."""
    about: str = ""
    """One sentence on what is in it."""
    row: list[str]
    """Columns that together name a row."""
    group: str | int = 16
    """Column of the group that rows are compared in, or the size of groups dealt at random."""
    smiles: str | None = None
    """Column of SMILES, from which `descriptors` are computed as further columns."""
    arm: str | None = None
    """Column of what is the same in every group, such as the model that wrote the answer."""
    scale: Literal["real", "binary"] = "real"
    direction: Literal["maximise", "minimise"] = "maximise"
    cost_unit: str = "top-tier runs"
    top: int = Field(10, ge=1)
    """How many of the best rows a search should find; they are the goal of discovery."""
    skip_incomplete: bool = False
    """Whether rows are left out that lack a number of a tier; a table with such rows is refused
    otherwise."""
    experiments: list[str] = []
    """Names of the experiments that the table stands in."""
    features: Features = Features()
    tiers: list[TierColumns] = Field(min_length=2, max_length=4)
    """From cheap to dear; the last one is the truth."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        places = [tier.place for tier in self.tiers]
        if places != sorted(set(places)):
            raise ValueError("tiers must stand from cheap to dear, each at most once")
        return self

    @property
    def sign(self) -> float:
        """1 if more of the target is better, -1 if less is."""
        return 1.0 if self.direction == "maximise" else -1.0


def read_manifest(path: Path) -> Manifest:
    """Read a manifest from TOML.

    Raises:
        ConfigError: If it can't be read, or a field is missing, unknown or of the wrong kind.
    """
    try:
        return Manifest.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(f"can't read manifest {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"manifest {path} is not TOML: {error}") from None
    except ValidationError as error:
        told = "; ".join(
            f"{'.'.join(map(str, problem['loc'])) or 'manifest'}: {problem['msg']}"
            for problem in error.errors()
        )
        raise ConfigError(f"manifest {path}: {told}") from None
